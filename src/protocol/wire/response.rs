//! Answers as they travel.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::record::record;
use super::value::{JsonText, Version};
use crate::fence::Fence;
use crate::id::LeaseId;
use crate::invalid::Invalid;
use crate::json::Writer;
use crate::name::HolderName;
use crate::protocol::{Code, Done, Ended, Granted, Held, KeyState, Refusal, Response};
use crate::time::Span;
use crate::words::words;

words! {
    /// What happened.
    pub enum Outcome {
        /// [`Response::Cancelled`].
        Cancelled = "cancelled",
        /// [`Response::Done`].
        Done = "done",
        /// [`Response::Entered`].
        Entered = "entered",
        /// [`Response::Finished`].
        Finished = "finished",
        /// [`Response::Granted`].
        Granted = "granted",
        /// [`Response::Held`].
        Held = "held",
        /// [`Response::Listed`].
        Listed = "listed",
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
        /// [`Response::State`].
        State = "state",
    }
}

record! {
    /// A [`Response`] as it travels. Which fields there are depends on the outcome.
    #[derive(Default)]
    #[serde(default)]
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
        /// Refused as the wrong object: the layout by which the right one is found.
        layout: Option<Cow<'static, str>> => Layout,
        /// Granted: the lease's id.
        lease: Option<LeaseId> => Lease,
        /// Granted, done: the grant's fence, in decimal. Held: the present one in the lowest slot.
        /// Entered, finished, not-holder, released, renewed: the one that the request named.
        fence: Option<Fence> => Fence,
        /// Not-holder: the highest fence that the key has now.
        present: Option<Fence> => Present,
        /// Held: who holds the key in the lowest slot.
        holder: Option<HolderName> => Holder,
        /// Granted: the place among the key's holders, from zero.
        slot: Option<u32> => Slot,
        /// Granted, renewed: what is left of the grant, in milliseconds.
        ttl_ms: Option<u64> => Ttl,
        /// Granted: how long the request lay waiting at the host, in milliseconds; absent means
        /// zero.
        waited_ms: Option<u64> => Waited,
        /// Held, queued, refused: when asking again may first help, in milliseconds.
        retry_after_ms: Option<u64> => RetryAfter,
        /// Queued: waiters in front. Held: waiters in all; absent means none.
        waiters: Option<u32> => Waiters,
        /// Granted, renewed: how many wait for the key; absent means none.
        wanted: Option<u32> => Wanted,
        /// Granted: an earlier attempt of the same op was granted already.
        replayed: bool => Replayed,
        /// Revoked: how many grants ended, the mark that the key is done counted as one.
        revoked: Option<u32> => Revoked,
        /// Done: how long ago, in milliseconds.
        age_ms: Option<u64> => Age,
        /// Done: how much longer the result is kept, in milliseconds.
        remaining_ms: Option<u64> => Remaining,
        /// Done: the result, JSON as text.
        result: Option<JsonText> => Result,
        /// State: the key's.
        state: Option<KeyState> => State,
        /// Listed: some keys' states.
        states: Option<Vec<KeyState>> => States,
        /// Listed: where the next list is to go on; absent at the end.
        after: Option<String> => After,
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
            Outcome::Done => Self::Done(Done {
                fence: wire.fence.ok_or(Unreadable)?,
                age: span(wire.age_ms)?,
                remaining: span(wire.remaining_ms)?,
                result: wire.result.map(|JsonText(result)| result),
            }),
            Outcome::Entered => Self::Entered { about: wire.fence },
            Outcome::Finished => Self::Finished { about: wire.fence },
            Outcome::Granted => Self::Granted(Granted {
                lease: wire.lease.ok_or(Unreadable)?,
                fence: wire.fence.ok_or(Unreadable)?,
                slot: wire.slot.unwrap_or(0),
                ttl: span(wire.ttl_ms)?,
                waited: Span::from_millis(wire.waited_ms.unwrap_or(0)),
                replayed: wire.replayed,
                wanted: wire.wanted.unwrap_or(0),
            }),
            Outcome::Held => Self::Held(Held {
                holder: wire.holder,
                fence: wire.fence,
                retry_after: span(wire.retry_after_ms)?,
                waiters: wire.waiters.unwrap_or(0),
            }),
            Outcome::Listed => Self::Listed {
                states: wire.states.ok_or(Unreadable)?,
                after: wire.after,
            },
            Outcome::NotHolder => {
                let reason = wire.reason.as_deref().and_then(Ended::from_name);
                Self::NotHolder {
                    about: wire.fence,
                    ended: reason.unwrap_or(Ended::Unknown),
                    present: wire.present,
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
                wanted: wire.wanted.unwrap_or(0),
            },
            Outcome::Revoked => Self::Revoked(wire.revoked.ok_or(Unreadable)?),
            Outcome::State => Self::State(wire.state.ok_or(Unreadable)?),
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
            Response::Done(done) => {
                wire.fence = Some(done.fence);
                wire.age_ms = Some(done.age.as_millis_floor());
                wire.remaining_ms = Some(done.remaining.as_millis_floor());
                wire.result = done.result.map(JsonText);
                Outcome::Done
            }
            Response::Entered { about } => {
                wire.fence = about;
                Outcome::Entered
            }
            Response::Finished { about } => {
                wire.fence = about;
                Outcome::Finished
            }
            Response::Granted(granted) => {
                wire.lease = Some(granted.lease);
                wire.fence = Some(granted.fence);
                wire.slot = Some(granted.slot);
                wire.ttl_ms = Some(granted.ttl.as_millis_floor());
                wire.waited_ms = some(granted.waited.as_millis_floor());
                wire.replayed = granted.replayed;
                wire.wanted = some(granted.wanted);
                Outcome::Granted
            }
            Response::Held(held) => {
                wire.holder = held.holder;
                wire.fence = held.fence;
                wire.retry_after_ms = Some(held.retry_after.as_millis_ceil());
                wire.waiters = some(held.waiters);
                Outcome::Held
            }
            Response::Listed { states, after } => {
                wire.states = Some(states);
                wire.after = after;
                Outcome::Listed
            }
            Response::NotHolder {
                about,
                ended,
                present,
            } => {
                wire.fence = about;
                wire.reason = Some(Cow::Borrowed(ended.name()));
                wire.present = present;
                Outcome::NotHolder
            }
            Response::Queued { ahead, retry_after } => {
                wire.waiters = Some(ahead);
                wire.retry_after_ms = some(retry_after.as_millis_ceil());
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
            Response::Renewed { about, ttl, wanted } => {
                wire.fence = about;
                wire.ttl_ms = Some(ttl.as_millis_floor());
                wire.wanted = some(wanted);
                Outcome::Renewed
            }
            Response::Revoked(revoked) => {
                wire.revoked = Some(revoked);
                Outcome::Revoked
            }
            Response::State(state) => {
                wire.state = Some(state);
                Outcome::State
            }
        });
        wire
    }
}

/// A number that is absent where it is nothing.
fn some<T: Default + PartialEq>(number: T) -> Option<T> {
    Some(number).filter(|number| *number != T::default())
}
