//! Tool definitions that an agent framework can load: a property is the long option of the same name, with `_` for `-`.

use serde_json::{Value, json};

/// The list of tools.
pub(super) fn tools() -> Value {
    json!([exec(), sudo_exec(), su_exec(), scp(), check()])
}

/// What runs as another user has every property of `exec`, and some of its own.
fn elevated(name: &str, description: &str, own: &[(&str, Value)]) -> Value {
    let mut tool = exec();
    tool["name"] = json!(name);
    tool["description"] = json!(description);
    for (property, schema) in own {
        tool["input_schema"]["properties"][*property] = schema.clone();
    }
    tool
}

fn sudo_exec() -> Value {
    let description = "Run one command on another machine with another user's rights, through its sudo. Called as ssh_exec, with \
        sudo-exec for exec. Give sudo_password only where sudo asks for one; it is sent once, and only when sudo asks. \
        error.code names the refusal: sudo_password_required, sudo_password_wrong, sudo_not_permitted, sudo_requires_tty (add pty), \
        sudo_not_found, account_expired; nothing ran then.";
    let own = [
        ("as", text("Who runs the command (default root)")),
        (
            "sudo_password",
            text("Where the password for sudo is: env:NAME, file:PATH or cmd:COMMAND; never the password"),
        ),
        ("sudo_direct", switch("Let sudo start the program itself, where it permits one program and no shell")),
        ("pty", switch("Ask for a terminal there; both streams become one")),
    ];
    elevated("ssh_sudo_exec", description, &own)
}

fn su_exec() -> Value {
    let description = "Run one command on another machine with another user's rights, through its su. Called as ssh_exec, with \
        su-exec for exec. The password is that of the user of as; it is sent once, and only when su asks. error.code names the \
        refusal: su_password_required, su_password_wrong, su_not_permitted, su_not_found, account_expired; nothing ran then.";
    let own = [
        ("as", text("Who runs the command (default root)")),
        ("su_password", text("Where that user's password is: env:NAME, file:PATH or cmd:COMMAND; never the password")),
        ("pty", switch("Ask for a terminal there; both streams become one")),
    ];
    elevated("ssh_su_exec", description, &own)
}

fn exec() -> Value {
    json!({
        "name": "ssh_exec",
        "description": "Run one command on another machine over SSH and return one JSON envelope. Call it as: \
            ssh-cli exec --json [--OPTION VALUE ...] DESTINATION -- COMMAND... ; a property below is the long option of the same \
            name with - for _, a true boolean is the option without a value, and a list repeats the option. Read `ok`, `outcome`, \
            `error.code`, `error.hint`, `stdout` and `stderr`. Only exit 74 (`retryable`) may be repeated as it is, at most \
            twice, after `retry.delay_ms`; with exit 76 look at the host first: the command may have done its work.",
        "input_schema": {
            "type": "object",
            "properties": called(json!({
                "destination": text("[user@]host[:port], ssh://[user@]host[:port], or an alias of the ssh_config"),
                "command": {
                    "description": "A string is text for the remote shell; a list of several strings is one argument vector, \
                        quoted so that it arrives as it is",
                    "anyOf": [
                        {"type": "string", "minLength": 1},
                        {"type": "array", "items": {"type": "string"}, "minItems": 2},
                    ],
                },
                "effect": {
                    "description": "What running it a second time would do: nothing (read), nothing more (idempotent), or it \
                        again (write, the default). Decides whether a lost connection may be answered by running it again",
                    "enum": ["read", "idempotent", "write"],
                },
                "timeout": duration("Stop the command after this long"),
                "deadline": duration("Limit of the whole call"),
                "connect_timeout": duration("Limit until the session is open (default 15s)"),
                "retries": {
                    "description": "Try again so often where it is safe (default 0)",
                    "type": "integer", "minimum": 0, "maximum": 10,
                },
                "cwd": text("The directory to run in"),
                "env": list("NAME=VALUE"),
                "secret_env": list("NAME=SRC, where SRC says where the secret is: env:NAME, file:PATH, cmd:COMMAND"),
                "stdin_file": text("A local file for the command's standard input"),
                "script": text("A local script to run there; the words of command are its arguments"),
            }), json!({
                "host_key_policy": {
                    "description": "How an unknown host key is taken (default strict)",
                    "enum": ["strict", "accept-new", "insecure"],
                },
                "max_output": text("The most of each stream in the envelope, as 8k or 12MiB"),
                "stdout_file": text("A local file for the exact bytes of standard output"),
                "base64": switch("Give a binary stream as base64"),
                "login": switch("Run through a login shell, with its PATH"),
                "detail": switch("Every field of the envelope"),
            })),
            "required": ["destination"],
            "anyOf": [{"required": ["command"]}, {"required": ["script"]}],
            "additionalProperties": false,
        },
    })
}

