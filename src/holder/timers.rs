//! What is due, and when: one table for the whole machine.

use crate::time::Instant;

/// What a holder can be waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// The lease ends.
    End,
    /// No more time for the acquire, the release, the transfer or the finish under way.
    GiveUp,
    /// An unrenewed lease comes into jeopardy.
    Jeopardy,
    /// The next renewal is due.
    Renew,
    /// Whoever asked for a renewal has waited for its answer long enough.
    Patience,
    /// A verification's next attempt is due, or its end.
    Verify,
    /// The next attempt at changing an entry is due, or its end.
    Entry,
    /// The next attempt at the acquire, the release, the transfer or the finish is due.
    Attempt,
    /// Something that nobody holds any more is to be taken back.
    TidyUp,
}

/// At most one instant for each [`Timer`].
#[derive(Default)]
pub(super) struct Timers {
    due: [Option<Instant>; Self::ALL.len()],
}

impl Timers {
    const ALL: [Timer; 9] = [
        Timer::End,
        Timer::GiveUp,
        Timer::Jeopardy,
        Timer::Renew,
        Timer::Patience,
        Timer::Verify,
        Timer::Entry,
        Timer::Attempt,
        Timer::TidyUp,
    ];

    pub fn set(&mut self, timer: Timer, at: impl Into<Option<Instant>>) {
        self.due[timer as usize] = at.into();
    }

    pub fn stop(&mut self, timer: Timer) {
        self.set(timer, None);
    }

    pub fn stop_all(&mut self) {
        self.due = Default::default();
    }

    pub fn get(&self, timer: Timer) -> Option<Instant> {
        self.due[timer as usize]
    }

    /// The first that is due, and when.
    pub fn next(&self) -> Option<(Instant, Timer)> {
        let set = |&timer: &Timer| self.get(timer).map(|at| (at, timer));
        Self::ALL.iter().filter_map(set).min()
    }

    /// Takes the first whose time has come.
    pub fn expire(&mut self, now: Instant) -> Option<Timer> {
        let (_, timer) = self.next().filter(|(at, _)| *at <= now)?;
        self.stop(timer);
        Some(timer)
    }
}
