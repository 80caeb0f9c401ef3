//! Records as a store keeps them: a place, and bytes. The bytes of a key are written anew with every
//! grant, so they are kept short and take no rendering.
//!
//! Numbers are big-endian and stand first in a record; a text, and a list, follows its length.

use alloc::string::String;
use alloc::vec::Vec;

use super::record::{
    DoneRecord, EntryRecord, Floor, GrantRecord, KeyRecord, Mutation, Offer, Past, PastOutcome,
    Snapshot, WaiterRecord,
};
use crate::decimal;
use crate::fence::{Fence, Revision};
use crate::id::{LeaseId, OpId};
use crate::json::Json;
use crate::name::{EntryName, Fingerprint, HolderName, Key};
use crate::protocol::{Ended, Limit};
use crate::time::{Instant, Span};

const KEY: &str = "key";
const GRANT: &str = "grant";
const ENTRY: &str = "entry";
const WAITER: &str = "waiter";
const FLOOR: &str = "floor";

/// One change to a store of rows.
#[derive(Clone, PartialEq, Eq)]
pub struct Row {
    /// Which row it is: what kind of record it holds, and of what.
    pub place: String,
    /// What it is to hold; nothing if it is to be deleted.
    pub record: Option<Vec<u8>>,
}

impl From<Mutation> for Row {
    fn from(mutation: Mutation) -> Self {
        match mutation {
            Mutation::DeleteEntry { key, slot, name } => Self::without(of_entry(&key, slot, &name)),
            Mutation::DeleteGrant { key, slot } => Self::without(of_grant(&key, slot)),
            Mutation::DeleteKey(key) => Self::without(of_key(&key)),
            Mutation::DeleteWaiter { number, .. } => Self::without(of_waiter(number)),
            Mutation::PutEntry(entry) => {
                Self::with(of_entry(&entry.key, entry.slot, &entry.name), &entry)
            }
            Mutation::PutFloor(floor) => Self::with(FLOOR.into(), &floor),
            Mutation::PutGrant { key, grant } => {
                Self::with(of_grant(&key, grant.slot), &(key, grant))
            }
            Mutation::PutKey(record) => Self::with(of_key(&record.key), &record),
            Mutation::PutWaiter(waiter) => Self::with(of_waiter(waiter.number), &waiter),
        }
    }
}

impl Row {
    fn with(place: String, record: &impl Stored) -> Self {
        let mut bytes = Vec::new();
        record.put(&mut bytes);
        Self {
            place,
            record: Some(bytes),
        }
    }

    const fn without(place: String) -> Self {
        Self {
            place,
            record: None,
        }
    }
}

impl Snapshot {
    /// Adds what a row holds. `None` when that is no record of this version.
    pub fn add(&mut self, place: &str, record: &[u8]) -> Option<()> {
        let mut from = record;
        match kind(place) {
            KEY => self.keys.push(Stored::take(&mut from)?),
            GRANT => self.grants.push(Stored::take(&mut from)?),
            ENTRY => self.entries.push(Stored::take(&mut from)?),
            WAITER => self.waiters.push(Stored::take(&mut from)?),
            FLOOR => self.floor = Stored::take(&mut from)?,
            _ => return None,
        }
        from.is_empty().then_some(())
    }
}

/// What kind of record is kept in this place.
pub fn kind(place: &str) -> &str {
    place.split_once('/').map_or(place, |(kind, _)| kind)
}

fn of_key(key: &Key) -> String {
    [KEY, "/", key.as_str()].concat()
}

fn of_grant(key: &Key, slot: u32) -> String {
    [GRANT, "/", &decimal::text(slot.into()), "/", key.as_str()].concat()
}

/// With the length of the name, since a name as well as a key may have any characters.
fn of_entry(key: &Key, slot: u32, name: &EntryName) -> String {
    let (slot, name) = (decimal::text(slot.into()), name.as_str());
    let length = decimal::text(name.len() as u64);
    [
        ENTRY,
        "/",
        &slot,
        "/",
        &length,
        "/",
        name,
        "/",
        key.as_str(),
    ]
    .concat()
}

fn of_waiter(number: u64) -> String {
    [WAITER, "/", &decimal::text(number)].concat()
}

/// A value that has its bytes.
trait Stored: Sized {
    fn put(&self, to: &mut Vec<u8>);
    fn take(from: &mut &[u8]) -> Option<Self>;
}

/// Numbers, each in all of its bytes.
macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Stored for $number {
            fn put(&self, to: &mut Vec<u8>) {
                to.extend(self.to_be_bytes());
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                let (bytes, rest) = from.split_first_chunk()?;
                *from = rest;
                Some(Self::from_be_bytes(*bytes))
            }
        }
    )*};
}

numbers!(u8 u16 u32 u64 u128);

