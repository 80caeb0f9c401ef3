//! What a client's user does: asks for leases, works under them, gives them back or on.

use leasehold::holder::{Ask, Config, Holder, Input, Schedule, Seed, Ticket};
use leasehold::id::LeaseId;
use leasehold::json::Json;
use leasehold::name::EntryName;
use leasehold::protocol::{Credential, Limit};
use leasehold::time::Span;

use super::client::{Job, Write};
use super::{Event, Handle, Stage, World};
use crate::check::{Deadline, HolderBounds, Needless, Verdict, Violation};
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
        // Some die while they wait.
        if self.stage == Stage::Faulty && self.odds.killed > 0 && self.rng.per_mille(60) {
            self.tally.count(Fault::Killed);
            self.kill(client);
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
            90..98 if self.scenario.is_watched => self.enter(client),
            98..100 if self.scenario.is_watched => self.finish(client),
            _ => Ok(()),
        }
    }

    /// Sets and deletes a few entries at once.
    fn enter(&mut self, client: usize) -> Verdict {
        for _ in 0..self.rng.range(1, 4) {
            self.change_entry(client)?;
        }
        Ok(())
    }

    fn change_entry(&mut self, client: usize) -> Verdict {
        let name = self.rng.pick(&["a", "b", "c"]);
        let value = self.rng.per_mille(700).then(|| self.rng.range(0, 9));
        let ask = Ask::Entry {
            name: EntryName::parse(name).expect("a short name is valid"),
            value: value.and_then(|value| Json::parse(&value.to_string())),
        };
        self.ask(client, ask)
    }

    fn finish(&mut self, client: usize) -> Verdict {
        let ask = Ask::Finish {
            result: Json::parse("true").expect("that is JSON"),
            keep: Span::from_secs(self.rng.range(60, 90)),
        };
        self.ask(client, ask)
    }

    fn ask(&mut self, client: usize, ask: Ask) -> Verdict {
        self.tickets += 1;
        self.tell(client, Input::Ask(Ticket(self.tickets), ask))
    }

    /// Writes to the resource if it may, by its own clock.
    fn write(&mut self, client: usize) -> Verdict {
        let now = self.read_clock(self.clients[client].process);
        if let Some(job) = &self.clients[client].job
            && let Some(grant) = &job.grant
            && job.holder.is_held(now)
        {
            let key = job.key;
            let late = self.rng.per_mille(200);
            let most = if late { 60_000_000 } else { self.flight() };
            let at = self.now + self.rng.range(50, most.max(51));
            let write = Write {
                key,
                slot: grant.slot,
                lease: grant.lease,
                fence: grant.fence,
            };
            self.agenda.put(at, Event::Write(write));
        }
        Ok(())
    }

    /// Leaves the lease to another, and perhaps gives the handle away.
    fn detach(&mut self, client: usize) -> Verdict {
        self.tell(client, Input::Detach)?;
        let away = self.rng.per_mille(600);
        if let Some(job) = &mut self.clients[client].job
            && let Some(grant) = &job.grant
            && away
        {
            let key = job.key;
            let lease = Credential {
                lease: grant.lease,
                fence: Some(grant.fence),
            };
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
        let config = self.draw_config(client);
        if !self.mailbox.is_empty() && self.rng.per_mille(400) {
            let handle = self.rng.index(self.mailbox.len());
            let Handle { key, lease } = self.mailbox[handle];
            // Now and then two try to carry on the same lease.
            if self.rng.per_mille(700) {
                self.mailbox.swap_remove(handle);
            }
            return self.live(client, key, Some(lease), config);
        }
        let key = self.rng.index(self.keys.len());
        self.live(client, key, None, config)
    }

    /// A new holder that has to be served.
    pub(super) fn begin_last(&mut self, client: usize) -> Verdict {
        let key = client % self.keys.len();
        let (low, _) = self.scenario.ttl;
        let name = self.clients[client].name.clone();
        let mut config = Config::new(self.keys[key].clone(), name, low);
        config.wait = Span::from_secs(3_600);
        self.live(client, key, None, config)?;
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
            // Longer than a poll, often enough.
            Span::from_micros(self.rng.magnitude(1_000, (longest * 4).min(60_000_000)))
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
        if self.scenario.is_shared {
            let few = self.rng.range(1, 3);
            let limit = Limit::parse(few).unwrap_or(Limit::EXCLUSIVE);
            config.limit = self
                .rng
                .pick(&[Limit::EXCLUSIVE, limit, limit, Limit::MOST]);
        }
        // Where a loss is counted as needless, nobody takes a lease away.
        if self.scenario.steady.is_none() {
            config.steal = self.rng.per_mille(20);
            if self.rng.per_mille(50) {
                // No shorter than the terms that the host's steps are measured by.
                let shortest = self.scenario.ttl.0.as_micros();
                let most = self.rng.magnitude(shortest, longest * 4);
                config.max_hold = Some(Span::from_micros(most));
            }
        }
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

    fn live(
        &mut self,
        client: usize,
        key: usize,
        claim: Option<Credential>,
        config: Config,
    ) -> Verdict {
        let config = Config {
            key: self.keys[key].clone(),
            ..config
        };
        let renews = config.renewal.is_some();
        let deadline = Deadline::new(config.max_hold);
        let bounds = HolderBounds::new(config.op_timeout);
        let seed = self.draw_seed();
        let holder = match claim {
            Some(lease) => Holder::resume(config, lease, seed),
            None => Holder::acquire(config, seed),
        };
        let holder = holder.map_err(|refused| Violation {
            check: "scenario",
            what: format!("the simulation asks for an impossible holder: {refused:?}"),
        })?;
        let needless = self.scenario.steady.map(|steady| {
            // By a clock that may run too fast.
            let trip = Span::from_micros(steady.longest() * 1_006 / 1_000 + 1_000);
            Needless::new(trip, steady.is_lossy, renews)
        });
        let job = Job {
            clean: self.stage >= Stage::Healthy,
            deadline,
            bounds,
            needless,
            ..Job::new(holder, key, claim.is_some(), self.now)
        };
        self.clients[client].job = Some(Box::new(job));
        self.tell(client, Input::Start)
    }
}
