//! What nobody holds any more and the host may still keep: it is taken back. Where that fails it
//! ends with its term.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::id::AttemptId;
use crate::protocol::{Request, Response};
use crate::time::Instant;

use super::TransportFailure;
use super::context::Context;
use super::errand::Errand;
use super::timers::Timer;

/// How many may be under way at once; older ones are left to the lease's term.
const MAX_STRAYS: usize = 4;

/// The releases and cancels that tidy up.
#[derive(Default)]
pub(super) struct Strays {
    errands: Vec<Stray>,
}

struct Stray {
    errand: Errand,
    /// It is not sent before.
    earliest: Instant,
}

impl Strays {
    pub fn is_empty(&self) -> bool {
        self.errands.is_empty()
    }

    /// Takes something back at once.
    pub fn add(&mut self, ctx: &mut Context, request: Arc<Request>) {
        let now = ctx.now;
        self.plan(ctx, request, now, now);
    }

    /// Takes something back at this instant, or sooner if told so, but not before `earliest`.
    pub fn plan(
        &mut self,
        ctx: &mut Context,
        request: Arc<Request>,
        at: Instant,
        earliest: Instant,
    ) {
        if self.errands.len() == MAX_STRAYS {
            self.errands.remove(0).errand.abandon(ctx);
        }
        let mut errand = Errand::planned(ctx, Timer::TidyUp, request, at.max(ctx.now));
        if at <= ctx.now {
            errand.run(ctx);
        }
        self.errands.push(Stray { errand, earliest });
        self.arm(ctx);
    }

    /// Nothing more has to be waited for.
    pub fn hasten(&mut self, ctx: &mut Context) {
        for Stray { errand, earliest } in &mut self.errands {
            errand.bring_forward(ctx, (*earliest).max(ctx.now));
        }
        self.run(ctx);
    }

    /// Whether this was an answer to one of them.
    pub fn answered(&mut self, ctx: &mut Context, attempt: AttemptId, response: &Response) -> bool {
        let awaits = |stray: &Stray| stray.errand.awaits(attempt);
        let Some(index) = self.errands.iter().position(awaits) else {
            return false;
        };
        let errand = &mut self.errands[index].errand;
        errand.answered(attempt);
        if errand.is_settled_by(ctx, response) {
            errand.abandon(ctx);
            self.errands.remove(index);
        }
        self.arm(ctx);
        true
    }

    pub fn failed(&mut self, ctx: &mut Context, attempt: AttemptId, failure: TransportFailure) {
        for stray in &mut self.errands {
            stray.errand.failed(ctx, attempt, failure);
        }
        self.arm(ctx);
    }

    /// Does what is due.
    pub fn run(&mut self, ctx: &mut Context) {
        self.errands.retain_mut(|Stray { errand, .. }| {
            let goes_on = errand.run(ctx);
            if !goes_on {
                errand.abandon(ctx);
            }
            goes_on
        });
        self.arm(ctx);
    }

    /// Has the timer set again, which ends with the lease's.
    pub fn arm(&self, ctx: &mut Context) {
        let due = self.errands.iter().map(|stray| stray.errand.due()).min();
        ctx.timers.set(Timer::TidyUp, due);
    }
}
