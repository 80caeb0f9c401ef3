//! The waiters for one key: first come, first served among those who are there.
//!
//! A waiter polls: its request lies here for a while, then it is sent away and comes again. Nobody
//! passes one that is there or between two polls. When an offer has lapsed, or the host was away, nobody
//! knows who is still alive: all are sent away at once, and the turn goes to the first of those who
//! come back.

use alloc::collections::VecDeque;

use super::super::ReplyTo;
use super::super::effects::Effects;
use super::super::record::{Mutation, WaiterRecord};
use super::queued;
use crate::id::OpId;
use crate::protocol::longest_poll;
use crate::time::{Instant, Span};

/// How long whoever was sent away by a lapsed offer has to come back.
const ROLL_CALL: Span = Span::from_millis(500);

/// A queued acquirer.
#[derive(Debug)]
pub(super) struct Waiter {
    pub record: WaiterRecord,
    presence: Presence,
}

/// Where a waiter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// Its request lies here.
    Parked(Parked),
    /// Between two polls. It has left for good if it is not back by then.
    Away(Instant),
    /// The same, and was not there when it was needed: it keeps its place, not its turn.
    Missing(Instant),
}

/// A request that is kept waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parked {
    pub to: ReplyTo,
    pub since: Instant,
    until: Instant,
    /// Whether the waiter's patience ends with this poll.
    last: bool,
}

impl Parked {
    /// A request that is kept for one poll.
    pub fn new(to: ReplyTo, now: Instant, wait: Span, ttl: Span) -> Self {
        let poll = longest_poll(ttl);
        Self {
            to,
            since: now,
            until: now + wait.min(poll),
            last: wait <= poll,
        }
    }
}

impl Waiter {
    pub fn new(record: WaiterRecord, parked: Parked) -> Self {
        Self {
            record,
            presence: Presence::Parked(parked),
        }
    }

    pub fn parked(&self) -> Option<Parked> {
        match self.presence {
            Presence::Parked(parked) => Some(parked),
            Presence::Away(_) | Presence::Missing(_) => None,
        }
    }

    /// When something has to be done about it if nothing happens before.
    fn due(&self) -> Instant {
        match self.presence {
            Presence::Parked(parked) => parked.until,
            Presence::Away(until) | Presence::Missing(until) => until,
        }
    }

    /// Whether it is its turn before others. A poll whose time ran out unnoticed, since an alarm
    /// came late, still lies here and is as good as one in time; patience that ran out is not.
    fn is_present(&self, now: Instant) -> bool {
        match self.presence {
            Presence::Parked(parked) => !parked.last || parked.until >= now,
            Presence::Away(until) => until >= now,
            Presence::Missing(_) => false,
        }
    }
}

/// Waiters in order of arrival.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiters: VecDeque<Waiter>,
    /// Until when those who were sent away by a lapsed offer have time to come back.
    roll_call: Option<Instant>,
}

impl Queue {
    /// Puts a stored waiter in its place. Who of them is still there has to be found out.
    pub fn restore(&mut self, record: WaiterRecord, now: Instant, grace: Span) {
        let is_before = |waiter: &Waiter| waiter.record.number < record.number;
        let position = self.waiters.partition_point(is_before);
        let presence = Presence::Away(now + grace);
        self.waiters.insert(position, Waiter { record, presence });
        self.roll_call = Some(now + ROLL_CALL);
    }

    pub fn len(&self) -> usize {
        self.waiters.len()
    }

    pub fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    /// How many are there or between two polls.
    pub fn present(&self, now: Instant) -> u32 {
        let present = self.waiters.iter().filter(|waiter| waiter.is_present(now));
        u32::try_from(present.count()).unwrap_or(u32::MAX)
    }

    /// Whose turn it is, if that can be said now.
    pub fn next(&self, now: Instant) -> Option<usize> {
        if self.roll_call.is_some() {
            return None;
        }
        self.waiters
            .iter()
            .position(|waiter| waiter.is_present(now))
    }

    pub fn push(&mut self, waiter: Waiter) {
        self.waiters.push_back(waiter);
    }

    pub fn get(&self, position: usize) -> Option<&Waiter> {
        self.waiters.get(position)
    }

    /// Where `op` stands, counted from zero.
    pub fn position(&self, op: OpId) -> Option<usize> {
        self.waiters
            .iter()
            .position(|waiter| waiter.record.op == op)
    }

    /// Takes a waiter out of the queue and of the storage.
    pub fn remove(&mut self, position: usize, fx: &mut Effects) -> Option<Waiter> {
        let waiter = self.waiters.remove(position)?;
        fx.persist(Mutation::DeleteWaiter {
            key: waiter.record.key.clone(),
            number: waiter.record.number,
        });
        if self.waiters.is_empty() {
            self.roll_call = None;
        }
        Some(waiter)
    }

    /// A waiter is back for its next poll, or repeats the present one: it keeps its place, and the
    /// newer request gets the answer.
    pub fn park_again(&mut self, position: usize, parked: Parked, fx: &mut Effects) {
        let Some(waiter) = self.waiters.get_mut(position) else {
            return;
        };
        let before = core::mem::replace(&mut waiter.presence, Presence::Parked(parked));
        if let Presence::Parked(before) = before {
            fx.reply(before.to, queued(position));
        }
    }

    /// The asker of a parked request has gone; its place is kept a little longer, its turn is not.
    pub fn gone(&mut self, to: ReplyTo, until: Instant) {
        for waiter in &mut self.waiters {
            if waiter.parked().is_some_and(|parked| parked.to == to) {
                waiter.presence = Presence::Missing(until);
            }
        }
    }

    /// Sends everybody away, to see who comes back.
    pub fn call_roll(&mut self, now: Instant, grace: Span, fx: &mut Effects) {
        for (position, waiter) in self.waiters.iter_mut().enumerate() {
            if let Presence::Parked(parked) = waiter.presence {
                waiter.presence = Presence::Away(now + grace);
                fx.reply(parked.to, queued(position));
            }
        }
        if !self.waiters.is_empty() {
            self.roll_call = Some(now + ROLL_CALL);
        }
    }

    /// Ends the roll call as soon as the first in order is back, or when the time for it is over:
    /// then those who are not back have missed their turn.
    pub fn end_roll_call(&mut self, now: Instant) {
        let Some(until) = self.roll_call else { return };
        let first = self.waiters.front();
        if first.is_some_and(|first| first.parked().is_some()) {
            self.roll_call = None;
        } else if until <= now {
            self.roll_call = None;
            for waiter in &mut self.waiters {
                if let Presence::Away(until) = waiter.presence {
                    waiter.presence = Presence::Missing(until);
                }
            }
        }
    }

    pub fn roll_call(&self) -> Option<Instant> {
        self.roll_call
    }

    /// Sends waiters away whose poll is over, and gives the first position from `start` on whose
    /// place is to be given up.
    pub fn dismiss(
        &mut self,
        start: usize,
        now: Instant,
        grace: Span,
        fx: &mut Effects,
    ) -> Option<usize> {
        for (position, waiter) in self.waiters.iter_mut().enumerate().skip(start) {
            if waiter.due() > now {
                continue;
            }
            match waiter.presence {
                Presence::Parked(parked) if !parked.last => {
                    waiter.presence = Presence::Away(now + grace);
                    fx.reply(parked.to, queued(position));
                }
                _ => return Some(position),
            }
        }
        None
    }

    /// When the first of them is due.
    pub fn due(&self) -> Option<Instant> {
        self.waiters.iter().map(Waiter::due).min()
    }
}
