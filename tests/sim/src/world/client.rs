//! A client: one holder at a time, driven the way a binding drives it, and what its user does.

use leasehold::fence::Fence;
use leasehold::holder::{Ask, Done, Event as Told, Grant, Holder, Input, LossReason, Output};
use leasehold::id::{AttemptId, LeaseId};
use leasehold::name::HolderName;
use leasehold::protocol::{Credential, Operation, Response};
use leasehold::time::Instant;

use super::network::From;
use super::{Event, Handle, Stage, World};
use crate::check::{Deadline, HolderBounds, Needless, Orphans, Shown, Terminal, Verdict, Who};
use crate::fault::Fault;
use crate::machine::TrueTime;

/// A place where holders live, one at a time.
pub struct Client {
    /// Under which name.
    pub name: HolderName,
    /// In which process.
    pub process: usize,
    /// Counts the holders that lived here: mail for an earlier one finds nobody.
    pub life: u32,
    /// Until when its code does not run.
    pub frozen_until: TrueTime,
    /// What came while its code did not run.
    pub piled_up: Vec<Event>,
    /// Only the latest plan to act counts.
    pub acts: u64,
    /// The holder.
    pub job: Option<Box<Job>>,
}

impl Client {
    /// A client without a holder.
    pub fn new(name: HolderName, process: usize) -> Self {
        Self {
            name,
            process,
            life: 0,
            frozen_until: 0,
            piled_up: Vec::new(),
            acts: 0,
            job: None,
        }
    }
}

/// One holder's life.
pub struct Job {
    /// The machine under test.
    pub holder: Holder,
    /// The key's number.
    pub key: usize,
    /// Whether it takes up a lease that was handed over.
    pub claim: bool,
    /// What it was granted.
    pub grant: Option<Grant>,
    /// The most holders, itself included, that it puts up with.
    pub limit: u32,
    /// Since when it has believed, if it does.
    pub belief: Option<TrueTime>,
    /// Up to here the belief has been looked at.
    pub checked: TrueTime,
    /// Only the timer that was set last counts.
    pub wake_number: u64,
    /// Whether somebody else may carry on with its lease.
    pub is_detached: bool,
    /// Whether it began after the faults had stopped.
    pub clean: bool,
    /// Whether it has lost its lease after that, with a renewal on its way.
    pub gives_back: bool,
    /// Whether it has to be served.
    pub must_be_served: bool,
    pub deadline: Deadline,
    pub terminal: Terminal,
    pub bounds: HolderBounds,
    pub orphans: Orphans,
    /// Where nothing goes wrong but what the scenario says.
    pub needless: Option<Needless>,
}

impl Job {
    /// A holder that has not been started.
    pub fn new(holder: Holder, key: usize, claim: bool, now: TrueTime) -> Self {
        Self {
            holder,
            key,
            claim,
            grant: None,
            limit: 1,
            belief: None,
            checked: now,
            wake_number: 0,
            is_detached: false,
            clean: false,
            gives_back: false,
            must_be_served: false,
            deadline: Deadline::default(),
            terminal: Terminal::default(),
            bounds: HolderBounds::default(),
            orphans: Orphans::default(),
            needless: None,
        }
    }

    /// Whether the lease was held once.
    pub fn was_served(&self) -> bool {
        self.terminal.was_granted()
    }
}

/// An input that travels to a client.
pub struct Mail {
    /// The attempt it answers.
    pub from: From,
    /// The input.
    pub input: Input,
}

/// A write on its way to the fenced resource.
pub struct Write {
    /// The key's number.
    pub key: usize,
    /// In which of the key's places.
    pub slot: u32,
    /// Under which grant.
    pub lease: LeaseId,
    /// With which fence.
    pub fence: Fence,
}

impl World {
    /// Mail arrives.
    pub(super) fn reach_client(&mut self, mail: Mail) -> Verdict {
        let From { who, .. } = mail.from;
        let Who { client, life } = who;
        if self.clients[client].life != life {
            return Ok(());
        }
        if self.stands_still(client) {
            self.clients[client]
                .piled_up
                .push(Event::ToClient(Box::new(mail)));
            return Ok(());
        }
        self.tell(client, mail.input)
    }

