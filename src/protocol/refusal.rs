//! Requests that are not carried out, and why.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

use crate::time::Span;

/// The part of a request that a refusal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The fence that a request names.
    Fence,
    /// The holder's name.
    Holder,
    /// The key.
    Key,
    /// A lease id.
    Lease,
    /// The op id.
    Op,
    /// The operation's name.
    Operation,
    /// The prefix of names in a database.
    Prefix,
    /// The renewal schedule.
    Renewal,
    /// The request as a whole.
    Request,
    /// The successor's name or lease id.
    Successor,
    /// The grant's length.
    Ttl,
    /// The protocol's version.
    Version,
    /// The wait's length.
    Wait,
}

impl Field {
    /// The field's name as it travels.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fence => "fence",
            Self::Holder => "holder",
            Self::Key => "key",
            Self::Lease => "lease",
            Self::Op => "op",
            Self::Operation => "operation",
            Self::Prefix => "prefix",
            Self::Renewal => "renewal",
            Self::Request => "request",
            Self::Successor => "successor",
            Self::Ttl => "ttlMs",
            Self::Version => "v",
            Self::Wait => "waitMs",
        }
    }
}

/// A value that no host would accept, found before anything was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// What is wrong.
    pub field: Field,
    /// What it should be. Never quotes the value.
    pub expected: &'static str,
}

impl Invalid {
    /// `field` is wrong; `expected` says what it should be.
    pub const fn new(field: Field, expected: &'static str) -> Self {
        Self { field, expected }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.field.name())?;
        f.write_str(" ")?;
        f.write_str(self.expected)
    }
}

impl core::error::Error for Invalid {}

/// The kind of a refusal: what the client can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The caller may not do this. Mend the token or its scope.
    Denied,
    /// The request is malformed or out of range. Mend the request.
    Invalid,
    /// The host cannot do it now. Try again, or look at the reason.
    Unavailable,
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
}

impl Refusal {
    /// A refusal of kind `code`.
    pub const fn new(code: Code, reason: &'static str, message: &'static str) -> Self {
        Self {
            code,
            reason: Cow::Borrowed(reason),
            message: Cow::Borrowed(message),
            retry_after: None,
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
            reason: Cow::Borrowed(invalid.field.name()),
            message: Cow::Owned(message),
            retry_after: None,
        }
    }
}
