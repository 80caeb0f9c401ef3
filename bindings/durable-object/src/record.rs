//! The plain records that a step is told in.

use leasehold::host::ReplyTo;
use leasehold::layout::Refused;
use leasehold::protocol::Response;
use leasehold::time::Span;
use leasehold_records::js::Json;
use leasehold_records::response;
use wasm_bindgen::JsValue;

use crate::layout;

/// What is to be done after the transaction.
#[derive(Default)]
pub(crate) struct Step {
    pub replies: Vec<(ReplyTo, Response)>,
    /// The alarm is to be set to so much later, or deleted, or left as it is.
    pub alarm: Option<Option<Span>>,
}

impl Step {
    pub fn record(self) -> JsValue {
        Json::of(|json| {
            json.array("replies", self.replies, |json, (ReplyTo(to), reply)| {
                json.object(|json| {
                    json.number("to", to);
                    json.record("response", |json| response::write(json, reply));
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

/// A step that did nothing but refuse a request.
pub(crate) fn refusing(ReplyTo(to): ReplyTo, refused: Refused) -> JsValue {
    Json::of(|json| {
        json.array("replies", [refused], |json, refused| {
            json.object(|json| {
                json.number("to", to);
                json.record("response", |json| layout::write_refused(json, refused));
            });
        });
    })
}

/// A step that waits for the register's word.
pub(crate) fn asking() -> JsValue {
    Json::of(|json| {
        json.array("replies", [], |_, ()| {});
        json.flag("ask", true);
    })
}

pub(crate) fn response(response: Response) -> JsValue {
    Json::of(|json| response::write(json, response))
}
