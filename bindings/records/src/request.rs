//! A request: as it comes in, read field by field so that a refusal can name one; as it goes out.

use alloc::string::String;
use core::str::FromStr;

use leasehold::fence::Fence;
use leasehold::protocol::wire::WireRequest;
use leasehold::protocol::{Field, Invalid, Request, VERSION, parse_ttl, parse_wait};
use wasm_bindgen::JsValue;

use crate::js::{Json, present};
use crate::number::whole;

/// The request in a plain record.
///
/// # Errors
/// [`Invalid`] naming the field that no host would accept.
pub fn read(record: &JsValue) -> Result<Request, Invalid> {
    let v = present(record, "v").and_then(|v| whole(&v)).unwrap_or(0);
    if v != u64::from(VERSION) {
        // The other fields may mean something else there.
        return WireRequest::default().try_into();
    }
    WireRequest {
        v: VERSION,
        operation: present(record, "operation")
            .and_then(|operation| operation.as_string())
            .unwrap_or_default()
            .into(),
        key: text(record, "key", Field::Key)?.unwrap_or_default(),
        op: id(record, "op", Field::Op)?,
        holder: text(record, "holder", Field::Holder)?,
        lease: id(record, "lease", Field::Lease)?,
        fence: fence(record)?,
        to_holder: text(record, "toHolder", Field::Successor)?,
        to_lease: id(record, "toLease", Field::Successor)?,
        ttl_ms: millis(record, "ttlMs", parse_ttl)?,
        wait_ms: millis(record, "waitMs", parse_wait)?,
        reentrant: present(record, "reentrant").is_some_and(|value| value.is_truthy()),
    }
    .try_into()
}

fn text(record: &JsValue, name: &str, field: Field) -> Result<Option<String>, Invalid> {
    present(record, name)
        .map(|value| exact_text(&value, field))
        .transpose()
}

/// Text that is the same in UTF-8: a lone surrogate is not, and would become U+FFFD.
///
/// # Errors
/// [`Invalid`] for anything else, naming the field.
pub fn exact_text(value: &JsValue, field: Field) -> Result<String, Invalid> {
    value
        .as_string()
        .filter(|text| *value == JsValue::from_str(text))
        .ok_or(Invalid::new(
            field,
            "must be a string without lone surrogates",
        ))
}

fn id<T: FromStr>(record: &JsValue, name: &str, field: Field) -> Result<Option<T>, Invalid> {
    present(record, name)
        .map(|value| {
            value
                .as_string()
                .and_then(|text| text.parse().ok())
                .ok_or(Invalid::new(field, "must be 32 hexadecimal digits"))
        })
        .transpose()
}

fn fence(record: &JsValue) -> Result<Option<Fence>, Invalid> {
    present(record, "fence")
        .map(|value| {
            value
                .as_string()
                .and_then(|text| text.parse().ok())
                .ok_or(Invalid::new(
                    Field::Fence,
                    "must be a decimal number below 2^64",
                ))
        })
        .transpose()
}

/// What is no whole number is out of range, whatever the range.
fn millis<T>(
    record: &JsValue,
    name: &str,
    range: impl Fn(u64) -> Result<T, Invalid>,
) -> Result<Option<u64>, Invalid> {
    let Some(value) = present(record, name) else {
        return Ok(None);
    };
    let number = whole(&value);
    range(number.unwrap_or(u64::MAX))?;
    Ok(number)
}

/// Writes a request's fields.
pub fn write(json: &mut Json, request: &Request) {
    let wire = WireRequest::from(request);
    json.number("v", u64::from(wire.v));
    json.text("operation", &wire.operation);
    json.text("key", &wire.key);
    json.optional("op", wire.op.map(|op| op.to_hex()).as_deref());
    json.optional("holder", wire.holder.as_deref());
    json.optional("lease", wire.lease.map(|lease| lease.to_hex()).as_deref());
    json.optional("toHolder", wire.to_holder.as_deref());
    if let Some(fence) = wire.fence {
        json.decimal("fence", fence.value());
    }
    json.optional(
        "toLease",
        wire.to_lease.map(|lease| lease.to_hex()).as_deref(),
    );
    json.optional_number("ttlMs", wire.ttl_ms);
    json.optional_number("waitMs", wire.wait_ms);
    if wire.reentrant {
        json.flag("reentrant", true);
    }
}
