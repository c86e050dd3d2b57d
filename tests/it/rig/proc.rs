//! What `/proc` says: which processes a server's sessions left, what a process shows of itself, how much memory it took.

use std::fs;
use std::os::unix::ffi::OsStrExt;

/// The pids there are now.
fn pids() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// The parent of a process, and whether it is a zombie: ended, but not yet asked about.
fn parent_and_zombie(pid: i32) -> Option<(i32, bool)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    Some((fields.next()?.parse().ok()?, state == "Z"))
}

/// The words a process was started with, joined by blanks. None for a process that is gone or a zombie.
fn command_line(pid: i32) -> Option<String> {
    if parent_and_zombie(pid)?.1 {
        return None;
    }
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    Some(String::from_utf8_lossy(&words).trim_end_matches('\0').replace('\0', " "))
}

/// The living processes whose environment holds `NAME=value`, as pid and command line.
pub fn command_lines(marker: &str) -> Vec<(i32, String)> {
    let of_ours = |pid: &i32| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| entry == marker.as_bytes())
    };
    pids().into_iter().filter(of_ours).filter_map(|pid| Some((pid, command_line(pid)?))).collect()
}

/// Whether anything runs with this in its command line, as anybody.
pub fn anything_runs(part: &str) -> bool {
    !pids_of(part).is_empty()
}

/// The processes with this in their command line, as anybody.
pub fn pids_of(part: &str) -> Vec<i32> {
    pids()
        .into_iter()
        .filter(|pid| command_line(*pid).is_some_and(|line| line.contains(part) && !line.contains("ssh-cli")))
        .collect()
}

/// The same, with those of our own names.
pub fn pids_with(part: &str) -> Vec<i32> {
    pids().into_iter().filter(|pid| command_line(*pid).is_some_and(|line| line.contains(part))).collect()
}

/// The command lines of all that have this in their arguments or in their environment, as anybody; we must be root to see all.
pub fn whoever_shows(part: &str) -> Vec<String> {
    let shows = |pid: &i32| {
        ["cmdline", "environ"].iter().any(|file| {
            let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            bytes.windows(part.len()).any(|window| window == part.as_bytes())
        })
    };
    pids().into_iter().filter(shows).filter_map(command_line).collect()
}

/// The children of a process, their children, and so on.
pub fn descendants(root: i32) -> Vec<i32> {
    let parents: Vec<(i32, i32)> =
        pids().into_iter().filter_map(|pid| Some((pid, parent_and_zombie(pid)?.0))).collect();
    let mut family = vec![root];
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        family.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    family.remove(0);
    family
}

/// Kills these processes, by pid.
pub fn kill(pids: impl IntoIterator<Item = i32>) {
    for pid in pids.into_iter().filter_map(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// Everything another user could see of this process and of those it started: argument vectors and environments.
pub fn everything_visible(pid: i32) -> Vec<u8> {
    let mut seen = Vec::new();
    for pid in descendants(pid).into_iter().chain([pid]) {
        for file in ["cmdline", "environ"] {
            seen.extend(fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default());
            seen.push(b'\n');
        }
        let title = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        seen.extend(title.as_os_str().as_bytes());
    }
    seen
}

/// The most memory a living process has had so far (`VmHWM`), in KiB.
pub fn peak_rss_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

/// Whether a process below `root` has this in its command line.
pub fn descends(root: i32, part: &str) -> bool {
    descendants(root).into_iter().filter_map(command_line).any(|line| line.contains(part))
}
