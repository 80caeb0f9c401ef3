//! From replies to responses.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::fence::Fence;
use crate::id::LeaseId;
use crate::json::MAX_WHOLE;
use crate::name::{HolderName, Key};
use crate::protocol::{Code, Ended, Granted, Held, HolderState, KeyState, Refusal, Response};
use crate::time::{Instant, Span};

/// What came back for a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Redis refused the command, in these words.
    Error(String),
    /// The words of a script's answer.
    Words(Vec<String>),
}

/// A reply that carries no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyError {
    /// The server has not got the script: send its text.
    NoScript,
    /// The server does not know the key-locking flag: leave it out.
    NoKeyLocking,
    /// The server refuses.
    Refused(Refusal),
    /// Neither an answer of one of the scripts nor an error that says what became of it.
    Unreadable,
}

/// A script's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Granted, at this instant of the server's clock.
    Granted(Granted, Instant),
    /// Queued, at this instant of the server's clock, behind so many, while the running grant has
    /// this much left.
    Queued { ahead: u32, left: Span, at: Instant },
    /// Anything else.
    Other(Response),
}

/// How much less than the server keeps a key its holder is told: the server's clock may step, and
/// a failover may bring another one.
fn margin(term: Span) -> Span {
    term.div(40).min(Span::from_millis(500))
}

impl Reply {
    /// `called` tells which command the script calls on a line of its text.
    pub(super) fn answer(
        &self,
        key: &Key,
        called: impl FnOnce(usize) -> Option<String>,
    ) -> Result<Answer, ReplyError> {
        match self {
            Self::Error(text) => Err(classify(text, called)),
            Self::Words(words) => decode(words, key).ok_or(ReplyError::Unreadable),
        }
    }
}

fn decode(words: &[String], key: &Key) -> Option<Answer> {
    let (name, rest) = words.split_first()?;
    Some(Answer::Other(match (name.as_str(), rest) {
        ("cancelled", []) => Response::Cancelled,
        ("foreign", [kind]) => Response::Refused(foreign_value(kind)),
        ("free", []) => Response::State(KeyState::absent(key.clone())),
        ("granted", [lease, fence, left, term, at, replayed]) => {
            let granted = Granted {
                lease: lease.parse::<LeaseId>().ok()?,
                fence: fence.parse::<Fence>().ok()?,
                ttl: span(left)?.saturating_sub(margin(span(term)?)),
                slot: 0,
                waited: Span::ZERO,
                replayed: replayed == "1",
                wanted: 0,
            };
            return Some(Answer::Granted(granted, instant(at)?));
        }
        ("held", [holder, left]) => Response::Held(Held {
            holder: HolderName::parse(holder).ok(),
            fence: None,
            retry_after: span(left)?,
            waiters: 0,
        }),
        ("info", [holder, fence, left, waiters]) => {
            let fence = fence.parse::<Fence>().ok()?;
            let holder = HolderState {
                holder: HolderName::parse(holder).ok()?,
                fence,
                slot: 0,
                limit: 1,
                age_ms: 0,
                remaining_ms: span(left)?.as_millis_floor(),
                entries: BTreeMap::new(),
            };
            Response::State(KeyState {
                holders: [holder].into(),
                waiters: waiters.parse().ok()?,
                ..KeyState::absent(key.clone())
            })
        }
        ("not-holder", [state] | [state, _]) if state == "f" => {
            Response::Refused(foreign_value("value"))
        }
        ("not-holder", [state]) => Response::NotHolder {
            about: None,
            ended: ended(state),
            present: None,
        },
        ("not-holder", [state, fence]) => Response::NotHolder {
            about: about(fence)?,
            ended: ended(state),
            present: None,
        },
        ("queued", [ahead, left, at]) => {
            return Some(Answer::Queued {
                ahead: ahead.parse().ok()?,
                left: span(left)?,
                at: instant(at)?,
            });
        }
        ("released", [fence]) => Response::Released {
            about: about(fence)?,
        },
        ("renewed", [left, term, fence]) => Response::Renewed {
            about: about(fence)?,
            ttl: span(left)?.saturating_sub(margin(span(term)?)),
            wanted: 0,
        },
        ("revoked", [done]) => Response::Revoked(u32::from(done == "1")),
        ("too-many-waiters", []) => Response::Refused(Refusal {
            retry_after: Some(Span::from_secs(1)),
            ..Refusal::new(
                Code::Unavailable,
                "too-many-waiters",
                "The key has as many waiters as the host allows: try again later.",
            )
        }),
        _ => return None,
    }))
}

/// The fence that the request named; `None` if it is unreadable.
fn about(fence: &str) -> Option<Option<Fence>> {
    if fence.is_empty() {
        return Some(None);
    }
    fence.parse::<Fence>().ok().map(Some)
}

fn span(millis: &str) -> Option<Span> {
    let millis = millis.parse().ok().filter(|millis| *millis <= MAX_WHOLE)?;
    Some(Span::from_millis(millis))
}

