//! How far a connection came, phase by phase.

use std::time::Duration;

use crate::connection::Progress;
use crate::errors::{Fault, clean};
use crate::model::check::PhaseReport;
use crate::model::outcome::Phase;
use crate::model::timing::Millis;
use crate::target::Target;

/// The phases up to and including the one that failed. `took`: the whole attempt. What a bastion or a `ProxyCommand` does for us
/// is in the connecting: the name is then resolved by somebody else.
pub(super) fn phases(target: &Target, progress: &Progress, took: Duration, fault: Option<&Fault>) -> Vec<PhaseReport> {
    let mut reports: Vec<PhaseReport> = Vec::new();
    let mut spent = Duration::ZERO;
    let is_direct = target.jump.is_empty() && target.proxy_command.is_none();
    for (phase, passed, detail) in passed(target, progress, took, fault) {
        if phase == Phase::Resolve && !is_direct {
            continue;
        }
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
fn passed(
    target: &Target,
    progress: &Progress,
    took: Duration,
    fault: Option<&Fault>,
) -> [(Phase, Option<Duration>, String); 5] {
    let (timing, link) = (&progress.timing, &progress.link);
    let span = |millis: Option<Millis>| millis.map(|Millis(span)| span);
    let resolve = span(timing.resolve);
    // A command is started, and whether it connected shows in the handshake.
    let commanded = target.proxy_command.is_some() && progress.address.is_some();
    let connect = span(timing.connect).or_else(|| commanded.then_some(Duration::ZERO));
    let connect = connect.map(|span| span + progress.bastions);
    let judging = link.judged_in().unwrap_or_default();
    let refused = match fault {
        Some(Fault::AtHop { .. }) | None => false,
        Some(fault) => fault.row().phase == Phase::HostKey,
    };
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
        (Phase::Connect, connect, route(target, progress)),
        (
            Phase::Handshake,
            handshake,
            format!("{}{}", link.server_id().unwrap_or_default(), agreed.unwrap_or_default()),
        ),
        (Phase::HostKey, host_key, seen.unwrap_or_default()),
        (Phase::Auth, span(timing.auth), progress.auth.as_deref().map(clean).unwrap_or_default()),
    ]
}

fn route(target: &Target, progress: &Progress) -> String {
    let address = progress.address.clone().unwrap_or_default();
    if !target.jump.is_empty() {
        let hops: Vec<String> =
            target.jump.iter().map(|hop| format!("{}@{}:{}", hop.user, hop.host, hop.port)).collect();
        return format!("{address} through {}", hops.join(", "));
    }
    if target.proxy_command.is_some() { format!("{address} through its ProxyCommand") } else { address }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::model::request::{ConfigFile, ConnectionOptions};

    const MS: Duration = Duration::from_millis(1);

    fn target() -> Target {
        let options = ConnectionOptions {
            config: ConfigFile::None,
            options: vec!["PubkeyAuthentication=no".to_owned()],
            user: Some("u".to_owned()),
            port: None,
            identities: Vec::new(),
            jump: Vec::new(),
            password: None,
            passphrase: None,
            otp: None,
            host_key_policy: None,
            host_key_pins: Vec::new(),
            connect_timeout: None,
            deadline: None,
            keepalive: None,
        };
        crate::target::resolve("h", &options).unwrap().0
    }

    fn shown_of(target: &Target, progress: &Progress, took: u32, fault: Option<&Fault>) -> String {
        let reports = phases(target, progress, took * MS, fault);
        let shown = |report: &PhaseReport| format!("{:?} {} {}", report.phase, report.ok, report.ms.0.as_millis());
        reports.iter().map(shown).collect::<Vec<_>>().join("; ")
    }

    fn shown(progress: &Progress, took: u32, fault: Option<&Fault>) -> String {
        shown_of(&target(), progress, took, fault)
    }

    #[test]
    fn what_goes_through_others_resolves_nothing_here() {
        let hop = Target { host: "gate".to_owned(), ..target() };
        let behind = Target { jump: vec![hop], ..target() };
        let inner = Fault::HostKeyRevoked {
            host: "gate".into(),
            key_type: "t".into(),
            fingerprint: "f".into(),
            place: "p".into(),
        };
        let at_hop = Fault::AtHop { hop: "u@gate:22".to_owned(), fault: Box::new(inner) };
        let mut progress = Progress::default();
        assert_eq!(shown_of(&behind, &progress, 9, Some(&at_hop)), "Connect false 9");
        progress.bastions = 3 * MS;
        progress.timing.connect = Some(Millis(MS));
        progress.address = Some("h:22".to_owned());
        let lost = Fault::ConnectionLost { phase: Phase::Handshake, problem: "x".to_owned() };
        assert_eq!(shown_of(&behind, &progress, 9, Some(&lost)), "Connect true 4; Handshake false 5");
        assert_eq!(route(&behind, &progress), "h:22 through u@gate:22");
        let commanded = Target { proxy_command: Some("nc".to_owned()), ..target() };
        let progress = Progress { address: progress.address, ..Progress::default() };
        assert_eq!(shown_of(&commanded, &progress, 9, Some(&lost)), "Connect true 0; Handshake false 9");
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
