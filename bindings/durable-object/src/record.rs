//! The plain records that a step is told in.

use leasehold::host::ReplyTo;
use leasehold::protocol::wire::WireResponse;
use leasehold::protocol::{Invalid, Response};
use leasehold::time::Instant;
use serde::Serialize;
use wasm_bindgen::JsValue;

#[derive(Default, Serialize)]
pub(crate) struct Step {
    pub replies: Vec<Reply>,
    /// Absent: leave the alarm as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alarm: Option<Alarm>,
}

#[derive(Serialize)]
pub(crate) struct Reply {
    to: f64,
    response: WireResponse,
}

/// When to come back.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Alarm {
    /// Absent: not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_ms: Option<f64>,
}

impl Step {
    pub fn refusing(to: ReplyTo, invalid: Invalid) -> Self {
        Self {
            replies: vec![Reply::new(to, refused(invalid))],
            alarm: None,
        }
    }
}

impl Reply {
    pub fn new(to: ReplyTo, response: Response) -> Self {
        Self {
            to: to.0 as f64,
            response: response.into(),
        }
    }
}

impl Alarm {
    pub fn after(now: Instant, at: Option<Instant>) -> Self {
        Self {
            in_ms: at.map(|at| at.since(now).as_millis_ceil() as f64),
        }
    }
}

pub(crate) fn refused(invalid: Invalid) -> Response {
    Response::Refused(invalid.into())
}

pub(crate) fn response(response: Response) -> JsValue {
    plain(&WireResponse::from(response))
}

pub(crate) fn plain(record: &impl Serialize) -> JsValue {
    serde_wasm_bindgen::to_value(record).unwrap_or(JsValue::UNDEFINED)
}
