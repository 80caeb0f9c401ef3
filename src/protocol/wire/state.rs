//! Keys' states as they travel.

use alloc::string::String;
use alloc::vec::Vec;

use super::record::Record;
use super::schema::{FieldSchema, Kind, optional, required};
use crate::fence::Revision;
use crate::invalid::Field;
use crate::json::{self, Json, Writer};
use crate::name::{EntryName, HolderName, Key};
use crate::protocol::{DoneState, HolderState, KeyState};

/// The fields of a [`KeyState`].
pub const KEY_STATE: &[FieldSchema] = &[
    required(Field::Key, Kind::Name(Key::MAX_BYTES)),
    required(Field::Revision, Kind::Decimal),
    required(Field::Holders, Kind::List(&Kind::Record(HOLDER_STATE))),
    required(Field::Waiters, Kind::Count),
    optional(Field::Done, Kind::Record(DONE_STATE)),
];

/// The fields of a [`HolderState`].
pub const HOLDER_STATE: &[FieldSchema] = &[
    required(Field::Holder, Kind::Name(HolderName::MAX_BYTES)),
    required(Field::Fence, Kind::Decimal),
    required(Field::Slot, Kind::Count),
    required(Field::Limit, Kind::Count),
    required(Field::Age, Kind::Whole),
    required(Field::Remaining, Kind::Whole),
    required(Field::Entries, Kind::Map(&Kind::Any)),
];

/// The fields of a [`DoneState`].
pub const DONE_STATE: &[FieldSchema] = &[
    required(Field::Fence, Kind::Decimal),
    required(Field::Age, Kind::Whole),
    required(Field::Remaining, Kind::Whole),
];

pub(super) fn key_state(text: &str) -> Option<KeyState> {
    let record = Record::read(text, KEY_STATE).ok()?;
    Some(KeyState {
        key: record.key()?,
        revision: record.decimal(Field::Revision).map(Revision::from_value)?,
        holders: list(record.raw(Field::Holders)?, holder_state)?,
        waiters: record.count(Field::Waiters),
        done: match record.raw(Field::Done) {
            Some(done) => Some(done_state(done)?),
            None => None,
        },
    })
}

/// What `read` makes of each item of an array.
pub(super) fn list<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let mut items = Vec::new();
    json::array(text, &mut |item| {
        items.push(read(item)?);
        Some(())
    })?;
    Some(items)
}

fn holder_state(text: &str) -> Option<HolderState> {
    let record = Record::read(text, HOLDER_STATE).ok()?;
    let mut entries = Vec::<(EntryName, Json)>::new();
    json::fields(record.raw(Field::Entries)?, &mut |name, value| {
        let name = EntryName::parse(&json::text(name)?).ok()?;
        let place = entries.partition_point(|(before, _)| *before < name);
        entries.insert(place, (name, Json::parse(value)?));
        Some(())
    })?;
    Some(HolderState {
        holder: record.holder(Field::Holder)?,
        fence: record.fence()?,
        slot: record.count(Field::Slot),
        limit: record.count(Field::Limit),
        age_ms: record.whole(Field::Age)?,
        remaining_ms: record.whole(Field::Remaining)?,
        entries,
    })
}

fn done_state(text: &str) -> Option<DoneState> {
    let record = Record::read(text, DONE_STATE).ok()?;
    Some(DoneState {
        fence: record.fence()?,
        age_ms: record.whole(Field::Age)?,
        remaining_ms: record.whole(Field::Remaining)?,
    })
}

impl KeyState {
    /// As it is in an answer.
    pub(crate) fn to_json(&self) -> String {
        let mut json = Writer::new();
        write(&mut json, self);
        json.into()
    }
}

/// Writes a state, as a value.
pub(super) fn write(json: &mut Writer, state: &KeyState) {
    json.object(|json| {
        json.text(Field::Key.name(), state.key.as_str());
        json.decimal(Field::Revision.name(), state.revision.value());
        json.array(Field::Holders.name(), &state.holders, write_holder);
        json.number(Field::Waiters.name(), state.waiters.into());
        if let Some(done) = &state.done {
            json.record(Field::Done.name(), |json| {
                json.decimal(Field::Fence.name(), done.fence.value());
                json.number(Field::Age.name(), done.age_ms);
                json.number(Field::Remaining.name(), done.remaining_ms);
            });
        }
    });
}

fn write_holder(json: &mut Writer, state: &HolderState) {
    json.object(|json| {
        json.text(Field::Holder.name(), state.holder.as_str());
        json.decimal(Field::Fence.name(), state.fence.value());
        json.number(Field::Slot.name(), state.slot.into());
        json.number(Field::Limit.name(), state.limit.into());
        json.number(Field::Age.name(), state.age_ms);
        json.number(Field::Remaining.name(), state.remaining_ms);
        json.record(Field::Entries.name(), |json| {
            for (name, value) in &state.entries {
                json.name(name.as_str()).raw(value.as_str());
            }
        });
    });
}
