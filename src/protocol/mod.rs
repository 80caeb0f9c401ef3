//! What travels between a holder and a host.
//!
//! One request names one key and one intention ([`OpId`]); one response answers it. Durations
//! travel, instants never do. Results are values: a denial is a [`Response`], not an error of the
//! carrier. [`wire`] has the form in which they travel.

mod limits;
mod refusal;
mod state;
pub mod wire;

pub use crate::invalid::{Field, Invalid};
pub use limits::{
    Limit, MAX_ENTRIES, MAX_ENTRIES_BYTES, MAX_KEEP, MAX_LISTED, MAX_LISTED_BYTES, MAX_POLL,
    MAX_RESULT_BYTES, MAX_TTL, MAX_VALUE_BYTES, MAX_WAIT, MIN_KEEP, MIN_TTL, check_ttl, check_wait,
    longest_poll, parse_keep, parse_ttl, parse_wait,
};
pub use refusal::{Code, Refusal};
pub use state::{DoneState, HolderState, KeyState};

use alloc::string::String;
use alloc::vec::Vec;

use crate::fence::{Fence, Revision};
use crate::id::{LeaseId, OpId};
use crate::json::Json;
use crate::name::{EntryName, Fingerprint, HolderName, Key};
use crate::time::Span;
use crate::words::words;

/// The protocol's version. A host answers a version that it does not speak with [`Code::Invalid`].
pub const VERSION: u32 = 1;

/// What a host can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Which keys there are. Only hosts that can enumerate them know.
    List(List),
    /// Something about one key.
    Request(Request),
}

/// Asks for the states of keys, in order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// What the keys begin with.
    pub prefix: String,
    /// Where an earlier answer ended.
    pub after: Option<String>,
}

/// One operation on one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The key operated on.
    pub key: Key,
    /// The intention, the same in every attempt. For [`Operation::Cancel`] the intention to cancel.
    pub op: OpId,
    /// What is asked.
    pub operation: Operation,
}

/// What a request asks of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Grant the key, now or when its turn comes.
    Acquire(Acquire),
    /// Take back the acquire or transfer with this request's op: leave the queue, give up the
    /// grant, and refuse the op from now on.
    Cancel,
    /// Set or delete an entry of the grant. It ends with the grant.
    Entry(Entry),
    /// End the grant with a result: the key is done for a while.
    Finish(Finish),
    /// Tell the key's state.
    Inspect,
    /// Give the lease back.
    Release(Credential),
    /// Set the lease's expiry anew: `ttl` from now. Never brings it forward.
    Renew {
        /// Proof of holding.
        credential: Credential,
        /// The new length of the grant.
        ttl: Span,
    },
    /// End the grants that the key has, and that it is done. The operator's.
    Revoke {
        /// Only the grant with this fence.
        fence: Option<Fence>,
    },
    /// Hand the lease to a successor in one step, with a new fence and a new lease id.
    Transfer(Transfer),
    /// Tell whether the lease is still held, without extending it.
    Verify(Credential),
    /// Tell the key's state as soon as it is another.
    Watch(Watch),
}

impl Operation {
    /// What it has to prove that the lease is held, where it has to.
    pub const fn credential(&self) -> Option<&Credential> {
        match self {
            Self::Acquire(_)
            | Self::Cancel
            | Self::Inspect
            | Self::Revoke { .. }
            | Self::Watch(_) => None,
            Self::Entry(entry) => Some(&entry.credential),
            Self::Finish(finish) => Some(&finish.credential),
            Self::Release(credential)
            | Self::Renew { credential, .. }
            | Self::Verify(credential) => Some(credential),
            Self::Transfer(transfer) => Some(&transfer.credential),
        }
    }
}

/// A request for a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acquire {
    /// Who would hold it.
    pub holder: HolderName,
    /// The id the grant shall have. Proposed by the client, so a repeated request finds its own.
    pub lease: LeaseId,
    /// Length of the grant.
    pub ttl: Span,
    /// How much longer the client is willing to wait. Zero asks once and never queues.
    pub wait: Span,
    /// The most holders that this one puts up with.
    pub limit: Limit,
    /// Whether a running grant that has this lease id is extended.
    pub extend: bool,
    /// Whether all running grants are ended in its favour, before whoever waits.
    pub steal: bool,
    /// What tells its input from another's.
    pub fingerprint: Option<Fingerprint>,
}

impl Acquire {
    /// A request to hold the key alone.
    pub const fn new(holder: HolderName, lease: LeaseId, ttl: Span, wait: Span) -> Self {
        Self {
            holder,
            lease,
            ttl,
            wait,
            limit: Limit::EXCLUSIVE,
            extend: false,
            steal: false,
            fingerprint: None,
        }
    }
}

/// A change to a grant's entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Proof of holding.
    pub credential: Credential,
    /// Which entry.
    pub name: EntryName,
    /// Its new value; without one it is deleted.
    pub value: Option<Json>,
    /// Rises with every change to the lease's entries: an older one that comes later is ignored.
    pub number: u64,
}

