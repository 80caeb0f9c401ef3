//! Rows of the tables, as the records of the core.
//!
//! Fences are text, since SQLite's integers end below 2^64 and JavaScript's numbers at 2^53. Times
//! are microseconds, which stay below 2^53 until the year 2255.

mod past;
mod values;

use std::str::FromStr;

use js_sys::{Array, ArrayBuffer, Uint8Array};
use leasehold::host::{
    DoneRecord, EntryRecord, Floor, GrantRecord, KeyRecord, Offer, WaiterRecord,
};
use leasehold::json::Json;
use leasehold::name::{EntryName, Fingerprint, HolderName, Key};
use leasehold::protocol::{Invalid, Limit};
use leasehold::time::{Instant, Span};
use wasm_bindgen::JsCast;

pub(crate) use values::Values;

/// Which column of which table holds what this version would never have written.
pub(crate) struct Unreadable(pub &'static str);

type Read<T> = Result<T, Unreadable>;

pub(crate) const KEY_COLUMNS: &str = "key, fence, revision, written, past, cautious_until, \
     done_fence, done_result, done_since, done_until, done_fingerprint, \
     grant_fence, lease, op, holder, most, since, term, expires, offer, fingerprint, entered";

pub(crate) const GRANT_COLUMNS: &str = "key, slot, \
     grant_fence, lease, op, holder, most, since, term, expires, offer, fingerprint, entered";

pub(crate) const ENTRY_COLUMNS: &str = "key, slot, name, value";

pub(crate) const WAITER_COLUMNS: &str = "number, key, op, lease, holder, ttl, most, fingerprint";

/// How many columns a finished work takes.
const DONE: usize = 5;

/// How many columns a grant takes.
const GRANT: usize = 11;

pub(crate) fn key_values(record: &KeyRecord) -> Values {
    let values = Values::default()
        .text(record.key.as_str())
        .fence(record.fence)
        .text(&record.revision.to_string())
        .instant(record.written)
        .bytes(&past::bytes(&record.past))
        .instant(record.cautious_until);
    let values = match &record.done {
        Some(done) => values
            .fence(done.fence)
            .text(done.result.as_str())
            .instant(done.since)
            .instant(done.until)
            .optional(done.fingerprint.as_ref().map(Fingerprint::as_str)),
        None => values.absent(DONE),
    };
    match &record.grant {
        Some(grant) => with_grant(values, grant),
        None => values.absent(GRANT),
    }
}

pub(crate) fn key_record(row: &Row) -> Read<KeyRecord> {
    Ok(KeyRecord {
        key: row.key(0)?,
        fence: row.parsed(1, "fence")?,
        revision: row.parsed(2, "revision")?,
        written: row.instant(3, "written")?,
        past: past::records(&row.bytes(4, "past")?).ok_or(Unreadable("past"))?,
        cautious_until: row.instant(5, "cautious_until")?,
        done: if row.is_null(6) {
            None
        } else {
            Some(done(row)?)
        },
        grant: if row.is_null(11) {
            None
        } else {
            Some(grant(row, 0, 11)?)
        },
    })
}

fn done(row: &Row) -> Read<DoneRecord> {
    let result = row.text(7, "done_result")?;
    Ok(DoneRecord {
        fence: row.parsed(6, "done_fence")?,
        result: Json::parse(&result).ok_or(Unreadable("done_result"))?,
        since: row.instant(8, "done_since")?,
        until: row.instant(9, "done_until")?,
        fingerprint: row.fingerprint(10)?,
    })
}

pub(crate) fn grant_values(key: &Key, grant: &GrantRecord) -> Values {
    let place = Values::default().text(key.as_str());
    with_grant(place.number(grant.slot.into()), grant)
}

pub(crate) fn grant_record(row: &Row) -> Read<(Key, GrantRecord)> {
    let slot = row.small(1, "slot")?;
    Ok((row.key(0)?, grant(row, slot, 2)?))
}

fn with_grant(values: Values, grant: &GrantRecord) -> Values {
    values
        .fence(grant.fence)
        .text(&grant.lease.to_hex())
        .text(&grant.op.to_hex())
        .text(grant.holder.as_str())
        .number(grant.limit.holders().into())
        .instant(grant.since)
        .number(grant.term.as_micros())
        .instant(grant.expires)
        .text(offer_name(grant.offer))
        .optional(grant.fingerprint.as_ref().map(Fingerprint::as_str))
        .number(grant.entered)
}

fn grant(row: &Row, slot: u32, from: u32) -> Read<GrantRecord> {
    let offer = row.text(from + 8, "offer")?;
    Ok(GrantRecord {
        slot,
        fence: row.parsed(from, "grant_fence")?,
        lease: row.parsed(from + 1, "lease")?,
        op: row.parsed(from + 2, "op")?,
        holder: row.named(from + 3, "holder", HolderName::parse)?,
        limit: row.limit(from + 4)?,
        since: row.instant(from + 5, "since")?,
        term: row.span(from + 6, "term")?,
        expires: row.instant(from + 7, "expires")?,
        offer: offer_named(&offer).ok_or(Unreadable("offer"))?,
        fingerprint: row.fingerprint(from + 9)?,
        entered: row.whole(from + 10, "entered")?,
    })
}

const OFFERS: [(Offer, &str); 3] = [
    (Offer::Made, "made"),
    (Offer::Collected, "collected"),
    (Offer::Confirmed, "confirmed"),
];

fn offer_name(offer: Offer) -> &'static str {
    let named = OFFERS.iter().find(|(known, _)| *known == offer);
    named.map_or("confirmed", |(_, name)| name)
}

