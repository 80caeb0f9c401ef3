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
