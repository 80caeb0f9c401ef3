//! Requests that are not carried out, and why.

use alloc::borrow::Cow;
use alloc::string::String;

use crate::invalid::Invalid;
use crate::time::Span;
use crate::words::words;

words! {
    /// The kind of a refusal: what the client can do about it.
    pub enum Code {
        /// The caller may not do this. Mend the token or its scope.
        Denied = "DENIED",
        /// The request is malformed or out of range. Mend the request.
        Invalid = "INVALID",
        /// The host cannot do it now. Try again, or look at the reason.
        Unavailable = "UNAVAILABLE",
    }
}

/// Why the host did not carry out a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The kind.
    pub code: Code,
    /// A stable word for programs, such as `too-many-waiters`.
    pub reason: Cow<'static, str>,
    /// A sentence for people, without secrets.
    pub message: Cow<'static, str>,
    /// When trying again may first help.
    pub retry_after: Option<Span>,
    /// Where another object decides about the key: the layout by which it is found.
    pub layout: Option<Cow<'static, str>>,
}

impl Refusal {
    /// A refusal of kind `code`.
    pub const fn new(code: Code, reason: &'static str, message: &'static str) -> Self {
        Self {
            code,
            reason: Cow::Borrowed(reason),
            message: Cow::Borrowed(message),
            retry_after: None,
            layout: None,
        }
    }
}

/// What the rules of a key refuse, on every host.
impl Refusal {
    pub(crate) const ANOTHER_INPUT: Self = Self::new(
        Code::Invalid,
        "fingerprint",
        "The key is in use for another input: use another key for this one.",
    );
    pub(crate) const ENTRIES_FULL: Self = Self::new(
        Code::Invalid,
        "entries-full",
        "The grant has as many entries as the host allows: delete one before.",
    );
    pub(crate) const FENCES_EXHAUSTED: Self = Self::new(
        Code::Unavailable,
        "fences-exhausted",
        "The key has been granted the highest fence there is: use another key.",
    );
    pub(crate) const KEY_TOO_LARGE: Self = Self::new(
        Code::Invalid,
        "key-too-large",
        "The entries of the key take as much room as the host allows: delete some before.",
    );
    pub(crate) const NOT_EXCLUSIVE: Self = Self::new(
        Code::Invalid,
        "not-exclusive",
        "Only a holder that has the key alone, with a limit of 1, can finish it.",
    );
    pub(crate) const SAME_LEASE: Self = Self::new(
        Code::Invalid,
        "toLease",
        "toLease must be another: a running grant of this key has it.",
    );
    pub(crate) const TOO_MANY_WAITERS: Self = Self::crowded(
        "too-many-waiters",
        "The key has as many waiters as the host allows: try again later.",
    );
    pub(crate) const TOO_MANY_WATCHERS: Self = Self::crowded(
        "too-many-watchers",
        "The key has as many watchers as the host allows: try again later.",
    );

    /// Room is short, but may be there in a moment.
    const fn crowded(reason: &'static str, message: &'static str) -> Self {
        Self {
            code: Code::Unavailable,
            reason: Cow::Borrowed(reason),
            message: Cow::Borrowed(message),
            retry_after: Some(Span::from_secs(1)),
            layout: None,
        }
    }
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Self {
        let mut message = String::from(invalid.field.name());
        message.push(' ');
        message.push_str(invalid.expected);
        Self {
            code: Code::Invalid,
            reason: Cow::Borrowed(invalid.reason),
            message: Cow::Owned(message),
            retry_after: None,
            layout: None,
        }
    }
}