    /// A timer goes off.
    pub(super) fn wake(&mut self, client: usize, life: u32, number: u64) -> Verdict {
        let current = |job: &Job| job.wake_number == number;
        if self.clients[client].life != life
            || !self.clients[client].job.as_deref().is_some_and(current)
        {
            return Ok(());
        }
        if self.stands_still(client) {
            let event = Event::Wake {
                client,
                life,
                number,
            };
            self.clients[client].piled_up.push(event);
            return Ok(());
        }
        self.tell(client, Input::Wake)
    }

    /// A write arrives at the resource.
    pub(super) fn write_arrives(&mut self, write: &Write) -> Verdict {
        let key = &self.keys[write.key];
        let accepted = self.resource.write(
            &self.checks.fences,
            (key, write.slot),
            write.fence,
            write.lease,
        )?;
        self.trace.note(self.now, || {
            format!("write with fence {}: accepted {accepted}", write.fence)
        });
        Ok(())
    }

    /// Whether the client's code cannot run now.
    pub(super) fn stands_still(&self, client: usize) -> bool {
        let machine = self.processes[self.clients[client].process].machine;
        self.machines[machine].is_asleep() || self.clients[client].frozen_until > self.now
    }

    /// The client may run again: what has piled up comes at once, in any order.
    pub(super) fn go_on(&mut self, client: usize) -> Verdict {
        if !self.stands_still(client) {
            for event in std::mem::take(&mut self.clients[client].piled_up) {
                let at = self.now + self.rng.below(3);
                self.agenda.put(at, event);
            }
        }
        Ok(())
    }

    /// Gives the client's holder one input and does what it wants done.
    pub(super) fn tell(&mut self, client: usize, input: Input) -> Verdict {
        let now = self.read_clock(self.clients[client].process);
        let Some(mut job) = self.clients[client].job.take() else {
            return Ok(());
        };
        self.trace
            .note(self.now, || format!("client {client} {now:?} <- {input:?}"));
        Self::before_input(&mut job, &input, now);
        let before = job.holder.remaining(now);
        let in_doubt = job.bounds.has_renewal_in_flight();
        job.holder.handle(now, input);
        let outputs: Vec<Output> = std::iter::from_fn(|| job.holder.poll_output()).collect();
        let remaining = job.holder.remaining(now);
        job.bounds.step(&outputs, now)?;
        let mut told = Vec::new();
        let mut wake = None;
        for output in outputs {
            self.trace
                .note(self.now, || format!("client {client}   -> {output:?}"));
            job.terminal.output(&output)?;
            match output {
                Output::Send(send) => self.send(client, &mut job, &send, now)?,
                Output::Drop(attempt) => {
                    job.deadline.dropped(attempt);
                    self.drop_attempt(client, attempt)?;
                }
                Output::Event(event) => told.push(event),
                Output::Wake { at, .. } => wake = Some(at),
            }
        }
        let expired = told.contains(&Told::Lost(LossReason::Expired));
        if expired && in_doubt && !job.is_detached && self.stage >= Stage::Healthy {
            job.gives_back = true;
        }
        if let Some(needless) = &job.needless {
            needless.told(&told, now)?;
        }
        for event in &told {
            self.heard(&mut job, event);
        }
        let shown = Shown {
            now,
            remaining,
            wake,
        };
        job.deadline.after(shown, &told)?;
        Deadline::renewed(before, remaining, &told)?;
        job.wake_number += 1;
        if let Some(at) = wake {
            self.set_timer(client, job.wake_number, now, at);
        }
        self.update_belief(client, &mut job, !remaining.is_zero());
        if told.contains(&Told::Closed) {
            self.closed(client, &job);
            // Some are kept for a while, to see that they stay quiet.
            if self.stage != Stage::Faulty || self.rng.per_mille(700) {
                self.clients[client].life += 1;
                return Ok(());
            }
        }
        self.clients[client].job = Some(job);
        Ok(())
    }

