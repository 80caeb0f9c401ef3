//! The attempts at one operation. Each answer counts by the send of its own attempt, whichever came
//! first.

use alloc::vec::Vec;

use crate::id::AttemptId;
use crate::time::{Instant, Span};

use super::context::Context;
use super::{Delivery, TransportFailure};

/// An attempt whose answer is awaited.
#[derive(Clone, Copy)]
pub(super) struct Open {
    pub id: AttemptId,
    pub sent: Instant,
}

/// The attempts at one operation that are open, oldest first.
pub(super) struct Attempts {
    /// The most that are open at once; the oldest makes room.
    most: usize,
    open: Vec<Open>,
    /// The newest, open or not.
    last: Option<AttemptId>,
    /// Whether one that is not open any more may have been carried out without our learning of it.
    in_doubt: bool,
}

impl Attempts {
    /// None so far, and never more than so many at once.
    pub const fn at_most(most: usize) -> Self {
        Self {
            most,
            open: Vec::new(),
            last: None,
            in_doubt: false,
        }
    }

    /// Takes note of an attempt that was sent just now.
    pub fn sent(&mut self, ctx: &mut Context, id: AttemptId) {
        if self.open.len() == self.most {
            ctx.drop_attempt(self.open.remove(0).id);
            self.in_doubt = true;
        }
        self.open.push(Open { id, sent: ctx.now });
        self.last = Some(id);
    }

    pub fn awaits(&self, id: AttemptId) -> bool {
        self.open.iter().any(|open| open.id == id)
    }

    /// Whether none was sent after this one.
    pub fn is_last(&self, id: AttemptId) -> bool {
        self.last == Some(id)
    }

    /// Whether the last one that was sent is open.
    pub fn awaits_last(&self) -> bool {
        self.last.is_some_and(|last| self.awaits(last))
    }

    /// When the last of those that are open was sent.
    pub fn last_open(&self) -> Option<Instant> {
        self.open.iter().map(|open| open.sent).max()
    }

    pub fn oldest(&self) -> Option<Open> {
        self.open.iter().min_by_key(|open| open.sent).copied()
    }

    /// When this attempt was sent, if it was open. Its answer has come.
    pub fn answered(&mut self, id: AttemptId) -> Option<Instant> {
        let index = self.open.iter().position(|open| open.id == id)?;
        Some(self.open.remove(index).sent)
    }

    /// Whether this attempt was open. It has failed.
    pub fn failed(&mut self, id: AttemptId, failure: TransportFailure) -> bool {
        let was_open = self.answered(id).is_some();
        self.in_doubt |= was_open && failure.delivery == Delivery::Unknown;
        was_open
    }

    /// Nothing that this attempt has sent so far was carried out: it counts from now.
    pub fn resent(&mut self, id: AttemptId, now: Instant) {
        if let Some(open) = self.open.iter_mut().find(|open| open.id == id) {
            open.sent = now;
        }
    }

    /// Takes note of an answer that does not tell whether the attempt was carried out.
    pub fn leave_in_doubt(&mut self) {
        self.in_doubt = true;
    }

    /// Whether some attempt may have been carried out, or may still be.
    pub fn may_take_effect(&self) -> bool {
        self.in_doubt || !self.open.is_empty()
    }

    /// The first instant at which fewer than `most` of them are younger than `age`.
    pub fn fewer_than(&self, most: usize, age: Span) -> Option<Instant> {
        // One that was sent again is younger than its place.
        let sent = self.open.iter().map(|open| open.sent);
        let youngest = |since: &Instant| sent.clone().filter(|sent| sent >= since).count() >= most;
        sent.clone().filter(youngest).max().map(|sent| sent + age)
    }

    /// Awaits those no more that were sent before this one, whose answer has made theirs useless.
    pub fn drop_before(&mut self, ctx: &mut Context, id: AttemptId) {
        self.in_doubt = false;
        self.open.retain(|open| {
            let later = open.id > id;
            if !later {
                ctx.drop_attempt(open.id);
            }
            later
        });
    }

    /// Awaits none of them any more.
    pub fn drop_all(&mut self, ctx: &mut Context) {
        self.in_doubt |= !self.open.is_empty();
        for open in self.open.drain(..) {
            ctx.drop_attempt(open.id);
        }
    }
}
