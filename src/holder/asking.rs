//! What a holder is asked to do with its lease: done where there is one, else refused with the reason.

use crate::protocol::{Credential, Finish, Refusal, Transfer, check_ttl};

use super::event::{Event, Failure};
use super::input::Ask;
use super::parting::{Parting, Way};
use super::releasing::Releasing;
use super::state::State;
use super::tickets::{Ticket, Tickets};
use super::{Holder, NOT_HELD, Phase, lost};

impl Holder {
    pub(super) fn ask(&mut self, ticket: Ticket, ask: Ask) {
        match (&mut self.phase, ask) {
            (Phase::Held(_), Ask::Release) => self.release(Tickets::of(ticket)),
            (Phase::Releasing(releasing), Ask::Release) => releasing.join(&mut self.ctx, ticket),
            (Phase::Parting(parting), Ask::Release) => parting.release(&mut self.ctx, ticket),
            (Phase::Held(held), _) if held.is_detached() => {
                self.refuse(ticket, lost(State::Detached.name()));
            }
            (Phase::Held(held), Ask::Renew(ttl)) => match ttl.map(check_ttl) {
                Some(Err(invalid)) => self.refuse(ticket, Failure::from(&Refusal::from(invalid))),
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
                Err(invalid) => self.refuse(ticket, Failure::from(&Refusal::from(invalid))),
                Ok(_) => self.part(ticket, |credential| {
                    Way::Transfer(Transfer {
                        credential,
                        successor,
                        lease,
                        ttl,
                    })
                }),
            },
            (Phase::Held(_), Ask::Finish { result, keep }) => self.part(ticket, |credential| {
                Way::Finish(Finish {
                    credential,
                    result,
                    keep,
                })
            }),
            (Phase::Held(held), Ask::Entry { name, value }) => {
                held.enter(&self.config, &mut self.ctx, ticket, (name, value));
            }
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
            Phase::Releasing(_) | Phase::Parting(_) => State::Releasing.name(),
            Phase::Over(_, reason) => reason,
        }
    }

    pub(super) fn release(&mut self, tickets: Tickets) {
        if let Phase::Held(held) = self.leave() {
            let releasing = Releasing::start(&self.config, &mut self.ctx, *held, tickets);
            self.phase = Phase::Releasing(releasing);
        }
    }

    fn part(&mut self, ticket: Ticket, way: impl FnOnce(Credential) -> Way) {
        if let Phase::Held(held) = self.leave() {
            let way = way(held.credential());
            let parting = Parting::start(&self.config, &mut self.ctx, held, ticket, way);
            self.phase = Phase::Parting(parting);
        }
    }

    /// Takes the phase out, for one that follows at once.
    pub(super) fn leave(&mut self) -> Phase {
        core::mem::replace(&mut self.phase, Phase::Over(State::Lost, NOT_HELD))
    }
}