    fn before_input(job: &mut Job, input: &Input, now: Instant) {
        if let Input::Ask(ticket, _) = input {
            job.terminal.asked(*ticket);
        }
        match input {
            Input::Answered(attempt, response) => {
                if job.deadline.answered(*attempt, response, now) {
                    job.bounds.answered(*attempt, response, now);
                    if let Some(needless) = &mut job.needless {
                        needless.answered(*attempt, response, now);
                    }
                }
                if let Response::Refused(_) = response
                    && let Some(needless) = &mut job.needless
                {
                    needless.put_off();
                }
                job.bounds.settled(*attempt);
            }
            Input::Resent(attempt) => {
                job.deadline.resent(*attempt, now);
                job.bounds.resent(*attempt, now);
            }
            Input::Detach => {
                job.is_detached = true;
                job.deadline.ending();
                if let Some(needless) = &mut job.needless {
                    needless.detached();
                }
            }
            Input::Failed(attempt, _) => {
                job.deadline.dropped(*attempt);
                job.bounds.settled(*attempt);
            }
            Input::Ask(_, Ask::Release | Ask::Transfer { .. } | Ask::Finish { .. })
                if job.holder.is_held(now) =>
            {
                job.deadline.ending();
            }
            Input::Ask(_, Ask::Renew(_)) => job.bounds.asked(),
            _ => {}
        }
    }

    fn send(
        &mut self,
        client: usize,
        job: &mut Job,
        send: &leasehold::holder::Send,
        now: Instant,
    ) -> Verdict {
        job.deadline.sent(send, now, job.claim)?;
        if let Some(needless) = &mut job.needless {
            needless.sent(send, now);
        }
        match &send.request.operation {
            Operation::Acquire(acquire) => job.orphans.asked(send.request.op, acquire.lease),
            Operation::Transfer(transfer) if job.claim => {
                job.orphans.asked(send.request.op, transfer.lease);
            }
            _ => {}
        }
        let from = self.from(client, send.attempt);
        self.post(from, send);
        Ok(())
    }

    fn from(&self, client: usize, attempt: AttemptId) -> From {
        From {
            who: self.who(client),
            attempt,
        }
    }

    /// The holder that lives here now.
    pub(super) fn who(&self, client: usize) -> Who {
        Who {
            client,
            life: self.clients[client].life,
        }
    }

    /// The carrier may shut the attempt down, or let it go on.
    fn drop_attempt(&mut self, client: usize, attempt: AttemptId) -> Verdict {
        if self.rng.per_mille(500) {
            let from = self.from(client, attempt);
            return self.hang_up(from);
        }
        Ok(())
    }

    fn heard(&mut self, job: &mut Job, event: &Told) {
        match event {
            Told::Granted(grant) => {
                self.grants += 1;
                job.grant = Some((**grant).clone());
                job.limit = self.limits.get(&grant.lease).copied().unwrap_or(1);
            }
            Told::Settled(_, Ok(Done::Transferred(successor))) => {
                self.mailbox.push(Handle {
                    key: job.key,
                    lease: Credential {
                        lease: successor.lease,
                        fence: Some(successor.fence),
                    },
                });
            }
            _ => {}
        }
    }

    fn closed(&mut self, client: usize, job: &Job) {
        self.served += usize::from(job.must_be_served && job.was_served());
        if job.gives_back || job.clean && !job.was_served() {
            let (key, of) = (job.key, Box::new(job.orphans.clone()));
            self.agenda
                .put(self.now + 1_000_000, Event::Sweep { key, of });
        }
        self.act_later(client);
    }

    /// The client's code is gone from one instant to the next.
    pub(super) fn kill(&mut self, client: usize) {
        self.settle_belief(client);
        self.end_belief(client, self.now);
        self.clients[client].job = None;
        self.clients[client].life += 1;
        self.act_later(client);
    }

    fn set_timer(&mut self, client: usize, number: u64, now: Instant, at: Instant) {
        let life = self.clients[client].life;
        let machine = self.processes[self.clients[client].process].machine;
        let left = at.since(now).as_micros();
        let due = self.now + self.machines[machine].true_time_for(left);
        let mut put = |at_true: TrueTime| {
            let event = Event::Wake {
                client,
                life,
                number,
            };
            self.agenda.put(at_true, event);
        };
        if !self.rng.per_mille(self.odds.timer) {
            return put(due);
        }
        if self.rng.per_mille(500) {
            self.tally.count(Fault::TimerLate);
            put(due + self.rng.magnitude(1_000, 10_000_000));
        } else {
            self.tally.count(Fault::TimerEarly);
            put(self.now + self.rng.range(0, due - self.now));
        }
    }
}
