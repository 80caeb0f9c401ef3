//! The few things the bindings ask of JavaScript.

use leasehold::json::Writer;
use leasehold::protocol::Invalid;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = JSON, js_name = parse)]
    fn json_parse(text: &str) -> JsValue;
}

/// A plain record with these fields.
///
/// One text and one `JSON.parse` cost a fraction of the code and of the crossings that it takes to
/// build objects field by field, and of what a general serialiser takes.
pub fn record(fields: impl FnOnce(&mut Writer)) -> JsValue {
    json_parse(&Writer::of(fields))
}

/// What is wrong with an argument.
pub fn complaint(invalid: Invalid) -> JsValue {
    record(|json| {
        json.text("field", invalid.field.name());
        json.text("message", invalid.expected);
    })
}
