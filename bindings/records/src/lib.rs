//! The protocol's records as JavaScript values, for every binding. Converts; decides nothing.
#![no_std]

extern crate alloc;

pub mod js;
pub mod number;
pub mod request;
pub mod response;
#[cfg(all(target_arch = "wasm32", feature = "runtime"))]
mod runtime;
