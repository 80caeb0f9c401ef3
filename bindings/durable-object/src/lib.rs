//! A lease host that is a Durable Object, as a library: the host machine in the object's storage.
//! Converts and stores; decides nothing.
//!
//! Every step is synchronous, so all it reads and writes is one transaction of the caller's. A
//! step that throws leaves the object behind the storage: drop it and make a new one.
#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

mod object;
mod sql;
mod step;
mod store;

pub use object::Object;
pub use sql::SqlStorage;
pub use step::Step;
