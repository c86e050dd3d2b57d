//! Operations for people: a table of them all, or what there is to say of one.

use std::fmt::Write as _;

use crate::errors::clean;
use crate::model::operation::{FencedBy, OnHost, OperationListing, Recorded, Settlement};

/// As wide as a command is shown at least, where the terminal is narrow.
const COMMAND_MIN_COLUMNS: usize = 16;
const HEAD: [&str; 6] = ["KEY", "TARGET", "STATE", "EFFECT", "UPDATED", "COMMAND"];

/// The report of this command. `columns`: as wide as a line may be; none where nobody counts.
pub(super) fn text(command: &str, operations: &[OperationListing], columns: Option<usize>) -> String {
    match (command, operations) {
        ("ops gc", []) => "nothing is old enough to be taken away\n".to_owned(),
        ("ops gc", gone) => format!("taken away:\n{}", table(gone, columns)),
        ("ops list", []) => "no operations are recorded here\n".to_owned(),
        ("ops list", all) => table(all, columns),
        (_, all) => all.iter().map(one).collect(),
    }
}

fn table(operations: &[OperationListing], columns: Option<usize>) -> String {
    let rows: Vec<[String; 6]> = std::iter::once(HEAD.map(str::to_owned)).chain(operations.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..5).map(width).collect();
    let before: usize = widths.iter().map(|width| width + 2).sum();
    let room = columns.map(|columns| columns.saturating_sub(before).max(COMMAND_MIN_COLUMNS));
    rows.iter().fold(String::new(), |mut out, row| {
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(out, "{cell:<width$}  ");
        }
        let _ = writeln!(out, "{}", cut(&row[5], room));
        out
    })
}

fn row(listing: &OperationListing) -> [String; 6] {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    [
        clean(listing.key.as_str()),
        clean(listing.target.as_str()),
        state(listing),
        or_dash(listing.effect.map(|effect| effect.as_str().to_owned())),
        or_dash(listing.updated_at.map(|at| at.to_string())),
        or_dash(listing.command.as_deref().map(clean)),
    ]
}

fn cut(text: &str, room: Option<usize>) -> String {
    match room {
        Some(room) if text.chars().count() > room => text.chars().take(room - 1).chain(['…']).collect(),
        _ => text.to_owned(),
    }
}

fn state(listing: &OperationListing) -> String {
    let word = match listing.state {
        Recorded::Absent => "not recorded",
        Recorded::Intent => "intent",
        Recorded::Dispatched => "dispatched",
        Recorded::Started => "started",
        Recorded::Completed => "completed",
        Recorded::NeedsReconciliation => "unresolved",
        Recorded::NotDone => "not done",
        Recorded::Abandoned => "abandoned",
        Recorded::Damaged => "damaged",
    };
    match listing.remote_exit {
        Some(status) if status != 0 => format!("{word} ({status})"),
        _ => word.to_owned(),
    }
}

fn one(listing: &OperationListing) -> String {
    let mut lines = vec![("key", clean(listing.key.as_str())), ("target", clean(listing.target.as_str()))];
    let mut record = state(listing);
    if let (Some(generation), Some(at)) = (listing.generation, listing.updated_at) {
        let _ = write!(record, ", generation {generation}, since {at}");
    }
    lines.push(("record", record));
    lines.extend(listing.host.as_ref().map(|host| ("host", on_host(host))));
    lines.extend(listing.effect.map(|effect| ("effect", effect.as_str().to_owned())));
    lines.extend(listing.command.as_deref().map(|command| ("command", clean(command))));
    lines.iter().fold(String::new(), |mut out, (name, value)| {
        let _ = writeln!(out, "{name:<8} {value}");
        out
    })
}

fn on_host(host: &OnHost) -> String {
    let mut parts = vec![host.state.as_str().to_owned()];
    let mut also = |is: bool, text: &str| parts.extend(is.then(|| text.to_owned()));
    also(host.status_lost, "its status was lost");
    also(host.cancelled, "by `ops cancel`");
    also(host.timed_out, "its --timeout was over");
    also(host.fenced_by == Some(FencedBy::Cancel), "cancelled before it started");
    also(host.fenced_by == Some(FencedBy::Resolve), "closed before it started");
    also(host.fenced_by == Some(FencedBy::BrokenLaunch), "its launch broke off");
    also(host.settled == Some(Settlement::Done), "a person said that it was done");
    also(host.settled == Some(Settlement::NotDone), "a person said that it was not done");
    parts.extend(host.remote_exit.map(|status| format!("status {status}")));
    parts.push(format!("generation {}", host.generation));
    parts.extend(host.attempt.as_ref().map(|attempt| format!("attempt {attempt}")));
    parts.push(format!("on {}", clean(&host.node)));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::Effect;
    use crate::model::moment::Moment;
    use crate::model::operation::{Generation, HostState, OperationId, TargetAccount, Via};

    fn listing(key: &str, state: Recorded) -> OperationListing {
        let target = TargetAccount::located("deploy", "web1", 22, Via::Nothing);
        OperationListing::bare(OperationId { target, key: key.parse().unwrap() }, state)
    }

    fn started() -> OperationListing {
        OperationListing {
            generation: Some(Generation::FIRST),
            effect: Some(Effect::Write),
            command: Some("make\ninstall \x1b[2J".into()),
            updated_at: Some(Moment(0)),
            ..listing("install-1.2", Recorded::Started)
        }
    }

    #[test]
    fn the_table_is_aligned_and_harmless() {
        let failed = OperationListing { remote_exit: Some(3), ..listing("k", Recorded::Completed) };
        let shown = text("ops list", &[started(), failed], None);
        let expected = "\
KEY          TARGET          STATE          EFFECT  UPDATED                   COMMAND
install-1.2  deploy@web1:22  started        write   1970-01-01T00:00:00.000Z  make install \\u{1b}[2J
k            deploy@web1:22  completed (3)  -       -                         -
";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_command_is_cut_to_the_width() {
        let shown = text("ops list", &[started()], Some(80));
        let last = shown.lines().last().unwrap();
        assert!(last.chars().count() <= 80 + COMMAND_MIN_COLUMNS && last.ends_with('…'), "{shown}");
        assert_eq!((cut("abcdef", Some(4)), cut("abcd", Some(4)), cut("abcdef", None)).0, "abc…");
    }

    #[test]
    fn nothing_is_told_as_that() {
        assert_eq!(text("ops list", &[], None), "no operations are recorded here\n");
        assert!(text("ops gc", &[], None).starts_with("nothing"));
        assert!(text("ops gc", &[started()], None).starts_with("taken away:\nKEY"));
    }

    #[test]
    fn one_operation_is_a_list_of_facts() {
        let host = OnHost {
            generation: Generation(2),
            state: HostState::Done,
            attempt: Some("a1".parse().unwrap()),
            remote_exit: Some(143),
            status_lost: false,
            cancelled: true,
            timed_out: false,
            stdout_bytes: Some(1),
            stderr_bytes: Some(0),
            output_expired: false,
            fenced_by: None,
            settled: None,
            acknowledged: false,
            node: "n\x1b.web1".into(),
        };
        let shown = text("ops show", &[OperationListing { host: Some(host), ..started() }], Some(20));
        let expected = "\
key      install-1.2
target   deploy@web1:22
record   started, generation 1, since 1970-01-01T00:00:00.000Z
host     done, by `ops cancel`, status 143, generation 2, attempt a1, on n\\u{1b}.web1
effect   write
command  make install \\u{1b}[2J
";
        assert_eq!(shown, expected);
    }
}
