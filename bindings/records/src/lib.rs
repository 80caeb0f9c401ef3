//! What the bindings have in common: how they hand records to JavaScript, and what replaces `std`.
#![no_std]

extern crate alloc;

pub mod js;
pub mod number;
#[cfg(all(target_arch = "wasm32", feature = "runtime"))]
mod runtime;
