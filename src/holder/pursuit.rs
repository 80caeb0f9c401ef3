//! One operation, pursued over as many attempts as its budget allows.

use crate::id::{AttemptId, OpId};
use crate::protocol::{Operation, Request};
use crate::time::{Instant, Span};

use super::context::Context;
use super::{Delivery, TransportFailure};

/// The first pause after a failed attempt; it doubles from there.
const PAUSE: Span = Span::from_millis(100);

/// The longest pause between attempts that nobody asked for.
const MAX_PAUSE: Span = Span::from_secs(2);

/// An operation on its way: at most one attempt in flight, the same op id in all of them.
pub(super) struct Pursuit {
    request: Request,
    state: State,
    /// Attempts that came to nothing, since the host last answered to the purpose.
    failures: u32,
    /// Whether some attempt may have been carried out without our learning of it.
    in_doubt: bool,
}

#[derive(Clone, Copy)]
enum State {
    /// The answer to an attempt is awaited.
    Awaiting {
        attempt: AttemptId,
        sent: Instant,
        until: Instant,
    },
    /// The next attempt is due at this instant.
    Resting(Instant),
}

impl Pursuit {
    /// Sends the first attempt.
    pub fn start(ctx: &mut Context, request: Request, timeout: Span, rebind: bool) -> Self {
        let mut pursuit = Self {
            request,
            state: State::Resting(ctx.now),
            failures: 0,
            in_doubt: false,
        };
        pursuit.send(ctx, timeout, rebind);
        pursuit
    }

    /// Sends the next attempt.
    pub fn send(&mut self, ctx: &mut Context, timeout: Span, rebind: bool) {
        let attempt = ctx.send(self.request.clone(), timeout, rebind);
        self.state = State::Awaiting {
            attempt,
            sent: ctx.now,
            until: ctx.now + timeout,
        };
    }

    pub fn op(&self) -> OpId {
        self.request.op
    }

    pub fn operation_mut(&mut self) -> &mut Operation {
        &mut self.request.operation
    }

    /// How many attempts came to nothing since the host last answered to the purpose.
    pub fn unanswered(&self) -> u32 {
        self.failures
    }

    /// When something is next due: the attempt's end, or the next attempt.
    pub fn due(&self) -> Instant {
        match self.state {
            State::Awaiting { until, .. } => until,
            State::Resting(until) => until,
        }
    }

    pub fn awaits(&self, attempt: AttemptId) -> bool {
        self.state_if(attempt).is_some()
    }

    pub fn is_awaiting(&self) -> bool {
        matches!(self.state, State::Awaiting { .. })
    }

    /// Whether the next attempt is due.
    pub fn is_rested(&self, now: Instant) -> bool {
        matches!(self.state, State::Resting(until) if until <= now)
    }

    /// When the awaited attempt was sent, if `attempt` is that one. It then is awaited no more.
    pub fn answered(&mut self, now: Instant, attempt: AttemptId) -> Option<Instant> {
        let State::Awaiting { sent, .. } = self.state_if(attempt)? else {
            return None;
        };
        self.state = State::Resting(now);
        Some(sent)
    }

    /// Takes note that the awaited attempt failed, if `attempt` is that one.
    pub fn failed(&mut self, now: Instant, attempt: AttemptId, failure: TransportFailure) -> bool {
        if !self.awaits(attempt) {
            return false;
        }
        self.fail(now, failure.delivery);
        true
    }

    /// Drops the awaited attempt if it has taken too long.
    pub fn timed_out(&mut self, ctx: &mut Context) -> bool {
        match self.state {
            State::Awaiting { attempt, until, .. } if until <= ctx.now => {
                ctx.drop_attempt(attempt);
                self.fail(ctx.now, Delivery::Unknown);
                true
            }
            _ => false,
        }
    }

    fn fail(&mut self, now: Instant, delivery: Delivery) {
        self.in_doubt |= delivery == Delivery::Unknown;
        self.state = State::Resting(now);
    }

    fn state_if(&self, attempt: AttemptId) -> Option<State> {
        match self.state {
            State::Awaiting {
                attempt: awaited, ..
            } if awaited == attempt => Some(self.state),
            _ => None,
        }
    }

    /// Puts the next attempt off for an exponentially growing pause, or longer if the host asked
    /// for it: however it asks, it is not asked in a storm.
    pub fn back_off(&mut self, ctx: &mut Context, retry_after: Option<Span>) {
        self.failures = self.failures.saturating_add(1);
        let own = ctx.fuzz(pause_after(self.failures));
        let pause = retry_after.map_or(own, |asked| ctx.fuzz_up(asked).max(own));
        self.state = State::Resting(ctx.now + pause);
    }

    /// Takes note that the host answered to the purpose: pauses begin from the shortest again.
    pub fn heard(&mut self) {
        self.failures = 0;
    }

    /// Whether the host may have carried out the operation, or may still do so.
    pub fn may_take_effect(&self) -> bool {
        self.in_doubt || self.is_awaiting()
    }

    /// Takes note that the host holds something under this op that has to be taken back.
    pub fn leave_trace(&mut self) {
        self.in_doubt = true;
    }

    /// Stops awaiting whatever is in flight.
    pub fn abandon(&self, ctx: &mut Context) {
        if let State::Awaiting { attempt, .. } = self.state {
            ctx.drop_attempt(attempt);
        }
    }
}

fn pause_after(failures: u32) -> Span {
    let doublings = failures.saturating_sub(1).min(16);
    PAUSE.scale(1 << doublings, 1).min(MAX_PAUSE)
}
