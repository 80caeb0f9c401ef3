//! What a holder may believe, and when it must stop.
//!
//! A [`Holder`] lives as long as one lease: it acquires it (or resumes one that was handed over),
//! keeps it renewed, and ends it. It decides by its own conservative clock alone when the lease
//! can no longer be trusted; no answer, late or missing, ever lengthens that.
//!
//! Feed it one [`Input`] at a time with [`Holder::handle`], then drain [`Holder::poll_output`].
//! After [`Event::Closed`] it can be dropped.

mod acquiring;
mod asking;
mod attempts;
mod config;
mod context;
mod entering;
mod errand;
mod event;
mod held;
mod input;
mod pace;
mod parting;
mod pause;
mod queue;
mod releasing;
mod renewing;
mod state;
mod strays;
mod term;
mod tickets;
mod timers;

pub use config::{Config, Schedule};
pub use context::Seed;
pub use event::{
    Done, ErrorCode, Event, Failure, Grant, LossReason, Output, Release, Send, Successor,
};
pub use input::{Ask, Delivery, Input, TransportFailure};
pub use state::State;
pub use tickets::Ticket;
pub use timers::Timer;

use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::id::{AttemptId, LeaseId};
use crate::protocol::{Credential, Ended, Invalid, Operation, Response};
use crate::time::{Instant, Span};

use acquiring::Acquiring;
use context::Context;
use held::HeldLease;
use parting::Parting;
use releasing::Releasing;
use strays::Strays;

/// The state of one lease at its holder.
pub struct Holder {
    ctx: Context,
    phase: Phase,
    strays: Strays,
    /// The lease that was held, if one was.
    held_once: Option<LeaseId>,
    closed: bool,
}

