//! The layout of keys over objects, as objects and Workers tell of it.

use alloc::string::String;
use alloc::vec::Vec;

use leasehold::json::Writer;
use leasehold::layout::{Layout, Plan};
use leasehold::protocol::wire::merged;
use leasehold::protocol::{Refusal, Response};
use wasm_bindgen::prelude::*;

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

/// The names of the objects that share the keys under a layout; none for an object per key.
#[wasm_bindgen(js_name = shardNames)]
pub fn shard_names(layout: &str) -> Vec<String> {
    let layout: Option<Layout> = layout.parse().ok();
    layout.iter().flat_map(Layout::shards).collect()
}

/// One answer from those of all shards to one list, as JSON, if they are answers.
#[wasm_bindgen(js_name = mergeLists)]
pub fn merge_lists(answers: Vec<String>) -> Option<String> {
    merged(&answers)
}

/// A layout as text.
pub(crate) fn layout_of(text: &str) -> Result<Layout, JsValue> {
    text.parse()
        .map_err(|_| JsError::new("the layout can't be read").into())
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

fn write_refused(json: &mut Writer, refusal: Refusal) {
    json.record("refused", |json| {
        Response::Refused(refusal).write(json);
    });
}
