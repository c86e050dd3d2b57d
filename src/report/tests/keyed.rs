//! The envelope of a keyed operation.

use super::*;
use crate::model::moment::Moment;
use crate::model::operation::{
    Comparison, DedupOrigin, Evidence, Fingerprint, Generation, OperationFacts, OperationState, Origin, Recorded, Seen,
    SequenceNumber, TargetAccount, Via,
};

fn operation(state: OperationState) -> OperationFacts {
    OperationFacts {
        key: "install-1".parse().unwrap(),
        generation: Generation::FIRST,
        attempt: Some("3f9a01".parse().unwrap()),
        fingerprint: Some(Fingerprint::of_digest([0xab; 32])),
        state,
        replayed: false,
        attached: false,
        completed_at: None,
        origin: None,
        remote_exit_known: None,
        isolation: None,
        evidence: None,
    }
}

fn keyed(operation: OperationFacts) -> Finished {
    Finished { operation: Some(operation), ..succeeded() }
}

fn told(finished: &Finished, error: Option<&SshCliError>) -> Value {
    let said = say(&options(OutputMode::Json), None, &[], finished, error);
    let json = said.json();
    assert_valid(&json);
    assert_eq!(json["exit_code"], said.code);
    json
}

#[test]
fn a_replayed_outcome_tells_where_it_comes_from() {
    let completed = OperationFacts {
        replayed: true,
        completed_at: Some(Moment(0)),
        origin: Some(Origin::Executed),
        remote_exit_known: Some(true),
        ..operation(OperationState::Completed)
    };
    let json = told(&keyed(completed.clone()), None);
    let shown = &json["operation"];
    let always = [
        "key",
        "generation",
        "attempt",
        "fingerprint",
        "state",
        "replayed",
        "attached",
        "completed_at",
        "origin",
        "remote_exit_known",
    ];
    assert_eq!(keys(shown), always);
    assert_eq!((&shown["state"], &shown["origin"]), (&"completed".into(), &"executed".into()));
    assert_eq!(shown["completed_at"], "1970-01-01T00:00:00.000Z");
    assert_eq!((&json["exit_code"], &json["retry"]), (&0.into(), &Value::Null));
    let origin = DedupOrigin {
        target: TargetAccount::located("deploy", "web1", 22, Via::Nothing),
        key: "other".parse().unwrap(),
        seq: Some(SequenceNumber(0)),
        generation: Generation::FIRST,
        attempt: None,
    };
    let copied = OperationFacts { origin: Some(Origin::Deduplicated(origin)), ..completed };
    let json = told(&keyed(copied), None);
    let origin = &json["operation"]["origin"]["deduplicated"];
    assert_eq!((&origin["key"], &origin["target"]), (&"other".into(), &"deploy@web1:22".into()));
}

#[test]
fn what_goes_on_is_collected_by_the_same_line() {
    let running =
        Finished { outcome: Outcome::Running, remote_exit: None, ..keyed(operation(OperationState::Running)) };
    let json = told(&running, None);
    assert_eq!((&json["exit_code"], &json["ok"], &json["retryable"]), (&75.into(), &false.into(), &false.into()));
    assert_eq!((&json["error"], &json["retry"]["policy"]), (&Value::Null, &"collect".into()));
    assert_eq!(json["retry"]["key"], "install-1");
}

#[test]
fn a_cut_names_the_key_to_give_again() {
    let error = SshCliError::new(Fault::OpTransportCut, Started::Yes, Effect::Write, true);
    let cut = Finished { outcome: Outcome::Unknown, remote_exit: None, ..keyed(operation(OperationState::Cut)) };
    let json = told(&cut, Some(&error));
    assert_eq!((&json["exit_code"], &json["retry"]["policy"]), (&74.into(), &"retry_with_same_key".into()));
    assert_eq!(json["retry"]["key"], "install-1");
}

#[test]
fn a_person_who_has_to_decide_is_given_the_evidence() {
    let evidence = Evidence {
        recorded: Recorded::Dispatched,
        seen: Seen::NoReceipt,
        root: Comparison::Same,
        host_key: Comparison::Same,
        boot: Comparison::Changed,
        expired: false,
        attempt: None,
        dispatched_at: Some(Moment(0)),
    };
    let error =
        SshCliError::new(Fault::ReceiptLost { evidence: evidence.to_string() }, Started::Unknown, Effect::Write, true);
    let needs = OperationFacts { evidence: Some(evidence), ..operation(OperationState::NeedsReconciliation) };
    let json = told(&Finished { outcome: Outcome::Unknown, remote_exit: None, ..keyed(needs) }, Some(&error));
    assert_eq!((&json["exit_code"], &json["retry"]), (&76.into(), &Value::Null));
    assert_eq!(json["operation"]["state"], "needs_reconciliation");
    assert_eq!(json["operation"]["evidence"]["boot"], "changed");
    assert!(json["error"]["message"].as_str().unwrap().contains("another boot"), "{json}");
}
