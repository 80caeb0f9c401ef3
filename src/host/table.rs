//! All keys of a host, and what is due when.

use alloc::collections::{BTreeMap, BTreeSet};

use super::record::KeyRecord;
use super::slot::Slot;
use crate::fence::Fence;
use crate::hash::fnv1a;
use crate::name::Key;
use crate::time::Instant;

/// The keys, indexed by when they need attention and by how long they have been idle.
#[derive(Debug, Default)]
pub(super) struct Table {
    slots: BTreeMap<Place, Slot>,
    due: BTreeSet<(Instant, Key)>,
    idle: BTreeSet<(Instant, Key)>,
}

/// Where a key is kept. In order of a hash that lies in the tree itself: to compare texts, each in a
/// place of its own, would take most of the time among a million of them.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    hash: u64,
    key: Key,
}

impl Place {
    fn of(key: &Key) -> Self {
        Self {
            hash: fnv1a(key.as_str().as_bytes()),
            key: key.clone(),
        }
    }
}

/// Where the indexes list a key. Kept with the key, so that an entry is always taken out again
/// before a new one is put in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Indexed {
    due: Option<Instant>,
    /// From when on the key is idle.
    idle: Option<Instant>,
    /// Under which instant it is listed as idle: that one or an earlier, since a renewal need not
    /// move the entry. It is moved when its turn to be forgotten seems to have come.
    listed: Option<Instant>,
}

impl Table {
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.slots.values()
    }

    pub fn is_alive(&self, key: &Key, now: Instant) -> bool {
        let slot = self.slots.get(&Place::of(key));
        slot.is_some_and(|slot| slot.is_alive(now))
    }

    pub fn contains(&self, key: &Key) -> bool {
        self.slots.contains_key(&Place::of(key))
    }

    pub fn get_mut(&mut self, key: &Key) -> Option<&mut Slot> {
        self.slots.get_mut(&Place::of(key))
    }

    pub fn get_or_insert(&mut self, key: &Key, floor: Fence) -> &mut Slot {
        self.slots
            .entry(Place::of(key))
            .or_insert_with(|| Slot::new(key.clone(), floor))
    }

    pub fn insert(&mut self, key: Key, slot: Slot) {
        self.slots.insert(Place::of(&key), slot);
    }

    /// Brings the indexes in line with the key's state; gives the record to store, if it has changed.
    pub fn book(&mut self, key: &Key, now: Instant) -> Option<KeyRecord> {
        let slot = self.slots.get_mut(&Place::of(key))?;
        let before = slot.indexed;
        let idle = slot.idle_from(now);
        let after = Indexed {
            due: slot.due(),
            idle,
            listed: idle.map(|idle| before.listed.map_or(idle, |listed| listed.min(idle))),
        };
        slot.indexed = after;
        relist(&mut self.due, key, before.due, after.due);
        relist(&mut self.idle, key, before.listed, after.listed);
        slot.take_record(now)
    }

    /// When the first key needs attention.
    pub fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// A key that needs attention now.
    pub fn first_due(&self, now: Instant) -> Option<Key> {
        self.due
            .first()
            .filter(|(at, _)| *at <= now)
            .map(|(_, key)| key.clone())
    }

    /// Whether so many keys are idle now.
    pub fn has_idle(&self, now: Instant, wanted: usize) -> bool {
        let listed = self.idle.iter().take_while(|(at, _)| *at <= now);
        let is_idle = |(_, key): &&(Instant, Key)| {
            let slot = self.slots.get(&Place::of(key));
            slot.and_then(|slot| slot.indexed.idle) <= Some(now)
        };
        listed.filter(is_idle).take(wanted).count() == wanted
    }

    /// Takes out the key that has been idle for longest, if any is idle now.
    pub fn forget_idle(&mut self, now: Instant) -> Option<(Key, Slot)> {
        loop {
            let (listed, key) = self.idle.first().filter(|(at, _)| *at <= now)?.clone();
            let place = Place::of(&key);
            let slot = self.slots.get_mut(&place)?;
            let idle = slot.indexed.idle;
            if idle > Some(listed) {
                slot.indexed.listed = idle;
                relist(&mut self.idle, &key, Some(listed), idle);
                continue;
            }
            self.idle.remove(&(listed, key.clone()));
            return self.slots.remove(&place).map(|slot| (key, slot));
        }
    }
}

fn relist(
    index: &mut BTreeSet<(Instant, Key)>,
    key: &Key,
    before: Option<Instant>,
    after: Option<Instant>,
) {
    if before == after {
        return;
    }
    if let Some(before) = before {
        index.remove(&(before, key.clone()));
    }
    if let Some(after) = after {
        index.insert((after, key.clone()));
    }
}
