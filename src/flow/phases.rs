//! How far a connection came, phase by phase.

use std::time::Duration;

use crate::connection::Progress;
use crate::errors::{Fault, clean};
use crate::model::check::PhaseReport;
use crate::model::outcome::Phase;
use crate::model::timing::Millis;

/// The phases up to and including the one that failed. `took`: the whole attempt.
pub(super) fn phases(progress: &Progress, took: Duration, fault: Option<&Fault>) -> Vec<PhaseReport> {
    let mut reports: Vec<PhaseReport> = Vec::new();
    let mut spent = Duration::ZERO;
    for (phase, passed, detail) in passed(progress, took, fault) {
        let Some(span) = passed else {
            let fault = fault.map(|fault| clean(&fault.to_string())).unwrap_or_default();
            reports.push(PhaseReport { phase, ok: false, ms: Millis(took.saturating_sub(spent)), detail: fault });
            break;
        };
        spent += span;
        reports.push(PhaseReport { phase, ok: true, ms: Millis(span), detail });
    }
    reports
}

/// Each phase with the time that it took, where it was passed, and what came of it.
fn passed(progress: &Progress, took: Duration, fault: Option<&Fault>) -> [(Phase, Option<Duration>, String); 5] {
    let (timing, link) = (&progress.timing, &progress.link);
    let span = |millis: Option<Millis>| millis.map(|Millis(span)| span);
    let (resolve, connect) = (span(timing.resolve), span(timing.connect));
    let judging = link.judged_in().unwrap_or_default();
    let refused = fault.is_some_and(|fault| fault.row().phase == Phase::HostKey);
    // The host key is judged in the middle of the handshake, and a refusal ends it there.
    let handshake = match timing.handshake {
        Some(Millis(whole)) => Some(whole.saturating_sub(judging)),
        None if refused => {
            let before = resolve.unwrap_or_default() + connect.unwrap_or_default() + judging;
            Some(took.saturating_sub(before))
        }
        None => None,
    };
    let host_key = timing.handshake.map(|_| judging);
    let addresses: Vec<String> = progress.addresses.iter().map(ToString::to_string).collect();
    let agreed = link.negotiated().map(|names| {
        let mac = if names.mac == "implicit" { String::new() } else { format!(", {}", names.mac) };
        format!(", {}, {}{mac}", names.kex, names.cipher)
    });
    let seen = link.host_key_seen().map(|seen| format!("{} ({})", seen.shown, seen.status));
    [
        (Phase::Resolve, resolve, addresses.join(", ")),
        (Phase::Connect, connect, progress.address.as_ref().map(ToString::to_string).unwrap_or_default()),
        (
            Phase::Handshake,
            handshake,
            format!("{}{}", link.server_id().unwrap_or_default(), agreed.unwrap_or_default()),
        ),
        (Phase::HostKey, host_key, seen.unwrap_or_default()),
        (Phase::Auth, span(timing.auth), progress.auth.as_deref().map(clean).unwrap_or_default()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn shown(progress: &Progress, took: u32, fault: Option<&Fault>) -> String {
        let reports = phases(progress, took * MS, fault);
        let shown = |report: &PhaseReport| format!("{:?} {} {}", report.phase, report.ok, report.ms.0.as_millis());
        reports.iter().map(shown).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn the_phase_that_failed_is_the_last_and_has_the_rest_of_the_time() {
        let mut progress = Progress::default();
        let late = |phase| Fault::ConnectionLost { phase, problem: "x".to_owned() };
        let lost = late(Phase::Resolve);
        assert_eq!(shown(&progress, 9, Some(&lost)), "Resolve false 9");
        progress.timing.resolve = Some(Millis(MS));
        progress.timing.connect = Some(Millis(2 * MS));
        let lost = late(Phase::Handshake);
        assert_eq!(shown(&progress, 9, Some(&lost)), "Resolve true 1; Connect true 2; Handshake false 6");
        let unknown = Fault::HostKeyUnknown {
            host: "h".into(),
            key_type: "t".into(),
            fingerprint: "f".into(),
            known_types: String::new(),
        };
        let expected = "Resolve true 1; Connect true 2; Handshake true 6; HostKey false 0";
        assert_eq!(shown(&progress, 9, Some(&unknown)), expected);
        progress.timing.handshake = Some(Millis(4 * MS));
        let lost = late(Phase::Auth);
        let expected = "Resolve true 1; Connect true 2; Handshake true 4; HostKey true 0; Auth false 2";
        assert_eq!(shown(&progress, 9, Some(&lost)), expected);
        progress.timing.auth = Some(Millis(2 * MS));
        assert!(shown(&progress, 9, None).ends_with("HostKey true 0; Auth true 2"));
    }
}
