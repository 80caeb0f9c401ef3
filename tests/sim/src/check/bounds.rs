//! Everything that grows has a limit.

use leasehold::holder::{Event, Output};
use leasehold::host::HostConfig;
use leasehold::id::AttemptId;
use leasehold::protocol::{Operation, Response};
use leasehold::time::{Instant, Span};

use super::{HostStep, Verdict, ensure};

const CHECK: &str = "bounds";

/// Sixteen renewals, three attempts each to verify, to set an entry and to hand over, and as many for
/// each of four things that are taken back.
const MAX_IN_FLIGHT: usize = 37;

/// The most outputs of a holder for one input, the outcomes of what was asked for excepted.
const MAX_OUTPUTS: usize = 39;

/// The most renewals sent between two that succeeded, unless somebody asks for more.
const MAX_RENEWALS: u32 = 10;

/// The most renewals in flight that are younger than three round trips.
const MAX_YOUNG: usize = 3;

/// One holder's bounds.
#[derive(Default)]
pub struct HolderBounds {
    in_flight: Vec<Sent>,
    /// So long a question is left alone before it is asked again.
    patience: Span,
    renewals: u32,
    asked: u32,
    /// How long the last answer took that tells: less is never learnt from it.
    trip: Span,
    /// Length of the shortest term: of round trips longer than half of one nothing is learnt.
    told: Span,
}

/// An attempt that is awaited.
struct Sent {
    id: AttemptId,
    kind: Kind,
    /// When it went out first.
    first: Instant,
    /// From when it counts.
    at: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Acquire,
    Renewal,
    Other,
}

impl HolderBounds {
    /// The bounds of a holder whose operations may take so long.
    pub fn new(op_timeout: Span) -> Self {
        Self {
            patience: op_timeout.div(2).min(Span::from_secs(1)),
            ..Self::default()
        }
    }

    /// An attempt has had its failure, or its answer.
    pub fn settled(&mut self, attempt: AttemptId) {
        self.in_flight.retain(|sent| sent.id != attempt);
    }

    /// An attempt is about to be told an answer that tells of the term.
    pub fn answered(&mut self, attempt: AttemptId, response: &Response, now: Instant) {
        let sent = self.in_flight.iter().find(|sent| sent.id == attempt);
        if let Some(sent) = sent {
            let took = now.since(sent.at);
            match response {
                Response::Granted(granted) => {
                    self.trip = took.saturating_sub(granted.waited);
                    self.told = granted.ttl;
                }
                Response::Renewed { ttl, .. } => {
                    self.trip = took;
                    self.told = self.told.min(*ttl);
                    if sent.kind == Kind::Renewal {
                        (self.renewals, self.asked) = (0, 0);
                    }
                }
                _ => {}
            }
        }
    }

    /// What this attempt has sent so far was not carried out: it counts from now.
    pub fn resent(&mut self, attempt: AttemptId, now: Instant) {
        for sent in &mut self.in_flight {
            if sent.id == attempt {
                sent.at = now;
            }
        }
    }

    /// Whether a renewal is on its way, or its answer.
    pub fn has_renewal_in_flight(&self) -> bool {
        self.of(Kind::Renewal).next().is_some()
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
                    let kind = match send.request.operation {
                        Operation::Acquire(_) => Kind::Acquire,
                        Operation::Renew { .. } => Kind::Renewal,
                        _ => Kind::Other,
                    };
                    if kind == Kind::Acquire {
                        self.none_is_young(now)?;
                    }
                    self.in_flight.push(Sent {
                        id: send.attempt,
                        kind,
                        first: now,
                        at: now,
                    });
                    if kind == Kind::Renewal {
                        self.renewals += 1;
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
    fn of(&self, kind: Kind) -> impl Iterator<Item = &Sent> {
        self.in_flight.iter().filter(move |sent| sent.kind == kind)
    }

    /// The lease is about to be asked for: not beside an attempt that may yet be answered.
    fn none_is_young(&self, now: Instant) -> Verdict {
        let newest = self.of(Kind::Acquire).map(|sent| sent.first).max();
        ensure(
            newest.is_none_or(|newest| now.since(newest) >= self.patience),
            CHECK,
            || format!("asked for at {newest:?}, and again at {now:?}"),
        )
    }

    /// A renewal has been sent: not beside too many that may yet be answered.
    fn few_are_young(&self, now: Instant) -> Verdict {
        let youth = self.trip.min(self.told.div(2)).scale(3, 1);
        let young = self.of(Kind::Renewal);
        let young = young.filter(|sent| now.since(sent.at) < youth).count();
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
