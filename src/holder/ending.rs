//! Ending a lease on purpose: release and transfer.

use alloc::boxed::Box;

use crate::id::{AttemptId, OpId};
use crate::protocol::{Credential, Ended, Operation, Response, Transfer};

use super::config::Config;
use super::context::Context;
use super::errand::Errand;
use super::event::{ErrorCode, Event, Failure, LossReason, Release, Successor};
use super::held::Held;
use super::{Due, TransportFailure};

/// A lease on its way out. It is not held any more: the holder is out before the request leaves.
pub(super) struct Ending {
    errand: Errand,
    way: Way,
}

enum Way {
    Release,
    /// The lease, kept in case the host refuses.
    Transfer(Box<Held>, Transfer),
}

/// What follows from a step.
pub(super) enum Next {
    /// Nothing yet.
    Wait,
    /// The lease stays with its holder.
    Back(Box<Held>),
    /// It has ended.
    Over,
    /// It has ended for its holder. The transfer under this op may have happened or may still do:
    /// nobody has learnt the successor's id, so it and the lease itself have to be taken back.
    TakeBack(OpId, Credential),
}

impl Ending {
    /// Gives the lease back.
    pub fn release(config: &Config, ctx: &mut Context, held: Held) -> Self {
        let operation = Operation::Release(held.credential());
        held.end(ctx, &super::lost("released"));
        Self {
            errand: Errand::start(config, ctx, operation),
            way: Way::Release,
        }
    }

    /// Hands the lease over.
    pub fn transfer(
        config: &Config,
        ctx: &mut Context,
        mut held: Held,
        transfer: Transfer,
    ) -> Self {
        held.stop(ctx, &super::lost("transferred"));
        let operation = Operation::Transfer(transfer.clone());
        Self {
            errand: Errand::start(config, ctx, operation),
            way: Way::Transfer(Box::new(held), transfer),
        }
    }

    /// Takes an answer.
    pub fn answered(&mut self, ctx: &mut Context, attempt: AttemptId, response: Response) -> Next {
        if self.errand.answered(ctx.now, attempt).is_none() {
            return Next::Wait;
        }
        match response {
            response if !self.errand.is_settled_by(ctx, &response) => Next::Wait,
            Response::Refused(refusal) => self.refused(ctx, refusal.into()),
            Response::NotHolder { ended, .. } => self.not_holder(ctx, ended),
            response => self.done(ctx, &response),
        }
    }

    /// Takes the answer that says it is done. Any other makes no sense and tells nothing of what was
    /// done: the host is asked again.
    fn done(&mut self, ctx: &mut Context, response: &Response) -> Next {
        match (&self.way, response) {
            (Way::Release, Response::Released { .. }) => ctx.emit(Event::Released(Release::Done)),
            (Way::Transfer(_, transfer), Response::Granted(granted)) => {
                ctx.emit(Event::TransferSettled(Ok(Successor {
                    holder: transfer.successor.clone(),
                    lease: transfer.lease,
                    fence: granted.fence,
                    ttl: transfer.ttl,
                })));
            }
            _ => {
                self.errand.leave_in_doubt();
                self.errand.back_off(ctx, None);
                return Next::Wait;
            }
        }
        Next::Over
    }

    fn not_holder(&mut self, ctx: &mut Context, ended: Ended) -> Next {
        match &self.way {
            Way::Release => ctx.emit(Event::Released(Release::NotHeld(ended))),
            Way::Transfer(..) => {
                ctx.emit(Event::TransferSettled(Err(super::lost(ended.name()))));
                ctx.emit(Event::Lost(LossReason::NotHolder(ended)));
            }
        }
        Next::Over
    }

    /// The host will not do it: a release is left to the term's end. A transfer has not happened,
    /// unless an earlier attempt got through and its answer was lost.
    fn refused(&mut self, ctx: &mut Context, failure: Failure) -> Next {
        if self.errand.is_in_doubt() {
            return self.give_up(ctx);
        }
        match core::mem::replace(&mut self.way, Way::Release) {
            Way::Release => {
                ctx.emit(Event::Released(Release::Unconfirmed));
                Next::Over
            }
            Way::Transfer(mut held, _) => {
                ctx.emit(Event::TransferSettled(Err(failure)));
                if held.ends() <= ctx.now {
                    ctx.emit(Event::Lost(LossReason::Expired));
                    return Next::Over;
                }
                held.go_on(ctx);
                Next::Back(held)
            }
        }
    }

    /// Takes note of an attempt that failed.
    pub fn failed(&mut self, ctx: &mut Context, attempt: AttemptId, failure: TransportFailure) {
        self.errand.failed(ctx, attempt, failure);
    }

    /// Does what is due.
    pub fn run_timers(&mut self, ctx: &mut Context) -> Next {
        if self.errand.run_timers(ctx) {
            return Next::Wait;
        }
        self.give_up(ctx)
    }

    /// No answer: it may or may not have happened. Either way the lease is not held any more.
    fn give_up(&mut self, ctx: &mut Context) -> Next {
        match &self.way {
            Way::Release => {
                ctx.emit(Event::Released(Release::Unconfirmed));
                Next::Over
            }
            Way::Transfer(held, _) => {
                ctx.emit(Event::TransferSettled(Err(Failure::new(
                    ErrorCode::Unavailable,
                    "no-answer",
                ))));
                ctx.emit(Event::Lost(LossReason::NotHolder(Ended::Unknown)));
                Next::TakeBack(self.errand.op(), held.credential())
            }
        }
    }

    pub fn due(&self) -> Due {
        self.errand.due()
    }
}
