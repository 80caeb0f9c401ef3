//! The form in which requests and answers travel: flat records in JSON.
//!
//! Flat, because one record with optional fields costs a fraction of the code that a tagged enum
//! does in wasm. Reading turns a text into the typed form or into an error that names the field.

pub(super) mod record;
mod request;
mod response;
pub(super) mod value;

pub use request::{Repeat, Verb, WireRequest};
pub use response::{Outcome, Unreadable, WireResponse};
pub use value::{FieldSchema, JsonText, Kind, Version};

pub(super) use record::record;
