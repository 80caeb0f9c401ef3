//! What the one who drives a holder tells it.

use crate::id::{AttemptId, LeaseId};
use crate::json::Json;
use crate::name::{EntryName, HolderName};
use crate::protocol::Response;
use crate::time::Span;

use super::tickets::Ticket;

/// What a holder is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Begin: send the first attempt.
    Start,
    /// An attempt was answered.
    Answered(AttemptId, Response),
    /// An attempt failed without an answer that can be read.
    Failed(AttemptId, TransportFailure),
    /// Nothing of what this attempt has sent so far was carried out, as an answer has proved, and it
    /// is about to be sent again: a grant counts from now.
    Resent(AttemptId),
    /// The instant of the last [`super::Output::Wake`] has come.
    Wake,
    /// Stop waiting for the grant and take back whatever the host gave meanwhile.
    Cancel,
    /// Leave the lease to whoever claims it: it is not held here any more, and nothing but a release
    /// can be asked for.
    Detach,
    /// Do this with the lease, and say how it ended with [`super::Event::Settled`].
    Ask(Ticket, Ask),
}

/// What a holder can be asked to do with its lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Set an entry of the grant, or delete it if there is no value.
    Entry {
        /// Which.
        name: EntryName,
        /// Its new value.
        value: Option<Json>,
    },
    /// End the lease with a result.
    Finish {
        /// What whoever asks for the key gets instead of it.
        result: Json,
        /// For how long.
        keep: Span,
    },
    /// Give the lease back.
    Release,
    /// Renew now, and from now on by this length if one is given.
    Renew(Option<Span>),
    /// Hand the lease over, under a new id from a cryptographic source.
    Transfer {
        /// Who holds it next.
        successor: HolderName,
        /// The id of the successor's grant.
        lease: LeaseId,
        /// Length of the successor's grant.
        ttl: Span,
    },
    /// Ask the host whether the lease is still held.
    Verify,
}

/// An attempt that got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportFailure {
    /// Whether the host may have carried the request out.
    pub delivery: Delivery,
    /// How long the host or something before it asked to be left alone.
    pub retry_after: Option<Span>,
}

/// What is known of a request that got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It certainly never reached the host.
    Never,
    /// It may have been carried out.
    Unknown,
}
