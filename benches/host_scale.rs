//! What one lease costs the host machine, alone, with few and with many others beside it.
//!
//! Rounds of the two sizes alternate; the figure is the median round.

use std::cell::RefCell;
use std::hint::black_box;
use std::time::Instant as Stopwatch;

use leasehold::host::{Host, HostConfig, HostInput, HostOutput, ReplyTo};
use leasehold::id::{LeaseId, OpId};
use leasehold::name::{HolderName, Key};
use leasehold::protocol::{Acquire, Credential, Operation, Request, Response};
use leasehold::time::{Instant, Span};

const ROUNDS: usize = 15;
const CYCLES: usize = 10_000;
const TTL: Span = Span::from_secs(86_400);
/// The most that a host keeps a request waiting; longer waits come in several requests.
const WAIT: Span = Span::from_secs(20);

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
}

/// Each cycle takes a live lease at random, renews it, releases it and acquires its key again.
/// Any of a million is seldom in the processor's cache; the same thousand of them always are.
fn leases() {
    let [few, many] = [1_000, 1_000_000];
    let mut small = Bench::with_leases(few);
    let large = RefCell::new(Bench::with_leases(many));
    let [base, any, same] = alternate([
        &mut || small.cycle_leases(few),
        &mut || large.borrow_mut().cycle_leases(many),
        &mut || large.borrow_mut().cycle_leases(few),
    ]);
    println!("\nacquire + renew + release, {CYCLES} cycles a round, of random leases");
    row("of 1,000 live ones", base, base, None);
    row("of 1,000,000 live ones", any, base, Some(2.0));
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
    random: u64,
    ids: u128,
    keys: Vec<Key>,
    held: Vec<LeaseId>,
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
            random: 0x9e37_79b9_7f4a_7c15,
            ids: 0,
            keys: (0..keys)
                .map(|n| Key::parse(&format!("order:{n:07}")).expect("a key"))
                .collect(),
            held: Vec::new(),
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
            let n = self.pick(among);
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

    /// The lease, or nothing if the request waits.
    fn acquire(&mut self, key: usize, wait: Span) -> Option<LeaseId> {
        let acquire = Acquire::new(
            HolderName::parse("worker-1").expect("a name"),
            LeaseId::from_bits(self.id()),
            TTL,
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
        let mut answer = None;
        while let Some(output) = self.host.poll_output() {
            match output {
                HostOutput::Reply(_, response) => {
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

    /// A key, by xorshift: the same order in every run.
    fn pick(&mut self, among: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % among as u64) as usize
    }
}

fn credential(lease: LeaseId) -> Credential {
    Credential { lease, fence: None }
}