enum Phase {
    /// Made, not started.
    New(Goal),
    Acquiring(Box<Acquiring>),
    Held(Box<HeldLease>),
    Releasing(Box<Releasing>),
    Parting(Box<Parting>),
    /// How it ended, and in a word why.
    Over(State, &'static str),
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

    fn new(mut config: Config, seed: Seed, goal: Goal) -> Result<Self, Invalid> {
        if let Some(most) = config.max_hold {
            config.ttl = config.ttl.min(most);
        }
        config.check()?;
        Ok(Self {
            ctx: Context::new(config, seed),
            phase: Phase::New(goal),
            strays: Strays::default(),
            held_once: None,
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
            Input::Answered(attempt, response) => self.answered(attempt, &response),
            Input::Failed(attempt, failure) => self.failed(attempt, failure),
            Input::Resent(attempt) => self.resent(attempt),
            Input::Wake => {}
            Input::Cancel => self.cancel(),
            Input::Detach => self.detach(),
            Input::Ask(ticket, ask) => self.ask(ticket, ask),
        }
        self.tidy_up();
        while let Some(timer) = self.ctx.timers.expire(self.ctx.now) {
            self.on_timer(timer);
            self.tidy_up();
        }
        self.ctx.wake();
        self.close();
    }

    /// The next thing to do or to know; `None` when the input has been dealt with.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.ctx.poll()
    }

    /// Where the lease stands, as of the last input.
    pub fn state(&self) -> State {
        match &self.phase {
            Phase::New(_) | Phase::Acquiring(_) => State::Acquiring,
            Phase::Held(held) if held.is_detached() => State::Detached,
            Phase::Held(_) => State::Held,
            Phase::Releasing(_) | Phase::Parting(_) => State::Releasing,
            Phase::Over(state, _) => *state,
        }
    }

    /// Whether the lease can be trusted at `now`.
    pub fn is_held(&self, now: Instant) -> bool {
        !self.remaining(now).is_zero()
    }

    /// How long the lease can be trusted from `now` on. Once detached it may be another's.
    pub fn remaining(&self, now: Instant) -> Span {
        match &self.phase {
            Phase::Held(held) if !held.is_detached() => held.ends().since(self.ctx.now.max(now)),
            _ => Span::ZERO,
        }
    }

    /// Whether the lease's usable term has run out at `now` without this machine having been told:
    /// a [`Input::Wake`] would now report the loss.
    pub fn is_overdue(&self, now: Instant) -> bool {
        matches!(&self.phase, Phase::Held(held) if held.ends() <= self.ctx.now.max(now))
    }

    fn start(&mut self) {
        if let Phase::New(goal) = self.phase {
            let acquiring = Acquiring::start(&mut self.ctx, goal);
            self.phase = Phase::Acquiring(Box::new(acquiring));
        }
    }

    fn answered(&mut self, attempt: AttemptId, response: &Response) {
        let ctx = &mut self.ctx;
        if self.strays.answered(ctx, attempt, response) {
            return;
        }
        match &mut self.phase {
            Phase::Acquiring(acquiring) => {
                let next = acquiring.answered(ctx, attempt, response);
                self.after_acquiring(next);
            }
            Phase::Held(held) => {
                if let Some(ended) = held.answered(ctx, attempt, response) {
                    self.lose(LossReason::NotHolder(ended));
                }
            }
            Phase::Releasing(releasing) => {
                if releasing.answered(ctx, attempt, response) {
                    self.phase = Phase::Over(State::Released, "released");
                }
            }
            Phase::Parting(parting) => {
                let next = parting.answered(ctx, attempt, response);
                self.after_parting(next);
            }
            Phase::New(_) | Phase::Over(..) => self.refuse_life(response),
        }
    }

    /// Answers a grant that comes after the end with a release, if it was made to this holder and never
    /// taken up: what becomes of a lease that was held is decided already.
    fn refuse_life(&mut self, response: &Response) {
        if let Response::Granted(granted) = response
            && self.ctx.has_proposed(granted.lease)
            && self.held_once != Some(granted.lease)
            && !self.closed
        {
            self.ctx.leave_release(granted.into());
        }
    }

    fn failed(&mut self, attempt: AttemptId, failure: TransportFailure) {
        let ctx = &mut self.ctx;
        self.strays.failed(ctx, attempt, failure);
        match &mut self.phase {
            Phase::Acquiring(acquiring) => {
                let next = acquiring.failed(ctx, attempt, failure);
                self.after_acquiring(next);
            }
            Phase::Held(held) => held.failed(ctx, attempt, failure),
            Phase::Releasing(releasing) => releasing.failed(ctx, attempt, failure),
            Phase::Parting(parting) => {
                parting.failed(ctx, attempt, failure);
            }
            Phase::New(_) | Phase::Over(..) => {}
        }
    }

    fn resent(&mut self, attempt: AttemptId) {
        let now = self.ctx.now;
        match &mut self.phase {
            Phase::Acquiring(acquiring) => acquiring.resent(attempt, now),
            Phase::Held(held) => held.resent(attempt, now),
            Phase::Parting(parting) => parting.held.resent(attempt, now),
            // Nothing is counted from these.
            Phase::New(_) | Phase::Releasing(_) | Phase::Over(..) => {}
        }
    }

    fn on_timer(&mut self, timer: Timer) {
        let ctx = &mut self.ctx;
        if timer == Timer::TidyUp {
            return self.strays.run(ctx);
        }
        match &mut self.phase {
            Phase::Acquiring(acquiring) => {
                let next = match timer {
                    Timer::GiveUp => acquiring.give_up(),
                    _ => acquiring.attempt(ctx),
                };
                self.after_acquiring(next);
            }
            Phase::Held(_) if timer == Timer::End => self.end_term(),
            Phase::Held(held) => held.on_timer(ctx, timer),
            Phase::Releasing(releasing) => {
                if releasing.run(ctx) {
                    self.phase = Phase::Over(State::Released, "released");
                }
            }
            Phase::Parting(parting) if timer == Timer::Attempt => {
                let next = parting.run(ctx);
                self.after_parting(next);
            }
            Phase::Parting(parting) => {
                parting.held.on_timer(ctx, timer);
            }
            Phase::New(_) | Phase::Over(..) => {}
        }
    }

    /// Takes back what was left behind, and keeps the timer for it.
    fn tidy_up(&mut self) {
        for request in self.ctx.take_left_behind() {
            self.strays.add(&mut self.ctx, request);
        }
        self.strays.arm(&mut self.ctx);
    }

    /// Loses the lease if its usable term is over.
    fn end_term(&mut self) {
        if let Phase::Held(held) = &self.phase
            && held.ends() <= self.ctx.now
        {
            let reason = held.end_reason();
            self.lose(reason);
        }
    }

    fn lose(&mut self, reason: LossReason) {
        let over = Phase::Over(State::Lost, reason.name());
        if let Phase::Held(mut held) = core::mem::replace(&mut self.phase, over) {
            self.ctx.emit(Event::Lost(reason));
            let is_over = !matches!(reason, LossReason::NotHolder(_));
            let in_doubt = is_over && held.is_in_doubt();
            let term = (held.credential(), held.ends(), held.valid_until());
            let stays = in_doubt && !held.is_detached();
            held.end(&mut self.ctx, &Failure::lost(reason.name()));
            if stays {
                self.give_back_later(term);
            }
        }
    }

    /// The host may have renewed what is lost here, and would keep the key for nobody. Whoever worked
    /// under the lease gets time to stop.
    fn give_back_later(&mut self, (lease, ends, valid_until): (Credential, Instant, Instant)) {
        let op = self.ctx.next_op();
        let release = self.ctx.request(op, Operation::Release(lease));
        let latest = valid_until + valid_until.since(ends);
        self.strays
            .plan(&mut self.ctx, release, latest, valid_until);
    }

    fn after_acquiring(&mut self, next: acquiring::Next) {
        match next {
            acquiring::Next::Wait => {}
            acquiring::Next::Held(held) => {
                let grant = held.grant(&self.ctx);
                self.held_once = Some(grant.lease);
                self.phase = Phase::Held(held);
                self.ctx.emit(Event::Granted(grant));
            }
            acquiring::Next::Failed(failure) => self.fail_acquiring(failure),
        }
    }

    /// Ends the acquiring without a lease and takes back what the host may have given.
    fn fail_acquiring(&mut self, failure: Arc<Failure>) {
        let over = Phase::Over(State::Failed, NOT_HELD);
        if let Phase::Acquiring(mut acquiring) = core::mem::replace(&mut self.phase, over) {
            self.ctx.emit(Event::Failed(failure));
            acquiring.end(&mut self.ctx);
        }
    }

    fn after_parting(&mut self, end: Option<parting::End>) {
        let Some(end) = end else { return };
        let Phase::Parting(mut parting) = self.leave() else {
            return;
        };
        let ctx = &mut self.ctx;
        let (failure, reason) = match end {
            parting::End::Gone(done) => {
                let state = parting.succeed(ctx, done);
                self.phase = Phase::Over(state, state.name());
                return;
            }
            parting::End::Back(failure) if parting.held.ends() > ctx.now => {
                let (held, release) = parting.come_back(ctx, failure);
                self.phase = Phase::Held(held);
                if !release.is_empty() {
                    self.release(release);
                }
                return;
            }
            parting::End::Back(failure) => (failure, parting.held.end_reason()),
            parting::End::Lost(ended) => {
                (Failure::lost(ended.name()), LossReason::NotHolder(ended))
            }
            parting::End::InDoubt => {
                parting.take_back(ctx);
                (Failure::no_answer(), LossReason::NotHolder(Ended::Unknown))
            }
        };
        parting.lose(ctx, failure, reason);
        self.phase = Phase::Over(State::Lost, reason.name());
    }

    fn cancel(&mut self) {
        let aborted = Failure::new(ErrorCode::Aborted, "aborted");
        match self.phase {
            Phase::New(_) => {
                self.phase = Phase::Over(State::Failed, NOT_HELD);
                self.ctx.emit(Event::Failed(aborted));
            }
            Phase::Acquiring(_) => self.fail_acquiring(aborted),
            _ => {}
        }
    }

    fn detach(&mut self) {
        match &mut self.phase {
            Phase::Held(held) => held.detach(&mut self.ctx),
            // If it comes back, it is not held here either.
            Phase::Parting(parting) => parting.held.detach(&mut self.ctx),
            _ => {}
        }
    }

    /// Once it is over and nothing is left to be done, the machine can be dropped.
    fn close(&mut self) {
        if matches!(self.phase, Phase::Over(..)) && self.strays.is_empty() && !self.closed {
            self.closed = true;
            self.ctx.emit(Event::Closed);
        }
    }
}

/// Why there is nothing to give back of what never was held.
const NOT_HELD: &str = "not-held";
