//! What the program does when nothing goes wrong but what it is there for.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::host_tests::*;
use super::request::{Mode, Request, Resolution};
use super::wire::{Event, Fence, Flags, Life, Settled};

/// All that a command is given, and all that it gives back.
///
/// yash keeps text as characters, and in the C locale it has none beyond ASCII: what it cannot hold, it does not start.
fn all_of_it_works(shell: &str) {
    let Some(host) = Host::of_shell(shell) else { return };
    let mut job =
        Job::new("printf 'a\\0b'; echo plain >&2; echo by name >/dev/stderr; echo on >&2; cat; printenv A; exit 7");
    let letter = if shell == "yash" { "u" } else { "\u{fc}" };
    job.exports = vec![("A", format!("it's $HOME\n{letter}!"))];
    job.input = Some(b"in\n\xff".to_vec());
    let told = host.run(&job);
    assert!(told.started(), "{told:?}");
    assert_eq!(told.out, [b"a\0bin\n\xffit's $HOME\n", letter.as_bytes(), b"!\n"].concat(), "{told:?}");
    assert_eq!(told.err(), "plain\nby name\non\n");
    assert_eq!((told.end().status, told.end().flags), (Some(7), Flags::default()));
    // Whoever asks again gets the same, from any offset, and nothing runs.
    let again = host.run(&job.again());
    assert_eq!((again.started(), &again.out, &again.err, again.end()), (false, &told.out, &told.err, told.end()));
    let mut call = host.call(&job.key, 1);
    assert_eq!(call.state.as_ref().unwrap().end, Some(*told.end()));
    call.say(&Request::Attach { generation: 1, out: 2, err: 6 });
    let rest = call.told();
    assert_eq!((&rest.out[..], &rest.err[..]), (&told.out[2..], &told.err[6..]));
    call.say(&Request::Ack { generation: 1 });
    assert_eq!(call.hear(), Some(Event::Acked { generation: 1 }));
    call.say(&Request::Bye);
    assert_eq!(call.hear(), None);
    call.hang_up();
    // Another request under the same key.
    let other = host.run(&Job { fingerprint: "ffffffffffff", ..job.again() });
    assert!(
        matches!(&other.said[..], [Event::Mismatch { fingerprint, .. }] if fingerprint == "0123456789ab"),
        "{other:?}"
    );
    // A signal.
    let told = host.run(&Job::new("kill -KILL $$"));
    assert_eq!(told.end().status, Some(128 + 9), "{told:?}");
    // TERM to it is not TERM to us, and SIGINT is not ignored.
    let told = host.run(&Job::new("trap 'echo caught; exit 3' INT; kill -INT $$; echo not"));
    assert_eq!((told.out(), told.end().status), ("caught\n", Some(3)));
    // A script, and a command too long for an argument.
    let mut job = Job::new("exec sh \"$1\" one");
    job.mode = Mode::Sh;
    job.script = Some(format!("echo $# $1\n#{}\nexit 5", "x".repeat(200_000)).into_bytes());
    let told = host.run(&job);
    assert_eq!((told.out(), told.end().status), ("1 one\n", Some(5)));
    let mut job = Job::new("");
    job.mode = Mode::File;
    job.script = Some(format!("echo {}", "y".repeat(150_000)).into_bytes());
    assert_eq!(host.run(&job).out.len(), 150_001);
    // Gone before it began, and stopped while it ran.
    let key = unlike_any(16);
    let mut call = host.call(&key, 1);
    call.say(&Request::Cancel { generation: 1, grace: Duration::from_millis(300) });
    assert!(matches!(call.hear(), Some(Event::State(state)) if state.fence == Some(Fence::Cancelled)));
    let told = host.run(&Job { key, ..Job::new("echo ran") });
    assert!(matches!(told.said[..], [Event::Fenced { fence: Fence::Cancelled, .. }]), "{told:?}");
    let job = Job::new("trap 'echo terminated; exit 9' TERM; echo ready; while :; do sleep 0.05; done");
    let mut running = host.call(&job.key, 1);
    running.go(&job);
    until("the command", || (running.hear().is_some() && host.state(&job.key, 1).end.is_none()).then_some(()));
    until("its trap", || {
        let told = fs::read(host.generation(&job.key, 1).join(format!("a.{}/out", job.attempt)));
        (told.unwrap() == b"ready\n").then_some(())
    });
    let mut call = host.call(&job.key, 1);
    assert_eq!(call.state.as_ref().unwrap().life, Life::Running);
    call.say(&Request::Cancel { generation: 1, grace: Duration::from_secs(2) });
    let state = until("the state", || match call.hear() {
        Some(Event::State(state)) => Some(state),
        _ => None,
    });
    let end = state.end.unwrap();
    assert_eq!((end.status, end.flags.cancelled), (Some(9), true), "{state:?}");
    assert_eq!(running.told().out(), "ready\nterminated\n");
}

