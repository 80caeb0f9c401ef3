//! Values that are refused before anything is done.

use core::fmt;

use crate::words::words;

words! {
    /// What an invalid value was given for: a field of the protocol, or a setting.
    pub enum Field {
        /// Where a list or a watch goes on.
        After = "after",
        /// Time since a grant.
        Age = "ageMs",
        /// An answer's code.
        Code = "code",
        /// That the key is done.
        Done = "done",
        /// A grant's entries.
        Entries = "entries",
        /// A fence.
        Fence = "fence",
        /// What tells inputs apart.
        Fingerprint = "fingerprint",
        /// The holder's name.
        Holder = "holder",
        /// A key's holders.
        Holders = "holders",
        /// How long a result is kept.
        Keep = "keepMs",
        /// The key.
        Key = "key",
        /// How a host lays keys out over its objects.
        Layout = "layout",
        /// A lease id.
        Lease = "lease",
        /// The most holders that one puts up with.
        Limit = "limit",
        /// The longest that a lease may be held.
        MaxHold = "maxHoldMs",
        /// A sentence for people.
        Message = "message",
        /// An entry's name.
        Name = "name",
        /// Which change of the entries this is.
        Number = "number",
        /// The op id.
        Op = "op",
        /// The operation's name.
        Operation = "operation",
        /// What an answer says that happened.
        Outcome = "outcome",
        /// What keys, or names in a database, begin with.
        Prefix = "prefix",
        /// The present fence.
        Present = "present",
        /// A stable word for a cause.
        Reason = "reason",
        /// What is left of a grant.
        Remaining = "remainingMs",
        /// The renewal schedule.
        Renewal = "renewal",
        /// Whether a lease is renewed by itself.
        Renews = "renews",
        /// What a repeated proposal does.
        Repeat = "repeat",
        /// Whether an answer repeats an earlier one.
        Replayed = "replayed",
        /// The request as a whole.
        Request = "request",
        /// A work's result.
        Result = "result",
        /// When asking again may first help.
        RetryAfter = "retryAfterMs",
        /// A key's revision.
        Revision = "revision",
        /// How many grants were revoked.
        Revoked = "revoked",
        /// A holder's place among those of a key.
        Slot = "slot",
        /// A key's state.
        State = "state",
        /// Keys' states.
        States = "states",
        /// Whether running grants are ended.
        Steal = "steal",
        /// Who a lease is to be handed to.
        Successor = "successor",
        /// When to renew first.
        T1 = "t1",
        /// When to renew over a rebuilt way.
        T2 = "t2",
        /// How long a call may take.
        Timeout = "timeoutMs",
        /// The successor's name.
        ToHolder = "toHolder",
        /// The successor's lease id.
        ToLease = "toLease",
        /// The grant's length.
        Ttl = "ttlMs",
        /// An entry's value.
        Value = "value",
        /// The protocol's version.
        Version = "v",
        /// The wait's length.
        Wait = "waitMs",
        /// How long a request lay waiting.
        Waited = "waitedMs",
        /// A number of waiters.
        Waiters = "waiters",
        /// How many want the key.
        Wanted = "wanted",
    }
}

/// A value that no host would accept, found before anything was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// What is wrong.
    pub field: Field,
    /// What it should be. Never quotes the value.
    pub expected: &'static str,
    /// A stable word for programs: the field's name, where there is no better one.
    pub reason: &'static str,
}

impl Invalid {
    /// `field` is wrong; `expected` says what it should be.
    pub const fn new(field: Field, expected: &'static str) -> Self {
        Self {
            field,
            expected,
            reason: field.name(),
        }
    }

    /// The same about another field.
    pub const fn about(self, field: Field) -> Self {
        Self::new(field, self.expected)
    }

    /// The same with this word for programs.
    pub const fn because(self, reason: &'static str) -> Self {
        Self { reason, ..self }
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
