//! What a holder is asked to do with its lease: done where there is one, else refused with the reason.

use crate::id::LeaseId;
use crate::name::HolderName;
use crate::protocol::{Refusal, Transfer, check_ttl};
use crate::time::Span;

use super::event::{Event, Failure};
use super::input::Ask;
use super::releasing::Releasing;
use super::state::State;
use super::tickets::{Ticket, Tickets};
use super::transferring::Transferring;
use super::{Holder, NOT_HELD, Phase, lost};

impl Holder {
    pub(super) fn ask(&mut self, ticket: Ticket, ask: Ask) {
        match (&mut self.phase, ask) {
            (Phase::Held(_), Ask::Release) => self.release(Tickets::of(ticket)),
            (Phase::Releasing(releasing), Ask::Release) => releasing.join(ticket),
            (Phase::Transferring(transferring), Ask::Release) => transferring.release(ticket),
            (Phase::Held(held), Ask::Renew(ttl)) => match ttl.map(check_ttl) {
                Some(Err(invalid)) => self.refuse(ticket, Refusal::from(invalid).into()),
                Some(Ok(_)) | None => held.renew_now(&self.config, &mut self.ctx, ticket, ttl),
            },
            (Phase::Held(held), Ask::Verify) => held.verify(&self.config, &mut self.ctx, ticket),
            (
                Phase::Held(_),
                Ask::Transfer {
                    successor,
                    lease,
                    ttl,
                },
            ) => match check_ttl(ttl) {
                Err(invalid) => self.refuse(ticket, Refusal::from(invalid).into()),
                Ok(_) => self.transfer(ticket, successor, lease, ttl),
            },
            (_, ask) => {
                if ask == Ask::Release {
                    // Whoever worked under a lost lease has stopped.
                    self.strays.hasten(&mut self.ctx);
                }
                self.refuse(ticket, lost(self.why_not_held()));
            }
        }
    }

    fn refuse(&mut self, ticket: Ticket, failure: Failure) {
        self.ctx.emit(Event::Settled(ticket, Err(failure)));
    }

    fn why_not_held(&self) -> &'static str {
        match &self.phase {
            Phase::New(_) | Phase::Acquiring(_) | Phase::Held(_) => NOT_HELD,
            Phase::Releasing(_) | Phase::Transferring(_) => State::Releasing.name(),
            Phase::Over(_, reason) => reason,
        }
    }

    pub(super) fn release(&mut self, tickets: Tickets) {
        if let Phase::Held(held) = self.leave() {
            let releasing = Releasing::start(&self.config, &mut self.ctx, *held, tickets);
            self.phase = Phase::Releasing(releasing);
        }
    }

    fn transfer(&mut self, ticket: Ticket, successor: HolderName, lease: LeaseId, ttl: Span) {
        if let Phase::Held(held) = self.leave() {
            let transfer = Transfer {
                credential: held.credential(),
                successor,
                lease,
                ttl,
            };
            let ctx = &mut self.ctx;
            let transferring = Transferring::start(&self.config, ctx, held, ticket, transfer);
            self.phase = Phase::Transferring(transferring);
        }
    }

    /// Takes the phase out, for one that follows at once.
    pub(super) fn leave(&mut self) -> Phase {
        core::mem::replace(&mut self.phase, Phase::Over(State::Lost, NOT_HELD))
    }
}
