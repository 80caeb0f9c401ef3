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

/// Tells a server's error by its words, which themselves go no further: they may quote the
/// command, and with it secrets. `called` tells which command the script calls on a line of its text.
pub(super) fn classify(text: &str, called: impl FnOnce(usize) -> Option<String>) -> ReplyError {
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
    } else if words.starts_with(b"CROSSSLOT ") {
        Refusal::new(
            Code::Invalid,
            "cluster",
            "The server is a node of a cluster, where keys cannot be listed.",
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

/// What follows this part of a text. See [`contains`].
pub(super) fn after<'a>(text: &'a str, part: &str) -> Option<&'a str> {
    let at = text
        .as_bytes()
        .windows(part.len())
        .position(|window| window == part.as_bytes())?;
    text.get(at + part.len()..)
}
