//! The memory of ops that have had their outcome, so that a repetition gets the same one.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::record::Past;
use crate::id::{LeaseId, OpId};
use crate::protocol::Ended;
use crate::time::{Instant, Span};

/// The most that one key remembers. Beyond it a very late repetition may win a grant that nobody
/// waits for, which ends with its term: lost time, not lost safety.
const MAX_PAST: usize = 16;

/// How long an ended op is remembered. No carrier delivers a request later than that.
const MEMORY: Span = Span::from_secs(60);

/// What one key remembers.
#[derive(Debug, Default)]
pub(super) struct Memory {
    past: VecDeque<Past>,
    /// Acquires that were told "held". They have left no trace in storage, and need none.
    denied: VecDeque<OpId>,
}

impl Memory {
    pub fn restore(past: Vec<Past>) -> Self {
        Self {
            past: past.into(),
            denied: VecDeque::new(),
        }
    }

    pub fn records(&self) -> Vec<Past> {
        self.past.iter().cloned().collect()
    }

    pub fn remember(&mut self, past: Past, now: Instant) {
        while self
            .past
            .front()
            .is_some_and(|oldest| self.past.len() >= MAX_PAST || now.since(oldest.at) >= MEMORY)
        {
            self.past.pop_front();
        }
        self.past.push_back(past);
    }

    pub fn remember_denied(&mut self, op: OpId) {
        if self.denied.len() == MAX_PAST {
            self.denied.pop_front();
        }
        self.denied.push_back(op);
    }

    pub fn was_denied(&self, op: OpId) -> bool {
        self.denied.contains(&op)
    }

    /// The op's own outcome, if it has had one that is remembered under its id.
    pub fn of(&self, op: OpId) -> Option<&Past> {
        self.past.iter().find(|past| past.op == op)
    }

    /// What `op` was told if it has had its outcome and no grant.
    pub fn was_in_vain(&self, op: OpId) -> Option<Ended> {
        let past = self.of(op).filter(|past| past.grant.is_none());
        past.map(|past| past.ended)
    }

    /// Whether `op` is what ended a grant in this way.
    pub fn was_ended_by(&self, op: OpId, ended: Ended) -> bool {
        self.past
            .iter()
            .any(|past| past.ended_by == Some(op) && past.ended == ended)
    }

    /// How the grant `lease` ended.
    pub fn end_of(&self, lease: LeaseId) -> Ended {
        self.past
            .iter()
            .find(|past| past.grant.is_some_and(|(id, _)| id == lease))
            .map_or(Ended::Unknown, |past| past.ended)
    }
}
