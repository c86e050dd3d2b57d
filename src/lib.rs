//! A one-shot, agent-first SSH command line: one invocation, one command or one copy on one host, one JSON envelope that says
//! what happened there, one exit code. No daemon, no pool, no hidden state.
//!
//! ```text
//! args ──cli──▶ Request ──target──▶ Target ──connection──▶ Session ──operation──▶ facts ──verdict──▶ Outcome ──report──▶ envelope
//!                        flow: resolve → prepare → attempt(s) → conclude
//! ```
//!
//! | module | what it is | may import |
//! |---|---|---|
//! | [`constants`], [`effect`], [`secret`], [`shell`], `wildcard` | numbers, the effect table, secrets as a type, quoting, file name patterns | nothing of ours |
//! | [`model`] | the words all layers share: request, outcome, sink, timing | effect, secret |
//! | [`errors`] | every fault with its code, class, phase and exit, in one match | model, effect, constants |
//! | [`retry`] | backoff and policy; pure, no clock | effect, errors, constants |
//! | [`cli`] | clap: arguments as typed, and as meant | model, errors, effect, secret, constants |
//! | [`journal`] | the local memory of keyed operations; `journal::decide` is the table of what to do about one, pure | model, errors, effect, constants |
//! | [`report`] | the envelope, events, raw output, schemas | model, errors, effect, secret, constants |
//! | `target` | local only: destination, `ssh_config`, `known_hosts`, identities, secret sources | model, errors, secret, constants, wildcard |
//! | `connection` | russh: dial, host key, authentication, channel | target, model, errors, secret, constants |
//! | `operation` | what is done with a session: exec, elevate before it, transfer, and durable: an operation with a key on the host | connection, model, effect, errors, secret, shell, constants, wildcard |
//! | `flow` | the order of things, one file for each command, and the only place that sleeps | operation, connection, target, journal, retry, model, errors, secret, shell, constants |
//! | this file, `signals`, `logging` | runtime, signals, the way out | cli, flow, report, model, errors, retry |
//!
//! What is *seen* and what is *claimed* are kept apart: `operation::exec::run` writes down facts (was the request written, was it
//! answered, did a status arrive, were both streams read to their end), and `operation::exec::verdict` is the one pure function
//! that turns facts into an outcome. A missing exit status is an answer, never a number.

pub mod cli;
mod connection;
pub mod constants;
pub mod effect;
pub mod errors;
mod flow;
pub mod journal;
mod logging;
pub mod model;
mod operation;
pub mod report;
pub mod retry;
pub mod secret;
pub mod shell;
mod signals;
mod target;
mod wildcard;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use cli::Surroundings;
use errors::exit_codes::{EX_SIGTERM, EX_SOFTWARE};
use errors::{Caught, Fault, Limit, SshCliError};
use flow::Ended;
use model::outcome::{Finished, Outcome, Started};
use model::request::{Action, OutputOptions, Request};
use report::Output;
use retry::RetryConfig;

/// How long a reader who does not read may hold up the last words of a command that was stopped.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What the last panic said, and where. russh runs in a task of its own: its panic would otherwise look like a lost connection.
static PANICKED: Mutex<Option<String>> = Mutex::new(None);

/// Runs one invocation: arguments in, exit code out. Everything in between ends in one document on standard output.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    note_panics();
    let surroundings = Surroundings {
        stdout_is_terminal: std::io::stdout().is_terminal(),
        stderr_is_terminal: std::io::stderr().is_terminal(),
        output_variable: std::env::var_os("SSH_CLI_OUTPUT"),
    };
    let whole = || match cli::parse(args, &surroundings) {
        Ok(request) => perform(&request),
        Err(refused) => {
            let ended = failed_before_anything(refused.fault, effect::Effect::default());
            say(Output::without_file(&refused.output), &ended, refused.command)
        }
    };
    let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(whole)).unwrap_or_else(|_| {
        // Outside of everything that tells it better, as where there are no descriptors left.
        let problem = PANICKED.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
        let finished =
            Finished { started: Started::Unknown, outcome: Outcome::Unknown, ..not_started("", effect::Effect::Write) };
        let ended = Ended { finished, error: None, deadline: None }.with_fault(Fault::Internal { problem });
        say(Output::without_file(&OutputOptions::plain()), &ended, "")
    });
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}

