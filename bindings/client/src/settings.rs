//! What the caller sets, checked: numbers are whole, text survives the trip to UTF-8.

use alloc::string::String;
use core::str::FromStr;

use leasehold::holder::{Config, Schedule};
use leasehold::name::{HolderName, Key};
use leasehold::protocol::{Credential, Field, Invalid, parse_ttl, parse_wait};
use leasehold::time::Span;
use leasehold_records::number::whole;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = Reflect, js_name = get)]
    fn field(record: &JsValue, field: &str) -> JsValue;
}

pub(crate) fn config(settings: &JsValue) -> Result<Config, Invalid> {
    let mut config = Config::new(
        key(&field(settings, "key"))?,
        HolderName::parse(&text(&field(settings, "holder"), Field::Holder)?)?,
        ttl(&field(settings, "ttlMs"))?,
    );
    config.wait = parse_wait(whole(&field(settings, "waitMs")).unwrap_or(u64::MAX))?;
    config.time_limit = whole(&field(settings, "timeoutMs"))
        .map(Span::from_millis)
        .or(Config::usual_time_limit(config.wait));
    config.renewal = schedule(settings)?;
    Ok(config)
}

fn schedule(settings: &JsValue) -> Result<Option<Schedule>, Invalid> {
    let mut schedule = Schedule::DEFAULT;
    if let Some(t1) = part(&field(settings, "t1"))? {
        schedule.t1 = t1;
    }
    schedule.t2 = part(&field(settings, "t2"))?;
    match field(settings, "renew").as_string().as_deref() {
        Some("auto") => Ok(Some(schedule)),
        Some("manual") => Ok(None),
        _ => Err(Invalid::new(
            Field::Renewal,
            "must be \"auto\" or \"manual\"",
        )),
    }
}

pub(crate) fn key(value: &JsValue) -> Result<Key, Invalid> {
    Key::parse(&text(value, Field::Key)?)
}

pub(crate) fn successor(value: &JsValue) -> Result<HolderName, Invalid> {
    HolderName::parse(&text(value, Field::Successor)?)
        .map_err(|invalid| invalid.about(Field::Successor))
}

/// Text that is the same in UTF-8: a lone surrogate is not, and would become U+FFFD.
fn text(value: &JsValue, field: Field) -> Result<String, Invalid> {
    value
        .as_string()
        .filter(|text| *value == JsValue::from_str(text))
        .ok_or(Invalid::new(
            field,
            "must be a string without lone surrogates",
        ))
}

pub(crate) fn credential(lease: &JsValue, fence: &JsValue) -> Result<Credential, Invalid> {
    Ok(Credential {
        lease: parsed(lease).ok_or(Invalid::new(Field::Lease, "must be 32 hexadecimal digits"))?,
        fence: Some(parsed(fence).ok_or(Invalid::new(
            Field::Fence,
            "must be a decimal number below 2^64",
        ))?),
    })
}

fn parsed<T: FromStr>(value: &JsValue) -> Option<T> {
    value.as_string()?.parse().ok()
}

/// What is no whole number is out of range, whatever the range.
pub(crate) fn ttl(value: &JsValue) -> Result<Span, Invalid> {
    parse_ttl(whole(value).unwrap_or(0))
}

/// A part of the term, in thousandths.
fn part(value: &JsValue) -> Result<Option<u16>, Invalid> {
    if value.is_undefined() {
        return Ok(None);
    }
    match value.as_f64() {
        Some(part) if part > 0.0 && part < 1.0 => Ok(Some((part * 1_000.0) as u16)),
        _ => Err(Invalid::new(
            Field::Renewal,
            "t1 and t2 must be numbers between 0 and 1",
        )),
    }
}
