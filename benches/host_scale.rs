//! What one lease costs the host machine, alone, with few and with many others beside it, and what a
//! crowd costs those beside it.
//!
//! Rounds of the sizes alternate; the figure is the median round.

use std::cell::RefCell;
use std::hint::black_box;
use std::time::{Duration, Instant as Stopwatch};

use leasehold::host::{Host, HostConfig, HostInput, HostOutput, ReplyTo};
use leasehold::id::{LeaseId, OpId};
use leasehold::name::{HolderName, Key};
use leasehold::protocol::{Acquire, Credential, KeyState, Operation, Request, Response, Watch};
use leasehold::time::{Instant, Span};

#[path = "../tests/sim/src/rng.rs"]
#[allow(dead_code, reason = "the simulation uses more of it")]
mod rng;

use rng::Rng;

const ROUNDS: usize = 15;
const CYCLES: usize = 10_000;
const TTL: Span = Span::from_secs(86_400);
/// The most that a host keeps a request waiting; longer waits come in several requests.
const WAIT: Span = Span::from_secs(20);
const WATCHERS: usize = 1_000;
const WATCHED_ROUNDS: usize = 100;
const EXPIRING: usize = 10_000;

fn main() {
    println!(
        "host: the machine alone, {} build, medians of {ROUNDS} alternating rounds",
        if cfg!(debug_assertions) {
            "debug"
        } else {
            "release"
        }
    );
    leases();
    waiters();
    watchers();
    expiries();
}

/// Each cycle takes a live lease at random, renews it, releases it and acquires its key again.
/// Any of a million is seldom in the processor's cache; the same thousand of them always are.
fn leases() {
    let [few, some, many] = [1_000, 100_000, 1_000_000];
    let mut small = Bench::with_leases(few);
    let mut large = Bench::with_leases(some);
    let huge = RefCell::new(Bench::with_leases(many));
    let [base, of_some, of_many, same] = alternate([
        &mut || small.cycle_leases(few),
        &mut || large.cycle_leases(some),
        &mut || huge.borrow_mut().cycle_leases(many),
        &mut || huge.borrow_mut().cycle_leases(few),
    ]);
    println!("\nacquire + renew + release, {CYCLES} cycles a round, of random leases");
    row("of 1,000 live ones", base, base, None);
    row("of 100,000 live ones", of_some, base, Some(2.0));
    row("of 1,000,000 live ones", of_many, base, None);
    row("of the same 1,000 of 1,000,000", same, base, None);
}

/// Each cycle releases the one lease, which grants it to the first waiter, and queues another.
fn waiters() {
    let mut few = Bench::with_waiters(1);
    let mut many = Bench::with_waiters(1_000);
    let [few, many] = alternate([&mut || few.cycle_waiters(), &mut || many.cycle_waiters()]);
    println!("\nrelease, grant to the first waiter, one more waiter: {CYCLES} cycles a round");
    row("with 1 waiter", few, few, None);
    row("with 1,000 waiters", many, few, None);
}

/// One key changes, and all who watch it are told and watch again, while other keys are served.
fn watchers() {
    let mut bench = Bench::new(2);
    let mut round = Tally::default();
    let mut beside = Tally::default();
    for _ in 0..WATCHED_ROUNDS {
        let lease = bench.acquire(0, Span::ZERO).expect("the key is free");
        let Some(Response::State(KeyState { revision, .. })) = bench.ask(0, Operation::Inspect)
        else {
            panic!("no state");
        };
        for _ in 0..WATCHERS {
            let after = Some(revision);
            let watch = Watch { after, wait: WAIT };
            assert!(
                bench.ask(0, Operation::Watch(watch)).is_none(),
                "a watcher waits"
            );
        }
        // Those told of the last change are told of this one a moment later.
        bench.now = bench.now + Span::from_secs(1);
        beside.time(|| bench.serve_another(1));
        let before = bench.answers;
        round.time(|| drop(bench.ask(0, Operation::Release(credential(lease)))));
        assert_eq!(
            bench.answers - before,
            1 + WATCHERS,
            "the release and every watch"
        );
    }
    println!("\na key with {WATCHERS} watchers changes, {WATCHED_ROUNDS} times");
    round.row("all are told", 1);
    beside.row("another key is served meanwhile", 1);
}

