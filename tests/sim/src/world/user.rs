//! What a client's user does: asks for leases, works under them, gives them back or on.

use leasehold::holder::{Ask, Config, Holder, Input, Schedule, Seed, Ticket};
use leasehold::id::LeaseId;
use leasehold::protocol::Credential;
use leasehold::time::Span;

use super::client::{Job, Write};
use super::{Event, Handle, Stage, World};
use crate::check::{Needless, Verdict, Violation};
use crate::fault::Fault;

impl World {
    /// Puts the client's next act on the agenda.
    pub(super) fn act_later(&mut self, client: usize) {
        self.clients[client].acts += 1;
        let number = self.clients[client].acts;
        let ttl = self.scenario.ttl.1.as_micros();
        let most = match self.stage {
            Stage::Faulty => ttl * 3 / 2,
            Stage::Healthy => ttl.min(2_000_000),
            Stage::WindingDown | Stage::Contending => 500_000,
        };
        let at = self.now + self.rng.magnitude(1 + most / 64, most);
        self.agenda.put(at, Event::Act { client, number });
    }

    /// The client's user does something.
    pub(super) fn act(&mut self, client: usize, number: u64) -> Verdict {
        if self.clients[client].acts != number {
            return Ok(());
        }
        if self.stands_still(client) {
            let event = Event::Act { client, number };
            self.clients[client].piled_up.push(event);
            return Ok(());
        }
        if self.clients[client].job.is_none() && self.stage >= Stage::WindingDown {
            return Ok(());
        }
        self.act_later(client);
        let Some(job) = &self.clients[client].job else {
            return self.begin(client);
        };
        if job.terminal.is_closed() && self.rng.per_mille(500) {
            self.clients[client].job = None;
            self.clients[client].life += 1;
            return Ok(());
        }
        if job.terminal.is_over() {
            return self.ask_too_late(client);
        }
        if job.was_served() {
            return self.use_lease(client);
        }
        if self.stage < Stage::WindingDown && self.rng.per_mille(200) {
            self.tally.count(Fault::Cancelled);
            return self.tell(client, Input::Cancel);
        }
        Ok(())
    }

    /// A user that has not noticed that it is over.
    fn ask_too_late(&mut self, client: usize) -> Verdict {
        match self.rng.below(30) {
            0 => self.ask(client, Ask::Renew(None)),
            1 => self.ask(client, Ask::Release),
            2 => self.ask(client, Ask::Verify),
            3 => self.tell(client, Input::Cancel),
            _ => Ok(()),
        }
    }

    fn use_lease(&mut self, client: usize) -> Verdict {
        if self.stage >= Stage::WindingDown {
            return self.ask(client, Ask::Release);
        }
        match self.rng.below(100) {
            0..35 => self.write(client),
            35..45 => self.ask(client, Ask::Verify),
            45..52 => self.ask(client, Ask::Renew(None)),
            52..57 => {
                let ttl = self.draw_ttl();
                self.ask(client, Ask::Renew(Some(ttl)))
            }
            57..75 => self.ask(client, Ask::Release),
            75..85 => {
                let successor = self.rng.index(self.clients.len());
                let ask = Ask::Transfer {
                    successor: self.clients[successor].name.clone(),
                    lease: LeaseId::from_bits(self.rng.wide_bits()),
                    ttl: self.draw_ttl(),
                };
                self.ask(client, ask)
            }
            85..90 => self.detach(client),
            _ => Ok(()),
        }
    }

    fn ask(&mut self, client: usize, ask: Ask) -> Verdict {
        self.tickets += 1;
        self.tell(client, Input::Ask(Ticket(self.tickets), ask))
    }

    /// Writes to the resource if it may, by its own clock.
    fn write(&mut self, client: usize) -> Verdict {
        let now = self.read_clock(self.clients[client].process);
        if let Some(job) = &self.clients[client].job
            && let Some((lease, fence)) = job.grant
            && job.holder.is_held(now)
        {
            let key = job.key;
            let late = self.rng.per_mille(200);
            let most = if late { 60_000_000 } else { self.flight() };
            let at = self.now + self.rng.range(50, most.max(51));
            self.agenda
                .put(at, Event::Write(Write { key, lease, fence }));
        }
        Ok(())
    }

