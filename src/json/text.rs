//! JSON that is carried as it is.

use alloc::sync::Arc;
use core::fmt;

use super::is_json;

/// One JSON value as text, byte for byte as somebody wrote it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Json(Arc<str>);

impl Json {
    /// The value in this text; `None` if it is not one, or lies more than
    /// [`MAX_DEPTH`](super::MAX_DEPTH) deep in itself.
    pub fn parse(text: &str) -> Option<Self> {
        is_json(text).then(|| Self(text.trim_ascii().into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Prints no character: what is in it is the user's.
impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Json(..)")
    }
}
