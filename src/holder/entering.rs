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
    running: Option<Errand>,
    waiting: Vec<(Ticket, EntryName, Option<Json>)>,
}

impl Entering {
    pub fn awaits(&self, attempt: AttemptId) -> bool {
        let running = self.running.as_ref();
        running.is_some_and(|errand| errand.awaits(attempt))
    }

    /// Awaits nothing any more.
    pub fn end(&mut self, ctx: &mut Context, why: &Arc<Failure>) {
        if let Some(mut errand) = self.running.take() {
            errand.end(ctx, Err(why.clone()));
        }
        for (ticket, ..) in core::mem::take(&mut self.waiting) {
            ctx.settle(ticket, Err(why.clone()));
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
        if self.entering.waiting.len() == MAX_ENTRIES {
            let full = Failure::new(ErrorCode::Unavailable, "too-many-changes");
            return ctx.settle(ticket, Err(full));
        }
        self.entering.waiting.push((ticket, name, value));
        self.enter_next(ctx);
    }

    fn enter_next(&mut self, ctx: &mut Context) {
        if self.entering.running.is_some() {
            return;
        }
        if self.entering.waiting.is_empty() {
            return;
        }
        let (ticket, name, value) = self.entering.waiting.remove(0);
        self.entering.number += 1;
        let entry = Operation::Entry(Entry {
            credential: self.credential(),
            name,
            value,
            number: self.entering.number,
        });
        let errand = Errand::start(ctx, Timer::Entry, entry, Tickets::of(ticket));
        self.entering.running = Some(errand);
    }

    fn entered(&mut self, ctx: &mut Context, outcome: Result<Done, Arc<Failure>>) {
        if let Some(mut errand) = self.entering.running.take() {
            errand.end(ctx, outcome);
        }
        self.enter_next(ctx);
    }

    pub(super) fn entry_answered(
        &mut self,
        ctx: &mut Context,
        attempt: AttemptId,
        response: &Response,
    ) -> Option<Ended> {
        let errand = self.entering.running.as_mut()?;
        errand.answered(attempt)?;
        if errand.is_settled_by(ctx, response) {
            match errand.read(response) {
                Verdict::Done => self.entered(ctx, Ok(Done::Entered)),
                Verdict::Ended(ended) => return Some(ended),
                Verdict::Refused(failure) => self.entered(ctx, Err(failure)),
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
        if let Some(errand) = &mut self.entering.running {
            errand.failed(ctx, attempt, failure);
        }
    }

    /// The next attempt is due, or there is no time for another.
    pub(super) fn entry_due(&mut self, ctx: &mut Context) {
        if let Some(errand) = &mut self.entering.running
            && !errand.run(ctx)
        {
            self.entered(ctx, Err(Failure::no_answer()));
        }
    }
}
