//! The layout of keys over objects, as objects and Workers tell of it.

use leasehold::json::Writer;
use leasehold::layout::{Layout, Plan};
use leasehold::protocol::Refusal;
use wasm_bindgen::prelude::*;

use crate::record::write_refused;

/// The layout of these settings: `{ layout }`, or what every request is to be answered,
/// `{ refused }`.
#[wasm_bindgen]
pub fn layout(shards: &str, jurisdiction: &str) -> String {
    Writer::of(
        |json| match Layout::of_settings(shards.trim(), jurisdiction.trim()) {
            Ok(layout) => json.text("layout", &layout.text()),
            Err(unfit) => write_refused(json, unfit.into()),
        },
    )
}

/// The name of the object that decides about a key under a layout, if that can be read.
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

/// `{ told }`, `{ close, jurisdiction }` with the names of the objects, or `{ refused }`.
pub(crate) fn plan(plan: Result<Plan, Refusal>) -> String {
    Writer::of(|json| match plan {
        Ok(Plan::Done(told)) => json.record("told", |json| told.write(json)),
        Ok(Plan::Close(layout)) => {
            json.array("close", layout.shards(), |json, name| json.quoted(&name));
            json.optional("jurisdiction", layout.jurisdiction());
        }
        Err(refusal) => write_refused(json, refusal),
    })
}
