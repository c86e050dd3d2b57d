//! `error.details`: the facts of a fault as fields, for the faults where a program can act on them.

use serde_json::{Value, json};

use crate::errors::{Fault, clean};

/// The fields, where there are any. What the server chose is cleaned.
pub(super) fn details(fault: &Fault) -> Option<Value> {
    let cleaned = |list: &[String]| list.iter().map(|text| clean(text)).collect::<Vec<_>>();
    let value = match fault {
        Fault::AuthFailed { user, tried, accepted, .. } => {
            json!({"user": clean(user), "tried": cleaned(tried), "accepted": cleaned(accepted)})
        }
        Fault::HostKeyUnknown { host, key_type, fingerprint, known_types } => json!({
            "host": clean(host), "key_type": clean(key_type), "fingerprint": clean(fingerprint), "known_types": clean(known_types),
        }),
        Fault::HostKeyChanged { host, key_type, fingerprint, place }
        | Fault::HostKeyRevoked { host, key_type, fingerprint, place } => json!({
            "host": clean(host), "key_type": clean(key_type), "fingerprint": clean(fingerprint), "place": clean(place),
        }),
        Fault::NoCommonAlgorithm { kind, ours, theirs } => {
            json!({"kind": clean(kind), "ours": clean(ours), "theirs": clean(theirs)})
        }
        Fault::ConnectTimeout { address, after, flag, .. } => {
            json!({"address": clean(address), "after_ms": milliseconds(*after), "option": flag})
        }
        Fault::Timeout { limit, after, confirmed } => {
            json!({"option": limit.flag(), "after_ms": milliseconds(*after), "stopped": confirmed})
        }
        Fault::StdinFailed { confirmed, .. } => json!({"stopped": confirmed}),
        Fault::Interrupted { signal, confirmed } => json!({"signal": signal.name(), "stopped": confirmed}),
        Fault::PartialTransfer { failed, total } => json!({"failed": failed, "total": total}),
        _ => return None,
    };
    Some(value)
}

fn milliseconds(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
