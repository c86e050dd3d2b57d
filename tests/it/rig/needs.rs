//! A test that cannot run here says so aloud; with `SSH_CLI_TESTS_REQUIRE_ALL=1` that is a failure.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

/// True as root, who can make accounts and let sshd become them.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Says that a test is skipped, and why. Always true, so that a test reads `if needs::skip(…) { return; }`.
pub fn skip(why: &str) -> bool {
    assert!(std::env::var_os("SSH_CLI_TESTS_REQUIRE_ALL").is_none(), "cannot run here: {why}");
    say_skipped(why);
    true
}

/// The same where most systems do not have it at all: never a failure.
pub fn skip_rarity(why: &str) {
    say_skipped(why);
}

fn say_skipped(why: &str) {
    let line = format!("SKIPPED ({why}): {}\n", std::thread::current().name().unwrap_or("a test"));
    // Not by `eprint!`, which the test harness keeps to itself; and to `tests/run`, which repeats it at the end.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(list) = std::env::var_os("SSH_CLI_TESTS_SKIPPED") {
        let _ = OpenOptions::new().append(true).open(list).and_then(|mut list| list.write_all(line.as_bytes()));
    }
}

/// True (and said aloud) where the test needs root and we are not.
pub fn no_root() -> bool {
    !is_root() && skip("needs root")
}

/// True (and said aloud) where a program is not installed.
pub fn no_program(name: &str) -> bool {
    program(name).is_none() && skip(&format!("needs {name}"))
}

/// Where a program is, with the administrator's directories included: sshd is rarely in a user's PATH.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let extra = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(extra).map(|dir| dir.join(name)).find(|file| file.is_file())
}
