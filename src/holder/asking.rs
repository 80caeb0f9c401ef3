//! What a holder is asked to do with its lease: done where there is one, else refused with the reason.

use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::protocol::{Finish, Invalid, Operation, Refusal, Transfer, check_ttl};

use super::event::Failure;
use super::input::Ask;
use super::parting::Parting;
use super::releasing::Releasing;
use super::state::State;
use super::tickets::{Ticket, Tickets};
use super::{Holder, NOT_HELD, Phase};

impl Holder {
    pub(super) fn ask(&mut self, ticket: Ticket, ask: Ask) {
        match (&mut self.phase, ask) {
            (Phase::Held(_), Ask::Release) => self.release(Tickets::of(ticket)),
            (Phase::Releasing(releasing), Ask::Release) => releasing.join(&mut self.ctx, ticket),
            (Phase::Parting(parting), Ask::Release) => parting.release(&mut self.ctx, ticket),
            (Phase::Held(held), _) if held.is_detached() => {
                self.refuse(ticket, Failure::lost(State::Detached.name()));
            }
            (Phase::Held(held), Ask::Renew(ttl)) => match ttl.map(check_ttl) {
                Some(Err(invalid)) => self.refuse(ticket, illegal(invalid)),
                Some(Ok(_)) | None => held.renew_now(&mut self.ctx, ticket, ttl),
            },
            (Phase::Held(held), Ask::Verify) => held.verify(&mut self.ctx, ticket),
            (
                Phase::Held(held),
                Ask::Transfer {
                    successor,
                    lease,
                    ttl,
                },
            ) => match check_ttl(ttl) {
                Err(invalid) => self.refuse(ticket, illegal(invalid)),
                Ok(_) => {
                    let transfer = Operation::Transfer(Transfer {
                        credential: held.credential(),
                        successor,
                        lease,
                        ttl,
                    });
                    self.part(ticket, transfer);
                }
            },
            (Phase::Held(held), Ask::Finish { result, keep }) => {
                let finish = Operation::Finish(Finish {
                    credential: held.credential(),
                    result,
                    keep,
                });
                self.part(ticket, finish);
            }
            (Phase::Held(held), Ask::Entry { name, value }) => {
                held.enter(&mut self.ctx, ticket, (name, value));
            }
            (_, ask) => {
                if ask == Ask::Release {
                    // Whoever worked under a lost lease has stopped.
                    self.strays.hasten(&mut self.ctx);
                }
                self.refuse(ticket, Failure::lost(self.why_not_held()));
            }
        }
    }

    fn refuse(&mut self, ticket: Ticket, failure: Arc<Failure>) {
        self.ctx.settle(ticket, Err(failure));
    }

    fn why_not_held(&self) -> &'static str {
        match &self.phase {
            Phase::New(_) | Phase::Acquiring(_) | Phase::Held(_) => NOT_HELD,
            Phase::Releasing(_) | Phase::Parting(_) => State::Releasing.name(),
            Phase::Over(_, reason) => reason,
        }
    }

    pub(super) fn release(&mut self, tickets: Tickets) {
        if let Phase::Held(mut held) = self.leave() {
            let releasing = Releasing::start(&mut self.ctx, &mut held, tickets);
            self.phase = Phase::Releasing(Box::new(releasing));
        }
    }

    fn part(&mut self, ticket: Ticket, operation: Operation) {
        if let Phase::Held(held) = self.leave() {
            let parting = Parting::start(&mut self.ctx, held, ticket, operation);
            self.phase = Phase::Parting(Box::new(parting));
        }
    }

    /// Takes the phase out, for one that follows at once.
    pub(super) fn leave(&mut self) -> Phase {
        core::mem::replace(&mut self.phase, Phase::Over(State::Lost, NOT_HELD))
    }
}

fn illegal(invalid: Invalid) -> Arc<Failure> {
    Failure::refused(&Refusal::from(invalid))
}
