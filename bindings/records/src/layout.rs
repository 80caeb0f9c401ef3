//! Where to ask about a key, for hosts that are many objects.

use alloc::string::String;

use leasehold::layout::Layout;
use wasm_bindgen::prelude::*;

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