macro_rules! shells {
    ($($test:ident: $shell:literal),*) => {
        $(#[test] fn $test() { all_of_it_works($shell); })*
    };
}

shells! {
    in_bash: "bash", in_dash: "dash", in_zsh: "zsh", in_ksh: "ksh", in_mksh: "mksh", in_busybox: "busybox", in_yash: "yash"
}

#[test]
fn the_command_gets_its_own_surroundings_back() {
    let host = Host::new();
    let mut job =
        Job::new("umask; echo \"$PATH|${LC_ALL-none}|$SSH_CLI_OPERATION_KEY|$PWD\"; env | grep -c '^_[a-z]'; exit 0");
    job.exports = vec![("SSH_CLI_OPERATION_KEY", "deploy 7".into())];
    job.cwd = Some("/usr");
    let nonce = "nfixed";
    let program = host.program(nonce, &job.key, 1);
    let mut command = host.command(&program, nonce);
    command.env("PATH", "/usr/bin:/bin").env("LC_ALL", "C.UTF-8");
    let mut shell = std::process::Command::new("sh");
    shell.arg("-c").arg("umask 027; exec \"$@\"").arg("sh").arg(command.get_program()).args(command.get_args());
    shell.env("PATH", "/usr/bin:/bin").env("LC_ALL", "C.UTF-8").env("SHELL", "/bin/sh").env_remove("_");
    let piped = std::process::Stdio::piped;
    let mut child = shell.stdin(piped()).stdout(piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, &[program.as_bytes(), &job.bytes()].concat()).unwrap();
    until("the end", || there(&host.generation(&job.key, 1).join("done")).then_some(()));
    drop(stdin);
    child.wait().unwrap();
    let told = host.attach(&job.key, 1);
    assert_eq!(told.out(), "0027\n/usr/bin:/bin|C.UTF-8|deploy 7|/usr\n0\n");
    // What cannot be done for the command is found out before it could have begun.
    let told = host.run(&Job { cwd: Some("/no/such"), ..Job::new("echo ran") });
    assert!(matches!(&told.said[..], [Event::Refused { why, .. }] if why == "cwd"), "{told:?}");
}

#[test]
fn what_is_kept_is_for_its_owner_alone_and_no_secret_is() {
    let host = Host::new();
    let secret = format!("s3cret-{}", unlike_any(16));
    let mut job = Job::new("echo ${#TOKEN}; sleep 0.4");
    job.exports = vec![("TOKEN", secret.clone())];
    job.input = Some(b"input".to_vec());
    let mut call = host.call(&job.key, 1);
    call.go(&job);
    assert!(matches!(call.hear(), Some(Event::Started { .. })));
    assert!(!holds(&host.home, secret.as_bytes()));
    assert!(processes(&secret).is_empty());
    for path in tree(&host.receipts()) {
        let meta = fs::symlink_metadata(&path).unwrap();
        let mode = meta.permissions().mode() & 0o777;
        assert!(meta.is_symlink() || mode == if meta.is_dir() { 0o700 } else { 0o600 }, "{mode:o} {}", path.display());
    }
    let told = call.told();
    assert_eq!(told.out(), format!("{}\n", secret.len()));
    assert!(!holds(&host.home, secret.as_bytes()) && !holds(&host.home, b"input"));
}

#[test]
fn a_home_that_others_can_write_in_is_refused() {
    let host = Host::new();
    let refused = || {
        let mut call = host.dial(&unlike_any(16), 1);
        match call.hear() {
            Some(Event::NoRoot(_, why)) => why,
            other => panic!("{other:?}"),
        }
    };
    fs::create_dir_all(host.home.join(".local/state/ssh-cli")).unwrap();
    let mode = |path: &str, mode| fs::set_permissions(host.home.join(path), fs::Permissions::from_mode(mode)).unwrap();
    mode(".local/state", 0o777);
    mode(".local/state/ssh-cli", 0o700);
    assert_eq!(refused(), "owner");
    mode(".local/state", 0o755);
    host.state(&unlike_any(16), 1);
    mode(".local/state/ssh-cli", 0o750);
    assert_eq!(refused(), "owner");
    mode(".local/state/ssh-cli", 0o700);
    let away = host.home.join("away");
    fs::rename(host.home.join(".local/state"), &away).unwrap();
    std::os::unix::fs::symlink(&away, host.home.join(".local/state")).unwrap();
    assert_eq!(refused(), "owner");
    fs::remove_dir_all(&host.home).unwrap();
    assert_eq!(refused(), "home");
    assert!(!host.home.exists());
}

#[test]
fn a_client_that_goes_leaves_the_command_and_nothing_else() {
    let host = Host::new();
    let job = Job::new("echo begun; sleep 1; echo ended");
    let mut call = host.call(&job.key, 1);
    call.go(&job);
    assert!(matches!(call.hear(), Some(Event::Started { .. })));
    let gone = Instant::now();
    call.hang_up();
    assert!(gone.elapsed() < Duration::from_secs(1), "{:?}", gone.elapsed());
    assert_eq!(host.state(&job.key, 1).life, Life::Running);
    let told = host.attach(&job.key, 1);
    assert_eq!((told.out(), told.end().status), ("begun\nended\n", Some(0)));
    until("all of it to go", || processes(&job.attempt).is_empty().then_some(()));
}

#[test]
fn what_is_left_behind_by_a_command_does_not_keep_its_end() {
    let host = Host::new();
    let marker = format!("30.{}", unlike_any(4).replace(|c: char| !c.is_ascii_digit(), "1"));
    let told = host.run(&Job::new(&format!("sleep {marker} & echo done; exit 4")));
    assert_eq!((told.out(), told.end().status, told.end().flags.held), ("done\n", Some(4), true));
    for (pid, _) in processes(&marker) {
        signal(pid, Signal::KILL);
    }
}

#[test]
fn output_comes_while_it_is_made() {
    let host = Host::new();
    let job = Job::new("sleep 1.5; date +%s%N; sleep 1");
    let mut call = host.call(&job.key, 1);
    call.go(&job);
    assert!(matches!(call.hear(), Some(Event::Started { .. })));
    let told = call.told();
    let printed: u128 = told.out().trim().parse().unwrap();
    // When it was heard is not known here to the millisecond; that it was before the end is.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    assert!(now - printed > 900_000_000, "{}", now - printed);
}

#[test]
fn a_deadline_is_kept_on_the_host() {
    let host = Host::new();
    let mut job = Job::new("trap 'echo asked' TERM; echo begun; while :; do sleep 0.05; done");
    job.deadline = Some(Duration::from_millis(600));
    job.grace = Duration::from_millis(400);
    let mut call = host.call(&job.key, 1);
    call.go(&job);
    assert!(matches!(call.hear(), Some(Event::Started { .. })));
    let began = Instant::now();
    call.hang_up();
    let told = host.attach(&job.key, 1);
    assert_eq!((told.out(), told.end().status, told.end().flags.deadline), ("begun\nasked\n", Some(137), true));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    until("all of it to go", || processes(&job.attempt).is_empty().then_some(()));
}

#[test]
fn output_over_the_cap_is_cut_for_everybody_in_the_same_way() {
    let host = Host::new();
    let mut job = Job::new(
        "i=0; while [ $i -lt 30 ]; do head -c 100000 /dev/zero | tr '\\0' x; sleep 0.1; i=$((i+1)); done; echo e >&2",
    );
    job.cap_bytes = 1 << 20;
    let told = host.run(&job);
    assert_eq!((told.out.len(), told.err()), (1 << 20, "e\n"));
    assert!(told.end().flags.out_cut && !told.end().flags.err_cut && told.end().status == Some(0));
    assert_eq!(host.attach(&job.key, 1).out, told.out);
}

#[test]
fn large_streams_are_whole_from_any_offset() {
    let host = Host::new();
    let job = Job::new("seq 1 90000; seq 1 30000 >&2; sleep 0.3; seq 1 100");
    let whole = host.run(&job);
    assert_eq!(whole.out.len(), 528_894 + 292);
    let mut seed = 7_usize;
    for _ in 0..12 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (out, err) = ((seed >> 33) % whole.out.len(), (seed >> 20) % whole.err.len());
        let mut call = host.call(&job.key, 1);
        call.say(&Request::Attach { generation: 1, out: out as u64, err: err as u64 });
        let rest = call.told();
        assert!(rest.out == whole.out[out..] && rest.err == whole.err[err..], "from {out} and {err}");
    }
}

