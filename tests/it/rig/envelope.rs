//! The JSON document, and what the contract says of every one of them.

use std::ops::Index;
use std::sync::OnceLock;

use serde_json::Value;
use ssh_cli::model::request::{OutputMode, SchemaTopic};

/// The fields that are always there, in their order.
const ALWAYS: [&str; 17] = [
    "schema_version",
    "command",
    "ok",
    "exit_code",
    "outcome",
    "started",
    "effect",
    "retryable",
    "remote_exit",
    "remote_signal",
    "error",
    "retry",
    "operation",
    "warnings",
    "target",
    "attempts",
    "timing_ms",
];

/// Those that may follow, in their order; the streams come last.
const SOMETIMES: [&str; 6] = ["streams", "transfer", "check", "ops", "stdout", "stderr"];

const CLASSES: [&str; 5] = ["transient", "permanent", "remote", "unknown", "cancelled"];

const PHASES: [&str; 13] = [
    "usage",
    "config",
    "resolve",
    "connect",
    "handshake",
    "host_key",
    "auth",
    "channel",
    "elevate",
    "run",
    "transfer",
    "journal",
    "local",
];

/// Codes that always mean the same exit, class and `started`.
const FIXED: [(&[&str], i64, &str, &str); 8] = [
    (&["usage", "option_conflict", "stdin_ambiguous", "stdin_too_large", "missing_command"], 64, "permanent", "no"),
    (&["config_invalid", "match_exec_failed", "proxy_command_not_found"], 78, "permanent", "no"),
    (&["key_malformed"], 65, "permanent", "no"),
    (&["key_unreadable", "secret_source_empty", "source_not_found", "source_is_directory"], 66, "permanent", "no"),
    (&["host_not_found"], 68, "permanent", "no"),
    (
        &["dns_temporary", "connection_refused", "unreachable", "connect_timeout", "session_limit"],
        74,
        "transient",
        "no",
    ),
    (&["not_ssh", "no_common_algorithm", "exec_refused", "no_posix_shell"], 69, "permanent", "no"),
    (
        &[
            "host_key_unknown",
            "host_key_changed",
            "host_key_revoked",
            "auth_failed",
            "auth_interactive_required",
            "cert_expired",
            "cert_principal",
            "password_required",
            "passphrase_required",
            "account_expired",
        ],
        77,
        "permanent",
        "no",
    ),
];

/// A document that was checked.
pub struct Envelope(Value);

impl Envelope {
    /// Reads exactly one document on exactly one line, and checks it; `context` is printed when it is wrong.
    pub fn read(bytes: &[u8], exit: i32, context: &str) -> Self {
        let text = std::str::from_utf8(bytes).unwrap_or_else(|_| panic!("not UTF-8: {context}"));
        let line = text.strip_suffix('\n').unwrap_or_else(|| panic!("no line end at its end: {context}"));
        assert!(!line.contains('\n'), "more than one line: {context}");
        let value = serde_json::from_str(line).unwrap_or_else(|why| panic!("not one JSON document ({why}): {context}"));
        Self::check(value, exit, context)
    }

    /// Checks a document against the contract.
    pub fn check(value: Value, exit: i32, context: &str) -> Self {
        let envelope = Self(value);
        envelope.check_schema(context);
        envelope.check_fields(context);
        envelope.check_verdict(i64::from(exit), context);
        envelope.check_error(context);
        envelope.check_transfer(context);
        envelope
    }

    /// What `ssh-cli schema envelope` promises.
    fn check_schema(&self, context: &str) {
        static SCHEMA: OnceLock<jsonschema::Validator> = OnceLock::new();
        let schema = SCHEMA.get_or_init(|| {
            let text = ssh_cli::report::schema(SchemaTopic::Envelope, OutputMode::Json);
            jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
        });
        if let Err(why) = schema.validate(&self.0) {
            panic!("not by the schema: {why} at {}: {context}", why.instance_path());
        }
    }

