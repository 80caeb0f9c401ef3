//! What travels between a holder and a host.
//!
//! One request names one key and one intention ([`OpId`]); one response answers it. Durations
//! travel, instants never do. Results are values: a denial is a [`Response`], not an error of the
//! carrier. [`wire`] has the form in which they travel.

mod limits;
mod refusal;
pub mod wire;

pub use crate::invalid::{Field, Invalid};
pub use limits::{
    MAX_POLL, MAX_TTL, MAX_WAIT, MIN_TTL, check_ttl, check_wait, longest_poll, parse_ttl,
    parse_wait,
};
pub use refusal::{Code, Refusal};

use crate::fence::Fence;
use crate::id::{LeaseId, OpId};
use crate::name::{HolderName, Key};
use crate::time::Span;
use crate::words::words;

/// The protocol's version. A host answers a version that it does not speak with [`Code::Invalid`].
pub const VERSION: u32 = 1;

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
    /// Tell who holds the key.
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
    /// End whatever grant the key has. The operator's.
    Revoke,
    /// Hand the lease to a successor in one step, with a new fence and a new lease id.
    Transfer(Transfer),
    /// Tell whether the lease is still held, without extending it.
    Verify(Credential),
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
    /// Whether a lease that this holder has already is to be answered with that lease.
    pub reentrant: bool,
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
    /// To an acquire or transfer: the key is granted.
    Granted(Granted),
    /// To an acquire: another holder has it.
    Held(Held),
    /// To an inspect.
    Inspected(Option<Info>),
    /// To a renew, release, verify or transfer: definitely not the holder. Also to a repeated
    /// acquire whose grant has ended.
    NotHolder {
        /// The fence that the request named.
        about: Option<Fence>,
        /// How the grant ended.
        ended: Ended,
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
    },
    /// To a revoke: whether there was a grant to end.
    Revoked(bool),
}

/// A grant, as its holder learns of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The grant's id and credential.
    pub lease: LeaseId,
    /// The grant's fence.
    pub fence: Fence,
    /// What is left of the grant when the answer is written, less the host's clock margin. It may
    /// be shorter than what was asked: a grant that ends a wait starts with a short term, so that
    /// a waiter that has gone holds nobody up; the first renewal gives the rest.
    pub ttl: Span,
    /// How long, by the host's clock, this request lay waiting before it was granted.
    pub waited: Span,
    /// Whether an earlier attempt of the same op was granted already.
    pub replayed: bool,
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
    /// Who holds it, if somebody does (a key may also be kept for a waiter).
    pub holder: Option<HolderName>,
    /// When asking again may first help.
    pub retry_after: Span,
}

/// A live grant, as an observer learns of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Who holds the key.
    pub holder: HolderName,
    /// The grant's fence.
    pub fence: Fence,
    /// Time until the host frees the key unless it is renewed.
    pub remaining: Span,
    /// How many wait for the key.
    pub waiters: u32,
}

words! {
    /// How a grant ended, as far as the host still knows.
    pub enum Ended {
        /// Its op was cancelled.
        Cancelled = "cancelled",
        /// It was not renewed in time.
        Expired = "expired",
        /// The record at the key is not one of ours.
        ForeignValue = "foreign-value",
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