/// Kinds of number.
macro_rules! as_numbers {
    ($($kind:ty: $to:ident, $from:ident;)*) => {$(
        impl Stored for $kind {
            fn put(&self, to: &mut Vec<u8>) {
                self.$to().put(to);
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Stored::take(from).map(Self::$from)
            }
        }
    )*};
}

as_numbers! {
    Fence: value, from_value;
    Instant: as_micros, from_micros;
    LeaseId: to_bits, from_bits;
    OpId: to_bits, from_bits;
    Revision: value, from_value;
    Span: as_micros, from_micros;
}

/// Texts, each of which is checked again: with what it is written as, and what reads it.
macro_rules! as_texts {
    ($($kind:ty: $to:ident, $from:expr;)*) => {$(
        impl Stored for $kind {
            fn put(&self, to: &mut Vec<u8>) {
                put_text(self.$to(), to);
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                $from(take_text(from)?)
            }
        }
    )*};
}

as_texts! {
    EntryName: as_str, |text| EntryName::parse(text).ok();
    Fingerprint: as_str, |text| Fingerprint::parse(text).ok();
    HolderName: as_str, |text| HolderName::parse(text).ok();
    Json: as_str, Json::parse;
    Key: as_str, |text| Key::parse(text).ok();
}

/// Every text in a record is far shorter than 64 KiB.
fn put_text(text: &str, to: &mut Vec<u8>) {
    (text.len() as u16).put(to);
    to.extend(text.as_bytes());
}

fn take_text<'a>(from: &mut &'a [u8]) -> Option<&'a str> {
    let length = u16::take(from)?;
    let (text, rest) = from.split_at_checked(length.into())?;
    *from = rest;
    core::str::from_utf8(text).ok()
}

impl Stored for Limit {
    fn put(&self, to: &mut Vec<u8>) {
        self.holders().put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Self::parse(u32::take(from)?.into()).ok()
    }
}

/// One of a few, by its position among them.
macro_rules! as_positions {
    ($($kind:ty: $all:expr;)*) => {$(
        impl Stored for $kind {
            fn put(&self, to: &mut Vec<u8>) {
                (*self as u8).put(to);
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                $all.get(usize::from(u8::take(from)?)).copied()
            }
        }
    )*};
}

as_positions! {
    Ended: Ended::ALL;
    Offer: [Offer::Made, Offer::Collected, Offer::Confirmed];
}

impl<T: Stored> Stored for Option<T> {
    fn put(&self, to: &mut Vec<u8>) {
        u8::from(self.is_some()).put(to);
        if let Some(value) = self {
            value.put(to);
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        match u8::take(from)? {
            0 => Some(None),
            1 => T::take(from).map(Some),
            _ => None,
        }
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn put(&self, to: &mut Vec<u8>) {
        (self.len() as u16).put(to);
        for item in self {
            item.put(to);
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        (0..u16::take(from)?).map(|_| T::take(from)).collect()
    }
}

impl<T: Stored, U: Stored> Stored for (T, U) {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
        self.1.put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Some((T::take(from)?, U::take(from)?))
    }
}

/// Records, each with its fields in this order.
macro_rules! records {
    ($($record:ident { $($field:ident),* })*) => {$(
        impl Stored for $record {
            fn put(&self, to: &mut Vec<u8>) {
                $(self.$field.put(to);)*
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Some(Self { $($field: Stored::take(from)?),* })
            }
        }
    )*};
}

records! {
    KeyRecord { fence, revision, written, cautious_until, key, grant, past, done }
    GrantRecord {
        fence, lease, op, since, term, expires, entered, slot, limit, offer, holder, fingerprint
    }
    EntryRecord { slot, key, name, value }
    WaiterRecord { number, op, lease, ttl, limit, key, holder, fingerprint }
    DoneRecord { fence, since, until, result, fingerprint }
    Floor { fence, cautious_until }
    Past { op, at, outcome }
}

const CANCELLED: u8 = 0;
const WON: u8 = 1;
const REVOKED: u8 = 2;

impl Stored for PastOutcome {
    fn put(&self, to: &mut Vec<u8>) {
        match self {
            Self::Cancelled => CANCELLED.put(to),
            Self::Grant {
                lease,
                fence,
                ended,
                by,
            } => {
                WON.put(to);
                lease.put(to);
                fence.put(to);
                ended.put(to);
                by.put(to);
            }
            Self::Revoked(count) => {
                REVOKED.put(to);
                count.put(to);
            }
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(match u8::take(from)? {
            CANCELLED => Self::Cancelled,
            WON => Self::Grant {
                lease: Stored::take(from)?,
                fence: Stored::take(from)?,
                ended: Stored::take(from)?,
                by: Stored::take(from)?,
            },
            REVOKED => Self::Revoked(Stored::take(from)?),
            _ => return None,
        })
    }
}
