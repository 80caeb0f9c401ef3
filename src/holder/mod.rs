//! What a holder may believe, and when it must stop.
//!
//! A [`Holder`] lives as long as one lease: it acquires it (or resumes one that was handed over),
//! keeps it renewed, and ends it. It decides by its own conservative clock alone when the lease
//! can no longer be trusted; no answer, late or missing, ever lengthens that.
//!
//! Feed it one [`Input`] at a time with [`Holder::handle`], then drain [`Holder::poll_output`].
//! After [`Event::Closed`] it can be dropped.

mod acquiring;
mod config;
mod context;
mod ending;
mod errand;
mod event;
mod held;
mod input;
mod pursuit;
mod term;

pub use config::{Config, Schedule};
pub use context::Seed;
pub use event::{
    ErrorCode, Event, Failure, Grant, LossReason, Output, Release, Send, Successor, Timer,
};
pub use input::{Delivery, Input, TransportFailure};

use alloc::vec::Vec;

use crate::id::{AttemptId, LeaseId, OpId};
use crate::name::HolderName;
use crate::protocol::{
    Credential, Invalid, Operation, Refusal, Request, Response, Transfer, check_ttl,
};
use crate::time::{Instant, Span};

use acquiring::Acquiring;
use context::Context;
use ending::Ending;
use errand::Errand;
use held::Held;

/// An instant and what is due then.
type Due = (Instant, Timer);

/// How many takings-back may be under way at once; older ones are left to the lease's term.
const MAX_STRAYS: usize = 4;

/// The state of one lease at its holder.
pub struct Holder {
    config: Config,
    ctx: Context,
    phase: Phase,
    /// Grants that nobody here wants, being taken back. If that fails they end with their term.
    strays: Vec<Errand>,
    closed: bool,
}

enum Phase {
    /// Made, not started.
    New(Goal),
    Acquiring(Acquiring),
    Held(Held),
    Ending(Ending),
    Over,
}

/// How a holder comes by its lease.
#[derive(Clone, Copy)]
enum Goal {
    Acquire,
    /// Claim this lease.
    Claim(Credential),
}

impl Holder {
    /// A holder that will acquire a lease.
    ///
    /// # Errors
    /// [`Invalid`] when the configuration leaves no time to work in.
    pub fn acquire(config: Config, seed: Seed) -> Result<Self, Invalid> {
        Self::new(config, seed, Goal::Acquire)
    }

    /// A holder that will carry on this lease, granted to another holder object.
    ///
    /// It claims it: the credential is checked and replaced, and the fence raised, in one step of the
    /// host. Of two that claim the same lease exactly one gets it.
    ///
    /// # Errors
    /// [`Invalid`] when the configuration leaves no time to work in.
    pub fn resume(config: Config, lease: Credential, seed: Seed) -> Result<Self, Invalid> {
        Self::new(config, seed, Goal::Claim(lease))
    }

    fn new(config: Config, seed: Seed, goal: Goal) -> Result<Self, Invalid> {
        config.check()?;
        Ok(Self {
            ctx: Context::new(seed, config.op_timeout),
            config,
            phase: Phase::New(goal),
            strays: Vec::new(),
            closed: false,
        })
    }

    /// Takes one input. An earlier `now` than the last counts as the last.
    pub fn handle(&mut self, now: Instant, input: Input) {
        self.ctx.now = self.ctx.now.max(now);
        // A term that is over is over before anything else is looked at: an answer that comes in
        // together with the deadline must not revive the lease.
        self.end_term();
        match input {
            Input::Start => self.start(),
            Input::Answered(attempt, response) => self.answered(attempt, response),
            Input::Failed(attempt, failure) => self.failed(attempt, failure),
            Input::Wake => {}
            Input::Cancel => self.cancel(),
            Input::Detach => self.detach(),
            Input::Release => self.release(),
            Input::Renew(ttl) => self.renew(ttl),
            Input::Transfer {
                successor,
                lease,
                ttl,
            } => self.transfer(successor, lease, ttl),
            Input::Verify => self.verify(),
        }
        self.run_timers();
        self.finish();
    }