#[test]
fn a_person_settles_what_nobody_can_know() {
    let host = Host::new();
    let job = Job::new("exec sleep 30");
    let mut call = host.call(&job.key, 1);
    call.go(&job);
    assert!(matches!(call.hear(), Some(Event::Started { .. })));
    let resolve = |resolution| {
        let mut call = host.call(&job.key, 1);
        call.say(&Request::Resolve { generation: 1, resolution });
        let said: Vec<_> =
            std::iter::from_fn(|| call.hear()).take_while(|event| !matches!(event, Event::State(_))).collect();
        (said, host.state(&job.key, 1))
    };
    let (said, state) = resolve(Resolution::NotDone);
    assert!(matches!(&said[..], [Event::Refused { why, .. }] if why == "running"), "{said:?}");
    assert_eq!(state.settled, None);
    for (pid, words) in processes(&job.attempt) {
        if words.contains(" sup ") || words.contains(" wrap ") {
            signal(pid, Signal::KILL);
        }
    }
    until("an orphan", || (host.state(&job.key, 1).life == Life::Orphan).then_some(()));
    assert!(matches!(&resolve(Resolution::NotDone).0[..], [Event::Refused { why, .. }] if why == "orphan"));
    let gate = fs::read_link(host.generation(&job.key, 1).join("gate")).unwrap();
    signal(gate.to_str().unwrap().split(':').nth(4).unwrap().parse().unwrap(), Signal::KILL);
    until("its death", || (host.state(&job.key, 1).life == Life::Dead).then_some(()));
    let (said, state) = resolve(Resolution::NotDone);
    assert_eq!((said.len(), state.settled, state.life), (0, Some(Settled::NotDone), Life::Dead));
    // The first word stands.
    assert_eq!(resolve(Resolution::Done(3)).1.settled, Some(Settled::NotDone));
    let told = host.run(&Job { generation: 2, command: "echo second".into(), ..job.again() });
    assert_eq!(told.out(), "second\n");
    // Done, by a person's word, where nothing was ever started.
    let key = unlike_any(16);
    let mut call = host.call(&key, 1);
    call.say(&Request::Resolve { generation: 1, resolution: Resolution::Done(4) });
    let Some(Event::State(state)) = call.hear() else { panic!() };
    assert!(state.end.is_some_and(|end| end.status == Some(4) && end.flags.operator), "{state:?}");
}

