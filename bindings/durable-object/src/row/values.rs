//! The values of a row to be written.

use js_sys::{Array, Uint8Array};
use leasehold::fence::Fence;
use leasehold::time::Instant;
use wasm_bindgen::JsValue;

/// Values in the order of the columns.
#[derive(Default)]
pub(crate) struct Values(Array);

impl Values {
    pub fn text(self, text: &str) -> Self {
        self.push(&text.into())
    }

    pub fn optional(self, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(text),
            None => self.absent(1),
        }
    }

    pub fn fence(self, fence: Fence) -> Self {
        self.text(&fence.to_string())
    }

    pub fn number(self, number: u64) -> Self {
        self.push(&(number as f64).into())
    }

    pub fn instant(self, instant: Instant) -> Self {
        self.number(instant.as_micros())
    }

    pub fn bytes(self, bytes: &[u8]) -> Self {
        self.push(&Uint8Array::from(bytes))
    }

    /// Nothing in so many columns.
    pub fn absent(self, columns: usize) -> Self {
        (0..columns).fold(self, |values, _| values.push(&JsValue::NULL))
    }

    pub fn len(&self) -> usize {
        self.0.length() as usize
    }

    pub fn into_array(self) -> Array {
        self.0
    }

    fn push(self, value: &JsValue) -> Self {
        self.0.push(value);
        self
    }
}
