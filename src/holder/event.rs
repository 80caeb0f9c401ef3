//! What a holder tells the one who drives it.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::fence::Fence;
use crate::id::{AttemptId, LeaseId};
use crate::name::HolderName;
use crate::protocol::{self, Code, Ended, Held, Refusal, Request};
use crate::time::{Instant, Span};

use super::tickets::Ticket;
use super::timers::Timer;

/// One thing to do or to know. Drained after each input, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// The answer to this attempt is no longer awaited; its carrier may be shut down.
    Drop(AttemptId),
    /// Something happened.
    Event(Event),
    /// Send a request and report its answer, or its failure after `timeout` at the latest.
    Send(Send),
    /// Come back at this instant with [`super::Input::Wake`]. Last of a drain; without it there is
    /// nothing to come back for.
    Wake {
        /// When.
        at: Instant,
        /// What is due then.
        why: Timer,
    },
}

/// One attempt to get a request to the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Send {
    /// Names this attempt in its answer.
    pub attempt: AttemptId,
    /// What to send, the same in every attempt at an operation.
    pub request: Arc<Request>,
    /// How long the answer may take.
    pub timeout: Span,
    /// Whether the carrier should rebuild its connection first.
    pub rebind: bool,
}

/// What happened to a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing is in flight and nothing is due: the machine can be dropped. Always the last, but for
    /// the refusal of what is asked for even later.
    Closed,
    /// The acquire or resume has ended without a lease.
    Failed(Arc<Failure>),
    /// The lease has ended with a result. Terminal.
    Finished,
    /// The lease is held.
    Granted(Box<Grant>),
    /// Renewals are failing; the lease is still valid.
    Jeopardy {
        /// How long it remains so.
        remaining: Span,
    },
    /// The lease can no longer be trusted. Terminal.
    Lost(LossReason),
    /// Waiting, with so many in front.
    Queued {
        /// How many.
        ahead: u32,
    },
    /// The release is through, or has been given up.
    Released(Release),
    /// A renewal attempt failed; the lease is still valid.
    RenewFailed {
        /// What went wrong.
        failure: Arc<Failure>,
        /// How long the lease remains valid.
        remaining: Span,
    },
    /// The lease was renewed.
    Renewed {
        /// How long it is valid now.
        remaining: Span,
    },
    /// Renewals work again after [`Event::Jeopardy`].
    Safe {
        /// How long the lease is valid.
        remaining: Span,
    },
    /// The end of an operation that was asked for. Each that was asked for has exactly one.
    Settled(Ticket, Result<Done, Arc<Failure>>),
    /// The lease has gone to its successor. Terminal.
    Transferred,
    /// So many wait for the key now.
    Wanted {
        /// How many.
        waiters: u32,
    },
}

/// What an operation that was asked for has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// The entry is as was asked, or has been changed since.
    Entered,
    /// The lease has ended with its result.
    Finished,
    /// The lease is given back, as far as is known.
    Released(Release),
    /// The lease was renewed after it was asked for.
    Renewed,
    /// The lease is the successor's.
    Transferred(Box<Successor>),
    /// The host says that the lease is held.
    Verified,
}

/// A lease, as it was granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The credential.
    pub lease: LeaseId,
    /// The number a resource checks.
    pub fence: Fence,
    /// Its place among the key's holders, from zero.
    pub slot: u32,
    /// How many wait for the key.
    pub wanted: u32,
    /// How long it is valid unless it is renewed.
    pub remaining: Span,
}

/// How a release ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// The host has it back.
    Done,
    /// There was nothing to give back.
    NotHeld(Ended),
    /// The host gave no answer. The lease ends with its term at the latest.
    Unconfirmed,
}

/// What a successor resumes a transferred lease with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Successor {
    /// Who holds it now.
    pub holder: HolderName,
    /// The credential.
    pub lease: LeaseId,
    /// The number a resource checks.
    pub fence: Fence,
    /// Length of the grant.
    pub ttl: Span,
}

