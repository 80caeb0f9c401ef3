//! A host's answer: as it comes in, and as it goes out.

use alloc::borrow::Cow;
use alloc::string::String;
use core::str::FromStr;

use leasehold::protocol::Response;
use leasehold::protocol::wire::{Unreadable, WireResponse};
use wasm_bindgen::JsValue;

use crate::js::{self, Json, present};
use crate::number::whole;

/// The response in a plain record.
///
/// # Errors
/// [`Unreadable`] if it is none of this protocol's.
pub fn read(record: &JsValue) -> Result<Response, Unreadable> {
    let wire = WireResponse {
        v: small(record, "v")?.unwrap_or(0),
        outcome: Cow::Owned(text(record, "outcome")?.unwrap_or_default()),
        code: text(record, "code")?.map(Cow::Owned),
        reason: text(record, "reason")?.map(Cow::Owned),
        message: text(record, "message")?.map(Cow::Owned),
        lease: parsed(record, "lease")?,
        fence: parsed(record, "fence")?,
        holder: text(record, "holder")?,
        ttl_ms: number(record, "ttlMs")?,
        waited_ms: number(record, "waitedMs")?,
        retry_after_ms: number(record, "retryAfterMs")?,
        waiters: small(record, "waiters")?,
        replayed: js::field(record, "replayed").is_truthy(),
        revoked: js::field(record, "revoked").is_truthy(),
    };
    Response::try_from(wire)
}

fn read_as<T>(
    record: &JsValue,
    name: &str,
    read: impl FnOnce(&JsValue) -> Option<T>,
) -> Result<Option<T>, Unreadable> {
    present(record, name)
        .map(|value| read(&value).ok_or(Unreadable))
        .transpose()
}

fn text(record: &JsValue, name: &str) -> Result<Option<String>, Unreadable> {
    read_as(record, name, JsValue::as_string)
}

fn number(record: &JsValue, name: &str) -> Result<Option<u64>, Unreadable> {
    read_as(record, name, whole)
}

fn small(record: &JsValue, name: &str) -> Result<Option<u32>, Unreadable> {
    read_as(record, name, |value| u32::try_from(whole(value)?).ok())
}

fn parsed<T: FromStr>(record: &JsValue, name: &str) -> Result<Option<T>, Unreadable> {
    read_as(record, name, |value| value.as_string()?.parse().ok())
}

/// Writes a response's fields.
pub fn write(json: &mut Json, response: Response) {
    let wire = WireResponse::from(response);
    json.number("v", u64::from(wire.v));
    json.text("outcome", &wire.outcome);
    json.optional("code", wire.code.as_deref());
    json.optional("reason", wire.reason.as_deref());
    json.optional("message", wire.message.as_deref());
    json.optional("lease", wire.lease.map(|lease| lease.to_hex()).as_deref());
    if let Some(fence) = wire.fence {
        json.decimal("fence", fence.value());
    }
    json.optional("holder", wire.holder.as_deref());
    json.optional_number("ttlMs", wire.ttl_ms);
    json.optional_number("waitedMs", wire.waited_ms);
    json.optional_number("retryAfterMs", wire.retry_after_ms);
    json.optional_number("waiters", wire.waiters.map(u64::from));
    for (name, set) in [("replayed", wire.replayed), ("revoked", wire.revoked)] {
        if set {
            json.flag(name, true);
        }
    }
}