/// A request to end a grant with a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finish {
    /// Proof of holding.
    pub credential: Credential,
    /// What whoever asks for the key gets instead of it.
    pub result: Json,
    /// For how long.
    pub keep: Span,
}

/// A request to hand a lease over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Proof of holding.
    pub credential: Credential,
    /// Who holds it next.
    pub successor: HolderName,
    /// The id the successor's grant shall have.
    pub lease: LeaseId,
    /// Length of the successor's grant.
    pub ttl: Span,
}

/// A request to be told of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The revision that the client knows; without one any is news.
    pub after: Option<Revision>,
    /// How long to wait for another.
    pub wait: Span,
}

/// Proof of holding a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credential {
    /// The grant's secret id.
    pub lease: LeaseId,
    /// The grant's fence, where the request is about that grant alone: an id may be granted again.
    pub fence: Option<Fence>,
}

/// The answer to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// The op is cancelled: it holds nothing and never will.
    Cancelled,
    /// To an acquire: the work was finished and its result is kept.
    Done(Done),
    /// To an entry: it is as was asked, or has been changed since.
    Entered {
        /// The fence that the request named.
        about: Option<Fence>,
    },
    /// To a finish: by this op.
    Finished {
        /// The fence that the request named.
        about: Option<Fence>,
    },
    /// To an acquire or transfer: the key is granted.
    Granted(Granted),
    /// To an acquire: another holder has it.
    Held(Held),
    /// To a list.
    Listed {
        /// Some keys' states.
        states: Vec<KeyState>,
        /// Where the next list is to go on; `None` at the end.
        after: Option<String>,
    },
    /// To whatever needs a credential: definitely not the holder. Also to a repeated
    /// acquire whose grant has ended.
    NotHolder {
        /// The fence that the request named.
        about: Option<Fence>,
        /// How the grant ended.
        ended: Ended,
        /// The highest fence that the key has now, if it is held.
        present: Option<Fence>,
    },
    /// To an acquire: still waiting. Ask again under the same op within a few seconds, or lose
    /// the place in the queue.
    Queued {
        /// How many waiters are in front.
        ahead: u32,
        /// When to ask again: zero where the host itself lets the request wait.
        retry_after: Span,
    },
    /// The host did not carry out the request.
    Refused(Refusal),
    /// To a release: given back, by this op.
    Released {
        /// The fence that the request named.
        about: Option<Fence>,
    },
    /// To a renew or verify: held.
    Renewed {
        /// The fence that the request named.
        about: Option<Fence>,
        /// What is left of the grant.
        ttl: Span,
        /// How many wait for the key.
        wanted: u32,
    },
    /// To a revoke: how many grants ended, the mark that the key is done counted as one.
    Revoked(u32),
    /// To an inspect or watch.
    State(KeyState),
}

/// A grant, as its holder learns of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The grant's id and credential.
    pub lease: LeaseId,
    /// The grant's fence.
    pub fence: Fence,
    /// The grant's place among the key's holders, from zero.
    pub slot: u32,
    /// What is left of the grant when the answer is written, less the host's clock margin. It may
    /// be shorter than what was asked: a grant that ends a wait starts with a short term, so that
    /// a waiter that has gone holds nobody up; the first renewal gives the rest.
    pub ttl: Span,
    /// How long, by the host's clock, this request lay waiting before it was granted.
    pub waited: Span,
    /// Whether an earlier attempt of the same op was granted already.
    pub replayed: bool,
    /// How many wait for the key.
    pub wanted: u32,
}

impl From<&Granted> for Credential {
    fn from(granted: &Granted) -> Self {
        Self {
            lease: granted.lease,
            fence: Some(granted.fence),
        }
    }
}

/// Somebody else's grant, as a contender learns of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Who holds it in the lowest slot, if somebody does (a key may also be kept for a waiter).
    pub holder: Option<HolderName>,
    /// That holder's fence.
    pub fence: Option<Fence>,
    /// When asking again may first help.
    pub retry_after: Span,
    /// How many wait for the key.
    pub waiters: u32,
}

/// A finished work, as somebody learns of it who asked for the right to do it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The fence under which it was done.
    pub fence: Fence,
    /// How long ago.
    pub age: Span,
    /// How much longer the result is kept.
    pub remaining: Span,
    /// The result.
    pub result: Option<Json>,
}

words! {
    /// How a grant ended, as far as the host still knows.
    pub enum Ended {
        /// Its op was cancelled.
        Cancelled = "cancelled",
        /// It was not renewed in time.
        Expired = "expired",
        /// It was finished.
        Finished = "finished",
        /// It was given back.
        Released = "released",
        /// It was ended by an operator.
        Revoked = "revoked",
        /// It was handed to a successor.
        Transferred = "transferred",
        /// The host has no memory of it.
        Unknown = "unknown",
    }
}