#[test]
fn a_fence_is_for_ever() {
    let host = Host::new();
    let job = Job::new("echo ran");
    let mut call = host.call(&job.key, 1);
    call.say(&Request::Fence { generation: 1 });
    assert!(matches!(call.hear(), Some(Event::State(state)) if state.fence == Some(Fence::Resolved)));
    assert!(matches!(host.run(&job).said[..], [Event::Fenced { fence: Fence::Resolved, .. }]));
    let told = host.run(&Job { generation: 2, ..job.again() });
    assert_eq!(told.out(), "ran\n");
    // And no fence undoes a start.
    let mut call = host.call(&job.key, 2);
    call.say(&Request::Fence { generation: 2 });
    assert!(matches!(call.hear(), Some(Event::State(state)) if state.fence.is_none() && state.end.is_some()));
}

#[test]
fn after_a_reboot_what_ran_is_dead_and_what_ended_is_known() {
    let mut host = Host::new();
    let ended = Job::new("echo ended");
    host.run(&ended);
    let job = Job::new("exec sleep 30");
    let mut call = host.call(&job.key, 1);
    call.go(&job);
    assert!(matches!(call.hear(), Some(Event::Started { .. })));
    host.reboot();
    assert_eq!(host.state(&job.key, 1).life, Life::Dead);
    assert_eq!(host.attach(&ended.key, 1).out(), "ended\n");
    for (pid, _) in processes(&job.attempt) {
        signal(pid, Signal::KILL);
    }
    let gate = fs::read_link(host.generation(&job.key, 1).join("gate")).unwrap();
    signal(gate.to_str().unwrap().split(':').nth(4).unwrap().parse().unwrap(), Signal::KILL);
}

