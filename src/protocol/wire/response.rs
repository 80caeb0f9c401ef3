//! Answers as they travel.

use alloc::borrow::Cow;
use alloc::string::String;

use super::record::record;
use super::value::Version;
use crate::fence::Fence;
use crate::id::LeaseId;
use crate::invalid::Invalid;
use crate::json::Writer;
use crate::name::HolderName;
use crate::protocol::{Code, Ended, Granted, Held, Info, Refusal, Response};
use crate::time::Span;
use crate::words::words;

words! {
    /// What happened.
    pub enum Outcome {
        /// [`Response::Cancelled`].
        Cancelled = "cancelled",
        /// [`Response::Granted`].
        Granted = "granted",
        /// [`Response::Held`].
        Held = "held",
        /// [`Response::Inspected`].
        Inspected = "inspected",
        /// [`Response::NotHolder`].
        NotHolder = "not-holder",
        /// [`Response::Queued`].
        Queued = "queued",
        /// [`Response::Refused`].
        Refused = "refused",
        /// [`Response::Released`].
        Released = "released",
        /// [`Response::Renewed`].
        Renewed = "renewed",
        /// [`Response::Revoked`].
        Revoked = "revoked",
    }
}

record! {
    /// A [`Response`] as it travels. Which fields there are depends on the outcome.
    pub struct WireResponse {
        /// Protocol version.
        v: Option<Version> => Version,
        /// What happened.
        outcome: Option<Outcome> => Outcome,
        /// Refused: the kind.
        code: Option<Code> => Code,
        /// Refused, not-holder: a stable word for the cause.
        reason: Option<Cow<'static, str>> => Reason,
        /// Refused: a sentence for people.
        message: Option<Cow<'static, str>> => Message,
        /// Granted: the lease's id.
        lease: Option<LeaseId> => Lease,
        /// Granted, inspected: the grant's fence, in decimal. Not-holder, released, renewed: the one
        /// that the request named.
        fence: Option<Fence> => Fence,
        /// Held, inspected: who holds the key. An inspected key without a holder is free.
        holder: Option<HolderName> => Holder,
        /// Granted, renewed, inspected: what is left of the grant, in milliseconds.
        ttl_ms: Option<u64> => Ttl,
        /// Granted: how long the request lay waiting at the host, in milliseconds; absent means
        /// zero.
        waited_ms: Option<u64> => Waited,
        /// Held, queued, refused: when asking again may first help, in milliseconds.
        retry_after_ms: Option<u64> => RetryAfter,
        /// Queued: waiters in front. Inspected: waiters in all.
        waiters: Option<u32> => Waiters,
        /// Granted: an earlier attempt of the same op was granted already.
        replayed: bool => Replayed,
        /// Revoked: whether there was a grant to end.
        revoked: bool => Revoked,
        /// Refused as `wrong-object`: how keys are spread over the host's objects.
        layout: Option<Cow<'static, str>> => Layout,
    }
}

/// The answer makes no sense: the host is not one of ours, or something between changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

impl From<Invalid> for Unreadable {
    fn from(_: Invalid) -> Self {
        Self
    }
}

impl Response {
    /// The answer in a JSON text.
    ///
    /// # Errors
    /// [`Unreadable`] if it is none of this protocol's.
    pub fn from_json(text: &str) -> Result<Self, Unreadable> {
        WireResponse::from_json(text)?.try_into()
    }

    /// The answer as a JSON text.
    pub fn to_json(self) -> String {
        Writer::of(|json| WireResponse::from(self).write(json))
    }
}

impl TryFrom<WireResponse> for Response {
    type Error = Unreadable;