/// From here on a panic prints nothing by itself.
fn note_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let said = panic.to_string();
        PANICKED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(said);
    }));
}

fn perform(request: &Request) -> i32 {
    logging::begin(request.verbosity);
    match &request.action {
        Action::Exec(exec) => {
            // How far it had come goes down with a panic.
            let lost = Finished {
                started: Started::Unknown,
                outcome: Outcome::Unknown,
                ..not_started(&exec.destination, exec.run.effect)
            };
            connected(request.action.name(), lost, &request.output, async |begun, output, signals| {
                flow::exec(exec, state_dir().as_deref(), begun, output, signals).await
            })
        }
        Action::Copy(copy) => {
            let lost = Finished {
                started: Started::Unknown,
                outcome: Outcome::Unknown,
                ..not_started(&copy.destination, copy.options.effect)
            };
            connected("scp", lost, &request.output, async |begun, output, signals| {
                flow::copy(copy, begun, output, signals).await
            })
        }
        Action::Check(check) => {
            let lost = not_started(&check.destination, effect::Effect::Read);
            connected("check", lost, &request.output, async |begun, output, signals| {
                flow::check(check, begun, output, signals).await
            })
        }
        Action::Ops(ops) => {
            let lost = not_started(ops.destination(), ops.effect());
            connected(ops.name(), lost, &request.output, async |begun, output, signals| {
                flow::ops(ops, state_dir().as_deref(), begun, output, signals).await
            })
        }
        Action::Schema(topic) => report::print(&report::schema(*topic, request.output.mode)),
        Action::ExitCodes => report::print(&report::exit_codes(request.output.mode)),
        Action::Completions(shell) => match cli::completions(shell) {
            Some(script) => report::print(&script),
            None => EX_SOFTWARE,
        },
        Action::Print(text) => report::print(text),
    }
}

