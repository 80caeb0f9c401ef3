//! A lease host that is a Durable Object, as a library: the host machine in the object's storage.
//! Converts and stores; decides nothing.
//!
//! Every step is synchronous, so all it reads and writes is one transaction of the caller's. A
//! step that throws leaves the object behind the storage: drop it and make a new one.

mod object;
mod row;
mod step;
mod store;

pub use object::Object;
pub use step::Step;
