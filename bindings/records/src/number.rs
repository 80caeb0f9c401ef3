//! Numbers from JavaScript, where all are floating-point.

use leasehold::time::Span;
use wasm_bindgen::JsValue;

/// The longest a JavaScript timer can be set for. Waking early does no harm.
pub const MAX_TIMER_MS: u64 = i32::MAX as u64;

/// A whole number that is not negative, or nothing.
pub fn whole(value: &JsValue) -> Option<u64> {
    let number = value.as_f64()?;
    let whole = number as u64;
    (whole as f64 == number).then_some(whole)
}

/// Milliseconds as the core counts them. What is no length of time counts as none.
pub fn span(millis: f64) -> Span {
    Span::from_micros((millis * 1_000.0) as u64)
}
