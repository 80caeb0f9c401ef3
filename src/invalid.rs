//! Values that are refused before anything is done.

use core::fmt;

use crate::words::words;

words! {
    /// What an invalid value was given for: a field of the protocol, or a setting.
    pub enum Field {
        /// An answer's code.
        Code = "code",
        /// A fence.
        Fence = "fence",
        /// The holder's name.
        Holder = "holder",
        /// The key.
        Key = "key",
        /// How keys are spread over the host's objects.
        Layout = "layout",
        /// A lease id.
        Lease = "lease",
        /// A sentence for people.
        Message = "message",
        /// The op id.
        Op = "op",
        /// The operation's name.
        Operation = "operation",
        /// What an answer says that happened.
        Outcome = "outcome",
        /// The prefix of names in a database.
        Prefix = "prefix",
        /// A stable word for a cause.
        Reason = "reason",
        /// The renewal schedule.
        Renewal = "renewal",
        /// Whether an answer repeats an earlier one.
        Replayed = "replayed",
        /// The request as a whole.
        Request = "request",
        /// When asking again may first help.
        RetryAfter = "retryAfterMs",
        /// Whether a grant was revoked.
        Revoked = "revoked",
        /// Whether a holder's own lease is answered with itself.
        Reentrant = "reentrant",
        /// Who a lease is to be handed to.
        Successor = "successor",
        /// The successor's name.
        ToHolder = "toHolder",
        /// The successor's lease id.
        ToLease = "toLease",
        /// The grant's length.
        Ttl = "ttlMs",
        /// The protocol's version.
        Version = "v",
        /// The wait's length.
        Wait = "waitMs",
        /// How long a request lay waiting.
        Waited = "waitedMs",
        /// A number of waiters.
        Waiters = "waiters",
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

    /// The same about another field.
    pub const fn about(self, field: Field) -> Self {
        Self { field, ..self }
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
