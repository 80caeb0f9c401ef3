//! Changing a lease's entries: one after the other, since a host ignores a change that comes after a
//! later one.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::id::AttemptId;
use crate::json::Json;
use crate::name::EntryName;
use crate::protocol::{Ended, Entry, MAX_ENTRIES, Operation, Response};

use super::TransportFailure;
use super::context::Context;
use super::errand::{Errand, Verdict};
use super::event::{Done, ErrorCode, Failure};
use super::held::HeldLease;
use super::tickets::{Ticket, Tickets};
use super::timers::Timer;

/// The changes of a lease's entries.
#[derive(Default)]
pub(super) struct Entering {
    /// That of the last change.
    number: u64,
    /// The first is under way, the others wait for it.
    changes: Vec<Errand>,
}

impl Entering {
    pub fn awaits(&self, attempt: AttemptId) -> bool {
        let first = self.changes.first();
        first.is_some_and(|errand| errand.awaits(attempt))
    }

    /// Awaits nothing any more.
    pub fn end(&mut self, ctx: &mut Context, why: &Arc<Failure>) {
        for mut errand in core::mem::take(&mut self.changes) {
            errand.end(ctx, Err(why.clone()));
        }
    }

    /// The change under way is through, or has been given up.
    fn next(&mut self, ctx: &mut Context, outcome: Result<Done, Arc<Failure>>) {
        self.changes.remove(0).end(ctx, outcome);
        if let Some(errand) = self.changes.first_mut() {
            errand.begin(ctx);
        }
    }
}

impl HeldLease {
    /// Changes an entry, once those before it are through.
    pub fn enter(
        &mut self,
        ctx: &mut Context,
        ticket: Ticket,
        (name, value): (EntryName, Option<Json>),
    ) {
        if self.entering.changes.len() > MAX_ENTRIES {
            let full = Failure::new(ErrorCode::Unavailable, "too-many-changes");
            return ctx.settle(ticket, Err(full));
        }
        self.entering.number += 1;
        let entry = Operation::Entry(Entry {
            credential: self.credential(),
            name,
            value,
            number: self.entering.number,
        });
        let mut errand = Errand::new(ctx, Timer::Entry, entry, Tickets::of(ticket));
        if self.entering.changes.is_empty() {
            errand.begin(ctx);
        }
        self.entering.changes.push(errand);
    }

    pub(super) fn entry_answered(
        &mut self,
        ctx: &mut Context,
        attempt: AttemptId,
        response: &Response,
    ) -> Option<Ended> {
        let errand = self.entering.changes.first_mut()?;
        errand.answered(attempt)?;
        if errand.is_settled_by(ctx, response) {
            match errand.read(response) {
                Verdict::Done => self.entering.next(ctx, Ok(Done::Entered)),
                Verdict::Ended(ended) => return Some(ended),
                Verdict::Refused(failure) => self.entering.next(ctx, Err(failure)),
                Verdict::Unreadable => errand.unreadable(ctx),
            }
        }
        None
    }

    pub(super) fn entry_failed(
        &mut self,
        ctx: &mut Context,
        attempt: AttemptId,
        failure: TransportFailure,
    ) {
        if let Some(errand) = self.entering.changes.first_mut() {
            errand.failed(ctx, attempt, failure);
        }
    }

    /// The next attempt is due, or there is no time for another.
    pub(super) fn entry_due(&mut self, ctx: &mut Context) {
        if let Some(errand) = self.entering.changes.first_mut()
            && !errand.run(ctx)
        {
            self.entering.next(ctx, Err(Failure::no_answer()));
        }
    }
}