fn scp() -> Value {
    json!({
        "name": "ssh_scp",
        "description": "Copy files to or from another machine over SSH and return one JSON envelope. Call it as: \
            ssh-cli scp --json [--OPTION VALUE ...] -- SOURCE... TARGET ; the properties are options as those of ssh_exec. Read `ok`, \
            `error.code`, `error.hint`, and in `transfer`: `root` (where the copy is), `files`, `bytes`, `skipped`, and `entries` (each \
            that was not copied, with its reason). A file takes its place only when it is whole. Only exit 74 (`retryable`) may be \
            repeated as it is, at most twice, after `retry.delay_ms`.",
        "input_schema": {
            "type": "object",
            "properties": called(json!({
                "paths": {
                    "description": "The sources, then the target. Exactly one side is remote, as [user@]host:path or \
                        scp://[user@]host[:port]/path. A target that ends with / means into it; else it is the final name of a \
                        directory source, merged if it is there. Remote sources may be patterns",
                    "type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 2,
                },
                "recursive": switch("Copy directories"),
                "preserve": switch("Keep times and modes"),
                "verify": switch("Compare SHA-256 of both sides; entries then have it"),
                "resume": switch("Continue a part that an earlier call left, where it is proven to fit"),
                "protocol": {
                    "description": "SFTP, or the legacy protocol where there is none (auto, the default), or one of them",
                    "enum": ["auto", "sftp", "scp"],
                },
                "mode": {
                    "description": "Permission bits of the files that are written, in octal, as 644",
                    "type": "string", "pattern": "^0*[0-7]{1,3}$",
                },
                "parents": switch("Make the directories on the way to the target"),
                "no_clobber": switch("Leave files that are there as they are"),
                "in_place": switch("Write into the target itself, without temporary file and rename"),
                "sudo": switch("Read and write on the host with another user's rights, by its sudo; the refusals are those of ssh_sudo_exec"),
                "as": text("With sudo: whose rights (default root)"),
                "sudo_password": text("With sudo: where its password is: env:NAME, file:PATH or cmd:COMMAND; never the password"),
                "owner": text("With sudo, to the host: who is to own what is copied"),
                "group": text("With sudo, to the host: the group of what is copied"),
                "symlinks": {
                    "description": "Copy what a symbolic link leads to (follow, the default), the link (keep), or leave it out",
                    "enum": ["follow", "keep", "skip"],
                },
                "effect": {
                    "description": "What copying a second time would do (default: idempotent for an upload, read for a download)",
                    "enum": ["read", "idempotent", "write"],
                },
                "timeout": duration("Stop the copy after this long"),
                "deadline": duration("Limit of the whole call"),
                "connect_timeout": duration("Limit of one attempt to connect (default 15s)"),
                "retries": {
                    "description": "Try again so often where it is safe (default 0)",
                    "type": "integer", "minimum": 0, "maximum": 10,
                },
            }), json!({
                "host_key_policy": {
                    "description": "How an unknown host key is taken (default strict)",
                    "enum": ["strict", "accept-new", "insecure"],
                },
                "detail": switch("Every field of the envelope, and the entries that were plainly copied"),
            })),
            "required": ["paths"],
            "additionalProperties": false,
        },
    })
}

fn check() -> Value {
    json!({
        "name": "ssh_check",
        "description": "Connect to another machine over SSH, authenticate, run nothing, and return one JSON envelope. Call it as: \
            ssh-cli check --json [--OPTION VALUE ...] DESTINATION ; the properties are options as those of ssh_exec. The first thing \
            to call when ssh_exec does not connect. Read `error.code`, `error.hint`, and in `check`: `phases` (which one \
            failed), `host_keys` (every one, with the option that pins it: compare the fingerprint with a trusted source first), \
            `auth` (what the server accepts, what was tried, which keys there are).",
        "input_schema": {
            "type": "object",
            "properties": called(json!({
                "destination": text("[user@]host[:port], ssh://[user@]host[:port], or an alias of the ssh_config"),
                "offline": switch("Only resolve the target; call nobody"),
                "deadline": duration("Limit of the whole call"),
                "connect_timeout": duration("Limit of one attempt (default 15s)"),
                "retries": {
                    "description": "Try again so often after a transient failure (default 0)",
                    "type": "integer", "minimum": 0, "maximum": 10,
                },
            }), json!({
                "host_key_policy": {
                    "description": "How an unknown host key is taken (default strict); nothing is written in any case",
                    "enum": ["strict", "accept-new", "insecure"],
                },
                "detail": switch("Every field of the envelope"),
            })),
            "required": ["destination"],
            "additionalProperties": false,
        },
    })
}

/// These properties, and between them those that say who is called, which every tool has.
fn called(before: Value, after: Value) -> Value {
    let whom = json!({
        "user": text("The remote user"),
        "port": {"description": "The port", "type": "integer", "minimum": 1, "maximum": 65535},
        "identity": list("A key file, or a SRC with the key's text"),
        "jump": text("Bastions, as DEST[,DEST...]"),
        "password": text("Where the password is: env:NAME, file:PATH or cmd:COMMAND; never the password"),
        "passphrase": text("The same for an encrypted key"),
        "host_key": list("Accept exactly this host key: SHA256:..."),
    });
    let parts = [before, whom, after].into_iter().filter_map(|part| match part {
        Value::Object(properties) => Some(properties),
        _ => None,
    });
    Value::Object(parts.flatten().collect())
}

fn text(description: &str) -> Value {
    json!({"description": description, "type": "string"})
}

fn switch(description: &str) -> Value {
    json!({"description": description, "type": "boolean"})
}

fn list(description: &str) -> Value {
    json!({"description": description, "type": "array", "items": {"type": "string"}})
}

fn duration(description: &str) -> Value {
    json!({
        "description": format!("{description}; as 90s, 40m, 1h30m or 250ms"),
        "type": "string",
        "pattern": "^(0|([0-9]+(ms|s|m|h|d))+)$",
    })
}