/// Why a lease was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossReason {
    /// The usable term is over.
    Expired,
    /// It has been held for as long as it may be.
    MaxHold,
    /// The host says that somebody or something ended it.
    NotHolder(Ended),
}

impl LossReason {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::MaxHold => "max-hold",
            Self::NotHolder(ended) => ended.name(),
        }
    }
}

/// An operation that did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind.
    pub code: ErrorCode,
    /// A stable word for programs.
    pub reason: Cow<'static, str>,
    /// A sentence for people, where the host sent one.
    pub message: Cow<'static, str>,
    /// Who holds the key, where that is the cause and known.
    pub holder: Option<HolderName>,
    /// When trying again may first help.
    pub retry_after: Option<Span>,
    /// The finished work, where that is the cause.
    pub finished: Option<Box<protocol::Done>>,
}

impl Failure {
    const fn plain(code: ErrorCode, reason: &'static str) -> Self {
        Self {
            code,
            reason: Cow::Borrowed(reason),
            message: Cow::Borrowed(""),
            holder: None,
            retry_after: None,
            finished: None,
        }
    }

    /// A failure of kind `code` for a reason known here.
    pub(super) fn new(code: ErrorCode, reason: &'static str) -> Arc<Self> {
        Arc::new(Self::plain(code, reason))
    }

    /// The lease is gone.
    pub(super) fn lost(reason: &'static str) -> Arc<Self> {
        Self::new(ErrorCode::Lost, reason)
    }

    /// The work is done, and its result kept.
    pub(super) fn done(finished: &protocol::Done) -> Arc<Self> {
        Arc::new(Self {
            finished: Some(Box::new(finished.clone())),
            ..Self::plain(ErrorCode::Done, "done")
        })
    }

    /// Another has the key.
    pub(super) fn held(code: ErrorCode, held: &Held) -> Arc<Self> {
        Arc::new(Self {
            holder: held.holder.clone(),
            retry_after: Some(held.retry_after),
            ..Self::plain(code, "held-by-another")
        })
    }

    /// The host refuses.
    pub(super) fn refused(refusal: &Refusal) -> Arc<Self> {
        Arc::new(refusal.into())
    }

    /// The host could not be asked.
    pub(super) fn unreachable(retry_after: Option<Span>) -> Arc<Self> {
        Arc::new(Self {
            retry_after,
            ..Self::plain(ErrorCode::Unavailable, "unreachable")
        })
    }

    /// The host has not answered in time.
    pub(super) fn no_answer() -> Arc<Self> {
        Self::new(ErrorCode::Unavailable, "no-answer")
    }

    /// An answer that makes no sense here: about another grant, or one that no host can have given.
    pub(super) fn unreadable() -> Arc<Self> {
        Self::new(ErrorCode::Unavailable, "unreadable-answer")
    }
}

impl From<&Refusal> for Failure {
    fn from(refusal: &Refusal) -> Self {
        Self {
            code: match refusal.code {
                Code::Denied => ErrorCode::Denied,
                Code::Invalid => ErrorCode::Invalid,
                Code::Unavailable => ErrorCode::Unavailable,
            },
            reason: refusal.reason.clone(),
            message: refusal.message.clone(),
            holder: None,
            retry_after: refusal.retry_after,
            finished: None,
        }
    }
}

/// The kind of a failure. No two causes that call for different action share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// The caller cancelled it.
    Aborted,
    /// The host refuses this caller.
    Denied,
    /// The key's work is done.
    Done,
    /// Another holder has the key.
    Held,
    /// The host refuses the request as malformed.
    Invalid,
    /// The lease is gone.
    Lost,
    /// The wait ran out while another held the key.
    Timeout,
    /// The host could not be asked, or its answer is unknown.
    Unavailable,
}

impl ErrorCode {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aborted => "ABORTED",
            Self::Denied => "DENIED",
            Self::Done => "DONE",
            Self::Held => "HELD",
            Self::Invalid => "INVALID",
            Self::Lost => "LOST",
            Self::Timeout => "TIMEOUT",
            Self::Unavailable => "UNAVAILABLE",
        }
    }
}