    fn try_from(wire: WireResponse) -> Result<Self, Unreadable> {
        wire.v.ok_or(Unreadable)?;
        Ok(match wire.outcome.ok_or(Unreadable)? {
            Outcome::Cancelled => Self::Cancelled,
            Outcome::Granted => Self::Granted(Granted {
                lease: wire.lease.ok_or(Unreadable)?,
                fence: wire.fence.ok_or(Unreadable)?,
                ttl: span(wire.ttl_ms)?,
                waited: Span::from_millis(wire.waited_ms.unwrap_or(0)),
                replayed: wire.replayed,
            }),
            Outcome::Held => Self::Held(Held {
                holder: wire.holder,
                retry_after: span(wire.retry_after_ms)?,
            }),
            Outcome::Inspected => Self::Inspected(match wire.holder {
                None => None,
                Some(holder) => Some(Info {
                    holder,
                    fence: wire.fence.ok_or(Unreadable)?,
                    remaining: span(wire.ttl_ms)?,
                    waiters: wire.waiters.ok_or(Unreadable)?,
                }),
            }),
            Outcome::NotHolder => {
                let reason = wire.reason.as_deref().and_then(Ended::from_name);
                Self::NotHolder {
                    about: wire.fence,
                    ended: reason.unwrap_or(Ended::Unknown),
                }
            }
            Outcome::Queued => Self::Queued {
                ahead: wire.waiters.ok_or(Unreadable)?,
                retry_after: Span::from_millis(wire.retry_after_ms.unwrap_or(0)),
            },
            Outcome::Refused => Self::Refused(Refusal {
                code: wire.code.ok_or(Unreadable)?,
                reason: wire.reason.ok_or(Unreadable)?,
                message: wire.message.unwrap_or_default(),
                retry_after: wire.retry_after_ms.map(Span::from_millis),
                layout: wire.layout,
            }),
            Outcome::Released => Self::Released { about: wire.fence },
            Outcome::Renewed => Self::Renewed {
                about: wire.fence,
                ttl: span(wire.ttl_ms)?,
            },
            Outcome::Revoked => Self::Revoked(wire.revoked),
        })
    }
}

fn span(millis: Option<u64>) -> Result<Span, Unreadable> {
    millis.map(Span::from_millis).ok_or(Unreadable)
}

impl From<Response> for WireResponse {
    fn from(response: Response) -> Self {
        let mut wire = Self {
            v: Some(Version),
            ..Self::default()
        };
        wire.outcome = Some(match response {
            Response::Cancelled => Outcome::Cancelled,
            Response::Granted(granted) => {
                wire.lease = Some(granted.lease);
                wire.fence = Some(granted.fence);
                wire.ttl_ms = Some(granted.ttl.as_millis_floor());
                wire.waited_ms = Some(granted.waited.as_millis_floor()).filter(|&ms| ms > 0);
                wire.replayed = granted.replayed;
                Outcome::Granted
            }
            Response::Held(held) => {
                wire.holder = held.holder;
                wire.retry_after_ms = Some(held.retry_after.as_millis_ceil());
                Outcome::Held
            }
            Response::Inspected(info) => {
                if let Some(info) = info {
                    wire.holder = Some(info.holder);
                    wire.fence = Some(info.fence);
                    wire.ttl_ms = Some(info.remaining.as_millis_floor());
                    wire.waiters = Some(info.waiters);
                }
                Outcome::Inspected
            }
            Response::NotHolder { about, ended } => {
                wire.fence = about;
                wire.reason = Some(Cow::Borrowed(ended.name()));
                Outcome::NotHolder
            }
            Response::Queued { ahead, retry_after } => {
                wire.waiters = Some(ahead);
                wire.retry_after_ms = Some(retry_after.as_millis_ceil()).filter(|&ms| ms > 0);
                Outcome::Queued
            }
            Response::Refused(refusal) => {
                wire.code = Some(refusal.code);
                wire.reason = Some(refusal.reason);
                wire.message = Some(refusal.message);
                wire.retry_after_ms = refusal.retry_after.map(Span::as_millis_ceil);
                wire.layout = refusal.layout;
                Outcome::Refused
            }
            Response::Released { about } => {
                wire.fence = about;
                Outcome::Released
            }
            Response::Renewed { about, ttl } => {
                wire.fence = about;
                wire.ttl_ms = Some(ttl.as_millis_floor());
                Outcome::Renewed
            }
            Response::Revoked(revoked) => {
                wire.revoked = revoked;
                Outcome::Revoked
            }
        });
        wire
    }
}
