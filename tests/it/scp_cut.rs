//! An upload over an existing file, cut at 200 points: after each of them the old or the new content is there, whole.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::rig::{Mode, Scratch, Sshd, Way};

const CUTS: u64 = 200;

#[test]
fn whatever_point_an_upload_is_cut_at_the_file_is_whole() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let (old, new) = (vec![b'o'; 50_000], vec![b'N'; 70_000]);
    let source = here.file("conf", &new);
    let line = |name: &str| format!("scp {} DEST:{}", source.display(), there.join(name).join("conf").display());
    let lay = |name: &str| {
        fs::create_dir(there.join(name)).unwrap();
        fs::write(there.join(name).join("conf"), &old).unwrap();
        sshd.account.owns(&there.join(name));
        sshd.account.owns(&there.join(name).join("conf"));
    };
    lay("whole");
    let whole = sshd.proxy().start();
    sshd.cli(&line("whole")).via(&whole).run().succeeded();
    let length = [Way::Up, Way::Down].map(|way| whole.bytes(way));

    let (next, seen) = (AtomicU64::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::SeqCst);
                    if n >= CUTS {
                        return;
                    }
                    // Three of four in the direction in which the file goes, most of them where it does.
                    let (way, of) = if n % 4 == 3 { (Way::Down, length[1]) } else { (Way::Up, length[0]) };
                    let after = of * (n + 1) / CUTS;
                    let mode = if n % 2 == 0 { Mode::Rst } else { Mode::Fin };
                    let name = format!("cut-{n}");
                    lay(&name);
                    let proxy = sshd.proxy().cut(way, after, mode).start();
                    let run = sshd.cli(&line(&name)).via(&proxy).limit(Duration::from_secs(60)).run();
                    let file = fs::read(there.join(&name).join("conf")).unwrap();
                    assert!(file == old || file == new, "{n}: {} bytes are neither: {run}", file.len());
                    match run.code() {
                        0 => assert_eq!(file, new, "{n}: {run}"),
                        74 => drop(run.failed(74, run.json()["error"]["code"].as_str().unwrap())),
                        _ => panic!("{n}: {run}"),
                    }
                    if run.json()["started"] == "no" {
                        assert_eq!(file, old, "{n}: {run}");
                    }
                    // The same line completes it, and stale parts are all named as such.
                    sshd.cli(&line(&name)).run().succeeded();
                    assert_eq!(fs::read(there.join(&name).join("conf")).unwrap(), new, "{n}");
                    for entry in fs::read_dir(there.join(&name)).unwrap() {
                        let stray = entry.unwrap().file_name();
                        let stray = stray.as_bytes();
                        assert!(stray == b"conf" || stray.ends_with(b".ssh-cli-part"), "{n}: {stray:?}");
                    }
                    let what = (run.code(), run.json()["started"].to_string(), file == new);
                    *seen.lock().unwrap().entry(what).or_insert(0) += 1;
                }
            });
        }
    });
    let seen = seen.into_inner().unwrap();
    eprintln!("exit, started, new content: {seen:?}");
    assert!(seen.keys().any(|(exit, _, is_new)| *exit == 74 && !is_new), "some cut came before the end");
}
