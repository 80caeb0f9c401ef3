//! Who waits for the outcome of an operation.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::context::Context;
use super::event::{Done, ErrorCode, Failure};

/// The most that wait for one outcome.
const MOST: usize = 1_024;

/// Names one operation that was asked for. Chosen by the asker, who gets it back with the outcome in
/// [`super::Event::Settled`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u32);

/// Those who wait for one outcome.
#[derive(Default)]
pub(super) struct Tickets(Vec<Ticket>);

impl Tickets {
    pub fn of(ticket: Ticket) -> Self {
        Self(Vec::from([ticket]))
    }

    /// Adds one, or refuses it where too many wait already.
    pub fn add(&mut self, ctx: &mut Context, ticket: Ticket) {
        if self.0.len() == MOST {
            let full = Failure::new(ErrorCode::Unavailable, "too-many-calls");
            return ctx.settle(ticket, Err(full));
        }
        self.0.push(ticket);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Tells all of them how it ended: nobody waits any more.
    pub fn settle(&mut self, ctx: &mut Context, outcome: Result<Done, Arc<Failure>>) {
        for ticket in core::mem::take(&mut self.0) {
            ctx.settle(ticket, outcome.clone());
        }
    }
}
