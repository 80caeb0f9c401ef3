//! What all of a holder's states share: the time, the ids, and the way out.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::id::{AttemptId, LeaseId, OpId};
use crate::protocol::{Credential, Operation, Request};
use crate::time::{Instant, Span};

use super::config::Config;
use super::event::{Done, Event, Failure, Output, Send};
use super::pace::RoundTrip;
use super::tickets::Ticket;
use super::timers::Timers;

/// Random bits a holder starts with, from a cryptographic source.
#[derive(Clone, Copy)]
pub struct Seed {
    /// For op ids, which count up from here.
    pub ops: u128,
    /// For the lease ids that the holder proposes, which count up from here. Only the last one of
    /// a holder is ever shown to anybody, so it foretells nothing.
    pub leases: u128,
}

pub(super) struct Context {
    pub config: Config,
    pub now: Instant,
    /// How long the way to the host and back takes, as far as has been learnt.
    pub round_trip: RoundTrip,
    pub timers: Timers,
    seed: Seed,
    /// How many lease ids have been proposed.
    proposed: u128,
    jitter: u64,
    attempts: u32,
    outputs: Vec<Output>,
    /// What has to be taken back from the host.
    left_behind: Vec<Arc<Request>>,
}

impl Context {
    pub fn new(config: Config, seed: Seed) -> Self {
        Self {
            config,
            now: Instant::ZERO,
            round_trip: RoundTrip::default(),
            timers: Timers::default(),
            seed,
            proposed: 0,
            // The low half of the op seed; xorshift needs a non-zero state.
            jitter: (seed.ops & u128::from(u64::MAX)) as u64 | 1,
            attempts: 0,
            outputs: Vec::new(),
            left_behind: Vec::new(),
        }
    }

    pub fn next_op(&mut self) -> OpId {
        self.seed.ops = self.seed.ops.wrapping_add(1);
        OpId::from_bits(self.seed.ops)
    }

    pub fn next_lease(&mut self) -> LeaseId {
        self.proposed += 1;
        LeaseId::from_bits(self.seed.leases.wrapping_add(self.proposed))
    }

    /// Whether this holder has proposed this id.
    pub fn has_proposed(&self, lease: LeaseId) -> bool {
        (1..=self.proposed).contains(&lease.to_bits().wrapping_sub(self.seed.leases))
    }

    /// `span`, shortened or lengthened by up to a tenth, so that many holders do not move in step.
    pub fn fuzz(&mut self, span: Span) -> Span {
        span.scale(900 + self.random() % 201, 1_000)
    }

    /// `span`, lengthened by up to a tenth: for a pause that somebody asked for.
    pub fn fuzz_up(&mut self, span: Span) -> Span {
        span + span.scale(self.random() % 101, 1_000)
    }

    fn random(&mut self) -> u64 {
        // Xorshift64 (Marsaglia 2003): spread, not secrecy, is wanted here.
        self.jitter ^= self.jitter << 13;
        self.jitter ^= self.jitter >> 7;
        self.jitter ^= self.jitter << 17;
        self.jitter
    }

    /// A request for this holder's key.
    pub fn request(&self, op: OpId, operation: Operation) -> Arc<Request> {
        Arc::new(Request {
            key: self.config.key.clone(),
            op,
            operation,
        })
    }

    pub fn send(&mut self, request: Arc<Request>, timeout: Span, rebind: bool) -> AttemptId {
        self.attempts = self.attempts.wrapping_add(1);
        let attempt = AttemptId(self.attempts);
        self.outputs.push(Output::Send(Send {
            attempt,
            request,
            timeout,
            rebind,
        }));
        attempt
    }

    pub fn drop_attempt(&mut self, attempt: AttemptId) {
        self.outputs.push(Output::Drop(attempt));
    }

    pub fn emit(&mut self, event: Event) {
        self.outputs.push(Output::Event(event));
    }

    /// Tells how what was asked for has ended.
    pub fn settle(&mut self, ticket: Ticket, outcome: Result<Done, Arc<Failure>>) {
        self.emit(Event::Settled(ticket, outcome));
    }

    /// Has the acquire or transfer with this op taken back.
    pub fn leave_cancel(&mut self, op: OpId) {
        self.left_behind.push(self.request(op, Operation::Cancel));
    }

    /// Has a lease taken back that nobody will hold.
    pub fn leave_release(&mut self, lease: Credential) {
        let op = self.next_op();
        self.left_behind
            .push(self.request(op, Operation::Release(lease)));
    }

    pub fn take_left_behind(&mut self) -> Vec<Arc<Request>> {
        core::mem::take(&mut self.left_behind)
    }

    /// Says when to come back, if there is something to come back for.
    pub fn wake(&mut self) {
        if let Some((at, why)) = self.timers.next() {
            self.outputs.push(Output::Wake { at, why });
        }
    }

    pub fn poll(&mut self) -> Option<Output> {
        (!self.outputs.is_empty()).then(|| self.outputs.remove(0))
    }
}