    fn check_fields(&self, context: &str) {
        let names: Vec<&str> = self.0.as_object().unwrap().keys().map(String::as_str).collect();
        assert!(names.starts_with(&ALWAYS), "fields that must be there, in order: {context}");
        let mut order = SOMETIMES.iter();
        for name in &names[ALWAYS.len()..] {
            assert!(order.any(|known| known == name), "{name} is unknown or out of order: {context}");
        }
        assert!(names.ends_with(&["stdout", "stderr"]), "the streams come last: {context}");
        assert_eq!(self["schema_version"], 1, "{context}");
        let bools = self["ok"].is_boolean() && self["retryable"].is_boolean();
        // A command line that could not be read has no target yet.
        let target = self["target"].is_object() || (self["target"].is_null() && self["attempts"] == 0);
        let shapes = self["warnings"].is_array() && target && self["attempts"].is_u64();
        assert!(bools && shapes && self["timing_ms"]["total"].is_number(), "types: {context}");
        for warning in self["warnings"].as_array().unwrap() {
            assert!(warning["code"].is_string() && warning["message"].is_string(), "a warning's shape: {context}");
        }
    }

    fn check_verdict(&self, exit: i64, context: &str) {
        assert_eq!(self["exit_code"], exit, "exit_code is the exit status: {context}");
        let ok = exit == 0;
        assert_eq!(self["ok"], ok, "ok is exit 0: {context}");
        assert_eq!(self["retryable"], exit == 74, "retryable is exit 74: {context}");
        assert_eq!(self["error"].is_null(), ok || exit == 75, "an error unless ok or still running: {context}");
        assert!(self["retry"].is_null() || exit == 74 || exit == 75, "retry advice only for 74 and 75: {context}");
        assert!(exit != 74 || self["retry"].is_object(), "74 comes with advice: {context}");
        let status = &self["remote_exit"];
        assert!(status.is_null() || self["remote_signal"].is_null(), "a status or a signal: {context}");
        if ok && self["command"] == "exec" {
            assert!(*status == 0 || !self.warnings().is_empty(), "success needs the remote's word: {context}");
        }
        // Of a broken stdout: the command may well have succeeded, and we have not.
        assert!((self["outcome"] == "succeeded") == ok || exit == 141, "succeeded is ok: {context}");
        if ["check", "ops list", "ops show", "ops gc"].iter().any(|command| self["command"] == *command) {
            assert_eq!(self["started"], "no", "it starts nothing: {context}");
        } else if ["ops cancel", "ops resolve"].iter().any(|command| self["command"] == *command) && ok {
            // What was asked for may have been so already.
            assert_ne!(self["started"], "unknown", "it is known to be done: {context}");
        } else if self["command"] == "scp" && ok && self["started"] == "no" {
            // Everything was there already.
            assert_eq!(self["transfer"]["files"], 0, "files arrived: {context}");
        } else {
            assert_eq!(self["outcome"] == "not_started", self["started"] == "no", "not_started is no: {context}");
        }
        match self["started"].as_str().unwrap() {
            "no" => {
                assert!(status.is_null() && self["remote_signal"].is_null(), "a status without a start: {context}");
                assert!(self.said_nothing(), "output without a start: {context}");
            }
            "yes" => {}
            "unknown" => {
                // Of these the output is the server's, or sudo's where it starts the command itself: it was told to run the command,
                // and says that it does not.
                let servers = ["sftp_only", "password_expired", "sudo_password_required", "sudo_not_permitted"]
                    .contains(&self.error_code());
                assert!(servers || self.said_nothing(), "output means that it started: {context}");
            }
            other => panic!("started is {other}: {context}"),
        }
    }

    fn said_nothing(&self) -> bool {
        ["stdout", "stderr"].iter().all(|stream| self[*stream].is_null() || self[*stream] == "")
    }

    fn check_error(&self, context: &str) {
        let error = &self["error"];
        if error.is_null() {
            return;
        }
        let text = |field: &str| {
            error[field].as_str().unwrap_or_else(|| panic!("error.{field} is no text: {context}")).to_owned()
        };
        assert!(CLASSES.contains(&&*text("class")) && PHASES.contains(&&*text("phase")), "class and phase: {context}");
        assert!(!text("message").is_empty(), "a message: {context}");
        let hint = error["hint"].as_str().unwrap_or_default();
        for said in [&text("message"), hint] {
            assert!(!said.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "control characters: {context}");
        }
        if ["remote_exit", "remote_signal"].contains(&&*text("code")) {
            // Its exit is the remote's own under `--remote-exit`.
            let given = (&error["class"], &error["phase"], &self["outcome"], &self["started"]);
            assert!(given.0 == "remote" && given.1 == "run" && given.2 == "failed" && given.3 == "yes", "{context}");
        }
        for (codes, exit, class, started) in FIXED {
            if codes.contains(&&*text("code")) {
                let given = (&self["exit_code"], &error["class"], &self["started"]);
                assert!(*given.0 == exit && given.1 == class && given.2 == started, "{given:?}: {context}");
            }
        }
    }

