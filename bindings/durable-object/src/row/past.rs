//! What a key remembers, in one column: a line for each op.

use leasehold::host::{Past, PastOutcome};
use leasehold::protocol::Ended;
use leasehold::time::Instant;

/// Op, when, what has become of it; of a grant also its id and fence, how it ended, by which op.
pub(super) fn text(past: &[Past]) -> String {
    let mut lines = String::new();
    for past in past {
        let op = past.op.to_hex();
        let at = past.at.as_micros();
        let line = match past.outcome {
            PastOutcome::Cancelled => [op, at.to_string(), "c".into()].join(" "),
            PastOutcome::Revoked(count) => {
                [op, at.to_string(), "v".into(), count.to_string()].join(" ")
            }
            PastOutcome::Grant {
                lease,
                fence,
                ended,
                by,
            } => [
                op,
                at.to_string(),
                "g".into(),
                lease.to_hex(),
                fence.to_string(),
                ended.name().into(),
                by.map(|op| op.to_hex()).unwrap_or_default(),
            ]
            .join(" "),
        };
        lines.push_str(&line);
        lines.push('\n');
    }
    lines
}

pub(super) fn records(lines: &str) -> Option<Vec<Past>> {
    lines.lines().map(record).collect()
}

fn record(line: &str) -> Option<Past> {
    let mut fields = line.split(' ');
    let mut field = || fields.next();
    Some(Past {
        op: field()?.parse().ok()?,
        at: Instant::from_micros(field()?.parse().ok()?),
        outcome: match field()? {
            "c" => PastOutcome::Cancelled,
            "v" => PastOutcome::Revoked(field()?.parse().ok()?),
            "g" => PastOutcome::Grant {
                lease: field()?.parse().ok()?,
                fence: field()?.parse().ok()?,
                ended: Ended::from_name(field()?)?,
                by: match field()? {
                    "" => None,
                    op => Some(op.parse().ok()?),
                },
            },
            _ => return None,
        },
    })
}
