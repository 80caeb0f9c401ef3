//! The form in which requests and answers travel: flat records in JSON.
//!
//! What each field of a record must be stands in one table. One pass over a text holds it to its
//! table; what is made of it afterwards takes the values it needs, each from where it stands. That
//! costs a fraction of the code that a reader of its own for each record does in wasm.

mod asking;
mod merge;
mod record;
mod request;
mod response;
mod schema;
mod state;

pub use merge::merged;
pub use record::Record;
pub use request::{REQUEST, Repeat, Verb};

pub use response::{Outcome, RESPONSE, Unreadable};
pub use schema::{FieldSchema, Kind, optional};
pub use state::{DONE_STATE, HOLDER_STATE, KEY_STATE};
