//! The waiters for one key, first come first served.

use alloc::collections::VecDeque;

use super::ReplyTo;
use super::record::WaiterRecord;
use crate::id::OpId;
use crate::time::Instant;

/// A queued acquirer.
#[derive(Debug)]
pub(super) struct Waiter {
    pub record: WaiterRecord,
    pub presence: Presence,
}

/// Where a waiter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// Its request lies here, waiting.
    Parked(Parked),
    /// Between two polls. It has left for good if it is not back by then.
    Away(Instant),
}

/// A request that is kept waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parked {
    pub to: ReplyTo,
    pub since: Instant,
    pub until: Instant,
    /// Whether the waiter's patience ends with this poll.
    pub last: bool,
}

impl Waiter {
    /// When something has to be done about it if nothing happens before.
    fn due(&self) -> Instant {
        match self.presence {
            Presence::Parked(parked) => parked.until,
            Presence::Away(until) => until,
        }
    }

    /// Whether a grant would still find it. A poll whose time ran out unnoticed, since an alarm came
    /// late, still lies here and is as good as one in time; patience that ran out is not.
    pub fn is_present(&self, now: Instant) -> bool {
        match self.presence {
            Presence::Parked(parked) => !parked.last || parked.until >= now,
            Presence::Away(until) => until >= now,
        }
    }

    pub fn parked(&self) -> Option<Parked> {
        match self.presence {
            Presence::Parked(parked) => Some(parked),
            Presence::Away(_) => None,
        }
    }
}

/// Waiters in order of arrival.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiters: VecDeque<Waiter>,
}

impl Queue {
    pub fn len(&self) -> usize {
        self.waiters.len()
    }

    pub fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    pub fn push(&mut self, waiter: Waiter) {
        self.waiters.push_back(waiter);
    }

    /// The first in the queue.
    pub fn pop(&mut self) -> Option<Waiter> {
        self.waiters.pop_front()
    }

    /// Where `op` stands, counted from zero.
    pub fn position(&self, op: OpId) -> Option<usize> {
        self.waiters
            .iter()
            .position(|waiter| waiter.record.op == op)
    }

    /// Puts a waiter at this position somewhere else; says where it was before.
    pub fn move_to(&mut self, position: usize, presence: Presence) -> Option<Presence> {
        let waiter = self.waiters.get_mut(position)?;
        Some(core::mem::replace(&mut waiter.presence, presence))
    }

    pub fn remove(&mut self, position: usize) -> Option<Waiter> {
        self.waiters.remove(position)
    }

    /// Takes a waiter's request away, since its asker is gone.
    pub fn unpark(&mut self, to: ReplyTo, away_until: Instant) {
        for waiter in &mut self.waiters {
            if waiter.parked().is_some_and(|parked| parked.to == to) {
                waiter.presence = Presence::Away(away_until);
            }
        }
    }

    /// The first position from `start` on whose time has come.
    pub fn next_due(&self, start: usize, now: Instant) -> Option<usize> {
        (start..self.waiters.len()).find(|&position| self.waiters[position].due() <= now)
    }

    pub fn get(&self, position: usize) -> Option<&Waiter> {
        self.waiters.get(position)
    }

    /// When the first of them is due.
    pub fn due(&self) -> Option<Instant> {
        self.waiters.iter().map(Waiter::due).min()
    }
}
