//! What a server says that is no answer of the script.

use alloc::string::String;
use alloc::vec::Vec;

use super::answer::foreign_value;
use crate::protocol::{Code, Refusal};
use crate::time::Span;

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

/// What an error is that has certain words.
enum Known {
    NoScript,
    NoKeyLocking,
    Foreign,
    NotPermitted,
    /// The server can't now.
    Passing(&'static str, &'static str),
    Refused(Code, &'static str, &'static str),
}

/// Words of errors, with `^` those that an error begins with, and what it is then. The first counts.
const KNOWN: &[(&[&str], Known)] = &[
    (&["NOSCRIPT"], Known::NoScript),
    // Before version 7 the line with the flag is no Lua to the server.
    (
        &["Unexpected flag in script shebang", "compiling script"],
        Known::NoKeyLocking,
    ),
    (&["WRONGTYPE", "not an integer"], Known::Foreign),
    (
        &["WRONGPASS", "NOAUTH", "Unauthorized"],
        Known::Refused(
            Code::Denied,
            "unauthorized",
            "The server refuses the user or the token: check that they belong to this address.",
        ),
    ),
    (
        &["NOPERM", "The user executing the script can", "ACL failure"],
        Known::NotPermitted,
    ),
    (
        &["unknown command"],
        Known::Refused(
            Code::Denied,
            "no-scripts",
            "The server does not run scripts: EVAL and EVALSHA are needed.",
        ),
    ),
    (
        &["^MOVED ", "^ASK "],
        Known::Refused(
            Code::Invalid,
            "cluster",
            "The server is a node of a cluster, which keeps the key on another: use a client for clusters.",
        ),
    ),
    (
        &["^CROSSSLOT "],
        Known::Refused(
            Code::Invalid,
            "cluster",
            "The server is a node of a cluster, where keys cannot be listed.",
        ),
    ),
    (
        &["max daily request limit", "max requests limit"],
        Known::Refused(
            Code::Unavailable,
            "quota",
            "The database's request quota is used up.",
        ),
    ),
    (
        &["READONLY"],
        Known::Passing(
            "read-only",
            "The server is a replica, which takes no writes: connect to the primary.",
        ),
    ),
    (
        &["MISCONF", "NOREPLICAS"],
        Known::Passing(
            "cannot-persist",
            "The server takes no writes: it cannot persist them, or has too few replicas.",
        ),
    ),
    (
        &["OOM"],
        Known::Passing("out-of-memory", "The server's memory is full."),
    ),
    (
        &["^LOADING "],
        Known::Passing("loading", "The server is loading its data."),
    ),
    (
        &["^BUSY "],
        Known::Passing("busy", "The server is busy with another script."),
    ),
    (
        &["^CLUSTERDOWN ", "^MASTERDOWN ", "^TRYAGAIN "],
        Known::Passing(
            "cluster-down",
            "The part of the cluster that has the key is not there now.",
        ),
    ),
];

/// Tells a server's error by its words, which themselves go no further: they may quote the
/// command, and with it secrets. `called` tells which command the script calls on a line of its text.
pub(super) fn classify(text: &str, called: impl FnOnce(usize) -> Option<String>) -> ReplyError {
    // What is quoted are words of the command, and these may be anything.
    let words = text
        .as_bytes()
        .split(|byte| b"'\"`".contains(byte))
        .next()
        .unwrap_or_default();
    let says = |part: &&str| match part.strip_prefix('^') {
        Some(start) => words.starts_with(start.as_bytes()),
        None => contains(words, part),
    };
    let known = KNOWN.iter().find(|(parts, _)| parts.iter().any(says));
    ReplyError::Refused(match known.map(|(_, known)| known) {
        // It may come from something between us and a server that has carried the command out.
        None => return ReplyError::Unreadable,
        Some(Known::NoScript) => return ReplyError::NoScript,
        Some(Known::NoKeyLocking) => return ReplyError::NoKeyLocking,
        Some(Known::Foreign) => foreign_value("value"),
        Some(Known::NotPermitted) => not_permitted(text, called),
        Some(Known::Passing(reason, message)) => Refusal {
            retry_after: Some(Span::from_millis(500)),
            ..Refusal::new(Code::Unavailable, reason, message)
        },
        Some(Known::Refused(code, reason, message)) => Refusal::new(*code, reason, message),
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

/// What follows this part of a text. See [`contains`].
pub(super) fn after<'a>(text: &'a str, part: &str) -> Option<&'a str> {
    let at = text
        .as_bytes()
        .windows(part.len())
        .position(|window| window == part.as_bytes())?;
    text.get(at + part.len()..)
}
