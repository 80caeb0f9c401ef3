//! A host's answer, read from the record it travels in.

use alloc::borrow::Cow;
use alloc::string::String;
use core::str::FromStr;

use leasehold::protocol::Response;
use leasehold::protocol::wire::{Unreadable, WireResponse};
use wasm_bindgen::JsValue;

use crate::js;
use crate::number::whole;

pub(crate) fn read(record: &JsValue) -> Result<Response, Unreadable> {
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

fn present(record: &JsValue, name: &str) -> Option<JsValue> {
    let value = js::field(record, name);
    (!value.is_null() && !value.is_undefined()).then_some(value)
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
