//! Tool definitions that an agent framework can load: a property is the long option of the same name, with `_` for `-`.

use serde_json::{Value, json};

/// The list of tools.
pub(super) fn tools() -> Value {
    json!([exec(), sudo_exec(), su_exec(), scp(), check(), ops_list(), ops_show(), ops_cancel(), ops_resolve()])
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

fn ops_list() -> Value {
    json!({
        "name": "ssh_ops_list",
        "description": "List the operations that were started with a key (op) from this account, by the record kept here; nobody is \
            called. Call it as: ssh-cli ops list --json ; read `ops`: `key`, `target`, `state`, `effect`, `command`, `remote_exit`.",
        "input_schema": {"type": "object", "properties": {}, "additionalProperties": false},
    })
}

fn ops_show() -> Value {
    let description = "Say how an operation that was started with a key stands, here and on its host; nothing is started or changed. \
        Call it as: ssh-cli ops show --json [--OPTION VALUE ...] DESTINATION KEY ; the options that say who is called have to be those \
        of the call that started it. Read `operation.state`, `ops[0].state` (our record) and `ops[0].host` (the host's word).";
    about("ssh_ops_show", description, json!({}), &[])
}

fn ops_cancel() -> Value {
    let description = "End an operation that was started with a key, or keep it from ever starting. Called as ssh_ops_show, with \
        cancel for show. ok means that it does not run and will not; the warning already_done says that it had ended before.";
    about("ssh_ops_cancel", description, json!({}), &[])
}

fn ops_resolve() -> Value {
    let description = "Say what became of an operation that ended in exit 76: only after a look at the host, for it decides whether the \
        same call runs again. Called as ssh_ops_show, with resolve for show. An outcome that the host knows is told instead \
        (warning resolved_by_itself); what still runs is refused (resolve_refused: cancel it first).";
    let own = json!({
        "verdict": {
            "description": "It did its work (done), or it did not and may be started once more (not-done), or nobody will find out \
                and the key is retired (abandoned)",
            "enum": ["done", "not-done", "abandoned"],
        },
        "status": {"description": "With done: its exit status (default 0)", "type": "integer", "minimum": 0, "maximum": 255},
        "note": text("Why, for whoever reads the record"),
    });
    about("ssh_ops_resolve", description, own, &["verdict"])
}

/// A tool about one operation.
fn about(name: &str, description: &str, own: Value, also_required: &[&str]) -> Value {
    let first = json!({
        "destination": text("As in the call that started it"),
        "key": text("The key that it was started with"),
        "as": text("The user as whom it ran, where that was by sudo-exec or su-exec"),
        "su": switch("That was by su-exec"),
        "sudo_password": text("Where the password for sudo is: env:NAME, file:PATH or cmd:COMMAND; never the password"),
        "su_password": text("The same for su"),
        "deadline": duration("Limit of the whole call"),
    });
    let mut properties = called(first, json!({"detail": switch("Every field of the envelope")}));
    if let (Value::Object(properties), Value::Object(own)) = (&mut properties, own) {
        properties.extend(own);
    }
    let required: Vec<&str> = ["destination", "key"].iter().chain(also_required).copied().collect();
    json!({
        "name": name,
        "description": description,
        "input_schema": {"type": "object", "properties": properties, "required": required, "additionalProperties": false},
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
