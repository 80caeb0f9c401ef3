//! Changing a lease's entries: one after the other, since a host ignores a change that comes after a
//! later one.

use crate::id::AttemptId;
use crate::json::Json;
use crate::name::EntryName;
use crate::protocol::{Ended, Entry, MAX_ENTRIES, Operation, Response};

use super::context::Context;
use super::errand::{Errand, Verdict};
use super::event::{Done, ErrorCode, Failure};
use super::held::HeldLease;
use super::queue::Queue;
use super::tickets::{Ticket, Tickets};
use super::timers::Timer;

/// The changes of a lease's entries.
#[derive(Default)]
pub(super) struct Entering {
    /// That of the last change.
    number: u64,
    pub changes: Queue,
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
        let errand = Errand::new(ctx, Timer::Entry, entry, Tickets::of(ticket));
        self.entering.changes.add(ctx, errand);
    }

    pub(super) fn entry_answered(
        &mut self,
        ctx: &mut Context,
        attempt: AttemptId,
        response: &Response,
    ) -> Option<Ended> {
        let changes = &mut self.entering.changes;
        let errand = changes.running()?;
        errand.answered(attempt)?;
        if errand.is_settled_by(ctx, response) {
            match errand.read(response) {
                Verdict::Done => changes.next(ctx, Ok(Done::Entered)),
                Verdict::Ended(ended) => return Some(ended),
                Verdict::Refused(failure) => changes.next(ctx, Err(failure)),
                Verdict::Unreadable => errand.unreadable(ctx),
            }
        }
        None
    }
}
