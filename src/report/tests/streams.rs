//! What an envelope shows of the streams, and where the rest is.

use super::*;

#[test]
fn a_long_stream_is_cut_and_kept_whole_elsewhere() {
    let state = tempfile::tempdir().unwrap();
    let data: Vec<u8> = (0..50_000).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
    let chunks: Vec<(Stream, &[u8])> = data.chunks(32 * 1024).map(|chunk| (Stream::Stdout, chunk)).collect();
    let json = say_json(&options(OutputMode::Json), Some(state.path()), &chunks);
    let facts = &json["streams"]["stdout"];
    let path = PathBuf::from(facts["path"].as_str().unwrap());
    assert_eq!(fs::read(&path).unwrap(), data);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(
        (&facts["bytes"], &facts["encoding"], &facts["truncated"]),
        (&data.len().into(), &"utf-8".into(), &true.into())
    );
    let text = json["stdout"].as_str().unwrap();
    let marker = format!("[... {} bytes omitted; whole stream: {} ...]\n", facts["omitted_bytes"], path.display());
    let (head, tail) = text.split_once(&marker).unwrap();
    assert!(
        head.starts_with("line 0\n")
            && head.ends_with('\n')
            && tail.starts_with("line ")
            && tail.ends_with("line 49999\n")
    );
    assert_eq!((head.len() + tail.len()) as u64 + facts["omitted_bytes"].as_u64().unwrap(), data.len() as u64);
    assert!(text.replace(&marker, "").replace('\n', "\\n").len() <= 8192);
    assert_eq!(json["streams"]["stderr"]["path"], Value::Null);
}

#[test]
fn without_a_place_a_cut_stream_is_cut_and_it_is_said() {
    let data = [b'x'; 10_000];
    let json = say_json(&options(OutputMode::Json), None, &[(Stream::Stdout, &data)]);
    assert_eq!(json["warnings"][0]["code"], "spill_failed");
    assert_eq!(json["streams"]["stdout"]["path"], Value::Null);
    let no_spill = OutputOptions { spill: false, ..options(OutputMode::Json) };
    let json = say_json(&no_spill, None, &[(Stream::Stdout, &data)]);
    assert_eq!(json["warnings"].to_string(), "[]");
    assert!(json["stdout"].as_str().unwrap().contains("\n[... 1808 bytes omitted ...]\n"));
}

#[test]
fn escapes_count_against_the_limit() {
    let state = tempfile::tempdir().unwrap();
    let json = say_json(&options(OutputMode::Json), Some(state.path()), &[(Stream::Stderr, &[1; 3000])]);
    let facts = &json["streams"]["stderr"];
    assert_eq!((&facts["bytes"], &facts["truncated"]), (&3000.into(), &true.into()));
    assert_eq!(fs::read(facts["path"].as_str().unwrap()).unwrap(), [1; 3000]);
}

#[test]
fn what_is_no_utf8_is_shown_as_far_as_it_goes_and_kept_exactly() {
    let state = tempfile::tempdir().unwrap();
    let chunks: [(Stream, &[u8]); 2] = [(Stream::Stdout, b"caf\xe9 \xe2"), (Stream::Stdout, b"\x82\xac\n")];
    let json = say_json(&options(OutputMode::Json), Some(state.path()), &chunks);
    let facts = &json["streams"]["stdout"];
    assert_eq!((&json["stdout"], &facts["encoding"]), (&"caf\u{fffd} €\n".into(), &"utf-8-lossy".into()));
    assert_eq!(fs::read(facts["path"].as_str().unwrap()).unwrap(), b"caf\xe9 \xe2\x82\xac\n");
    assert_eq!(facts["truncated"], false);
}

#[test]
fn binary_is_null_or_base64() {
    let state = tempfile::tempdir().unwrap();
    let chunks: [(Stream, &[u8]); 2] = [(Stream::Stdout, b"a\0"), (Stream::Stdout, b"\xff")];
    let json = say_json(&options(OutputMode::Json), Some(state.path()), &chunks);
    let facts = &json["streams"]["stdout"];
    assert_eq!(
        (&json["stdout"], &facts["encoding"], &facts["omitted_bytes"]),
        (&Value::Null, &"binary".into(), &3.into())
    );
    assert_eq!(fs::read(facts["path"].as_str().unwrap()).unwrap(), b"a\0\xff");

    let base64 = OutputOptions { base64: true, ..options(OutputMode::Json) };
    let json = say_json(&base64, Some(state.path()), &chunks);
    let facts = &json["streams"]["stdout"];
    assert_eq!((&json["stdout"], &facts["encoding"], &facts["path"]), (&"YQD/".into(), &"binary".into(), &Value::Null));

    let small = OutputOptions { max_output: 3, ..base64 };
    let json = say_json(&small, Some(state.path()), &chunks);
    assert_eq!(json["stdout"], Value::Null);
    assert!(json["streams"]["stdout"]["path"].is_string());
}

#[test]
fn a_stdout_file_has_the_bytes_and_the_envelope_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out");
    let to_file = OutputOptions { stdout_file: Some(path.clone()), max_output: 2, ..options(OutputMode::Json) };
    let json = say_json(&to_file, Some(dir.path()), &[(Stream::Stdout, b"a\0bc"), (Stream::Stderr, b"e")]);
    assert_eq!(fs::read(&path).unwrap(), b"a\0bc");
    assert_eq!((&json["stdout"], &json["stderr"]), (&Value::Null, &"e".into()));
    assert_eq!(
        (&json["streams"]["stdout"]["path"], &json["streams"]["stdout"]["bytes"]),
        (&path.to_str().into(), &4.into())
    );

    let lost = SshCliError::new(Fault::ExitStatusMissing, Started::Yes, Effect::Write, false);
    let finished = Finished { outcome: Outcome::Unknown, remote_exit: None, ..succeeded() };
    let json = say(&to_file, Some(dir.path()), &[(Stream::Stdout, b"zz")], &finished, Some(&lost)).json();
    assert_eq!(
        (fs::read(&path).unwrap(), &json["stdout"], &json["exit_code"]),
        (b"a\0bc".to_vec(), &"zz".into(), &76.into())
    );
    // What came is kept beside it, and named.
    let part = json["streams"]["stdout"]["path"].as_str().unwrap();
    assert_eq!(fs::read(part).unwrap(), b"zz");
    assert_eq!(json["warnings"][0]["code"], "stdout_file_partial");
}

#[test]
fn a_gigabyte_costs_two_small_buffers() {
    let mut capture = Capture::in_memory(&OutputOptions { spill: false, ..options(OutputMode::Json) }, None);
    let chunk = Bytes::from(b"0123456789abcdef\n".repeat(1927));
    let started = std::time::Instant::now();
    runtime().block_on(async {
        for _ in 0..4_000 {
            capture.write(Stream::Stdout, chunk.clone()).await.unwrap();
        }
    });
    let captured = capture.finish(true, false, false);
    assert_eq!(captured.streams.unwrap().stdout.bytes, 4_000 * chunk.len() as u64);
    assert!(captured.stdout.unwrap().len() < 8192 + 100);
    // 125 MiB: even an unoptimised build is far below this.
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}
