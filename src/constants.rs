//! Published limits and defaults, each with its unit in the name and its reason.

/// Attempts an agent makes after the first, on exit 74 and only on that: enough to step over a restart, few enough not to
/// hammer a host that is down.
pub const AGENT_RETRY_MAX_RETRIES: u32 = 2;

/// `--connect-timeout`: until the channel is open, all hops together. Three TCP SYN retransmissions fit (1 + 2 + 4 s).
pub const CONNECT_TIMEOUT_SECS: u64 = 15;

/// `--keepalive`: the interval of probes on a silent connection.
pub const KEEPALIVE_SECS: u64 = 15;

/// Unanswered probes that end the connection as lost, as in OpenSSH's `ServerAliveCountMax`.
pub const KEEPALIVE_COUNT: u32 = 3;

/// `--max-output`: bytes of one stream in the envelope. About 2,000 tokens: a page, not a log.
pub const MAX_OUTPUT_BYTES: u64 = 8 * 1024;

/// The most that is kept of one stream beside the envelope.
pub const SPILL_MAX_BYTES: u64 = 256 * 1024 * 1024;

/// How long a spilled stream is kept.
pub const SPILL_KEEP_HOURS: u64 = 24;

/// After the command's end: how long both streams must have been silent before a held-open one is let go.
pub const HELD_OPEN_SILENCE_MS: u64 = 2000;

/// A caught signal: TERM to the remote process, then this long to see it end.
pub const SIGNAL_GRACE_MS: u64 = 700;

/// `--timeout`: INT, this long, TERM, this long, KILL.
pub const STOP_STEP_MS: u64 = 1000;

/// After KILL: how long its end is waited for before it is reported as not seen.
pub const STOP_CONFIRM_MS: u64 = 3000;

/// In shell mode: how long the start program's answer is waited for, beyond what its length takes on a slow link. Start-up files of
/// the account run first, and may be slow; a host that swallows the answer would else be waited for without end.
pub const START_ANSWER_SECS: u64 = 15;

/// The slowest link for which a script's length is allowed for, in bytes a second.
pub const SLOW_LINK_BYTES_PER_SEC: u64 = 4096;

/// Happy eyeballs: the head start of each address (RFC 8305 section 5).
pub const CONNECTION_ATTEMPT_DELAY_MS: u64 = 250;

/// The receive window of a channel: with a smaller one a long path, not the link, sets the speed.
pub const CHANNEL_WINDOW_BYTES: u32 = 32 * 1024 * 1024;

/// The most that `--script` or a secret may hold.
pub const SCRIPT_MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Retries: the base of the exponential draw.
pub const RETRY_BASE_MS: u64 = 200;

/// Retries: the longest draw an agent waits.
pub const RETRY_MAX_DELAY_MS: u64 = 5000;

/// Retries: the most that can be asked for.
pub const RETRY_CAP_RETRIES: u32 = 10;

/// Retries: the longest wait that can be asked for.
pub const RETRY_CAP_DELAY_MS: u64 = 60_000;

/// The most entries of a copy that are listed where they were not plainly copied: enough to act on, and a bounded document.
pub const TRANSFER_NOTABLE_ENTRIES: usize = 200;

/// The most that are listed where they were.
pub const TRANSFER_PLAIN_ENTRIES: usize = 20;

/// How long sudo or su may be silent before the password was accepted: a directory server may have to be asked, and some modules
/// wait for seconds before they say no.
pub const ELEVATION_ANSWER_SECS: u64 = 10;

/// After that, how long its last words may take once its input was ended.
pub const ELEVATION_LAST_WORDS_SECS: u64 = 3;

/// With `--sudo-direct` where sudo remembers no password: how long its prompt may take. After this it is not expected any more, and
/// the command gets its input.
pub const DIRECT_SILENCE_SECS: u64 = 5;

/// What a keyed operation's standard input may have: it is kept on the host, whole, before the start.
pub const OPERATION_STDIN_MAX_BYTES: u64 = 16 * 1024 * 1024;

/// What the host keeps of each output of a keyed operation.
pub const OPERATION_OUTPUT_MAX_BYTES: u64 = 256 * 1024 * 1024;

/// How long a host remembers a key after its operation was over.
pub const RECEIPT_KEEP_DAYS: u64 = 90;

/// What two clocks may differ by, each off by a day, before a host may already have forgotten what we take it to remember.
pub const RECEIPT_CLOCK_MARGIN_DAYS: u64 = 2;

/// How long our own record of an operation that is over is kept: longer than the host's, which it has to outlive.
pub const JOURNAL_KEEP_DAYS: u64 = 120;

/// How long another process may hold the journal before this one gives up. It is never held over the network.
pub const JOURNAL_BUSY_MS: u64 = 5000;

/// How often it is looked whether the journal is free: about as long as a commit takes, so that nobody is passed over for long.
pub const JOURNAL_LOOK_MS: u64 = 5;

/// The most of a command's text that is recorded; its fingerprint covers all of it.
pub const JOURNAL_COMMAND_MAX_BYTES: usize = 16 * 1024;
