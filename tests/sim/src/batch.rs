//! Many seeds, judged together.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::check::Violation;
use crate::fault::{Fault, Tally};
use crate::rng::Rng;
use crate::scenario::Scenario;
use crate::world::{Outcome, World};

/// The fewest seeds of a batch that is expected to have met every fault.
const ENOUGH: u64 = 1_000;

/// How far a batch goes.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The first seed.
    pub first: u64,
    /// The most seeds.
    pub seeds: u64,
    /// The most time.
    pub time: Duration,
    /// On how many threads.
    pub threads: usize,
}

/// What a batch has shown.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The lowest seed that broke a rule, and which.
    pub failure: Option<(u64, Violation)>,
    /// How many seeds ran.
    pub seeds: u64,
    /// Runs outside the bounds in which two holders believed at one time.
    pub broken_outside: u64,
    /// Grants that holders took up.
    pub grants: u64,
    /// Faults that came about.
    pub tally: Tally,
    /// How long it took.
    pub took: Duration,
}

impl Report {
    /// Whether everything that must hold held, and everything that should happen happened.
    ///
    /// # Errors
    /// A sentence that says what is wrong, with the seed.
    pub fn judge(&self) -> Result<(), String> {
        if let Some((seed, violation)) = &self.failure {
            let Violation { check, what } = violation;
            return Err(format!(
                "seed {seed} breaks `{check}`: {what}\nrepeat with LEASEHOLD_SEED={seed}"
            ));
        }
        if self.seeds < ENOUGH {
            return Ok(());
        }
        let missing = self.tally.missing();
        if !missing.is_empty() {
            return Err(format!("faults that never came about: {missing:?}"));
        }
        if self.broken_outside == 0 {
            return Err("guarantee A was never broken outside the bounds: \
                        the clocks' faults have no effect"
                .into());
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per_second = self.seeds as f64 / self.took.as_secs_f64().max(0.001);
        writeln!(
            f,
            "{} schedules in {:.1} s ({per_second:.0} per second), {} grants, \
             A broken outside the bounds in {} runs",
            self.seeds,
            self.took.as_secs_f64(),
            self.grants,
            self.broken_outside,
        )?;
        let counts: Vec<String> = Fault::ALL
            .iter()
            .map(|fault| format!("{fault:?} {}", self.tally.of(*fault)))
            .collect();
        writeln!(f, "faults: {}", counts.join(", "))
    }
}

/// Runs one seed. Guarantee A counts where the run stays within the bounds.
pub fn run_seed(seed: u64, traced: bool) -> (Outcome, Option<Violation>) {
    // A panic is a broken rule like any other, and its seed must not be lost.
    let run = std::panic::AssertUnwindSafe(|| World::new(seed, traced).run());
    let outcome = std::panic::catch_unwind(run).unwrap_or_else(|_| Outcome::panicked());
    let within = is_within(seed);
    let broken = outcome.overlap.filter(|_| within).map(|(one, other)| Violation {
        check: "exclusion",
        what: format!(
            "client {} believes from {} to {} µs (fence {}), client {} from {} to {} µs (fence {})",
            one.who.client, one.from, one.until, one.fence, other.who.client, other.from, other.until, other.fence,
        ),
    });
    let violation = outcome.violation.clone().or(broken);
    (outcome, violation)
}

/// Whether this seed's run keeps to the bounds.
fn is_within(seed: u64) -> bool {
    Scenario::draw(seed, &mut Rng::new(seed)).is_within()
}

/// Runs many seeds; stops at the first that breaks a rule.
pub fn run(extent: Extent) -> Report {
    let started = Instant::now();
    let next = AtomicU64::new(0);
    let report = Mutex::new(Report::default());
    std::thread::scope(|scope| {
        for _ in 0..extent.threads.max(1) {
            scope.spawn(|| {
                let part = run_share(extent, &next, started);
                merge(&report, part);
            });
        }
    });
    let mut report = report.into_inner().unwrap_or_default();
    report.took = started.elapsed();
    report
}

fn run_share(extent: Extent, next: &AtomicU64, started: Instant) -> Report {
    let mut report = Report::default();
    while started.elapsed() < extent.time {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= extent.seeds {
            break;
        }
        let seed = extent.first + number;
        let (outcome, violation) = run_seed(seed, false);
        report.seeds += 1;
        report.grants += outcome.grants;
        report.tally.add(&outcome.tally);
        report.broken_outside += u64::from(outcome.overlap.is_some());
        if let Some(violation) = violation {
            report.failure = Some((seed, violation));
            // Nobody begins another.
            next.store(extent.seeds, Ordering::Relaxed);
        }
    }
    report
}

fn merge(whole: &Mutex<Report>, part: Report) {
    let Ok(mut whole) = whole.lock() else {
        return;
    };
    whole.seeds += part.seeds;
    whole.grants += part.grants;
    whole.tally.add(&part.tally);
    whole.broken_outside += part.broken_outside;
    let sooner =
        |(seed, _): &(u64, Violation)| whole.failure.as_ref().is_none_or(|(other, _)| seed < other);
    if part.failure.as_ref().is_some_and(sooner) {
        whole.failure = part.failure;
    }
}
