//! `check` for people: a line for each phase, then what may explain the one that failed.

use std::fmt::Write as _;

use serde_json::Value;

use crate::errors::clean;
use crate::model::check::{AuthReport, Check, HostKeyReport, Offline, Reached};
use crate::model::outcome::Phase;

/// The report. The error, where there is one, is told after it and elsewhere.
pub(super) fn text(check: &Check) -> String {
    match check {
        Check::Offline(Offline { resolved }) => fields(resolved),
        Check::Reached(reached) => phases(reached) + &server(reached) + &host_keys(&reached.host_keys) + &auth(reached),
    }
}

fn phases(reached: &Reached) -> String {
    reached.phases.iter().fold(String::new(), |mut out, report| {
        let name = match report.phase {
            Phase::Resolve => "resolve",
            Phase::Connect => "connect",
            Phase::Handshake => "handshake",
            Phase::HostKey => "host key",
            Phase::Auth => "auth",
            _ => "other",
        };
        let (verdict, ms) = (if report.ok { "ok" } else { "FAILED" }, report.ms.0.as_secs_f64() * 1000.0);
        let _ = writeln!(out, "{name:<9}  {verdict:<6}  {ms:>8.1} ms  {}", clean(&report.detail));
        out
    })
}

/// What the server can do matters to people where no algorithm was in common.
fn server(reached: &Reached) -> String {
    let mut out = String::new();
    if let Some(banner) = &reached.banner {
        let _ = writeln!(out, "\nThe server says: {}", clean(banner));
    }
    let shook = reached.phases.iter().any(|report| report.phase == Phase::Handshake && report.ok);
    if let (Some(offers), false) = (&reached.offers, shook) {
        out += "\nThe server offers:\n";
        for (name, list) in [
            ("key exchange", &offers.kex),
            ("host keys", &offers.host_keys),
            ("ciphers", &offers.ciphers),
            ("MACs", &offers.macs),
            ("compression", &offers.compression),
        ] {
            let _ = writeln!(out, "  {name:<12}  {}", clean(&list.join(", ")));
        }
    }
    out
}

fn host_keys(keys: &[HostKeyReport]) -> String {
    if keys.is_empty() {
        return String::new();
    }
    keys.iter().fold("\nHost keys of the server:\n".to_owned(), |mut out, key| {
        let _ = writeln!(out, "  {:<11}  {:<19}  {}", key.status, clean(&key.key_type), clean(&key.pin));
        out
    })
}

fn auth(reached: &Reached) -> String {
    let AuthReport { accepted_methods, tried, identities, .. } = &reached.auth;
    let mut out = String::new();
    if !identities.is_empty() {
        out += "\nKeys on this side:\n";
    }
    for key in identities {
        let state = key.why.as_ref().map_or_else(|| "usable".to_owned(), |why| format!("not usable: {}", clean(why)));
        let print = key.fingerprint.as_deref().unwrap_or("-");
        let _ = writeln!(out, "  {:<6}  {}  {print}  {state}", key.source, clean(&key.name));
    }
    let in_vain = reached.auth.used.is_none() && reached.phases.iter().any(|report| report.phase == Phase::Auth);
    if let (Some(methods), true) = (accepted_methods, in_vain) {
        let tried = if tried.is_empty() { "nothing".to_owned() } else { tried.join(", ") };
        let _ = writeln!(out, "\nThe server accepts: {}\nTried: {}", clean(&methods.join(", ")), clean(&tried));
    }
    out
}

/// A line for each field, as `ssh -G` prints them.
fn fields(resolved: &Value) -> String {
    fn shown(value: &Value) -> String {
        match value {
            Value::Null => "-".to_owned(),
            Value::String(text) => clean(text),
            Value::Array(items) if items.is_empty() => "-".to_owned(),
            Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
            other => clean(&other.to_string()),
        }
    }
    let fields = resolved.as_object().into_iter().flatten();
    fields.fold(String::new(), |mut out, (name, value)| {
        let _ = writeln!(out, "{name}: {}", shown(value));
        out
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::check::{IdentityReport, Offers, PhaseReport};
    use crate::model::timing::Millis;

    fn report(phase: Phase, ok: bool, detail: &str) -> PhaseReport {
        PhaseReport { phase, ok, ms: Millis(Duration::from_micros(1250)), detail: detail.to_owned() }
    }

    fn key() -> HostKeyReport {
        HostKeyReport {
            key_type: "ssh-ed25519".into(),
            fingerprint: "SHA256:x".into(),
            status: "unknown",
            pin: "--host-key SHA256:x".into(),
            known_hosts_line: "h ssh-ed25519 AAAA".into(),
        }
    }

    #[test]
    fn a_person_reads_one_line_for_each_phase_and_what_explains_the_last() {
        let reached = Reached {
            phases: vec![report(Phase::Handshake, true, "SSH-2.0-x\x1b"), report(Phase::Auth, false, "no")],
            banner: Some("keep out".into()),
            host_keys: vec![key()],
            auth: AuthReport {
                accepted_methods: Some(vec!["password".into()]),
                identities: vec![IdentityReport {
                    name: "/k".into(),
                    fingerprint: None,
                    source: "file",
                    usable: false,
                    why: Some("it is encrypted".into()),
                }],
                ..AuthReport::default()
            },
            ..Reached::default()
        };
        let expected = "\
handshake  ok           1.2 ms  SSH-2.0-x\\u{1b}
auth       FAILED       1.2 ms  no

The server says: keep out

Host keys of the server:
  unknown      ssh-ed25519          --host-key SHA256:x

Keys on this side:
  file    /k  -  not usable: it is encrypted

The server accepts: password
Tried: nothing
";
        assert_eq!(text(&Check::Reached(Box::new(reached))), expected);
    }

    #[test]
    fn the_offers_are_shown_where_nothing_was_in_common() {
        let list = || vec!["a".to_owned(), "b".to_owned()];
        let offers = Offers { kex: list(), host_keys: list(), ciphers: list(), macs: list(), compression: list() };
        let failed = vec![report(Phase::Handshake, false, "no cipher in common")];
        let reached = Reached { phases: failed, offers: Some(offers), ..Reached::default() };
        assert!(text(&Check::Reached(Box::new(reached))).contains("  ciphers       a, b\n"));
    }

    #[test]
    fn the_resolved_target_is_a_list_of_fields() {
        let resolved = serde_json::json!({"host": "h", "port": 22, "agent": null, "identities": ["a", "b\x1b"]});
        let expected = "host: h\nport: 22\nagent: -\nidentities: a, b\\u{1b}\n";
        assert_eq!(text(&Check::Offline(Offline { resolved })), expected);
    }
}
