//! What the script answers.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::word::{NONE, unescape, whole};
use crate::fence::{Fence, Revision};
use crate::host::HostConfig;
use crate::json::{Json, MAX_WHOLE};
use crate::name::{EntryName, HolderName, Key};
use crate::protocol::{
    Code, Credential, Done, DoneState, Ended, Granted, Held, HolderState, KeyState, Operation,
    Refusal, Request, Response,
};
use crate::time::Span;

/// A script's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// To a watch: nothing has changed, and nothing will by itself for this long.
    Same { quiet: Option<Span> },
    /// Queued behind so many, while there can't be one holder more for this long.
    Queued { ahead: u32, left: Span },
    /// Anything else.
    Other(Response),
}

/// The answer that the words are to this request.
pub(super) fn decode(request: &Request, words: &[String]) -> Option<Answer> {
    let mut words = Words(words.iter());
    let about = about(&request.operation);
    let answer = match words.next()? {
        "queued" => Answer::Queued {
            ahead: words.count()?,
            left: words.span()?,
        },
        "same" => Answer::Same {
            quiet: words.optional(Words::span)?,
        },
        name => Answer::Other(match name {
            "cancelled" => Response::Cancelled,
            "done" => Response::Done(words.done()?),
            "entered" => Response::Entered { about },
            "finished" => Response::Finished { about },
            "foreign" => Response::Refused(foreign_value(words.next()?)),
            "granted" => Response::Granted(words.granted()?),
            "held" => Response::Held(words.held()?),
            "not-holder" => Response::NotHolder {
                about,
                ended: ended(words.next()?),
                present: words.optional(Words::fence)?,
            },
            "released" => Response::Released { about },
            "renewed" => Response::Renewed {
                about,
                ttl: words.told()?,
                wanted: words.count()?,
            },
            "revoked" => Response::Revoked(words.count()?),
            "state" => Response::State(words.state(&request.key)?),
            name => Response::Refused(refusal(name)?),
        }),
    };
    words.is_over().then_some(answer)
}

/// The states of these keys, as far as they show anything.
pub(super) fn states(keys: &[Key], words: &[String]) -> Option<Vec<KeyState>> {
    let mut words = Words(words.iter());
    let mut states = Vec::new();
    (words.next()? == "listed").then_some(())?;
    for key in keys {
        match words.next()? {
            NONE => {}
            "state" => states.push(words.state(key)?),
            _ => return None,
        }
    }
    states.retain(|state| !state.holders.is_empty() || state.waiters > 0 || state.done.is_some());
    words.is_over().then_some(states)
}

/// The fence that the request named.
fn about(operation: &Operation) -> Option<Fence> {
    let credential: Option<&Credential> = match operation {
        Operation::Entry(entry) => Some(&entry.credential),
        Operation::Finish(finish) => Some(&finish.credential),
        Operation::Release(credential)
        | Operation::Renew { credential, .. }
        | Operation::Verify(credential) => Some(credential),
        Operation::Transfer(transfer) => Some(&transfer.credential),
        Operation::Acquire(_)
        | Operation::Cancel
        | Operation::Inspect
        | Operation::Revoke { .. }
        | Operation::Watch(_) => None,
    };
    credential?.fence
}

