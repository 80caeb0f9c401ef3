//! When a key's timers go off: one instant for each.

use crate::time::Instant;

/// What a key may have to do without being asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// End a grant or the mark that the key is done, for those who wait for it or watch.
    Expiry,
    /// Send a waiter away whose poll or patience is over.
    Poll,
    /// Go on without the waiters that have not come back.
    RollCall,
    /// Answer watchers.
    Watch,
}

/// The timers that are set.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimerTable([Option<Instant>; 4]);

impl TimerTable {
    /// Sets the timer, or stops it.
    pub fn set(&mut self, timer: Timer, at: Option<Instant>) {
        self.0[timer as usize] = at;
    }

    /// When the first one goes off.
    pub fn next(&self) -> Option<Instant> {
        self.0.iter().copied().flatten().min()
    }
}
