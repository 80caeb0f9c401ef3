//! Answers as they travel.

use alloc::borrow::Cow;
use alloc::string::String;

use super::asking::{fence, id};
use super::record::Record;
use super::schema::{FieldSchema, Kind, optional};
use super::state::{self, KEY_STATE, key_state, list};
use crate::fence::Fence;
use crate::invalid::{Field, Invalid};
use crate::json::{Json, Writer};
use crate::name::HolderName;
use crate::protocol::{Code, Done, Ended, Granted, Held, Refusal, Response, VERSION};
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

/// The fields of a [`Response`] as it travels. Which of them there are depends on the outcome.
pub const RESPONSE: &[FieldSchema] = &[
    // Protocol version.
    optional(Field::Version, Kind::Version),
    // What happened.
    optional(Field::Outcome, Kind::Word(Outcome::WORDS)),
    // Refused: the kind.
    optional(Field::Code, Kind::Word(Code::WORDS)),
    // Refused, not-holder: a stable word for the cause.
    optional(Field::Reason, Kind::Text),
    // Refused: a sentence for people.
    optional(Field::Message, Kind::Text),
    // Refused as the wrong object: the layout by which the right one is found.
    optional(Field::Layout, Kind::Text),
    // Granted: the lease's id.
    optional(Field::Lease, Kind::Id),
    // Granted, done: the grant's fence, in decimal. Held: the present one in the lowest slot.
    // Entered, finished, not-holder, released, renewed: the one that the request named.
    optional(Field::Fence, Kind::Decimal),
    // Not-holder: the highest fence that the key has now.
    optional(Field::Present, Kind::Decimal),
    // Held: who holds the key in the lowest slot.
    optional(Field::Holder, Kind::Name(HolderName::MAX_BYTES)),
    // Granted: the place among the key's holders, from zero.
    optional(Field::Slot, Kind::Count),
    // Granted, renewed: what is left of the grant, in milliseconds.
    optional(Field::Ttl, Kind::Whole),
    // Granted: how long the request lay waiting at the host, in milliseconds; absent means zero.
    optional(Field::Waited, Kind::Whole),
    // Held, queued, refused: when asking again may first help, in milliseconds.
    optional(Field::RetryAfter, Kind::Whole),
    // Queued: waiters in front. Held: waiters in all; absent means none.
    optional(Field::Waiters, Kind::Count),
    // Granted, renewed: how many wait for the key; absent means none.
    optional(Field::Wanted, Kind::Count),
    // Granted: an earlier attempt of the same op was granted already.
    optional(Field::Replayed, Kind::Flag),
    // Revoked: how many grants ended, the mark that the key is done counted as one.
    optional(Field::Revoked, Kind::Count),
    // Done: how long ago, in milliseconds.
    optional(Field::Age, Kind::Whole),
    // Done: how much longer the result is kept, in milliseconds.
    optional(Field::Remaining, Kind::Whole),
    // Done: the result, JSON as text.
    optional(Field::Result, Kind::JsonText),
    // State: the key's.
    optional(Field::State, Kind::Record(KEY_STATE)),
    // Listed: some keys' states.
    optional(Field::States, Kind::List(&Kind::Record(KEY_STATE))),
    // Listed: where the next list is to go on; absent at the end.
    optional(Field::After, Kind::Text),
];

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
        let record = Record::read(text, RESPONSE)?;
        record.any_response().ok_or(Unreadable)
    }

    /// The answer in a JSON text about a lease, and not about what keys there are or who has them.
    ///
    /// # Errors
    /// [`Unreadable`] if it is none.
    pub fn from_json_to_holder(text: &str) -> Result<Self, Unreadable> {
        let record = Record::read(text, RESPONSE)?;
        let response = record
            .outcome()
            .and_then(|outcome| record.response(outcome));
        response.ok_or(Unreadable)
    }

    /// Whether a JSON text is an answer: whether [`Self::from_json`] reads it.
    pub fn is_in(text: &str) -> bool {
        let Ok(record) = Record::read(text, RESPONSE) else {
            return false;
        };
        match record.outcome() {
            Some(Outcome::Listed) => record.has(Field::States),
            Some(Outcome::State) => record.has(Field::State),
            outcome => outcome
                .and_then(|outcome| record.response(outcome))
                .is_some(),
        }
    }

    /// The answer as a JSON text.
    pub fn to_json(&self) -> String {
        Writer::of(|json| self.write(json))
    }
}

