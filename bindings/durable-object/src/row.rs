//! Rows of the tables, as the records of the core.
//!
//! Fences are text, since SQLite's integers end below 2^64 and JavaScript's numbers at 2^53. Times
//! are microseconds, which stay below 2^53 until the year 2255.

use js_sys::Array;
use leasehold::fence::Fence;
use leasehold::host::{GrantRecord, KeyRecord, Past, WaiterRecord};
use leasehold::id::LeaseId;
use leasehold::name::{HolderName, Key};
use leasehold::protocol::Ended;
use leasehold::time::{Instant, Span};
use wasm_bindgen::JsValue;

/// Which column of which table holds what this version would never have written.
pub(crate) struct Unreadable(pub &'static str);

type Read<T> = Result<T, Unreadable>;

pub(crate) const KEY_COLUMNS: &str = "key, fence, written, lease, op, holder, term, expires, past";

pub(crate) const WAITER_COLUMNS: &str = "number, key, op, lease, holder, ttl";

pub(crate) fn key_values(record: &KeyRecord) -> [JsValue; 9] {
    let grant = record.grant.as_ref();
    [
        record.key.as_str().into(),
        fence_value(record.fence),
        instant_value(record.written),
        optional(grant.map(|grant| grant.lease.to_hex())),
        optional(grant.map(|grant| grant.op.to_hex())),
        optional(grant.map(|grant| grant.holder.as_str())),
        optional(grant.map(|grant| grant.term.as_micros() as f64)),
        grant.map_or(JsValue::NULL, |grant| instant_value(grant.expires)),
        past_text(&record.past).into(),
    ]
}

pub(crate) fn key_record(row: &Array) -> Read<KeyRecord> {
    Ok(KeyRecord {
        key: key(row, 0)?,
        fence: fence(row, 1)?,
        written: instant(row, 2, "written")?,
        grant: grant(row)?,
        past: past_records(&text(row, 8, "past")?).ok_or(Unreadable("past"))?,
    })
}

pub(crate) fn waiter_values(record: &WaiterRecord) -> [JsValue; 6] {
    [
        (record.number as f64).into(),
        record.key.as_str().into(),
        record.op.to_hex().into(),
        record.lease.to_hex().into(),
        record.holder.as_str().into(),
        (record.ttl.as_micros() as f64).into(),
    ]
}

pub(crate) fn waiter_record(row: &Array) -> Read<WaiterRecord> {
    Ok(WaiterRecord {
        number: micros(row, 0, "number")?,
        key: key(row, 1)?,
        op: parsed(row, 2, "op")?,
        lease: parsed(row, 3, "lease")?,
        holder: holder(row, 4)?,
        ttl: Span::from_micros(micros(row, 5, "ttl")?),
    })
}

pub(crate) fn fence_value(fence: Fence) -> JsValue {
    String::from(fence).into()
}

pub(crate) fn fence(row: &Array, column: u32) -> Read<Fence> {
    parsed(row, column, "fence")
}

fn grant(row: &Array) -> Read<Option<GrantRecord>> {
    if row.get(3).is_null() {
        return Ok(None);
    }
    Ok(Some(GrantRecord {
        lease: parsed(row, 3, "lease")?,
        op: parsed(row, 4, "op")?,
        holder: holder(row, 5)?,
        term: Span::from_micros(micros(row, 6, "term")?),
        expires: instant(row, 7, "expires")?,
    }))
}

fn optional(value: Option<impl Into<JsValue>>) -> JsValue {
    value.map_or(JsValue::NULL, Into::into)
}

fn instant_value(instant: Instant) -> JsValue {
    (instant.as_micros() as f64).into()
}

fn text(row: &Array, column: u32, name: &'static str) -> Read<String> {
    row.get(column).as_string().ok_or(Unreadable(name))
}

fn micros(row: &Array, column: u32, name: &'static str) -> Read<u64> {
    let number = row.get(column).as_f64().ok_or(Unreadable(name))?;
    Ok(number as u64)
}

fn instant(row: &Array, column: u32, name: &'static str) -> Read<Instant> {
    micros(row, column, name).map(Instant::from_micros)
}

fn parsed<T: std::str::FromStr>(row: &Array, column: u32, name: &'static str) -> Read<T> {
    text(row, column, name)?
        .parse()
        .map_err(|_| Unreadable(name))
}

fn key(row: &Array, column: u32) -> Read<Key> {
    Key::parse(&text(row, column, "key")?).map_err(|_| Unreadable("key"))
}

fn holder(row: &Array, column: u32) -> Read<HolderName> {
    HolderName::parse(&text(row, column, "holder")?).map_err(|_| Unreadable("holder"))
}

/// One line for each: op, lease, fence, the op that ended it, how it ended, when.
fn past_text(past: &[Past]) -> String {
    let mut lines = String::new();
    for past in past {
        let (lease, fence) = match past.grant {
            Some((lease, fence)) => (lease.to_hex(), String::from(fence)),
            None => Default::default(),
        };
        let ended_by = past.ended_by.map(|op| op.to_hex()).unwrap_or_default();
        let at = past.at.as_micros().to_string();
        let fields = [
            &past.op.to_hex(),
            &lease,
            &fence,
            &ended_by,
            past.ended.name(),
            &at,
        ];
        lines.push_str(&fields.join(" "));
        lines.push('\n');
    }
    lines
}

fn past_records(lines: &str) -> Option<Vec<Past>> {
    lines.lines().map(past_record).collect()
}

fn past_record(line: &str) -> Option<Past> {
    let mut fields = line.split(' ');
    let mut field = || fields.next();
    Some(Past {
        op: field()?.parse().ok()?,
        grant: match (field()?, field()?) {
            ("", "") => None,
            (lease, fence) => Some((lease.parse::<LeaseId>().ok()?, fence.parse().ok()?)),
        },
        ended_by: match field()? {
            "" => None,
            op => Some(op.parse().ok()?),
        },
        ended: Ended::from_name(field()?)?,
        at: Instant::from_micros(field()?.parse().ok()?),
    })
}