fn offer_named(name: &str) -> Option<Offer> {
    let named = OFFERS.iter().find(|(_, known)| *known == name);
    named.map(|(offer, _)| *offer)
}

pub(crate) fn entry_values(entry: &EntryRecord) -> Values {
    Values::default()
        .text(entry.key.as_str())
        .number(entry.slot.into())
        .text(entry.name.as_str())
        .text(entry.value.as_str())
}

pub(crate) fn entry_record(row: &Row) -> Read<EntryRecord> {
    let value = row.text(3, "value")?;
    Ok(EntryRecord {
        key: row.key(0)?,
        slot: row.small(1, "slot")?,
        name: row.named(2, "name", EntryName::parse)?,
        value: Json::parse(&value).ok_or(Unreadable("value"))?,
    })
}

pub(crate) fn waiter_values(record: &WaiterRecord) -> Values {
    Values::default()
        .number(record.number)
        .text(record.key.as_str())
        .text(&record.op.to_hex())
        .text(&record.lease.to_hex())
        .text(record.holder.as_str())
        .number(record.ttl.as_micros())
        .number(record.limit.holders().into())
        .optional(record.fingerprint.as_ref().map(Fingerprint::as_str))
}

pub(crate) fn waiter_record(row: &Row) -> Read<WaiterRecord> {
    Ok(WaiterRecord {
        number: row.whole(0, "number")?,
        key: row.key(1)?,
        op: row.parsed(2, "op")?,
        lease: row.parsed(3, "lease")?,
        holder: row.named(4, "holder", HolderName::parse)?,
        ttl: row.span(5, "ttl")?,
        limit: row.limit(6)?,
        fingerprint: row.fingerprint(7)?,
    })
}

pub(crate) fn floor_values(floor: Floor) -> Values {
    let until = floor.cautious_until.as_micros();
    let text = [&floor.fence.to_string(), " ", &until.to_string()].concat();
    Values::default().text("floor").text(&text)
}

pub(crate) fn floor(row: &Row) -> Read<Floor> {
    let text = row.text(0, "floor")?;
    let parts = text.split_once(' ');
    let floor = parts.and_then(|(fence, until)| {
        Some(Floor {
            fence: fence.parse().ok()?,
            cautious_until: Instant::from_micros(until.parse().ok()?),
        })
    });
    floor.ok_or(Unreadable("floor"))
}

/// A row that was read.
pub(crate) struct Row(pub Array);

impl Row {
    fn is_null(&self, column: u32) -> bool {
        self.0.get(column).is_null()
    }

    fn text(&self, column: u32, name: &'static str) -> Read<String> {
        self.0.get(column).as_string().ok_or(Unreadable(name))
    }

    fn bytes(&self, column: u32, name: &'static str) -> Read<Vec<u8>> {
        let bytes: ArrayBuffer = self
            .0
            .get(column)
            .dyn_into()
            .map_err(|_| Unreadable(name))?;
        Ok(Uint8Array::new(&bytes).to_vec())
    }

    fn whole(&self, column: u32, name: &'static str) -> Read<u64> {
        let number = self.0.get(column).as_f64().ok_or(Unreadable(name))?;
        Ok(number as u64)
    }

    fn small(&self, column: u32, name: &'static str) -> Read<u32> {
        let number = self.whole(column, name)?;
        u32::try_from(number).map_err(|_| Unreadable(name))
    }

    fn instant(&self, column: u32, name: &'static str) -> Read<Instant> {
        self.whole(column, name).map(Instant::from_micros)
    }

    fn span(&self, column: u32, name: &'static str) -> Read<Span> {
        self.whole(column, name).map(Span::from_micros)
    }

    pub fn parsed<T: FromStr>(&self, column: u32, name: &'static str) -> Read<T> {
        let text = self.text(column, name)?;
        text.parse().map_err(|_| Unreadable(name))
    }

    fn named<T>(
        &self,
        column: u32,
        name: &'static str,
        parse: impl Fn(&str) -> Result<T, Invalid>,
    ) -> Read<T> {
        parse(&self.text(column, name)?).map_err(|_| Unreadable(name))
    }

    fn key(&self, column: u32) -> Read<Key> {
        self.named(column, "key", Key::parse)
    }

    fn limit(&self, column: u32) -> Read<Limit> {
        Limit::parse(self.whole(column, "most")?).map_err(|_| Unreadable("most"))
    }

    fn fingerprint(&self, column: u32) -> Read<Option<Fingerprint>> {
        if self.is_null(column) {
            return Ok(None);
        }
        self.named(column, "fingerprint", Fingerprint::parse)
            .map(Some)
    }
}
