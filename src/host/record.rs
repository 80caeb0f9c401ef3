//! What a host keeps in its storage.
//!
//! [`Mutation`]s applied in order to an empty store give the [`Snapshot`] that
//! [`super::Host::restore`] carries on from.

use alloc::vec::Vec;

use crate::fence::{Fence, Revision};
use crate::id::{LeaseId, OpId};
use crate::json::Json;
use crate::name::{EntryName, Fingerprint, HolderName, Key};
use crate::protocol::{Ended, Limit};
use crate::time::{Instant, Span};

/// One change to the stored state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Mutation {
    /// The grant in this slot has no entry of this name any more.
    DeleteEntry {
        /// The key.
        key: Key,
        /// The grant's slot.
        slot: u32,
        /// The entry.
        name: EntryName,
    },
    /// The grant in this slot, which is not the first, is over.
    DeleteGrant {
        /// The key.
        key: Key,
        /// The grant's slot.
        slot: u32,
    },
    /// Forget the key. It has neither grants nor waiters.
    DeleteKey(Key),
    /// The waiter has left the queue.
    DeleteWaiter {
        /// The key waited for.
        key: Key,
        /// The waiter's number.
        number: u64,
    },
    /// An entry of a grant, replacing any of the same name.
    PutEntry(EntryRecord),
    /// What is known of all keys without a record, replacing what was known before.
    PutFloor(Floor),
    /// A grant in a slot that is not the first, replacing any earlier one there.
    PutGrant {
        /// The key.
        key: Key,
        /// The grant.
        grant: GrantRecord,
    },
    /// The key's record, replacing any earlier one.
    PutKey(KeyRecord),
    /// A waiter at the end of the queue.
    PutWaiter(WaiterRecord),
}

/// What is known of the keys of which nothing else is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Floor {
    /// None of them was ever granted a fence above this.
    pub fence: Fence,
    /// Until when every grant of one begins with a short term, since one was forgotten early.
    pub cautious_until: Instant,
}

/// The state of one key, its queue, its entries and all grants but the first excepted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyRecord {
    /// The key.
    pub key: Key,
    /// The highest fence granted.
    pub fence: Fence,
    /// The revision, as of when this was written.
    pub revision: Revision,
    /// The host's time when this was written: its clock is never to be behind that again.
    pub written: Instant,
    /// The running grant in the first slot, which is all there is for a key held by one.
    pub grant: Option<GrantRecord>,
    /// Grants and ops that have ended, oldest first.
    pub past: Vec<Past>,
    /// Until when every grant begins with a short term, since younger ops had to be forgotten.
    pub cautious_until: Instant,
    /// That a work was finished and its result is kept.
    pub done: Option<DoneRecord>,
}

/// A running grant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GrantRecord {
    /// The grant's place among the key's holders, from zero.
    pub slot: u32,
    /// The grant's fence.
    pub fence: Fence,
    /// The grant's id and credential.
    pub lease: LeaseId,
    /// The op that won it.
    pub op: OpId,
    /// Who holds it.
    pub holder: HolderName,
    /// The most holders of the key that this one puts up with.
    pub limit: Limit,
    /// When it was granted.
    pub since: Instant,
    /// Length of the running term.
    pub term: Span,
    /// When the term is over.
    pub expires: Instant,
    /// Whether its holder has shown, since it was offered the key, that it is there.
    pub offer: Offer,
    /// What tells its input from another's.
    pub fingerprint: Option<Fingerprint>,
    /// The highest number of a change to its entries.
    pub entered: u64,
}

/// How far a grant that began with a short term has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Offer {
    /// Its holder has had the answer, as far as is known, and has not asked again.
    Made,
    /// A later poll has started the short term anew.
    Collected,
    /// It has been renewed, or was no offer.
    Confirmed,
}

/// An entry of a grant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EntryRecord {
    /// The key.
    pub key: Key,
    /// The grant's slot.
    pub slot: u32,
    /// The entry's name.
    pub name: EntryName,
    /// Its value.
    pub value: Json,
}

/// A finished work.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DoneRecord {
    /// The fence under which it was done.
    pub fence: Fence,
    /// The result.
    pub result: Json,
    /// When it was finished.
    pub since: Instant,
    /// How long the result is kept.
    pub until: Instant,
    /// What tells its input from another's.
    pub fingerprint: Option<Fingerprint>,
}

/// An op that has had its outcome and must not have another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Past {
    /// The op.
    pub op: OpId,
    /// When it had ended.
    pub at: Instant,
    /// What has become of it.
    pub outcome: PastOutcome,
}

/// What has become of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PastOutcome {
    /// It was cancelled before it had any effect.
    Cancelled,
    /// It won a grant, which is over.
    Grant {
        /// The grant's id.
        lease: LeaseId,
        /// The grant's fence.
        fence: Fence,
        /// How it ended.
        ended: Ended,
        /// The op that ended it, if one did.
        by: Option<OpId>,
    },
    /// It has revoked so many grants.
    Revoked(u32),
}

/// A place in a key's queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WaiterRecord {
    /// The key waited for.
    pub key: Key,
    /// Rises with every waiter of a host; the lowest is served first.
    pub number: u64,
    /// The waiter's acquire.
    pub op: OpId,
    /// The id its grant shall have.
    pub lease: LeaseId,
    /// Who would hold it.
    pub holder: HolderName,
    /// Length of the grant it asks for.
    pub ttl: Span,
    /// The most holders of the key that it would put up with.
    pub limit: Limit,
    /// What tells its input from another's.
    pub fingerprint: Option<Fingerprint>,
}

impl Snapshot {
    /// The latest instant of the host that has stored this, as far as that can be told.
    pub fn written(&self) -> Instant {
        let others = self.grants.iter().map(|(_, grant)| grant);
        let firsts = self.keys.iter().filter_map(|record| record.grant.as_ref());
        let renewed = others.chain(firsts).map(|grant| grant.expires - grant.term);
        let written = self.keys.iter().map(|record| record.written);
        renewed.chain(written).max().unwrap_or(Instant::ZERO)
    }
}

/// Everything a host has stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Snapshot {
    /// The last floor put.
    pub floor: Floor,
    /// All keys' records.
    pub keys: Vec<KeyRecord>,
    /// All grants in slots that are not the first, in any order.
    pub grants: Vec<(Key, GrantRecord)>,
    /// All entries, in any order.
    pub entries: Vec<EntryRecord>,
    /// All waiters, in any order.
    pub waiters: Vec<WaiterRecord>,
}