#[test]
fn another_node_is_neither_dead_nor_alive_until_its_heart_is_watched() {
    let host = Host::new();
    let job = Job::new("sleep 6; echo ended");
    let mut call = host.call(&job.key, 1);
    call.go(&job);
    assert!(matches!(call.hear(), Some(Event::Started { .. })));
    call.hang_up();
    // As if another host of a shared home had it.
    let sup = host.generation(&job.key, 1).join(format!("a.{}/sup", job.attempt));
    let own = fs::read_to_string(&sup).unwrap();
    fs::write(&sup, format!("elsewhere.{own}")).unwrap();
    assert_eq!(host.state(&job.key, 1).life, Life::Foreign);
    let told = host.attach(&job.key, 1);
    assert_eq!((told.out(), told.end().status), ("ended\n", Some(0)));
    // One that never beats again.
    let job = Job::new("exec sleep 60");
    let mut call = host.call(&job.key, 1);
    call.go(&job);
    assert!(matches!(call.hear(), Some(Event::Started { .. })));
    call.hang_up();
    let sup = host.generation(&job.key, 1).join(format!("a.{}/sup", job.attempt));
    let own = fs::read_to_string(&sup).unwrap();
    for (pid, _) in processes(&job.attempt) {
        signal(pid, Signal::KILL);
    }
    fs::write(&sup, format!("elsewhere.{own}")).unwrap();
    assert_eq!(host.attach(&job.key, 1).life(), Some(Life::Foreign));
    let gate = fs::read_link(host.generation(&job.key, 1).join("gate")).unwrap();
    signal(gate.to_str().unwrap().split(':').nth(4).unwrap().parse().unwrap(), Signal::KILL);
}

#[test]
fn outputs_go_a_day_after_they_were_collected_and_tombstones_after_ninety() {
    let host = Host::new();
    let age = |path: std::path::PathBuf, days: u32| {
        let at = format!("{days} days ago");
        let done = std::process::Command::new("touch").args(["-h", "-d", &at]).arg(&path).status().unwrap();
        assert!(done.success());
    };
    let jobs: Vec<_> = (0..4).map(|n| Job::new(&format!("echo {n}"))).collect();
    for job in &jobs {
        host.run(job);
        if job.command != "echo 2" {
            let mut call = host.call(&job.key, 1);
            call.say(&Request::Ack { generation: 1 });
            assert!(matches!(call.hear(), Some(Event::Acked { .. })));
        }
    }
    let dir = |n: usize| host.generation(&jobs[n].key, 1);
    until("their supervisors to go", || jobs.iter().all(|job| processes(&job.attempt).is_empty()).then_some(()));
    age(dir(0).join("ack"), 2);
    age(dir(2).join("done"), 31);
    age(dir(3).join("done"), 91);
    let mut call = host.call(&jobs[0].key, 1);
    call.say(&Request::Collect);
    assert_eq!(call.hear(), Some(Event::Collected));
    for (n, kept) in [(0, false), (1, true), (2, false)] {
        let told = host.attach(&jobs[n].key, 1);
        let end = told.end();
        assert_eq!((end.status, end.out, end.flags.expired), (Some(0), 2, !kept), "{n}");
        assert_eq!(told.out.len(), if kept { 2 } else { 0 });
    }
    assert!(!there(&dir(3)));
    assert_eq!(fs::read_dir(host.receipts().join("trash")).unwrap().count(), 0);
}