    /// Leaves the lease to another, and perhaps gives the handle away.
    fn detach(&mut self, client: usize) -> Verdict {
        self.tell(client, Input::Detach)?;
        let away = self.rng.per_mille(600);
        if let Some(job) = &mut self.clients[client].job
            && let Some((lease, fence)) = job.grant
            && away
        {
            let key = job.key;
            let fence = Some(fence);
            let lease = Credential { lease, fence };
            self.mailbox.push(Handle { key, lease });
        }
        Ok(())
    }

    fn draw_ttl(&mut self) -> Span {
        let (low, high) = self.scenario.ttl;
        Span::from_micros(self.rng.magnitude(low.as_micros(), high.as_micros()))
    }

    /// A new holder, for a lease of its own or one that was handed over.
    fn begin(&mut self, client: usize) -> Verdict {
        let mut config = self.draw_config(client);
        let renews = config.renewal.is_some();
        if !self.mailbox.is_empty() && self.rng.per_mille(400) {
            let handle = self.rng.index(self.mailbox.len());
            let Handle { key, lease } = self.mailbox[handle];
            // Now and then two try to carry on the same lease.
            if self.rng.per_mille(700) {
                self.mailbox.swap_remove(handle);
            }
            config.key = self.keys[key].clone();
            let seed = self.draw_seed();
            let holder = Holder::resume(config, lease, seed);
            return self.live(client, (key, true, renews), holder);
        }
        let key = self.rng.index(self.keys.len());
        config.key = self.keys[key].clone();
        let seed = self.draw_seed();
        let holder = Holder::acquire(config, seed);
        self.live(client, (key, false, renews), holder)
    }

    /// A new holder that has to be served.
    pub(super) fn begin_last(&mut self, client: usize) -> Verdict {
        let key = client % self.keys.len();
        let (low, _) = self.scenario.ttl;
        let name = self.clients[client].name.clone();
        let mut config = Config::new(self.keys[key].clone(), name, low);
        config.wait = Span::from_secs(3_600);
        let seed = self.draw_seed();
        let holder = Holder::acquire(config, seed);
        self.live(client, (key, false, true), holder)?;
        if let Some(job) = &mut self.clients[client].job {
            job.must_be_served = true;
        }
        Ok(())
    }

    fn draw_config(&mut self, client: usize) -> Config {
        let name = self.clients[client].name.clone();
        let mut config = Config::new(self.keys[0].clone(), name, self.draw_ttl());
        let longest = config.ttl.as_micros() * 2;
        config.wait = if self.rng.per_mille(250) {
            Span::ZERO
        } else {
            Span::from_micros(self.rng.magnitude(1_000, longest.min(60_000_000)))
        };
        config.renewal = match self.rng.below(10) {
            0 | 1 => None,
            2 => Some(Schedule {
                t1: 500,
                t2: Some(800),
            }),
            _ => Some(Schedule::DEFAULT),
        };
        config.op_timeout = Span::from_millis(self.rng.magnitude(200, 5_000));
        if let Some(steady) = &self.scenario.steady {
            config.op_timeout = config
                .op_timeout
                .max(Span::from_micros(steady.longest() * 4));
        }
        config
    }

    fn draw_seed(&mut self) -> Seed {
        Seed {
            ops: self.rng.wide_bits(),
            leases: self.rng.wide_bits(),
        }
    }

    fn live<E: std::fmt::Debug>(
        &mut self,
        client: usize,
        (key, claim, renews): (usize, bool, bool),
        holder: Result<Holder, E>,
    ) -> Verdict {
        let holder = holder.map_err(|refused| Violation {
            check: "scenario",
            what: format!("the simulation asks for an impossible holder: {refused:?}"),
        })?;
        let clean = self.stage >= Stage::Healthy;
        let mut job = Job::new(holder, key, claim, self.now, clean);
        job.needless = self.scenario.steady.map(|steady| {
            // By a clock that may run too fast.
            let trip = Span::from_micros(steady.longest() * 1_006 / 1_000 + 1_000);
            Needless::new(trip, steady.is_lossy, renews)
        });
        self.clients[client].job = Some(Box::new(job));
        self.tell(client, Input::Start)
    }
}
