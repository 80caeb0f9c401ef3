//! What each holder believes, followed through true time.
//!
//! A holder believes at an instant if, asked at that instant by its own clock, it would say that it
//! holds the lease. Between two changes of a clock or of the holder that answer can only turn from
//! yes to no, so its end is found by bisection, to the microsecond.

use leasehold::time::Instant;

use super::client::Job;
use super::{Process, World};
use crate::check::{Belief, Who};
use crate::machine::TrueTime;

impl World {
    /// The process's clock. Reading it may change what it shows later, so beliefs are looked at
    /// first.
    pub(super) fn read_clock(&mut self, process: usize) -> Instant {
        for client in 0..self.clients.len() {
            if self.clients[client].process == process {
                self.settle_belief(client);
            }
        }
        let Process { machine, clock } = &mut self.processes[process];
        let (monotonic, wall) = self.machines[*machine].sample(self.now);
        clock.sample(monotonic, wall)
    }

    /// What the client's holder would say if it were asked at `at`.
    fn would_believe(&self, client: usize, job: &Job, at: TrueTime) -> bool {
        let Process { machine, clock } = &self.processes[self.clients[client].process];
        let (monotonic, wall) = self.machines[*machine].sample(at);
        let mut clock = *clock;
        job.holder.is_held(clock.sample(monotonic, wall))
    }

    /// Finds out whether, and when, a belief has ended by the passing of time.
    pub(super) fn settle_belief(&mut self, client: usize) {
        let Some(job) = &self.clients[client].job else {
            return;
        };
        if job.belief.is_none() || self.would_believe(client, job, self.now) {
            return self.mark_checked(client);
        }
        let (mut still, mut over) = (job.checked, self.now);
        while over - still > 1 {
            let middle = still + (over - still) / 2;
            if self.would_believe(client, job, middle) {
                still = middle;
            } else {
                over = middle;
            }
        }
        self.end_belief(client, over);
        self.mark_checked(client);
    }

    /// A clock was changed: a holder whose time was over, unseen by itself, may believe again.
    pub(super) fn follow_belief(&mut self, client: usize) {
        let believes = |job: &Job| {
            let may = job.belief.is_none() && job.grant.is_some();
            may && self.would_believe(client, job, self.now)
        };
        if self.clients[client].job.as_deref().is_some_and(believes)
            && let Some(job) = &mut self.clients[client].job
        {
            (job.belief, job.checked) = (Some(self.now), self.now);
        }
    }

    fn mark_checked(&mut self, client: usize) {
        if let Some(job) = &mut self.clients[client].job {
            job.checked = self.now;
        }
    }

    /// Ends the client's belief, if it has one.
    pub(super) fn end_belief(&mut self, client: usize, at: TrueTime) {
        let who = self.who(client);
        if let Some(job) = &mut self.clients[client].job
            && let Some(belief) = end_belief(who, job, at)
        {
            self.exclusion.believed(belief);
        }
    }

    pub(super) fn update_belief(&mut self, client: usize, job: &mut Job, held: bool) {
        job.checked = self.now;
        if held {
            job.belief.get_or_insert(self.now);
        } else if let Some(belief) = end_belief(self.who(client), job, self.now) {
            self.exclusion.believed(belief);
        }
    }
}

fn end_belief(who: Who, job: &mut Job, until: TrueTime) -> Option<Belief> {
    let grant = job.grant.clone()?;
    Some(Belief {
        key: job.key,
        who,
        lease: grant.lease,
        fence: grant.fence,
        limit: job.limit,
        from: job.belief.take()?,
        until,
    })
}
