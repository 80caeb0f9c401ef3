//! Changing a lease's entries: one after the other, since a host ignores a change that comes after a
//! later one.

use alloc::collections::VecDeque;

use crate::id::AttemptId;
use crate::json::Json;
use crate::name::EntryName;
use crate::protocol::{Entry, MAX_ENTRIES, Operation, Response};

use super::TransportFailure;
use super::config::Config;
use super::context::Context;
use super::errand::Errand;
use super::event::{Done, ErrorCode, Event, Failure, LossReason};
use super::held::{HeldLease, Verdict};
use super::tickets::Ticket;
use super::timers::Timer;

/// The changes of a lease's entries.
#[derive(Default)]
pub(super) struct Entering {
    /// That of the last change.
    number: u64,
    running: Option<(Errand, Ticket)>,
    waiting: VecDeque<(Ticket, EntryName, Option<Json>)>,
}

impl Entering {
    pub fn awaits(&self, attempt: AttemptId) -> bool {
        let running = self.running.as_ref();
        running.is_some_and(|(errand, _)| errand.awaits(attempt))
    }

    /// Awaits nothing any more.
    pub fn end(&mut self, ctx: &mut Context, why: &Failure) {
        let mut settle = |ticket| ctx.emit(Event::Settled(ticket, Err(why.clone())));
        let running = self.running.take().map(|(errand, ticket)| {
            settle(ticket);
            errand
        });
        self.waiting
            .drain(..)
            .for_each(|(ticket, ..)| settle(ticket));
        if let Some(mut errand) = running {
            errand.abandon(ctx);
        }
    }
}

impl HeldLease {
    /// Changes an entry, once those before it are through.
    pub fn enter(
        &mut self,
        config: &Config,
        ctx: &mut Context,
        ticket: Ticket,
        (name, value): (EntryName, Option<Json>),
    ) {
        if self.entering.waiting.len() == MAX_ENTRIES {
            let full = Failure::new(ErrorCode::Unavailable, "too-many-changes");
            return ctx.emit(Event::Settled(ticket, Err(full)));
        }
        self.entering.waiting.push_back((ticket, name, value));
        self.enter_next(config, ctx);
    }

    fn enter_next(&mut self, config: &Config, ctx: &mut Context) {
        if self.entering.running.is_some() {
            return;
        }
        let Some((ticket, name, value)) = self.entering.waiting.pop_front() else {
            return ctx.timers.stop(Timer::Entry);
        };
        self.entering.number += 1;
        let entry = Entry {
            credential: self.credential(),
            name,
            value,
            number: self.entering.number,
        };
        let errand = Errand::start(config, ctx, Operation::Entry(entry));
        ctx.timers.set(Timer::Entry, errand.due());
        self.entering.running = Some((errand, ticket));
    }

    fn entered(&mut self, config: &Config, ctx: &mut Context, outcome: Result<Done, Failure>) {
        if let Some((mut errand, ticket)) = self.entering.running.take() {
            errand.abandon(ctx);
            ctx.emit(Event::Settled(ticket, outcome));
        }
        self.enter_next(config, ctx);
    }

    pub(super) fn entry_answered(
        &mut self,
        config: &Config,
        ctx: &mut Context,
        attempt: AttemptId,
        response: &Response,
    ) -> Verdict {
        let own = self.credential().fence;
        let Some((errand, _)) = &mut self.entering.running else {
            return Verdict::NotMine;
        };
        if errand.answered(attempt).is_none() {
            return Verdict::NotMine;
        }
        match response {
            response if !errand.is_settled_by(ctx, response) => {}
            Response::Entered { about } if *about == own => {
                self.entered(config, ctx, Ok(Done::Entered));
                return Verdict::Stays;
            }
            Response::NotHolder { about, ended, .. } if *about == own => {
                return Verdict::Lost(LossReason::NotHolder(*ended));
            }
            Response::Refused(refusal) => {
                self.entered(config, ctx, Err(refusal.into()));
                return Verdict::Stays;
            }
            _ => errand.unreadable(ctx),
        }
        ctx.timers.set(Timer::Entry, errand.due());
        Verdict::Stays
    }

    pub(super) fn entry_failed(
        &mut self,
        ctx: &mut Context,
        attempt: AttemptId,
        failure: TransportFailure,
    ) {
        if let Some((errand, _)) = &mut self.entering.running
            && errand.failed(ctx, attempt, failure)
        {
            ctx.timers.set(Timer::Entry, errand.due());
        }
    }

    /// The next attempt is due, or there is no time for another.
    pub(super) fn entry_due(&mut self, config: &Config, ctx: &mut Context) {
        let Some((errand, _)) = &mut self.entering.running else {
            return;
        };
        if errand.run(ctx) {
            ctx.timers.set(Timer::Entry, errand.due());
        } else {
            self.entered(config, ctx, Err(Failure::unavailable("no-answer", None)));
        }
    }
}
