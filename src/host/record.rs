//! What a host keeps in its storage.
//!
//! [`Mutation`]s applied in order to an empty store give the [`Snapshot`] that
//! [`super::Host::restore`] carries on from.

use alloc::vec::Vec;

use crate::fence::Fence;
use crate::id::{LeaseId, OpId};
use crate::name::{HolderName, Key};
use crate::protocol::Ended;
use crate::time::{Instant, Span};

/// One change to the stored state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// Forget the key. Its fence lives on in the floor, which was put before.
    DeleteKey(Key),
    /// The waiter has left the queue.
    DeleteWaiter {
        /// The key waited for.
        key: Key,
        /// The waiter's number.
        number: u64,
    },
    /// No key without a record was ever granted a fence above this.
    PutFloor(Fence),
    /// The key's record, replacing any earlier one.
    PutKey(KeyRecord),
    /// A waiter at the end of the queue.
    PutWaiter(WaiterRecord),
}

/// The state of one key, its queue excepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// The key.
    pub key: Key,
    /// The highest fence granted.
    pub fence: Fence,
    /// The host's time when this was written: its clock is never to be behind that again.
    pub written: Instant,
    /// The running grant.
    pub grant: Option<GrantRecord>,
    /// Grants and ops that have ended, oldest first.
    pub past: Vec<Past>,
}

/// A running grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantRecord {
    /// The grant's id and credential.
    pub lease: LeaseId,
    /// The op that won it.
    pub op: OpId,
    /// Who holds it.
    pub holder: HolderName,
    /// Length of the running term.
    pub term: Span,
    /// When the term is over.
    pub expires: Instant,
}

/// An op that has had its outcome and must not have another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// The op.
    pub op: OpId,
    /// The grant it won, if it won one.
    pub grant: Option<(LeaseId, Fence)>,
    /// The op that ended the grant, if one did.
    pub ended_by: Option<OpId>,
    /// How it ended.
    pub ended: Ended,
    /// When.
    pub at: Instant,
}

/// A place in a key's queue.
#[derive(Clone, Debug, PartialEq, Eq)]
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
}

/// Everything a host has stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The last floor put, or [`Fence::NONE`].
    pub floor: Fence,
    /// All keys' records.
    pub keys: Vec<KeyRecord>,
    /// All waiters, in any order.
    pub waiters: Vec<WaiterRecord>,
}