    /// What is said of a copy agrees with itself.
    fn check_transfer(&self, context: &str) {
        let transfer = &self["transfer"];
        if self["command"] != "scp" {
            assert!(transfer.is_null(), "only a copy transfers: {context}");
            return;
        }
        for field in ["stdout", "stderr", "streams", "remote_exit", "remote_signal"] {
            assert!(self[field].is_null(), "a copy has no {field}: {context}");
        }
        if transfer.is_null() {
            assert!(self["exit_code"] != 0 && self.error_code() != "partial_transfer", "no report: {context}");
            return;
        }
        let names: Vec<&str> = transfer.as_object().unwrap().keys().map(String::as_str).collect();
        let fields = ["direction", "protocol", "root", "files", "bytes", "skipped", "entries", "omitted_entries"];
        assert_eq!(names, fields, "{context}");
        let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("no number: {context}"));
        let entries = transfer["entries"].as_array().unwrap();
        let plain =
            |entry: &Value| ["copied", "resumed", "created", "linked"].contains(&entry["action"].as_str().unwrap());
        assert!(entries.is_sorted_by_key(plain), "those that were not plainly copied come first: {context}");
        let missing = |entry: &&Value| !plain(entry) && entry["action"] != "left" && entry["reason"] != "exists";
        let listed = entries.iter().filter(missing).count() as u64;
        let skipped = number(&transfer["skipped"]);
        let omitted = number(&transfer["omitted_entries"]);
        assert!(listed <= skipped && skipped <= listed + omitted, "{listed} of {skipped} are listed: {context}");
        for entry in entries {
            assert_eq!(entry["reason"].is_string(), !plain(entry), "a reason where it is not plain: {context}");
            let path = entry["path"].as_str().unwrap();
            let stays_below = !path.starts_with('/') && path.split('/').all(|part| part != "..");
            assert!(stays_below || entry["action"] == "left" || entry["action"] == "refused", "{path}: {context}");
        }
        if self["ok"] == true {
            assert!(skipped == 0 && transfer["protocol"].is_string(), "a whole copy: {context}");
        }
        if self.error_code() == "partial_transfer" {
            let given = (&self["exit_code"], &self["outcome"], &self["retryable"]);
            assert!(skipped > 0 && *given.0 == 1 && given.1 == "failed", "{given:?}: {context}");
        }
        if number(&transfer["files"]) > 0 && transfer["direction"] == "upload" {
            assert_eq!(self["started"], "yes", "files arrived: {context}");
        }
    }

    pub fn exit(&self) -> i64 {
        self["exit_code"].as_i64().unwrap()
    }

    /// The error's code, or nothing.
    pub fn error_code(&self) -> &str {
        self["error"]["code"].as_str().unwrap_or_default()
    }

    /// What is said to people: the message and the hint.
    pub fn advice(&self) -> String {
        let error = &self["error"];
        format!("{}\n{}", error["message"].as_str().unwrap_or_default(), error["hint"].as_str().unwrap_or_default())
    }

    pub fn stdout(&self) -> &str {
        self["stdout"].as_str().unwrap_or_default()
    }

    pub fn stderr(&self) -> &str {
        self["stderr"].as_str().unwrap_or_default()
    }

    /// The codes of the warnings.
    pub fn warnings(&self) -> Vec<&str> {
        self["warnings"].as_array().unwrap().iter().filter_map(|warning| warning["code"].as_str()).collect()
    }

    /// Whether it was the server that said so, and not we: the rest of the envelope as text.
    pub fn text(&self) -> String {
        self.0.to_string()
    }
}

impl Index<&str> for Envelope {
    type Output = Value;

    fn index(&self, field: &str) -> &Value {
        &self.0[field]
    }
}
