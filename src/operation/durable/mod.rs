//! Keyed operations on the host: one key starts at most once, and whoever comes later gets the same answer.
//!
//! Nothing is installed there. The exec request is a fixed loader ([`program::loader`]) that reads a POSIX sh program
//! (`receipt.sh`) from standard input, and runs it only when it arrived whole. From then on the channel carries a conversation of
//! lines, written down here; [`request`] builds what the client says, [`wire`] reads what the program answers.
//!
//! # Rules for both sides
//!
//! A line is ASCII words with one blank between them, and ends in ` .` and a line feed: a part of one is never taken for the whole.
//! `-` is a word for "none". Numbers are decimal. Every line of the program begins with the run's NONCE, and the first one also
//! with a line feed, so that it is found behind whatever a log-in prints. A generation is a number from 1.
//!
//! The client keeps standard input open for as long as it wants to be told anything: its end is the client's end, and the
//! program goes at once. While it follows, the client says `ALIVE` every 10 seconds; after 45 seconds without a word the program
//! goes too, so that a connection that died in silence holds nothing on the host. The operation itself knows of none of this.
//!
//! # What the client says
//!
//! | line | meaning |
//! |---|---|
//! | `GO gen attempt fp deadline grace cap mode text crc script crc input crc .` and then the bytes of text, script and input | start it, if nobody has; then follow from the beginning |
//! | `ATTACH gen out err .` | follow from these offsets; `STATE` where nothing was started |
//! | `STATE gen .` | tell |
//! | `FENCE gen .` | take the gate, so that nothing can start in this generation |
//! | `CANCEL gen grace .` | fence it, or stop it: TERM to its group, after `grace` ms KILL |
//! | `ACK gen .` | its end is safe here: drop script and input, and in a day the output |
//! | `RESOLVE gen notdone .`, `RESOLVE gen done status .` | what a person says, where nothing else can be known |
//! | `GC 0 .` | remove what is old |
//! | `ALIVE` | I am |
//! | `BYE` | no more |
//!
//! `attempt` is hex, up to 16 digits and never used twice; `fp` 12 hex digits of the request's fingerprint; `deadline` (0 is none)
//! and `grace` are milliseconds, `cap` bytes of each stream in whole 64 KiB. Each `crc` is POSIX `cksum` of the bytes whose
//! length stands before it; script and input may be `- -`. `GO` is written only after HELLO, when the intent is on our disk.
//!
//! `text` ([`request::text`]) is sh: exports, a change of directory, and `_cmd=` the command. It is where secrets travel, so it
//! goes from process to process by environment and never to a disk; 100,000 bytes at most. It is evaluated before the gate: when
//! it sets `_why`, nothing is started and REFUSED says why. Then, by `mode`:
//!
//! * `user`: `$SHELL -c "$_cmd"`, as sshd does;
//! * `sh`: `sh -c "$_cmd" sh SCRIPT`, where `$1` is the path of the script part, if there is one;
//! * `file`: `$SHELL SCRIPT`, for a command that is too long for an argument.
//!
//! `input` (16 MiB at most) is standard input; without it that is `/dev/null`. Both outputs are pipes.
//!
//! # What the program says
//!
//! | line | meaning |
//! |---|---|
//! | `HELLO 1 rootid node boot ns uid root .` | ready; 1 is the version, `root` may hold blanks. Then one STATE of the generation that the prologue named, unless it was 0 |
//! | `NOROOT unsupported\|unwritable why .` | instead of HELLO: nothing can be kept here. Nothing was started, and nothing will be |
//! | `STATE gen name attempt fp rc out err flags why settled ack .` | `name` is `none running orphan dead foreign done fenced`; `why` is the fence's, `cancel resolve broken`; `settled` is `notdone` or `done-STATUS`, `ack` 0 or 1 |
//! | `STARTED gen attempt isolation signals detach .` | to GO: it is ours, and it runs |
//! | `EXISTS gen attempt .` | to GO: somebody's with the same fingerprint; we follow that |
//! | `MISMATCH gen attempt fp .` | to GO: the key's gate has another fingerprint |
//! | `FENCED gen why .` | to GO: this generation can start no more |
//! | `SHORT gen part .` | to GO: `part` did not arrive whole. Not started, and this attempt never will |
//! | `REFUSED gen why .` | to GO: `cwd setup nospace unwritable attempt usage`, not started, and this attempt never will. To CANCEL: `cancel_refused`, it may not be signalled. To ACK and RESOLVE: the state that forbids it |
//! | `UNSETTLED gen .` | to GO: nobody can tell yet |
//! | `O offset length .` or `E offset length .` and then so many bytes | of standard output or error; at most 256 KiB |
//! | `TICK name .` | at least every 10 seconds while nothing else is said |
//! | `END gen rc out err flags outcrc errcrc .` | the end: status, bytes of each stream, `cksum` of them |
//! | `ACKED gen .`, `GC 0 .` | done |
//!
//! After SHORT, REFUSED (to GO) and UNSETTLED the program has ended. `rc` is what sh calls it: a death by signal is 128 and its
//! number, which cannot be told from an exit status of that value. Flags are letters: `l` the status is lost, `c` cancelled, `d`
//! the deadline, `o` an operator's word, `t` and `u` standard output and error were cut at the cap, `h` a stream's end was not
//! seen, `x` the bytes are no longer there.
//!
//! # Who may be killed
//!
//! Anybody, at any time. A launcher that goes before the gate has started nothing; after it, it is not needed. `run` takes the gate
//! and becomes the command, so between the two there is no instant in which another process could be lost. `wrap` is its parent
//! and publishes the status; when it is gone, `sup` publishes the end without it. When both are, the gate stands without an end,
//! and STATE says `orphan`, then `dead`.

pub mod cksum;
mod door;
pub mod program;
pub mod request;
pub mod talk;
pub mod wire;
mod words;

#[cfg(test)]
mod host_tests;
#[cfg(test)]
mod receipt_tests;
#[cfg(test)]
mod torture_tests;
#[cfg(test)]
mod wire_tests;