    /// The next thing to do or to know; `None` when the input has been dealt with.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.ctx.poll()
    }

    /// Whether the lease can be trusted at `now`.
    pub fn is_held(&self, now: Instant) -> bool {
        !self.remaining(now).is_zero()
    }

    /// How long the lease can be trusted from `now` on.
    pub fn remaining(&self, now: Instant) -> Span {
        match &self.phase {
            Phase::Held(held) => held.ends().since(self.ctx.now.max(now)),
            Phase::New(_) | Phase::Acquiring(_) | Phase::Ending(_) | Phase::Over => Span::ZERO,
        }
    }

    /// Whether the lease's usable term has run out at `now` without this machine having been told:
    /// a [`Input::Wake`] would now report the loss.
    pub fn is_overdue(&self, now: Instant) -> bool {
        matches!(self.phase, Phase::Held(_)) && !self.is_held(now)
    }

    fn start(&mut self) {
        if let Phase::New(goal) = self.phase {
            self.phase = Phase::Acquiring(Acquiring::start(&self.config, &mut self.ctx, goal));
        }
    }

    fn answered(&mut self, attempt: AttemptId, response: Response) {
        if let Some(index) = self.strays.iter().position(|stray| stray.awaits(attempt)) {
            self.stray_answered(index, attempt, &response);
            return;
        }
        match &mut self.phase {
            Phase::Acquiring(acquiring) => {
                let next = acquiring.answered(&self.config, &mut self.ctx, attempt, response);
                self.after_acquiring(next);
            }
            Phase::Held(held) => {
                if let Some(reason) = held.answered(&self.config, &mut self.ctx, attempt, response)
                {
                    self.lose(reason);
                }
            }
            Phase::Ending(ending) => {
                let next = ending.answered(&mut self.ctx, attempt, response);
                self.after_ending(next);
            }
            Phase::New(_) | Phase::Over => self.refuse_life(response),
        }
    }

    fn stray_answered(&mut self, index: usize, attempt: AttemptId, response: &Response) {
        let mut stray = self.strays.swap_remove(index);
        stray.answered(self.ctx.now, attempt);
        if !stray.is_settled_by(&mut self.ctx, response) {
            self.strays.push(stray);
        }
    }

    /// Answers a grant that comes after the end with a release, if it was made to this holder: a
    /// re-entrant one may be another's lease, which is not ours to give back.
    fn refuse_life(&mut self, response: Response) {
        if let Response::Granted(granted) = response
            && self.ctx.has_proposed(granted.lease)
            && !self.closed
        {
            self.take_back(Operation::Release(Credential::from(&granted)));
        }
    }

    fn failed(&mut self, attempt: AttemptId, failure: TransportFailure) {
        for stray in &mut self.strays {
            stray.failed(&mut self.ctx, attempt, failure);
        }
        match &mut self.phase {
            Phase::Acquiring(acquiring) => {
                let next = acquiring.failed(&mut self.ctx, attempt, failure);
                self.after_acquiring(next);
            }
            Phase::Held(held) => held.failed(&mut self.ctx, attempt, failure),
            Phase::Ending(ending) => ending.failed(&mut self.ctx, attempt, failure),
            Phase::New(_) | Phase::Over => {}
        }
    }

    fn run_timers(&mut self) {
        let ctx = &mut self.ctx;
        self.strays.retain_mut(|stray| stray.run_timers(ctx));
        match &mut self.phase {
            Phase::Acquiring(acquiring) => {
                let next = acquiring.run_timers(&self.config, ctx);
                self.after_acquiring(next);
            }
            Phase::Held(held) => held.run_timers(&self.config, ctx),
            Phase::Ending(ending) => {
                let next = ending.run_timers(ctx);
                self.after_ending(next);
            }
            Phase::New(_) | Phase::Over => {}
        }
    }

    /// Loses the lease if its usable term is over.
    fn end_term(&mut self) {
        if let Phase::Held(held) = &self.phase
            && held.ends() <= self.ctx.now
        {
            self.lose(LossReason::Expired);
        }
    }

    fn lose(&mut self, reason: LossReason) {
        if let Phase::Held(held) = core::mem::replace(&mut self.phase, Phase::Over) {
            self.ctx.emit(Event::Lost(reason));
            held.end(&mut self.ctx, &lost(reason.name()));
        }
    }

    fn after_acquiring(&mut self, next: acquiring::Next) {
        match next {
            acquiring::Next::Wait => {}
            acquiring::Next::Held(held) => {
                let grant = held.grant(&self.ctx);
                self.phase = Phase::Held(*held);
                self.ctx.emit(Event::Granted(grant));
            }
            acquiring::Next::TooLate(credential, failure) => {
                self.take_back(Operation::Release(credential));
                if let Some(failure) = failure {
                    self.fail_acquiring(failure);
                }
            }
            acquiring::Next::Failed(failure) => self.fail_acquiring(failure),
        }
    }

    /// Ends the acquiring without a lease and takes back what the host may have given.
    fn fail_acquiring(&mut self, failure: Failure) {
        if let Phase::Acquiring(acquiring) = core::mem::replace(&mut self.phase, Phase::Over) {
            self.ctx.emit(Event::Failed(failure));
            if let Some(op) = acquiring.end(&mut self.ctx) {
                self.pursue_stray(op, Operation::Cancel);
            }
        }
    }

    fn after_ending(&mut self, next: ending::Next) {
        match next {
            ending::Next::Wait => {}
            ending::Next::Back(held) => self.phase = Phase::Held(*held),
            ending::Next::Over => self.phase = Phase::Over,
            ending::Next::TakeBack(op, credential) => {
                self.phase = Phase::Over;
                self.pursue_stray(op, Operation::Cancel);
                self.take_back(Operation::Release(credential));
            }
        }
    }

    fn take_back(&mut self, operation: Operation) {
        let op = self.ctx.next_op();
        self.pursue_stray(op, operation);
    }

    fn pursue_stray(&mut self, op: OpId, operation: Operation) {
        if self.strays.len() == MAX_STRAYS {
            self.strays.remove(0).abandon(&mut self.ctx);
        }
        let request = Request {
            key: self.config.key.clone(),
            op,
            operation,
        };
        self.strays.push(Errand::send(&mut self.ctx, request));
    }

    fn cancel(&mut self) {
        match self.phase {
            Phase::New(_) => {
                self.phase = Phase::Over;
                self.ctx
                    .emit(Event::Failed(Failure::new(ErrorCode::Aborted, "aborted")));
            }
            Phase::Acquiring(_) => {
                self.fail_acquiring(Failure::new(ErrorCode::Aborted, "aborted"));
            }
            Phase::Held(_) | Phase::Ending(_) | Phase::Over => {}
        }
    }

    fn detach(&mut self) {
        if let Phase::Held(held) = &mut self.phase {
            held.detach();
        }
    }

    fn release(&mut self) {
        match core::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Held(held) => {
                self.phase = Phase::Ending(Ending::release(&self.config, &mut self.ctx, held));
            }
            other => self.phase = other,
        }
    }

    fn renew(&mut self, ttl: Option<Span>) {
        match &mut self.phase {
            Phase::Held(held) => match ttl.map(check_ttl) {
                Some(Err(invalid)) => {
                    let failure = Failure::from(Refusal::from(invalid));
                    self.ctx.emit(Event::RenewSettled(Err(failure)));
                }
                Some(Ok(_)) | None => held.renew_now(&self.config, &mut self.ctx, ttl),
            },
            Phase::New(_) | Phase::Acquiring(_) | Phase::Ending(_) | Phase::Over => {
                self.ctx.emit(Event::RenewSettled(Err(lost("not-held"))));
            }
        }
    }

    fn transfer(&mut self, successor: HolderName, lease: LeaseId, ttl: Span) {
        if let (Phase::Held(_), Err(invalid)) = (&self.phase, check_ttl(ttl)) {
            let failure = Failure::from(Refusal::from(invalid));
            return self.ctx.emit(Event::TransferSettled(Err(failure)));
        }
        match core::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Held(held) => {
                let transfer = Transfer {
                    credential: held.credential(),
                    successor,
                    lease,
                    ttl,
                };
                self.phase = Phase::Ending(Ending::transfer(
                    &self.config,
                    &mut self.ctx,
                    held,
                    transfer,
                ));
            }
            other => {
                self.phase = other;
                self.ctx.emit(Event::TransferSettled(Err(lost("not-held"))));
            }
        }
    }

    fn verify(&mut self) {
        match &mut self.phase {
            Phase::Held(held) => held.verify(&self.config, &mut self.ctx),
            Phase::New(_) | Phase::Acquiring(_) | Phase::Ending(_) | Phase::Over => {
                self.ctx.emit(Event::VerifySettled(Err(lost("not-held"))));
            }
        }
    }

    /// Ends the drain: says when to come back, or that there is no need to.
    fn finish(&mut self) {
        let phase = match &self.phase {
            Phase::Acquiring(acquiring) => Some(acquiring.due()),
            Phase::Held(held) => Some(held.due()),
            Phase::Ending(ending) => Some(ending.due()),
            Phase::New(_) | Phase::Over => None,
        };
        let strays = self.strays.iter().map(Errand::due).min();
        match phase.into_iter().chain(strays).min() {
            Some(due) => self.ctx.wake(due),
            None if matches!(self.phase, Phase::Over) && !self.closed => {
                self.closed = true;
                self.ctx.emit(Event::Closed);
            }
            None => {}
        }
    }
}

fn lost(reason: &'static str) -> Failure {
    Failure::new(ErrorCode::Lost, reason)
}
