//! The ranges that the values of requests must lie in.

use super::{Field, Invalid};
use crate::time::Span;

/// The shortest grant. Below it, margins and flight times leave nothing to work in.
pub const MIN_TTL: Span = Span::from_millis(100);

/// The longest grant: 24 hours. A key whose holder has died stays blocked for so long.
pub const MAX_TTL: Span = Span::from_secs(86_400);

/// The longest wait for a grant or a change: 24 hours.
pub const MAX_WAIT: Span = Span::from_secs(86_400);

/// The longest that a host keeps one request waiting before it answers "still queued".
pub const MAX_POLL: Span = Span::from_secs(20);

/// The longest that a host keeps a request for a grant of this length waiting: two terms, but at least
/// a second. What the holder has to allow for its clock's error during the wait comes off the term.
pub fn longest_poll(ttl: Span) -> Span {
    ttl.scale(2, 1).max(Span::from_secs(1)).min(MAX_POLL)
}

/// The shortest time that a result is kept.
pub const MIN_KEEP: Span = Span::from_secs(60);

/// The longest time that a result is kept: 30 days.
pub const MAX_KEEP: Span = Span::from_secs(30 * 86_400);

/// The longest result of a finished work, in bytes of JSON.
pub const MAX_RESULT_BYTES: usize = 8_192;

/// The longest value of an entry, in bytes of JSON.
pub const MAX_VALUE_BYTES: usize = 4_096;

/// The most entries of one grant.
pub const MAX_ENTRIES: usize = 64;

/// The most that the names and values of all entries of a key take, in bytes.
pub const MAX_ENTRIES_BYTES: usize = 65_536;

/// The most keys in one answer to a list.
pub const MAX_LISTED: usize = 100;

/// How long the states in one answer to a list are together, in bytes of JSON, or a little more.
pub const MAX_LISTED_BYTES: usize = 131_072;

/// How many holders of a key, itself included, somebody puts up with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Limit(u32);

impl Limit {
    /// Nobody else.
    pub const EXCLUSIVE: Self = Self(1);

    /// As many as any host allows.
    pub const MOST: Self = Self(1_024);

    /// A limit of so many.
    ///
    /// # Errors
    /// [`Invalid`] outside 1 to 1,024.
    pub fn parse(holders: u64) -> Result<Self, Invalid> {
        u32::try_from(holders)
            .ok()
            .map(Self)
            .filter(|limit| (Self::EXCLUSIVE..=Self::MOST).contains(limit))
            .ok_or(Invalid::new(
                Field::Limit,
                "must be a whole number from 1 to 1024",
            ))
    }

    /// How many holders.
    pub const fn holders(self) -> u32 {
        self.0
    }
}

/// A grant's length, from milliseconds.
///
/// # Errors
/// [`Invalid`] outside [`MIN_TTL`] to [`MAX_TTL`].
pub fn parse_ttl(millis: u64) -> Result<Span, Invalid> {
    check_ttl(Span::from_millis(millis))
}

/// A grant's length, if it is a legal one.
///
/// # Errors
/// [`Invalid`] outside [`MIN_TTL`] to [`MAX_TTL`].
pub fn check_ttl(ttl: Span) -> Result<Span, Invalid> {
    within(MIN_TTL, MAX_TTL, ttl).ok_or(Invalid::new(
        Field::Ttl,
        "must be a whole number of milliseconds from 100 to 86400000",
    ))
}

/// A wait's length, from milliseconds.
///
/// # Errors
/// [`Invalid`] above [`MAX_WAIT`].
pub fn parse_wait(millis: u64) -> Result<Span, Invalid> {
    check_wait(Span::from_millis(millis))
}

/// A wait's length, if it is a legal one.
///
/// # Errors
/// [`Invalid`] above [`MAX_WAIT`].
pub fn check_wait(wait: Span) -> Result<Span, Invalid> {
    within(Span::ZERO, MAX_WAIT, wait).ok_or(Invalid::new(
        Field::Wait,
        "must be a whole number of milliseconds from 0 to 86400000",
    ))
}

/// How long a result is kept, from milliseconds.
///
/// # Errors
/// [`Invalid`] outside [`MIN_KEEP`] to [`MAX_KEEP`].
pub fn parse_keep(millis: u64) -> Result<Span, Invalid> {
    within(MIN_KEEP, MAX_KEEP, Span::from_millis(millis)).ok_or(Invalid::new(
        Field::Keep,
        "must be a whole number of milliseconds from 60000 to 2592000000",
    ))
}

fn within(least: Span, most: Span, span: Span) -> Option<Span> {
    (least..=most).contains(&span).then_some(span)
}
