//! The ranges that terms and waits must lie in.

use super::{Field, Invalid};
use crate::time::Span;

/// The shortest grant. Below it, margins and flight times leave nothing to work in.
pub const MIN_TTL: Span = Span::from_millis(100);

/// The longest grant: 24 hours. A key whose holder has died stays blocked for so long.
pub const MAX_TTL: Span = Span::from_secs(86_400);

/// The longest wait for a grant: 24 hours.
pub const MAX_WAIT: Span = Span::from_secs(86_400);

/// The longest that a host keeps one request waiting before it answers "still queued".
pub const MAX_POLL: Span = Span::from_secs(20);

/// The longest that a host keeps a request for a grant of this length waiting: two terms, but at least
/// a second. What the holder has to allow for its clock's error during the wait comes off the term.
pub fn longest_poll(ttl: Span) -> Span {
    ttl.scale(2, 1).max(Span::from_secs(1)).min(MAX_POLL)
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
    if ttl < MIN_TTL || ttl > MAX_TTL {
        return Err(Invalid::new(
            Field::Ttl,
            "must be a whole number of milliseconds from 100 to 86400000",
        ));
    }
    Ok(ttl)
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
    if wait > MAX_WAIT {
        return Err(Invalid::new(
            Field::Wait,
            "must be a whole number of milliseconds from 0 to 86400000",
        ));
    }
    Ok(wait)
}
