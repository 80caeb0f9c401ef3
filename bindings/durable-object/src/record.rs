//! The record that a step is told in.

use leasehold::host::ReplyTo;
use leasehold::json::Writer;
use leasehold::protocol::wire::WireResponse;
use leasehold::protocol::{Invalid, Response};
use leasehold::time::Span;

/// What is to be done after the transaction.
#[derive(Default)]
pub(crate) struct Step {
    pub replies: Vec<(ReplyTo, Response)>,
    /// The alarm is to be set to so much later, or deleted, or left as it is.
    pub alarm: Option<Option<Span>>,
}

impl Step {
    pub fn refusing(to: ReplyTo, invalid: Invalid) -> Self {
        Self {
            replies: vec![(to, Response::Refused(invalid.into()))],
            alarm: None,
        }
    }

    pub fn into_json(self) -> String {
        Writer::of(|json| {
            json.array("replies", self.replies, |json, (ReplyTo(to), reply)| {
                json.object(|json| {
                    json.number("to", to);
                    json.record("response", |json| WireResponse::from(reply).write(json));
                });
            });
            if let Some(alarm) = self.alarm {
                json.record("alarm", |json| {
                    json.optional_number("inMs", alarm.map(Span::as_millis_ceil));
                });
            }
        })
    }
}
