//! What a holder is set up with, checked before anything is sent.

use crate::name::{Fingerprint, HolderName, Key};
use crate::protocol::{Field, Invalid, Limit, check_ttl, check_wait};
use crate::time::{ClockBounds, Span};

use super::term::Term;

/// A holder's settings.
#[derive(Clone, Debug)]
pub struct Config {
    /// The key to hold.
    pub key: Key,
    /// The name to hold it under.
    pub holder: HolderName,
    /// Length of the grant to ask for.
    pub ttl: Span,
    /// How long to wait for the grant. Zero makes exactly one attempt.
    pub wait: Span,
    /// The longest that getting the lease may take in all, whatever the host does. Unless it is set,
    /// waiting comes first, and then the time for one operation.
    pub time_limit: Option<Span>,
    /// The most holders of the key, itself included.
    pub limit: Limit,
    /// Whether to end all running grants of the key.
    pub steal: bool,
    /// What tells the input of the work from another's.
    pub fingerprint: Option<Fingerprint>,
    /// The longest that the lease may be held. No renewal reaches beyond it.
    pub max_hold: Option<Span>,
    /// When to renew by itself, or `None` to renew only when told.
    pub renewal: Option<Schedule>,
    /// How wrong the clocks may be.
    pub bounds: ClockBounds,
    /// How long an operation may take over all its attempts, waiting for a grant not counted.
    pub op_timeout: Span,
}

impl Config {
    /// How long an operation may take unless set otherwise.
    pub const OP_TIMEOUT: Span = Span::from_secs(5);

    /// Settings for `key`, held by `holder` for `ttl` at a time, the rest by default.
    pub fn new(key: Key, holder: HolderName, ttl: Span) -> Self {
        Self {
            key,
            holder,
            ttl,
            wait: Span::ZERO,
            time_limit: None,
            limit: Limit::EXCLUSIVE,
            steal: false,
            fingerprint: None,
            max_hold: None,
            renewal: Some(Schedule::DEFAULT),
            bounds: ClockBounds::DEFAULT,
            op_timeout: Self::OP_TIMEOUT,
        }
    }

    /// The time limit of a caller that names a wait and nothing else: that, and a second at least, so that
    /// an answer has time to come.
    pub fn usual_time_limit(wait: Span) -> Option<Span> {
        (!wait.is_zero()).then(|| wait.max(Span::from_secs(1)))
    }

    /// Whether each part is legal and they fit together: renewal starts before jeopardy, jeopardy
    /// before the end.
    ///
    /// # Errors
    /// [`Invalid`] naming the part that does not fit.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_ttl(self.ttl)?;
        check_wait(self.wait)?;
        let ends = self
            .bounds
            .usable(self.ttl)
            .saturating_sub(Term::lead(self.ttl));
        let jeopardy = Term::jeopardy(self.ttl);
        if jeopardy >= ends {
            return Err(Invalid::new(
                Field::Ttl,
                "is too short for the clock bounds: no time would be left to work in",
            ));
        }
        match self.renewal {
            Some(schedule) => schedule.check(self.ttl, ends),
            None => Ok(()),
        }
    }
}

/// When to renew, as parts per thousand of the term.
///
/// DHCP's two-timer schedule (RFC 2131, 4.4.5): from `t1` on the holder renews, from `t2` on it
/// also asks for a new way to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The first try.
    pub t1: u16,
    /// From here on each attempt asks the carrier to rebuild its connection first.
    pub t2: Option<u16>,
}

impl Schedule {
    /// First try after a third of the term.
    pub const DEFAULT: Self = Self { t1: 333, t2: None };

    /// When the first try is due, after the start of a term of `ttl`.
    pub(super) fn first(self, ttl: Span) -> Span {
        ttl.scale(u64::from(self.t1), 1_000)
    }

    /// From when on the carrier is to be rebuilt, after the start of a term of `ttl`.
    pub(super) fn rebind(self, ttl: Span) -> Option<Span> {
        self.t2.map(|t2| ttl.scale(u64::from(t2), 1_000))
    }

    fn check(self, ttl: Span, ends: Span) -> Result<(), Invalid> {
        let first = self.first(ttl);
        if first.is_zero() || first >= Term::jeopardy(ttl) {
            return Err(Invalid::new(
                Field::Renewal,
                "t1 must lie above 0 and below two thirds of the term",
            ));
        }
        match self.rebind(ttl) {
            Some(rebind) if rebind <= first || rebind >= ends => Err(Invalid::new(
                Field::Renewal,
                "t2 must lie after t1 and before the end of the usable term",
            )),
            _ => Ok(()),
        }
    }
}