/// The rest of an answer.
struct Words<'a>(core::slice::Iter<'a, String>);

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<&'a str> {
        self.0.next().map(String::as_str)
    }

    fn is_over(&self) -> bool {
        self.0.len() == 0
    }

    /// What `read` reads, unless there is none.
    fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.0.as_slice().first()? == NONE {
            self.next();
            return Some(None);
        }
        read(self).map(Some)
    }

    fn count(&mut self) -> Option<u32> {
        u32::try_from(whole(self.next()?)?).ok()
    }

    fn fence(&mut self) -> Option<Fence> {
        whole(self.next()?).map(Fence::from_value)
    }

    fn holder(&mut self) -> Option<HolderName> {
        HolderName::parse(&unescape(self.next()?)?).ok()
    }

    fn json(&mut self) -> Option<Json> {
        Json::parse(&unescape(self.next()?)?)
    }

    fn span(&mut self) -> Option<Span> {
        let micros = whole(self.next()?)?;
        Some(Span::from_micros(micros)).filter(|span| *span <= Span::from_millis(MAX_WHOLE))
    }

    fn millis(&mut self) -> Option<u64> {
        self.span().map(Span::as_millis_floor)
    }

    /// How long a holder may count on its grant, of what is left of it and its whole term.
    fn told(&mut self) -> Option<Span> {
        let left = self.span()?;
        Some(left.saturating_sub(HostConfig::REDIS.margin.of(self.span()?)))
    }

    fn done(&mut self) -> Option<Done> {
        Some(Done {
            fence: self.fence()?,
            age: self.span()?,
            remaining: self.span()?,
            result: Some(self.json()?),
        })
    }

    fn granted(&mut self) -> Option<Granted> {
        Some(Granted {
            lease: self.next()?.parse().ok()?,
            fence: self.fence()?,
            slot: self.count()?,
            ttl: self.told()?,
            waited: Span::ZERO,
            wanted: self.count()?,
            replayed: self.next()? == "1",
        })
    }

    fn held(&mut self) -> Option<Held> {
        Some(Held {
            holder: self.optional(Self::holder)?,
            fence: self.optional(Self::fence)?,
            retry_after: self.span()?,
            waiters: self.count()?,
        })
    }

    fn state(&mut self, key: &Key) -> Option<KeyState> {
        let revision = Revision::from_value(whole(self.next()?)?);
        let waiters = self.count()?;
        let done = self.optional(|words| {
            Some(DoneState {
                fence: words.fence()?,
                age_ms: words.millis()?,
                remaining_ms: words.millis()?,
            })
        })?;
        let mut holders = Vec::new();
        for _ in 0..self.count()? {
            holders.push(self.holder_state()?);
        }
        Some(KeyState {
            key: key.clone(),
            revision,
            holders,
            waiters,
            done,
        })
    }

    fn holder_state(&mut self) -> Option<HolderState> {
        let mut state = HolderState {
            holder: self.holder()?,
            fence: self.fence()?,
            slot: self.count()?,
            limit: self.count()?,
            age_ms: self.millis()?,
            remaining_ms: self.millis()?,
            entries: BTreeMap::new(),
        };
        for _ in 0..self.count()? {
            let name = EntryName::parse(&unescape(self.next()?)?).ok()?;
            state.entries.insert(name, self.json()?);
        }
        Some(state)
    }
}

fn ended(state: &str) -> Ended {
    match state {
        "c" => Ended::Cancelled,
        "e" => Ended::Expired,
        "f" => Ended::Finished,
        "r" => Ended::Released,
        "t" => Ended::Transferred,
        "v" => Ended::Revoked,
        _ => Ended::Unknown,
    }
}

/// What the script refuses.
fn refusal(name: &str) -> Option<Refusal> {
    Some(match name {
        "entries-full" => Refusal::ENTRIES_FULL,
        "fences-exhausted" => Refusal::FENCES_EXHAUSTED,
        "fingerprint" => Refusal::ANOTHER_INPUT,
        "key-too-large" => Refusal::KEY_TOO_LARGE,
        "not-exclusive" => Refusal::NOT_EXCLUSIVE,
        "same-lease" => Refusal::SAME_LEASE,
        "too-many-waiters" => Refusal::TOO_MANY_WAITERS,
        _ => return None,
    })
}

/// The refusal of a value at one of our names that we did not write.
pub(super) fn foreign_value(kind: &str) -> Refusal {
    let kind = ["string", "hash", "list", "set", "stream"]
        .into_iter()
        .find(|known| *known == kind)
        .unwrap_or("value");
    Refusal {
        message: [
            "A ",
            kind,
            " of somebody else's is stored where a record of the lease belongs, and was left alone: use another prefix or remove it.",
        ]
        .concat()
        .into(),
        ..Refusal::new(Code::Unavailable, "foreign-value", "")
    }
}
