//! What has come of a step.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use leasehold::host::ReplyTo;
use leasehold::json::Writer;
use leasehold::protocol::{Refusal, Response};
use leasehold::time::Span;

/// What is to be done after the transaction.
#[derive(Default)]
pub struct Step {
    /// Answers that are due.
    pub replies: Vec<(ReplyTo, Response)>,
    /// The alarm is to be set to so much later, or deleted, or left as it is.
    pub alarm: Option<Option<Span>>,
    /// The object that records the layout is to be asked, and the request given again.
    pub ask: bool,
    /// Nothing is left that anybody could need: all of the storage is to be deleted.
    pub vanished: bool,
}

impl Step {
    /// Nothing is done but to refuse a request.
    pub(crate) fn refusing(to: ReplyTo, refusal: Refusal) -> Self {
        Self {
            replies: vec![(to, Response::Refused(refusal))],
            ..Self::default()
        }
    }

    /// Nothing is done before the register has been asked.
    pub(crate) fn asking() -> Self {
        Self {
            ask: true,
            ..Self::default()
        }
    }

    /// `{ replies: [{ to, response }], ask, vanished, alarm: { inMs } }` as JSON.
    pub fn into_json(self) -> String {
        Writer::of(|json| {
            json.array("replies", self.replies, |json, (ReplyTo(to), reply)| {
                json.object(|json| {
                    json.number("to", to);
                    json.record("response", |json| reply.write(json));
                });
            });
            if self.ask {
                json.flag("ask", true);
            }
            if self.vanished {
                json.flag("vanished", true);
            }
            if let Some(alarm) = self.alarm {
                json.record("alarm", |json| {
                    json.optional_number("inMs", alarm.map(Span::as_millis_ceil));
                });
            }
        })
    }
}
