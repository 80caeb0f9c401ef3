//! Errands that are done one after the other.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::id::AttemptId;

use super::TransportFailure;
use super::context::Context;
use super::errand::Errand;
use super::event::{Done, Failure};

/// Errands in their order: the first is under way, the others wait for it.
#[derive(Default)]
pub(super) struct Queue(Vec<Errand>);

impl Queue {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn awaits(&self, attempt: AttemptId) -> bool {
        let first = self.0.first();
        first.is_some_and(|errand| errand.awaits(attempt))
    }

    /// The one under way.
    pub fn running(&mut self) -> Option<&mut Errand> {
        self.0.first_mut()
    }

    /// The one that follows it.
    pub fn waiting(&mut self) -> Option<&mut Errand> {
        self.0.get_mut(1)
    }

    /// Adds an errand that has not begun.
    pub fn add(&mut self, ctx: &mut Context, mut errand: Errand) {
        if self.0.is_empty() {
            errand.begin(ctx);
        }
        self.0.push(errand);
    }

    /// The one under way has ended so: the next begins.
    pub fn next(&mut self, ctx: &mut Context, outcome: Result<Done, Arc<Failure>>) {
        self.0.remove(0).end(ctx, outcome);
        if let Some(errand) = self.running() {
            errand.begin(ctx);
        }
    }

    /// Takes note of an attempt that failed.
    pub fn failed(&mut self, ctx: &mut Context, attempt: AttemptId, failure: TransportFailure) {
        if let Some(errand) = self.running() {
            errand.failed(ctx, attempt, failure);
        }
    }

    /// Does what is due: another attempt, or there is no time for one.
    pub fn run(&mut self, ctx: &mut Context) {
        if let Some(errand) = self.running()
            && !errand.run(ctx)
        {
            self.next(ctx, Err(Failure::no_answer()));
        }
    }

    /// Awaits nothing any more.
    pub fn end(&mut self, ctx: &mut Context, why: &Arc<Failure>) {
        for mut errand in core::mem::take(&mut self.0) {
            errand.end(ctx, Err(why.clone()));
        }
    }
}
