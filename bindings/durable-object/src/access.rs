//! The secret that lists the tokens, read: one plain token, or JSON.

use js_sys::{Array, JSON, Reflect};
use leasehold::access::{Access, Entry, Misconfigured};
use leasehold::protocol::{Refusal, Response};
use wasm_bindgen::prelude::*;

/// Why the bearer of this token may not operate on this key, if that is so. Without a key: why the
/// token is not accepted for any.
#[wasm_bindgen]
pub fn denial(secret: Option<String>, bearer: &str, key: Option<String>) -> Option<String> {
    let refusal = judge(secret.as_deref(), bearer, key.as_deref()).err()?;
    Some(Response::Refused(refusal).to_json())
}

fn judge(secret: Option<&str>, bearer: &str, key: Option<&str>) -> Result<(), Refusal> {
    let access = Access::new(entries(secret.unwrap_or_default().trim())?)?;
    match key {
        Some(key) => access.check(bearer, key),
        None => access.authenticate(bearer),
    }
}

fn entries(secret: &str) -> Result<Vec<Entry>, Misconfigured> {
    if secret.is_empty() {
        return Ok(Vec::new());
    }
    if !secret.starts_with(['[', '{']) {
        return Ok(vec![Entry {
            token: secret.into(),
            prefixes: None,
        }]);
    }
    let list = JSON::parse(secret).ok();
    let list = list.and_then(|list| list.dyn_into::<Array>().ok());
    list.and_then(|list| list.iter().map(entry).collect())
        .ok_or(Misconfigured::Unreadable)
}

fn entry(value: JsValue) -> Option<Entry> {
    let prefixes = field(&value, "prefixes")?;
    Some(Entry {
        token: field(&value, "token")?.as_string()?,
        prefixes: if prefixes.is_undefined() {
            None
        } else {
            let prefixes = prefixes.dyn_into::<Array>().ok()?;
            Some(
                prefixes
                    .iter()
                    .map(|prefix| prefix.as_string())
                    .collect::<Option<_>>()?,
            )
        },
    })
}

/// Not there unless the value is an object.
fn field(value: &JsValue, name: &str) -> Option<JsValue> {
    Reflect::get(value, &name.into()).ok()
}