/// Leases with one waiter each, all of which expire within one second, while another key is served.
fn expiries() {
    let mut bench = Bench::new(EXPIRING + 1);
    let begun = bench.now;
    for n in 0..EXPIRING {
        bench.now = begun + Span::from_micros(n as u64 * 1_000_000 / EXPIRING as u64);
        bench.ttl = Span::from_secs(5);
        bench.acquire(n, Span::ZERO).expect("the key is free");
        bench.ttl = TTL;
        assert!(bench.acquire(n, WAIT).is_none(), "a waiter waits");
    }
    let mut ticks = Tally::default();
    let mut beside = Tally::default();
    let before = bench.answers;
    for at in (0..=1_000).step_by(10) {
        bench.now = begun + Span::from_secs(5) + Span::from_millis(at);
        ticks.time(|| bench.tick());
        beside.time(|| bench.serve_another(EXPIRING));
    }
    println!("\n{EXPIRING} leases expire in one second, each with a waiter; an alarm every 10 ms");
    let answers = EXPIRING + 2 * beside.0.len();
    assert_eq!(
        bench.answers - before,
        answers,
        "every waiter was granted its key"
    );
    ticks.row("an alarm's work", EXPIRING);
    beside.row("another key is served meanwhile", 1);
}

/// How long something took, over and over.
#[derive(Default)]
struct Tally(Vec<Duration>);

impl Tally {
    fn time(&mut self, run: impl FnOnce()) {
        let started = Stopwatch::now();
        run();
        self.0.push(started.elapsed());
    }

    /// The median and the longest; and, for so many, what one cost of all that time.
    fn row(&mut self, name: &str, parts: usize) {
        self.0.sort();
        let micros = |took: Duration| took.as_nanos() as f64 / 1e3;
        let longest = self.0.last().copied().unwrap_or_default();
        let median = micros(self.0[self.0.len() / 2]);
        let total: Duration = self.0.iter().sum();
        let each = match parts {
            1 => String::new(),
            parts => format!(", {:.2} µs each", micros(total) / parts as f64),
        };
        println!(
            "{name:<32} {median:>8.2} µs, longest {:.2} µs{each}",
            micros(longest)
        );
    }
}

/// What a cycle of each side costs, in nanoseconds.
fn alternate<const N: usize>(mut sides: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut took = [const { Vec::new() }; N];
    for _ in 0..ROUNDS {
        for (side, took) in sides.iter_mut().zip(&mut took) {
            let started = Stopwatch::now();
            side();
            took.push(started.elapsed());
        }
    }
    took.map(|mut took| {
        took.sort();
        took[took.len() / 2].as_nanos() as f64 / CYCLES as f64
    })
}

fn row(name: &str, cost: f64, base: f64, target: Option<f64>) {
    let ratio = cost / base;
    let verdict = match target {
        Some(target) if ratio <= target => format!(", target {target}: met"),
        Some(target) => format!(", target {target}: MISSED"),
        None => String::new(),
    };
    println!(
        "{name:<30} {:>7.2} µs, ratio {ratio:.2}{verdict}",
        cost / 1e3
    );
}

/// A host and what its callers know.
struct Bench {
    host: Host,
    now: Instant,
    random: Rng,
    ids: u128,
    keys: Vec<Key>,
    held: Vec<LeaseId>,
    ttl: Span,
    answers: usize,
}

