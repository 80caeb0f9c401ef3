//! JSON as text: read strictly and without a tree, written from front to back.
//!
//! A general serialiser costs more in wasm than the machines themselves; the protocol's flat
//! records need no more than this.

mod read;
mod text;
mod write;

pub use read::{MAX_DEPTH, MAX_WHOLE};
pub use read::{array, is_json, text_items};
pub(crate) use read::{fields, text, whole};
pub use text::Json;
pub use write::Writer;
