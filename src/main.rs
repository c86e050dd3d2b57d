//! A doorway.

use std::process::ExitCode;

fn main() -> ExitCode {
    ssh_cli::run(std::env::args_os())
}