impl Record<'_> {
    fn outcome(&self) -> Option<Outcome> {
        self.raw(Field::Version)?;
        Outcome::from_name(&self.text(Field::Outcome)?)
    }

    fn any_response(&self) -> Option<Response> {
        Some(match self.outcome()? {
            Outcome::Listed => Response::Listed {
                states: list(self.raw(Field::States)?, key_state)?,
                after: self.text(Field::After).map(Into::into),
            },
            Outcome::State => Response::State(key_state(self.raw(Field::State)?)?),
            outcome => self.response(outcome)?,
        })
    }

    fn response(&self, outcome: Outcome) -> Option<Response> {
        let about = self.fence();
        Some(match outcome {
            Outcome::Cancelled => Response::Cancelled,
            Outcome::Done => Response::Done(Done {
                fence: about?,
                age: self.span(Field::Age)?,
                remaining: self.span(Field::Remaining)?,
                result: self.json(Field::Result),
            }),
            Outcome::Entered => Response::Entered { about },
            Outcome::Finished => Response::Finished { about },
            Outcome::Granted => Response::Granted(Granted {
                lease: self.lease(Field::Lease)?,
                fence: about?,
                slot: self.count(Field::Slot),
                ttl: self.span(Field::Ttl)?,
                waited: self.span(Field::Waited).unwrap_or_default(),
                replayed: self.flag(Field::Replayed),
                wanted: self.count(Field::Wanted),
            }),
            Outcome::Held => Response::Held(Held {
                holder: self.holder(Field::Holder),
                fence: about,
                retry_after: self.span(Field::RetryAfter)?,
                waiters: self.count(Field::Waiters),
            }),
            Outcome::Listed | Outcome::State => return None,
            Outcome::NotHolder => Response::NotHolder {
                about,
                ended: self
                    .text(Field::Reason)
                    .and_then(|reason| Ended::from_name(&reason))
                    .unwrap_or(Ended::Unknown),
                present: self.decimal(Field::Present).map(Fence::from_value),
            },
            Outcome::Queued => Response::Queued {
                ahead: self.whole(Field::Waiters)? as u32,
                retry_after: self.span(Field::RetryAfter).unwrap_or_default(),
            },
            Outcome::Refused => {
                let owned = |field| {
                    let text = self.text(field)?;
                    Some(Cow::Owned(text.into_owned()))
                };
                Response::Refused(Refusal {
                    code: Code::from_name(&self.text(Field::Code)?)?,
                    reason: owned(Field::Reason)?,
                    message: owned(Field::Message).unwrap_or_default(),
                    retry_after: self.span(Field::RetryAfter),
                    layout: owned(Field::Layout),
                })
            }
            Outcome::Released => Response::Released { about },
            Outcome::Renewed => Response::Renewed {
                about,
                ttl: self.span(Field::Ttl)?,
                wanted: self.count(Field::Wanted),
            },
            Outcome::Revoked => Response::Revoked(self.whole(Field::Revoked)? as u32),
        })
    }
}

impl Response {
    const fn outcome(&self) -> Outcome {
        match self {
            Self::Cancelled => Outcome::Cancelled,
            Self::Done(_) => Outcome::Done,
            Self::Entered { .. } => Outcome::Entered,
            Self::Finished { .. } => Outcome::Finished,
            Self::Granted(_) => Outcome::Granted,
            Self::Held(_) => Outcome::Held,
            Self::Listed { .. } => Outcome::Listed,
            Self::NotHolder { .. } => Outcome::NotHolder,
            Self::Queued { .. } => Outcome::Queued,
            Self::Refused(_) => Outcome::Refused,
            Self::Released { .. } => Outcome::Released,
            Self::Renewed { .. } => Outcome::Renewed,
            Self::Revoked(_) => Outcome::Revoked,
            Self::State(_) => Outcome::State,
        }
    }