impl Bench {
    fn new(keys: usize) -> Self {
        let config = HostConfig {
            max_keys: usize::MAX,
            max_waiters: usize::MAX,
            ..HostConfig::DURABLE_OBJECT
        };
        Self {
            host: Host::new(config),
            now: Instant::from_millis(1_000_000),
            random: Rng::new(1),
            ids: 0,
            keys: (0..keys)
                .map(|n| Key::parse(&format!("order:{n:07}")).expect("a key"))
                .collect(),
            held: Vec::new(),
            ttl: TTL,
            answers: 0,
        }
    }

    fn with_leases(count: usize) -> Self {
        let mut bench = Self::new(count);
        for n in 0..count {
            let lease = bench.acquire(n, Span::ZERO).expect("the key is free");
            bench.held.push(lease);
        }
        bench
    }

    fn with_waiters(count: usize) -> Self {
        let mut bench = Self::new(1);
        let lease = bench.acquire(0, WAIT).expect("the key is free");
        bench.held.push(lease);
        for _ in 0..count {
            assert!(bench.acquire(0, WAIT).is_none(), "a waiter waits");
        }
        bench
    }

    fn cycle_leases(&mut self, among: usize) {
        for _ in 0..CYCLES {
            let n = self.random.index(among);
            let credential = credential(self.held[n]);
            let ttl = TTL;
            let renew = self.ask(n, Operation::Renew { credential, ttl });
            assert!(matches!(renew, Some(Response::Renewed { .. })));
            let release = self.ask(n, Operation::Release(credential));
            assert!(matches!(release, Some(Response::Released { .. })));
            self.held[n] = self.acquire(n, Span::ZERO).expect("the key is free");
        }
    }

    fn cycle_waiters(&mut self) {
        for _ in 0..CYCLES {
            // The release is answered last: before it comes the grant to the first waiter.
            let credential = credential(self.held[0]);
            let granted = self.ask(0, Operation::Release(credential));
            let Some(Response::Granted(granted)) = granted else {
                panic!("no waiter was granted the key: {granted:?}");
            };
            self.held[0] = granted.lease;
            assert!(self.acquire(0, WAIT).is_none(), "a waiter waits");
        }
    }

    /// One lease of another key, from beginning to end.
    fn serve_another(&mut self, key: usize) {
        let lease = self.acquire(key, Span::ZERO).expect("the key is free");
        self.ask(key, Operation::Release(credential(lease)));
    }

    /// Does what is due.
    fn tick(&mut self) {
        self.host.handle(self.now, HostInput::Tick);
        self.drain();
    }

    /// The lease, or nothing if the request waits.
    fn acquire(&mut self, key: usize, wait: Span) -> Option<LeaseId> {
        let acquire = Acquire::new(
            HolderName::parse("worker-1").expect("a name"),
            LeaseId::from_bits(self.id()),
            self.ttl,
            wait,
        );
        match self.ask(key, Operation::Acquire(acquire)) {
            Some(Response::Granted(granted)) => Some(granted.lease),
            None => None,
            other => panic!("an acquire was answered {other:?}"),
        }
    }

    /// Carries one request out, and gives the grant among its answers, or else the last answer.
    fn ask(&mut self, key: usize, operation: Operation) -> Option<Response> {
        let op = OpId::from_bits(self.id());
        // Little enough that no waiter's patience ends within the run.
        self.now = self.now + Span::from_micros(1);
        let request = Request {
            key: self.keys[key].clone(),
            op,
            operation,
        };
        let to = ReplyTo(self.ids as u64);
        self.host.handle(self.now, HostInput::Request(to, request));
        self.drain()
    }

    fn drain(&mut self) -> Option<Response> {
        let mut answer = None;
        while let Some(output) = self.host.poll_output() {
            match output {
                HostOutput::Reply(_, response) => {
                    self.answers += 1;
                    if !matches!(answer, Some(Response::Granted(_))) {
                        answer = Some(response);
                    }
                }
                other => drop(black_box(other)),
            }
        }
        answer
    }

    fn id(&mut self) -> u128 {
        self.ids += 1;
        self.ids
    }
}

fn credential(lease: LeaseId) -> Credential {
    Credential { lease, fence: None }
}
