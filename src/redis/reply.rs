//! From replies to responses.

use alloc::string::String;
use alloc::vec::Vec;

use crate::fence::Fence;
use crate::id::LeaseId;
use crate::json::MAX_WHOLE;
use crate::name::HolderName;
use crate::protocol::{Code, Ended, Granted, Held, Info, Refusal, Response};
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
    pub(super) fn answer(&self) -> Result<Answer, ReplyError> {
        match self {
            Self::Error(text) => Err(classify(text)),
            Self::Words(words) => decode(words).ok_or(ReplyError::Unreadable),
        }
    }
}

fn decode(words: &[String]) -> Option<Answer> {
    let (name, rest) = words.split_first()?;
    Some(Answer::Other(match (name.as_str(), rest) {
        ("cancelled", []) => Response::Cancelled,
        ("foreign", [kind]) => Response::Refused(foreign_value(kind)),
        ("free", []) => Response::Inspected(None),
        ("granted", [lease, fence, left, term, at, replayed]) => {
            let granted = Granted {
                lease: lease.parse::<LeaseId>().ok()?,
                fence: fence.parse::<Fence>().ok()?,
                ttl: span(left)?.saturating_sub(margin(span(term)?)),
                waited: Span::ZERO,
                replayed: replayed == "1",
            };
            return Some(Answer::Granted(granted, instant(at)?));
        }
        ("held", [holder, left]) => Response::Held(Held {
            holder: HolderName::parse(holder).ok(),
            retry_after: span(left)?,
        }),
        ("info", [holder, fence, left, waiters]) => Response::Inspected(Some(Info {
            holder: HolderName::parse(holder).ok()?,
            fence: fence.parse::<Fence>().ok()?,
            remaining: span(left)?,
            waiters: waiters.parse().ok()?,
        })),
        ("not-holder", [state]) => Response::NotHolder {
            about: None,
            ended: ended(state),
        },
        ("not-holder", [state, fence]) => Response::NotHolder {
            about: about(fence)?,
            ended: ended(state),
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
        },
        ("revoked", [done]) => Response::Revoked(done == "1"),
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
        "f" => Ended::ForeignValue,
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
fn classify(text: &str) -> ReplyError {
    // What is quoted are words of the command, and these may be anything.
    let words = text
        .as_bytes()
        .split(|byte| b"'\"`".contains(byte))
        .next()
        .unwrap_or_default();
    // `str::contains` would bring a searcher several times the size of all this.
    let has = |part: &str| {
        words
            .windows(part.len())
            .any(|window| window == part.as_bytes())
    };
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
            "The endpoint refuses the token: check that the URL and the token belong together.",
        )
    } else if has("NOPERM") {
        Refusal::new(
            Code::Denied,
            "not-permitted",
            "The token may not run scripts: use the standard token, not the read-only one.",
        )
    } else if has("unknown command") {
        Refusal::new(
            Code::Denied,
            "no-scripts",
            "The server does not run scripts: EVAL and EVALSHA are needed.",
        )
    } else if has("max daily request limit") || has("max requests limit") {
        Refusal::new(
            Code::Unavailable,
            "quota",
            "The database's request quota is used up.",
        )
    } else if has("READONLY") || has("MISCONF") {
        passing(
            "read-only",
            "The server takes no writes: it is a replica or cannot persist.",
        )
    } else if has("OOM") {
        passing("out-of-memory", "The server's memory is full.")
    } else {
        // It may come from something between us and a server that has carried the command out.
        return ReplyError::Unreadable;
    })
}
