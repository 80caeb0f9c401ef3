//! Everything that grows has a limit.

use leasehold::holder::{Event, Output};
use leasehold::host::HostConfig;
use leasehold::id::AttemptId;
use leasehold::protocol::{Operation, Response};
use leasehold::time::{Instant, Span};

use super::{HostStep, Verdict, ensure};

const CHECK: &str = "bounds";

/// Sixteen renewals, three attempts to verify or to hand over, and as many each for four things that
/// are taken back.
const MAX_IN_FLIGHT: usize = 34;

/// The most outputs of a holder for one input, the outcomes of what was asked for excepted.
const MAX_OUTPUTS: usize = 36;

/// The most renewals sent between two that succeeded, unless somebody asks for more.
const MAX_RENEWALS: u32 = 10;

/// The most renewals in flight that are younger than three round trips.
const MAX_YOUNG: usize = 3;

/// One holder's bounds.
#[derive(Default)]
pub struct HolderBounds {
    in_flight: Vec<(AttemptId, Instant, bool)>,
    renewals: u32,
    asked: u32,
    /// How long the last answer took that tells: less is never learnt from it.
    trip: Span,
    /// Length of the shortest term: of round trips longer than half of one nothing is learnt.
    told: Span,
}

impl HolderBounds {
    /// An attempt has had its failure, or its answer.
    pub fn settled(&mut self, attempt: AttemptId) {
        self.in_flight.retain(|(other, ..)| *other != attempt);
    }

    /// An attempt is about to be told an answer that tells of the term.
    pub fn answered(&mut self, attempt: AttemptId, response: &Response, now: Instant) {
        let sent = self.in_flight.iter().find(|(other, ..)| *other == attempt);
        if let Some((_, sent, is_renewal)) = sent {
            let took = now.since(*sent);
            match response {
                Response::Granted(granted) => {
                    self.trip = took.saturating_sub(granted.waited);
                    self.told = granted.ttl;
                }
                Response::Renewed { ttl, .. } => {
                    self.trip = took;
                    self.told = self.told.min(*ttl);
                    if *is_renewal {
                        (self.renewals, self.asked) = (0, 0);
                    }
                }
                _ => {}
            }
        }
    }

    /// What this attempt has sent so far was not carried out: it counts from now.
    pub fn resent(&mut self, attempt: AttemptId, now: Instant) {
        for (id, sent, _) in &mut self.in_flight {
            if *id == attempt {
                *sent = now;
            }
        }
    }

    /// Whether a renewal is on its way, or its answer.
    pub fn has_renewal_in_flight(&self) -> bool {
        self.in_flight.iter().any(|(_, _, is_renewal)| *is_renewal)
    }

    /// A renewal was asked for by hand.
    pub fn asked(&mut self) {
        self.asked += 1;
    }

    /// Looks at what came of one input.
    ///
    /// # Errors
    /// When it is too much.
    pub fn step(&mut self, outputs: &[Output], now: Instant) -> Verdict {
        let told = |output: &&Output| !matches!(output, Output::Event(Event::Settled(..)));
        let count = outputs.iter().filter(told).count();
        ensure(count <= MAX_OUTPUTS, CHECK, || {
            format!("{count} outputs for one input")
        })?;
        for output in outputs {
            match output {
                Output::Send(send) => {
                    let is_renewal = matches!(send.request.operation, Operation::Renew { .. });
                    self.in_flight.push((send.attempt, now, is_renewal));
                    self.renewals += u32::from(is_renewal);
                    if is_renewal {
                        self.few_are_young(now)?;
                    }
                }
                Output::Drop(attempt) => self.settled(*attempt),
                Output::Event(_) | Output::Wake { .. } => {}
            }
        }
        ensure(self.in_flight.len() <= MAX_IN_FLIGHT, CHECK, || {
            format!("{} attempts in flight", self.in_flight.len())
        })?;
        ensure(
            self.renewals <= MAX_RENEWALS + 4 * self.asked,
            CHECK,
            || format!("{} renewals in one term", self.renewals),
        )
    }
}

impl HolderBounds {
    /// A renewal has been sent: not beside too many that may yet be answered.
    fn few_are_young(&self, now: Instant) -> Verdict {
        let youth = self.trip.min(self.told.div(2)).scale(3, 1);
        let young = |(_, sent, is_renewal): &&(AttemptId, Instant, bool)| {
            *is_renewal && now.since(*sent) < youth
        };
        let young = self.in_flight.iter().filter(young).count();
        ensure(young <= MAX_YOUNG, CHECK, || {
            format!("{young} renewals in flight that are younger than {youth:?}")
        })
    }
}

/// A host's bounds; they need no memory.
pub struct HostBounds;

impl HostBounds {
    /// Looks at a step.
    ///
    /// # Errors
    /// When something has grown too much.
    pub fn step(config: &HostConfig, step: &HostStep<'_>) -> Verdict {
        let keys = step.store.keys().count();
        ensure(keys <= config.max_keys + config.spare_keys, CHECK, || {
            format!("{keys} keys stored")
        })?;
        // Each waiter may leave and be answered, each key be stored, and little else.
        let most = 64 + 4 * (config.max_waiters.min(64) + 1) * (keys + 1);
        ensure(step.outputs.len() <= most, CHECK, || {
            format!("{} outputs for one input", step.outputs.len())
        })?;
        step.store.keys().try_for_each(|record| {
            let waiters = step.store.waiters(&record.key).count();
            ensure(waiters <= config.max_waiters, CHECK, || {
                format!("{waiters} waiters for {:?}", record.key)
            })?;
            let mut grants = step.store.grants(&record.key);
            let ahead = grants.find(|grant| grant.expires.since(step.now) > grant.term);
            ensure(ahead.is_none(), CHECK, || {
                format!("a grant that lasts longer than its term: {ahead:?}")
            })?;
            ensure(record.past.len() <= 64, CHECK, || {
                format!("{} ended ops remembered", record.past.len())
            })
        })
    }
}
