//! The layout of keys over objects, as the records in which objects and Workers tell of it.

use leasehold::layout::{Layout, Plan, Refused, Told};
use leasehold::protocol::{Refusal, Response};
use leasehold::time::{Instant, Span};
use leasehold_records::js::{Json, present};
use leasehold_records::{number, response};
use wasm_bindgen::prelude::*;

/// The layout of these settings: `{ layout }`, or what every request is to be answered.
#[wasm_bindgen]
pub fn layout(shards: &str, jurisdiction: &str) -> JsValue {
    Json::of(
        |json| match Layout::of_settings(shards.trim(), jurisdiction.trim()) {
            Ok(layout) => json.text("layout", &layout.text()),
            Err(unfit) => json.record("refused", |json| {
                response::write(json, Response::Refused(unfit.into()));
            }),
        },
    )
}

/// The name of the object that decides about a key under a layout.
#[wasm_bindgen(js_name = objectName)]
pub fn object_name(layout: &str, key: &str) -> Option<String> {
    let layout: Layout = layout.parse().ok()?;
    Some(layout.object_of(key))
}

/// The jurisdiction in a layout.
#[wasm_bindgen(js_name = jurisdictionOf)]
pub fn jurisdiction_of(layout: &str) -> Option<String> {
    let layout: Layout = layout.parse().ok()?;
    layout.jurisdiction().map(Into::into)
}

/// A refusal, and beside it the layout to go by instead.
pub(crate) fn write_refused(json: &mut Json, refused: Refused) {
    response::write(json, Response::Refused(refused.refusal));
    if let Some(layout) = refused.layout {
        json.text("layout", &layout.text());
    }
}

/// `{ inForce, next, inMs }`.
pub(crate) fn write_told(json: &mut Json, told: &Told) {
    json.text("inForce", &told.in_force.text());
    if let Some((next, left)) = &told.next {
        json.text("next", &next.text());
        json.number("inMs", left.as_millis_ceil());
    }
}

/// What [`write_told`] wrote.
pub(crate) fn told(record: &JsValue) -> Option<Told> {
    let layout = |name| -> Option<Layout> { present(record, name)?.as_string()?.parse().ok() };
    if !record.is_object() {
        return None;
    }
    let next = match present(record, "next") {
        None => None,
        Some(_) => Some((
            layout("next")?,
            number::span(present(record, "inMs")?.as_f64()?),
        )),
    };
    Some(Told {
        in_force: layout("inForce")?,
        next,
    })
}

/// `{ told }`, `{ close, jurisdiction }` with the names of the objects, or `{ refused }`.
pub(crate) fn plan(plan: Result<Plan, Refusal>) -> JsValue {
    Json::of(|json| match plan {
        Ok(Plan::Done(told)) => json.record("told", |json| write_told(json, &told)),
        Ok(Plan::Close(layout)) => {
            json.array("close", layout.shards(), |json, name| json.quoted(&name));
            json.optional("jurisdiction", layout.jurisdiction());
        }
        Err(refusal) => json.record("refused", |json| {
            response::write(json, Response::Refused(refusal));
        }),
    })
}

/// Milliseconds of a span, rounded up.
pub(crate) fn millis(span: Span) -> f64 {
    span.as_millis_ceil() as f64
}

/// The instant at a driver's time.
pub(crate) fn instant(now_ms: f64) -> Instant {
    Instant::ZERO + number::span(now_ms)
}