    /// Writes the answer's fields.
    pub fn write(&self, json: &mut Writer) {
        begin(json, self.outcome());
        match self {
            Self::Cancelled => {}
            Self::Done(done) => {
                fence(json, Field::Fence, Some(done.fence));
                json.number(Field::Age.name(), done.age.as_millis_floor());
                json.number(Field::Remaining.name(), done.remaining.as_millis_floor());
                json.optional(Field::Result.name(), done.result.as_ref().map(Json::as_str));
            }
            Self::Entered { about } | Self::Finished { about } | Self::Released { about } => {
                fence(json, Field::Fence, *about);
            }
            Self::Granted(granted) => {
                id(json, Field::Lease, granted.lease.to_bits());
                fence(json, Field::Fence, Some(granted.fence));
                json.number(Field::Slot.name(), granted.slot.into());
                json.number(Field::Ttl.name(), granted.ttl.as_millis_floor());
                some(json, Field::Waited, granted.waited.as_millis_floor());
                if granted.replayed {
                    json.flag(Field::Replayed.name(), true);
                }
                some(json, Field::Wanted, granted.wanted.into());
            }
            Self::Held(held) => {
                let holder = held.holder.as_ref();
                json.optional(Field::Holder.name(), holder.map(HolderName::as_str));
                fence(json, Field::Fence, held.fence);
                let retry_after = held.retry_after.as_millis_ceil();
                json.number(Field::RetryAfter.name(), retry_after);
                some(json, Field::Waiters, held.waiters.into());
            }
            Self::Listed { states, after } => {
                json.array(Field::States.name(), states, state::write);
                json.optional(Field::After.name(), after.as_deref());
            }
            Self::NotHolder {
                about,
                ended,
                present,
            } => {
                fence(json, Field::Fence, *about);
                json.text(Field::Reason.name(), ended.name());
                fence(json, Field::Present, *present);
            }
            Self::Queued { ahead, retry_after } => {
                json.number(Field::Waiters.name(), (*ahead).into());
                some(json, Field::RetryAfter, retry_after.as_millis_ceil());
            }
            Self::Refused(refusal) => refusal.write(json),
            Self::Renewed { about, ttl, wanted } => {
                fence(json, Field::Fence, *about);
                json.number(Field::Ttl.name(), ttl.as_millis_floor());
                some(json, Field::Wanted, (*wanted).into());
            }
            Self::Revoked(revoked) => json.number(Field::Revoked.name(), (*revoked).into()),
            Self::State(state) => {
                state::write(json.name(Field::State.name()), state);
            }
        }
    }
}

/// An answer's first fields.
pub(super) fn begin(json: &mut Writer, outcome: Outcome) {
    json.number(Field::Version.name(), VERSION.into());
    json.text(Field::Outcome.name(), outcome.name());
}

impl Refusal {
    /// The answer with it, as a JSON text.
    pub fn to_json(&self) -> String {
        Writer::of(|json| {
            begin(json, Outcome::Refused);
            self.write(json);
        })
    }

    fn write(&self, json: &mut Writer) {
        json.text(Field::Code.name(), self.code.name());
        json.text(Field::Reason.name(), &self.reason);
        json.text(Field::Message.name(), &self.message);
        let retry_after = self.retry_after.map(Span::as_millis_ceil);
        json.optional_number(Field::RetryAfter.name(), retry_after);
        json.optional(Field::Layout.name(), self.layout.as_deref());
    }
}

/// A number that is absent where it is nothing.
fn some(json: &mut Writer, field: Field, number: u64) {
    json.optional_number(field.name(), Some(number).filter(|number| *number > 0));
}
