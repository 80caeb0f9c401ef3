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
/// command, and with it secrets.
pub(super) fn classify(text: &str) -> ReplyError {
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
