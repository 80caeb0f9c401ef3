//! A key as an observer sees it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::wire::record;
use crate::fence::{Fence, Revision};
use crate::json::Json;
use crate::name::{EntryName, HolderName, Key};

record! {
    /// The state of a key. No secrets: anybody who may look at the key may see it.
    pub struct KeyState {
        /// The key.
        key: Key => Key,
        /// Differs after every change but a renewal. That of a key of which the host knows nothing
        /// is 0.
        revision: Revision => Revision,
        /// Who holds it, by slot.
        holders: Vec<HolderState> => Holders,
        /// How many wait for it.
        waiters: u32 => Waiters,
        /// That a work was finished and its result is kept.
        done: Option<DoneState> => Done,
    }
}

record! {
    /// A live grant.
    pub struct HolderState {
        /// Who holds the key.
        holder: HolderName => Holder,
        /// The grant's fence.
        fence: Fence => Fence,
        /// Its place among the key's holders, from zero.
        slot: u32 => Slot,
        /// The most holders that this one puts up with.
        limit: u32 => Limit,
        /// Time since the grant, in milliseconds.
        age_ms: u64 => Age,
        /// Time until the host frees the key unless it is renewed, in milliseconds.
        remaining_ms: u64 => Remaining,
        /// What the holder has set, by name.
        entries: BTreeMap<EntryName, Json> => Entries,
    }
}

record! {
    /// A finished work.
    pub struct DoneState {
        /// The fence under which it was done.
        fence: Fence => Fence,
        /// Time since then, in milliseconds.
        age_ms: u64 => Age,
        /// How much longer its result is kept, in milliseconds.
        remaining_ms: u64 => Remaining,
    }
}

impl KeyState {
    /// That of a key of which the host knows nothing.
    pub const fn absent(key: Key) -> Self {
        Self {
            key,
            revision: Revision::ABSENT,
            holders: Vec::new(),
            waiters: 0,
            done: None,
        }
    }
}