/// Runs a command that connects. `lost`: what can still be told where a bug of ours ended it.
fn connected(
    command: &'static str,
    lost: Finished,
    options: &OutputOptions,
    work: impl AsyncFnOnce(Instant, &mut Output, &mut mpsc::Receiver<Caught>) -> Ended,
) -> i32 {
    let effect = lost.effect;
    let mut output = match Output::open(options, state_dir().as_deref()) {
        Ok(output) => output,
        Err(fault) => {
            return say(Output::without_file(options), &failed_before_anything(fault, effect), command);
        }
    };
    let built = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match built {
        Ok(runtime) => runtime,
        Err(error) => {
            let fault = Fault::Internal { problem: format!("no runtime: {error}") };
            return say(output, &failed_before_anything(fault, effect), command);
        }
    };
    let mut caught = None;
    let ended = guarded(lost, || {
        runtime.block_on(async {
            let begun = Instant::now();
            let mut signals = signals::catch();
            let ended = work(begun, &mut output, &mut signals).await;
            let ended = drained(ended, &mut output, &mut signals).await;
            caught = Some(signals);
            ended
        })
    });
    // The last words may find a reader who does not read: they are not waited for longer than that deserves.
    let patience = ended.is_stopped().then_some(LAST_WORDS);
    let (sender, said) = oneshot::channel();
    let last_words = move || sender.send(say(output, &ended, command));
    if std::thread::Builder::new().spawn(last_words).is_err() {
        return EX_SOFTWARE;
    }
    let code = runtime.block_on(async {
        let signal = async {
            match &mut caught {
                Some(signals) => signals.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            code = said => code.unwrap_or(EX_SOFTWARE),
            Some(signal) = signal => {
                let fault = Fault::Interrupted { signal, confirmed: None };
                SshCliError::new(fault, Started::Unknown, effect, false).exit_code()
            },
            () = sleep_for(patience) => EX_SIGTERM,
        }
    });
    // A look-up or a read that still blocks a thread is not waited for.
    runtime.shutdown_background();
    code
}

/// Waits until our reader has taken the output. A slow one may take its time, until somebody says that it is enough, the
/// deadline is over, or there is nothing more to wait for, since the command was stopped anyway.
async fn drained(ended: Ended, output: &mut Output, signals: &mut mpsc::Receiver<Caught>) -> Ended {
    let stopped = ended.is_stopped().then_some(LAST_WORDS);
    let deadline = ended.deadline;
    tokio::select! {
        biased;
        // How it ended is asked for again when everything is said.
        _ = output.drained() => ended,
        Some(signal) = signals.recv() => ended.with_fault(Fault::Interrupted { signal, confirmed: None }),
        () = sleep_for(stopped) => ended,
        () = sleep_for(deadline.map(|(at, _)| at.saturating_duration_since(Instant::now()))) => {
            let after = deadline.map_or_else(Default::default, |(_, span)| span);
            // A keyed operation goes on.
            let confirmed = (ended.finished.outcome != Outcome::Running).then_some(true);
            ended.with_fault(Fault::Timeout { limit: Limit::Deadline, after, confirmed })
        }
    }
}

/// For ever, without a span.
async fn sleep_for(span: Option<Duration>) {
    match span {
        Some(span) => tokio::time::sleep(span).await,
        None => std::future::pending().await,
    }
}

fn not_started(destination: &str, effect: effect::Effect) -> Finished {
    let mut finished = Finished::not_started(effect);
    destination.clone_into(&mut finished.target.destination);
    finished
}

/// Does the work; a panic in it, or in a task of it, is a bug of ours and is told as that.
fn guarded(lost: Finished, work: impl FnOnce() -> Ended) -> Ended {
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    let panicked = PANICKED.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (done, panicked) {
        (Ok(ended), None) => ended,
        (Ok(ended), Some(problem)) => ended.with_fault(Fault::Internal { problem }),
        (Err(_), problem) => Ended { finished: lost, error: None, deadline: None }
            .with_fault(Fault::Internal { problem: problem.unwrap_or_default() }),
    }
}

fn say(output: Output, ended: &Ended, command: &'static str) -> i32 {
    let next = RetryConfig::agent_default().delay_for_attempt(1);
    output.finish(&ended.finished, ended.error.as_ref(), command, next)
}

fn failed_before_anything(fault: Fault, effect: effect::Effect) -> Ended {
    Ended { finished: Finished::not_started(effect), error: None, deadline: None }.with_fault(fault)
}

/// `SSH_CLI_STATE_DIR`, else `$XDG_STATE_HOME/ssh-cli`, else `~/.local/state/ssh-cli`; none without a home.
fn state_dir() -> Option<PathBuf> {
    use etcetera::BaseStrategy;

    if let Some(directory) = std::env::var_os("SSH_CLI_STATE_DIR").filter(|directory| !directory.is_empty()) {
        return Some(PathBuf::from(directory));
    }
    etcetera::base_strategy::Xdg::new().ok()?.state_dir().map(|state| state.join("ssh-cli"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use effect::Effect;

    #[test]
    fn a_panic_ends_in_an_envelope_that_claims_nothing() {
        note_panics();
        let lost = || Finished { started: Started::Unknown, ..not_started("web1", Effect::Write) };
        let ended = guarded(lost(), || panic!("a bug"));
        let error = ended.error.as_ref().unwrap();
        assert_eq!((error.code(), error.exit_code(), ended.finished.started), ("internal", 70, Started::Unknown));
        assert!(error.message().contains("a bug") && error.message().contains("lib.rs"), "{error}");
        // In a task of its own it would else look like a lost connection.
        let ended = guarded(lost(), || {
            assert!(std::thread::spawn(|| panic!("in a task")).join().is_err());
            failed_before_anything(Fault::ExecRefused, Effect::Write)
        });
        assert_eq!(ended.error.unwrap().code(), "internal");
        let _ = std::panic::take_hook();
    }
}
