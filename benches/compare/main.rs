//! ssh-cli beside OpenSSH's `ssh` and `scp`, against one private sshd: `cargo bench --bench compare` (`-- --quick` for a first
//! look, `-- scp` or another part of a row's name for those rows alone).
//!
//! Both use the same key exchange and cipher, and take turns, so that what else the machine does meets both. CPU and memory are
//! the client's own and its children's, from wait4(2). Ratios are medians of ssh-cli over medians of OpenSSH. Exits with 0 unless
//! something did not run: a missed target is shown, not fatal, for a busy machine misses targets too.

mod client;
mod copies;
mod delay;
mod keyed;
mod server;

use std::error::Error;
use std::fs::File;
use std::process::ExitCode;

use client::{Pair, show_memory};
use server::Server;

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [word, rest @ ..] = &args[..]
        && word == delay::WORD
    {
        return ended(delay::serve(rest));
    }
    // `cargo bench` says --bench; a test runner that only looks for tests does not.
    if !args.iter().any(|arg| arg == "--bench") {
        eprintln!("this is run by `cargo bench --bench compare`");
        return ExitCode::SUCCESS;
    }
    let quick = args.iter().any(|arg| arg == "--quick");
    let only = args.into_iter().filter(|arg| !arg.starts_with('-')).collect();
    let plan = Plan { only, ..if quick { QUICK } else { FULL } };
    ended(compare(&plan))
}

fn ended(result: Fallible<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare: {error}");
            ExitCode::FAILURE
        }
    }
}

/// How much is measured.
struct Plan {
    exec_runs: usize,
    stream_runs: usize,
    stream_mib: u64,
    far_mib: u64,
    small_files: usize,
    /// Parts of the names of the rows that are wanted; all, without any.
    only: Vec<String>,
}

const FULL: Plan =
    Plan { exec_runs: 21, stream_runs: 5, stream_mib: 1024, far_mib: 256, small_files: 2000, only: Vec::new() };
const QUICK: Plan =
    Plan { exec_runs: 9, stream_runs: 3, stream_mib: 128, far_mib: 64, small_files: 500, only: Vec::new() };

impl Plan {
    fn wants(&self, row: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| row.contains(&**part))
    }
}

fn compare(plan: &Plan) -> Fallible<()> {
    let server = Server::start()?;
    println!("{:<34}{:>12}{:>12}{:>9}   target", "", "OpenSSH", "ssh-cli", "ratio");
    runs(plan, &server)?;
    keyed::compare(plan, &server)?;
    copies::compare(plan, &server)
}

fn runs(plan: &Plan, server: &Server) -> Fallible<()> {
    let mib = plan.stream_mib;
    let row = "exec true";
    if plan.wants(row) {
        let turn = || Ok((server.ssh("true").run()?, server.ours(&[], "true").run()?));
        Pair::of(plan.exec_runs, turn)?.show(row, Some(0.35), None);
    }
    let row = format!("exec, {mib} MiB of stdout");
    if plan.wants(&row) {
        let zeros = format!("head -c {mib}M /dev/zero");
        let turn = || Ok((server.ssh(&zeros).run()?, server.ours(&["--raw"], &zeros).run()?));
        Pair::of(plan.stream_runs, turn)?.show(&row, Some(1.0), Some(1.0));
    }
    let row = format!("exec, {mib} MiB of stdin");
    if plan.wants(&row) {
        let input = server.dir.path().join("input");
        // Without a block on the disk: reading it costs memory copies only, as reading a pipe would.
        File::create(&input)?.set_len(mib << 20)?;
        let turn = || {
            let ssh = server.ssh("cat >/dev/null").input(&input);
            let ours = server.ours(&["--stdin"], "cat >/dev/null").input(&input);
            Ok((ssh.run()?, ours.run()?))
        };
        Pair::of(plan.stream_runs, turn)?.show(&row, Some(1.0), Some(1.0));
    }
    let row = "exec, 64 MiB into the envelope";
    if plan.wants(row) {
        show_memory(row, server.ours(&[], "yes | head -c 64M").run()?.peak_mib);
    }
    let row = "exec, `yes` with --timeout 3s";
    if plan.wants(row) {
        // 76 where sshd passes no signal on, as to sessions of root: then nobody saw it end.
        show_memory(row, server.ours(&["--timeout", "3s"], "yes").ends_with(&[1, 76]).run()?.peak_mib);
    }
    Ok(())
}
