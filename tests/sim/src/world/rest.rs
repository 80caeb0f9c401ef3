//! After the faults: everything comes to rest, nothing is left behind, everybody is served.

use super::{Event, Stage, World};
use crate::check::{Verdict, ensure};
use crate::fault::Odds;

const CHECK: &str = "liveness";

/// How long healthy clients go on as before.
const AFTERMATH: u64 = 3_000_000;

/// Longer than any message is on its way, any wait lasts and any clock lags.
const SETTLING: u64 = 150_000_000;

/// How long one waiter may hold up the next: the short first term of one that is gone, a poll,
/// and the time it holds.
const TURN: u64 = 10_000_000;

impl World {
    /// The faults stop.
    pub(super) fn heal(&mut self) -> Verdict {
        let frozen = self.clients.iter().map(|client| client.frozen_until).max();
        if let Some(until) = frozen.filter(|until| *until > self.now) {
            self.agenda.put(until, Event::Heal);
            return Ok(());
        }
        self.trace.note(self.now, || "the faults stop".into());
        self.stage = Stage::Healthy;
        self.odds = Odds::NONE;
        for machine in 0..self.machines.len() {
            if self.machines[machine].is_asleep() {
                self.machine_up(machine)?;
            }
        }
        for client in 0..self.clients.len() {
            self.links[client].heal();
            self.go_on(client)?;
            self.act_later(client);
        }
        self.host_up()?;
        self.set_alarm_event();
        self.agenda.put(self.now + AFTERMATH, Event::WindDown);
        // A clock outside its bounds may be slow by a fifth.
        let terms = self.scenario.ttl.1.as_micros() * 2;
        let at = self.now + AFTERMATH + SETTLING + terms;
        self.agenda.put(at, Event::Contend);
        Ok(())
    }

    /// Everything must have come to rest; everybody asks once more.
    pub(super) fn contend(&mut self) -> Verdict {
        self.trace
            .note(self.now, || "everybody asks once more".into());
        self.stage = Stage::Contending;
        for client in 0..self.clients.len() {
            ensure(self.clients[client].job.is_none(), CHECK, || {
                format!("client {client} has not come to an end")
            })?;
        }
        for client in 0..self.clients.len() {
            self.clients[client].life += 1;
            self.act_later(client);
            self.begin_last(client)?;
        }
        let bound = TURN * (self.clients.len() as u64 + 1);
        self.agenda.put(self.now + bound, Event::End);
        Ok(())
    }

    /// Everybody must have been served by now.
    pub(super) fn everybody_was_served(&self) -> Verdict {
        for (number, client) in self.clients.iter().enumerate() {
            ensure(client.job.is_none(), CHECK, || {
                let served = client.job.as_ref().is_some_and(|job| job.was_served());
                format!("client {number} is not through (served {served})")
            })?;
        }
        ensure(self.served == self.clients.len(), CHECK, || {
            format!("{} of {} were served", self.served, self.clients.len())
        })
    }
}
