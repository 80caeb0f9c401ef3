//! A key as an observer sees it.

use alloc::vec::Vec;

use crate::fence::{Fence, Revision};
use crate::json::Json;
use crate::name::{EntryName, HolderName, Key};

/// The state of a key. No secrets: anybody who may look at the key may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyState {
    /// The key.
    pub key: Key,
    /// Differs after every change but a renewal. That of a key of which the host knows nothing is 0.
    pub revision: Revision,
    /// Who holds it, by slot.
    pub holders: Vec<HolderState>,
    /// How many wait for it.
    pub waiters: u32,
    /// That a work was finished and its result is kept.
    pub done: Option<DoneState>,
}

/// A live grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HolderState {
    /// Who holds the key.
    pub holder: HolderName,
    /// The grant's fence.
    pub fence: Fence,
    /// Its place among the key's holders, from zero.
    pub slot: u32,
    /// The most holders that this one puts up with.
    pub limit: u32,
    /// Time since the grant, in milliseconds.
    pub age_ms: u64,
    /// Time until the host frees the key unless it is renewed, in milliseconds.
    pub remaining_ms: u64,
    /// What the holder has set, in order of the names.
    pub entries: Vec<(EntryName, Json)>,
}

/// A finished work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoneState {
    /// The fence under which it was done.
    pub fence: Fence,
    /// Time since then, in milliseconds.
    pub age_ms: u64,
    /// How much longer its result is kept, in milliseconds.
    pub remaining_ms: u64,
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