fn instant(millis: &str) -> Option<Instant> {
    span(millis).map(|span| Instant::ZERO + span)
}

fn ended(state: &str) -> Ended {
    match state {
        "c" => Ended::Cancelled,
        "e" => Ended::Expired,
        "r" => Ended::Released,
        "t" => Ended::Transferred,
        "v" => Ended::Revoked,
        _ => Ended::Unknown,
    }
}

fn foreign_value(kind: &str) -> Refusal {
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

/// Tells a server's error by its words, which themselves go no further: they may quote the
/// command, and with it secrets.
fn classify(text: &str, called: impl FnOnce(usize) -> Option<String>) -> ReplyError {
    // What is quoted are words of the command, and these may be anything.
    let words = text
        .as_bytes()
        .split(|byte| b"'\"`".contains(byte))
        .next()
        .unwrap_or_default();
    let has = |part: &str| contains(words, part);
    let passing = |reason, message| Refusal {
        retry_after: Some(Span::from_millis(500)),
        ..Refusal::new(Code::Unavailable, reason, message)
    };
    ReplyError::Refused(if has("NOSCRIPT") {
        return ReplyError::NoScript;
    } else if has("Unexpected flag in script shebang") || has("compiling script") {
        // Before version 7 the line with the flag is no Lua to the server.
        return ReplyError::NoKeyLocking;
    } else if has("WRONGTYPE") || has("not an integer") {
        foreign_value("value")
    } else if has("WRONGPASS") || has("NOAUTH") || has("Unauthorized") {
        Refusal::new(
            Code::Denied,
            "unauthorized",
            "The server refuses the user or the token: check that they belong to this address.",
        )
    } else if has("NOPERM") || has("The user executing the script can") || has("ACL failure") {
        not_permitted(text, called)
    } else if has("unknown command") {
        Refusal::new(
            Code::Denied,
            "no-scripts",
            "The server does not run scripts: EVAL and EVALSHA are needed.",
        )
    } else if words.starts_with(b"MOVED ") || words.starts_with(b"ASK ") {
        Refusal::new(
            Code::Invalid,
            "cluster",
            "The server is a node of a cluster, which keeps the key on another: use a client for clusters.",
        )
    } else if has("max daily request limit") || has("max requests limit") {
        Refusal::new(
            Code::Unavailable,
            "quota",
            "The database's request quota is used up.",
        )
    } else if has("READONLY") {
        passing(
            "read-only",
            "The server is a replica, which takes no writes: connect to the primary.",
        )
    } else if has("MISCONF") || has("NOREPLICAS") {
        passing(
            "cannot-persist",
            "The server takes no writes: it cannot persist them, or has too few replicas.",
        )
    } else if has("OOM") {
        passing("out-of-memory", "The server's memory is full.")
    } else if words.starts_with(b"LOADING ") {
        passing("loading", "The server is loading its data.")
    } else if words.starts_with(b"BUSY ") {
        passing("busy", "The server is busy with another script.")
    } else if ["CLUSTERDOWN ", "MASTERDOWN ", "TRYAGAIN "]
        .iter()
        .any(|word| words.starts_with(word.as_bytes()))
    {
        passing(
            "cluster-down",
            "The part of the cluster that has the key is not there now.",
        )
    } else {
        // It may come from something between us and a server that has carried the command out.
        return ReplyError::Unreadable;
    })
}

/// `str::contains` would bring a searcher several times the size of all this.
fn contains(words: &[u8], part: &str) -> bool {
    words
        .windows(part.len())
        .any(|window| window == part.as_bytes())
}

/// Names the permission that is missing, as far as the server tells.
fn not_permitted(text: &str, called: impl FnOnce(usize) -> Option<String>) -> Refusal {
    let tells = |part| contains(text.as_bytes(), part);
    let command = after(text, "to run the '")
        .map(|name| name.split('\'').next().unwrap_or_default().into())
        .or_else(|| {
            let line = after(text, "@user_script:")?;
            let digits = line.split(|char: char| !char.is_ascii_digit()).next()?;
            called(digits.parse().ok()?)
        })
        .filter(|name: &String| {
            name.len() <= 16
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphabetic() || byte == b'|')
        });
    let message = if tells("channel") {
        "The user may not publish on the channels: allow those that begin with the prefix (&prefix:*)."
            .into()
    } else if tells("keys") || tells("access a key") {
        "The user may not touch the keys: allow those that begin with the prefix (~prefix:*)."
            .into()
    } else if let Some(command) = command {
        [
            "The user may not run ",
            &command.to_ascii_uppercase(),
            ": allow it.",
        ]
        .concat()
    } else {
        "The user may not run a command that is needed: allow all that the documentation lists."
            .into()
    };
    Refusal {
        message: message.into(),
        ..Refusal::new(Code::Denied, "not-permitted", "")
    }
}

fn after<'a>(text: &'a str, part: &str) -> Option<&'a str> {
    let at = text
        .as_bytes()
        .windows(part.len())
        .position(|window| window == part.as_bytes())?;
    text.get(at + part.len()..)
}
