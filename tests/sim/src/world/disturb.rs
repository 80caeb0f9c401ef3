//! What goes wrong by itself: processes, machines, clocks and links.

use super::{Event, World};
use crate::check::Verdict;
use crate::fault::Fault;
use crate::machine::Sleep;

impl World {
    /// Lets something go wrong, and plans the next time.
    pub(super) fn disturb(&mut self) -> Verdict {
        self.disturbances += 1;
        if self.disturbances > self.scenario.disturbances {
            self.agenda.put(self.now, Event::Heal);
            return Ok(());
        }
        let ttl = self.scenario.ttl.1.as_micros();
        let pause = self.rng.magnitude(10_000, ttl * 2);
        self.agenda.put(self.now + pause, Event::Disturb);
        let client = self.rng.index(self.clients.len());
        if self.rng.per_mille(self.odds.frozen) {
            self.freeze(client);
        }
        if self.rng.per_mille(self.odds.killed) {
            self.tally.count(Fault::Killed);
            self.trace
                .note(self.now, || format!("client {client} is killed"));
            self.kill(client);
        }
        if self.rng.per_mille(self.odds.partition) {
            let both = self.rng.per_mille(400);
            let to_host = both || self.rng.per_mille(500);
            self.links[client].cut(to_host, both || !to_host);
            let until = self.now + self.rng.magnitude(10_000, ttl * 2);
            self.agenda.put(until, Event::LinkUp(client));
        }
        if self.rng.per_mille(self.odds.sleep) {
            self.sleep(client);
        }
        if self.rng.per_mille(self.odds.step) {
            self.step_wall(client);
        }
        if self.rng.per_mille(self.odds.host_step) && self.scenario.host_band > 0 {
            self.tally.count(Fault::HostStepped);
            self.move_host_clock();
        }
        if self.scenario.has_backups && self.rng.per_mille(400) {
            self.host.backup = Some(self.host.store.clone());
        }
        // Where a loss is counted as needless, nobody takes a lease away.
        if self.scenario.steady.is_none() && self.rng.per_mille(50) {
            return self.revoke();
        }
        Ok(())
    }

    fn freeze(&mut self, client: usize) {
        let ttl = self.scenario.ttl.1.as_micros();
        // With short terms the others would be through thousands of turns meanwhile.
        let for_hours = ttl >= 60_000_000 && self.rng.per_mille(100);
        let (fault, length) = if for_hours {
            let hours = self.rng.range(3_600_000_000, 9_000_000_000);
            (Fault::FrozenForHours, hours)
        } else {
            (Fault::Frozen, self.rng.magnitude(1_000, ttl * 3))
        };
        self.tally.count(fault);
        self.trace.note(self.now, || {
            format!("client {client}: {fault:?} for {length} µs")
        });
        let until = self.now + length;
        self.clients[client].frozen_until = until;
        self.agenda.put(until, Event::GoOn(client));
    }

    fn sleep(&mut self, client: usize) {
        let machine = self.processes[self.clients[client].process].machine;
        if self.machines[machine].is_asleep()
            || (self.scenario.is_within() && self.steps_back(machine))
        {
            return;
        }
        let (fault, sleep) = if !self.scenario.is_within() && self.rng.per_mille(700) {
            (Fault::DeepSleep, Sleep::Deep)
        } else {
            (Fault::LightSleep, Sleep::Light)
        };
        self.tally.count(fault);
        let length = self
            .rng
            .magnitude(1_000, self.scenario.ttl.1.as_micros() * 4);
        self.trace.note(self.now, || {
            format!("machine {machine}: {fault:?} for {length} µs")
        });
        self.change_machine(machine, |machine, now| machine.set_sleep(now, sleep));
        self.agenda
            .put(self.now + length, Event::MachineUp(machine));
    }

    /// A machine wakes.
    pub(super) fn machine_up(&mut self, machine: usize) -> Verdict {
        self.change_machine(machine, |machine, now| machine.set_sleep(now, Sleep::Awake));
        for client in 0..self.clients.len() {
            self.go_on(client)?;
        }
        for event in std::mem::take(&mut self.host.piled_up) {
            self.agenda.put(self.now, event);
        }
        Ok(())
    }

    fn step_wall(&mut self, client: usize) {
        let machine = self.processes[self.clients[client].process].machine;
        let back = self.steps_back(machine);
        let length = self.rng.magnitude(1_000, 3_600_000_000) as i64;
        let (fault, step) = if back {
            (Fault::WallBack, -length)
        } else {
            (Fault::WallForward, length)
        };
        self.tally.count(fault);
        self.trace.note(self.now, || {
            format!("machine {machine}: wall clock steps by {step} µs")
        });
        self.change_machine(machine, |machine, now| machine.step_wall(now, step));
    }

    /// Whether this machine's wall clock is one that steps back. Within the bounds such a machine
    /// never sleeps: a step back as long as the sleep would hide it.
    fn steps_back(&self, machine: usize) -> bool {
        (self.scenario.seed / 10 + machine as u64).is_multiple_of(2)
    }

    /// Changes a machine's clocks, after a look at what is believed by them so far.
    fn change_machine(
        &mut self,
        machine: usize,
        change: impl Fn(&mut crate::machine::Machine, u64),
    ) {
        for client in 0..self.clients.len() {
            if self.processes[self.clients[client].process].machine == machine {
                self.settle_belief(client);
            }
        }
        change(&mut self.machines[machine], self.now);
        // After a step back a holder that had stopped by time could believe again, had nobody
        // looked in between: from here on its belief is followed anew.
        for client in 0..self.clients.len() {
            if self.processes[self.clients[client].process].machine == machine {
                self.follow_belief(client);
            }
        }
    }
}
