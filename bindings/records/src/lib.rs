//! What the bindings have in common: how they hand records to JavaScript, and what replaces `std`.
#![no_std]

extern crate alloc;

#[cfg(feature = "layout")]
pub mod layout;
pub mod number;
#[cfg(all(target_arch = "wasm32", feature = "runtime"))]
mod runtime;

use alloc::string::String;

use leasehold::json::Writer;
use leasehold::protocol::Invalid;

/// What is wrong with an argument, as a record in JSON.
pub fn complaint(invalid: &Invalid) -> String {
    Writer::of(|json| {
        json.text("field", invalid.field.name());
        json.text("message", invalid.expected);
        json.text("reason", invalid.reason);
    })
}
