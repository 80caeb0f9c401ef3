//! All keys of a host, and what is due when.

use alloc::collections::{BTreeMap, BTreeSet};

use super::slot::Slot;
use crate::fence::Fence;
use crate::name::Key;
use crate::time::Instant;

/// The keys, indexed by when they need attention and by how long they have been idle.
#[derive(Debug, Default)]
pub(super) struct Table {
    slots: BTreeMap<Key, Slot>,
    due: BTreeSet<(Instant, Key)>,
    idle: BTreeSet<(Instant, Key)>,
}

/// Where the indexes list a key. Kept with the key, so that an entry is always taken out again
/// before a new one is put in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Indexed {
    due: Option<Instant>,
    idle: Option<Instant>,
}

impl Table {
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn contains(&self, key: &Key) -> bool {
        self.slots.contains_key(key)
    }

    pub fn get_mut(&mut self, key: &Key) -> Option<&mut Slot> {
        self.slots.get_mut(key)
    }

    pub fn get_or_insert(&mut self, key: &Key, floor: Fence) -> &mut Slot {
        self.slots
            .entry(key.clone())
            .or_insert_with(|| Slot::new(key.clone(), floor))
    }

    pub fn insert(&mut self, key: Key, slot: Slot) {
        self.slots.insert(key, slot);
    }

    /// Brings the indexes in line with the key's state.
    pub fn index(&mut self, key: &Key, now: Instant) {
        let Some(slot) = self.slots.get_mut(key) else {
            return;
        };
        let before = slot.indexed;
        let after = Indexed {
            due: slot.due(),
            idle: slot.idle_from(now),
        };
        slot.indexed = after;
        relist(&mut self.due, key, before.due, after.due);
        relist(&mut self.idle, key, before.idle, after.idle);
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

    /// Takes out the key that has been idle for longest, if any is idle now.
    pub fn forget_idle(&mut self, now: Instant) -> Option<(Key, Slot)> {
        let (since, key) = self.idle.first()?.clone();
        if since > now {
            return None;
        }
        self.idle.remove(&(since, key.clone()));
        self.slots.remove(&key).map(|slot| (key, slot))
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
