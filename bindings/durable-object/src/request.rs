//! A request as it comes in: any value at all, read field by field so that a refusal can name one.

use std::str::FromStr;

use leasehold::protocol::wire::WireRequest;
use leasehold::protocol::{Field, Invalid, Request, parse_ttl, parse_wait};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// What the caller sent.
    pub type RawRequest;

    #[wasm_bindgen(catch, method, getter, structural)]
    fn v(this: &RawRequest) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, method, getter, structural)]
    fn operation(this: &RawRequest) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, method, getter, structural)]
    fn key(this: &RawRequest) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, method, getter, structural)]
    fn op(this: &RawRequest) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, method, getter, structural)]
    fn holder(this: &RawRequest) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, method, getter, structural)]
    fn lease(this: &RawRequest) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, method, getter, structural, js_name = toHolder)]
    fn to_holder(this: &RawRequest) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, method, getter, structural, js_name = toLease)]
    fn to_lease(this: &RawRequest) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, method, getter, structural, js_name = ttlMs)]
    fn ttl_ms(this: &RawRequest) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, method, getter, structural, js_name = waitMs)]
    fn wait_ms(this: &RawRequest) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, method, getter, structural)]
    fn reentrant(this: &RawRequest) -> Result<JsValue, JsValue>;
}

impl RawRequest {
    pub(crate) fn parse(&self) -> Result<Request, Invalid> {
        let v = whole(&present(self.v())?.unwrap_or_default());
        let v = v.and_then(|v| u32::try_from(v).ok()).unwrap_or_default();
        if v != leasehold::protocol::VERSION {
            // The other fields may mean something else there.
            let wire = WireRequest {
                v,
                ..WireRequest::default()
            };
            return wire.try_into();
        }
        let operation = present(self.operation())?.and_then(|value| value.as_string());
        let wire = WireRequest {
            v,
            operation: operation.unwrap_or_default().into(),
            key: text(self.key(), Field::Key)?.unwrap_or_default(),
            op: id(self.op(), Field::Op)?,
            holder: text(self.holder(), Field::Holder)?,
            lease: id(self.lease(), Field::Lease)?,
            to_holder: text(self.to_holder(), Field::Successor)?,
            to_lease: id(self.to_lease(), Field::Successor)?,
            ttl_ms: millis(self.ttl_ms(), parse_ttl)?,
            wait_ms: millis(self.wait_ms(), parse_wait)?,
            reentrant: flag(self.reentrant())?,
        };
        wire.try_into()
    }
}

type Read = Result<JsValue, JsValue>;

/// A field's value, unless it is absent.
fn present(read: Read) -> Result<Option<JsValue>, Invalid> {
    match read {
        Ok(value) if value.is_undefined() || value.is_null() => Ok(None),
        Ok(value) => Ok(Some(value)),
        Err(_) => Err(Invalid::new(Field::Request, "must be an object")),
    }
}

/// Text that is the same in UTF-8: a lone surrogate is not, and would become U+FFFD.
fn text(read: Read, field: Field) -> Result<Option<String>, Invalid> {
    present(read)?
        .map(|value| {
            value
                .as_string()
                .filter(|text| !text.contains('\u{fffd}') || value == JsValue::from_str(text))
                .ok_or(Invalid::new(
                    field,
                    "must be a string without lone surrogates",
                ))
        })
        .transpose()
}

fn id<T: FromStr>(read: Read, field: Field) -> Result<Option<T>, Invalid> {
    present(read)?
        .map(|value| {
            value
                .as_string()
                .and_then(|text| text.parse().ok())
                .ok_or(Invalid::new(field, "must be 32 hexadecimal digits"))
        })
        .transpose()
}

/// What is no whole number is out of range, whatever the range.
fn millis<T>(
    read: Read,
    range: impl Fn(u64) -> Result<T, Invalid>,
) -> Result<Option<u64>, Invalid> {
    let Some(value) = present(read)? else {
        return Ok(None);
    };
    let number = whole(&value);
    range(number.unwrap_or(u64::MAX))?;
    Ok(number)
}

fn whole(value: &JsValue) -> Option<u64> {
    let number = value.as_f64()?;
    let whole = number as u64;
    (whole as f64 == number).then_some(whole)
}

fn flag(read: Read) -> Result<bool, Invalid> {
    present(read)?.map_or(Ok(false), |value| {
        value
            .as_bool()
            .ok_or(Invalid::new(Field::Request, "reentrant must be a boolean"))
    })
}
