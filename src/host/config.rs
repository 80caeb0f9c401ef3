//! A host's settings: margins, patience and limits.

use crate::time::Span;

/// How a host treats time, and how much it takes on.
#[derive(Clone, Copy, Debug)]
pub struct HostConfig {
    /// How much less than it keeps a key the host tells the holder.
    pub margin: Margin,
    /// The longest first term of a grant that ends a wait. A waiter that is still there confirms by
    /// renewing; one that is gone holds the others up no longer than this.
    pub offer: Span,
    /// How long a waiter keeps its place between two polls.
    pub grace: Span,
    /// How long after the last grant of a key its fence is kept. Fences rise with the time, so this
    /// only has to be longer than a clock may be wrong.
    pub retention: Span,
    /// Whether it asks for an alarm only to forget a key; else that is done with the next input.
    pub wakes_to_forget: bool,
    /// The most keys remembered, held or not.
    pub max_keys: usize,
    /// How many more may be remembered only because something of theirs was cancelled or revoked.
    pub spare_keys: usize,
    /// The most waiters for one key.
    pub max_waiters: usize,
    /// The most watchers of one key.
    pub max_watchers: usize,
}

impl HostConfig {
    /// Settings for a host in the holders' own process: one clock, so no margin.
    pub const EMBEDDED: Self = Self {
        margin: Margin::NONE,
        offer: Span::from_secs(3),
        grace: Span::from_secs(3),
        retention: Span::from_secs(30 * 86_400),
        wakes_to_forget: false,
        max_keys: 100_000,
        spare_keys: 1_024,
        max_waiters: 1_024,
        max_watchers: 1_024,
    };

    /// Settings for a Redis, whose clock may step and which a failover may replace.
    pub const REDIS: Self = Self {
        margin: Margin {
            part: 40,
            most: Span::from_millis(500),
        },
        ..Self::EMBEDDED
    };

    /// Settings for a Durable Object, whose clock may step and whose machine may change.
    pub const DURABLE_OBJECT: Self = Self {
        margin: Margin {
            part: 20,
            most: Span::from_secs(1),
        },
        wakes_to_forget: true,
        max_keys: 16_384,
        ..Self::EMBEDDED
    };
}

/// The host's allowance for steps of its own clock, kept on the holder's side: the holder's term is
/// shorter by it, the key is kept for the whole term.
#[derive(Clone, Copy, Debug)]
pub struct Margin {
    /// The margin is the term divided by this,
    pub part: u64,
    /// but no more than this.
    pub most: Span,
}

impl Margin {
    /// No margin.
    pub const NONE: Self = Self {
        part: 1,
        most: Span::ZERO,
    };

    /// The margin for a term.
    pub fn of(self, term: Span) -> Span {
        term.div(self.part.max(1)).min(self.most)
    }
}
