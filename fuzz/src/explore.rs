//! Exploring: changing known inputs at random, keeping what leads somewhere new.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use leasehold_sim::rng::Rng;

use crate::corpus;
use crate::mutate::{LONGEST, change};
use crate::seen::Seen;
use crate::targets::Target;

/// One input takes microseconds. One that takes so long does not end.
const PATIENCE: Duration = Duration::from_secs(20);

/// How many tries go into making an input shorter.
const SHORTENING: usize = 400;

thread_local! {
    /// While a target runs here: where and why it panicked, if it did.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
    static RUNNING: Cell<bool> = const { Cell::new(false) };
}

/// What came of exploring one target.
pub struct Outcome {
    /// How many inputs were run.
    pub runs: u64,
    /// How long that took.
    pub took: Duration,
    /// The inputs kept, the ones started with included.
    pub inputs: Vec<Vec<u8>>,
    /// How many situations they come through.
    pub situations: usize,
    /// The input that broke a rule, made as short as it would go, and how it did.
    pub failure: Option<(Vec<u8>, String)>,
}

/// Keeps what a target's panic says from the terminal, where thousands of them may be looked at.
pub fn catch_panics() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if RUNNING.get() {
            PANIC.set(Some(info.to_string()));
        } else {
            usual(info);
        }
    }));
}

/// Runs one input.
///
/// # Errors
/// What the target said when a rule was broken.
pub fn run_quietly(target: &Target, input: &[u8]) -> Result<Seen, String> {
    let mut seen = Seen::default();
    RUNNING.set(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| (target.run)(input, &mut seen)));
    RUNNING.set(false);
    match outcome {
        Ok(()) => Ok(seen),
        Err(cause) => Err(PANIC.take().unwrap_or_else(|| said(&*cause))),
    }
}

fn said(cause: &(dyn Any + Send)) -> String {
    let text = cause.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| cause.downcast_ref::<String>().cloned())
        .unwrap_or_default()
}

/// Explores for `time`, or until a rule is broken.
pub fn explore(target: &'static Target, start: Vec<Vec<u8>>, seed: u64, time: Duration) -> Outcome {
    let watch = Watchdog::start(target);
    let began = Instant::now();
    let mut random = Rng::new(seed);
    let mut outcome = Outcome {
        runs: 0,
        took: Duration::ZERO,
        inputs: Vec::new(),
        situations: 0,
        failure: None,
    };
    let mut known = Seen::default();
    let mut waiting = start;
    waiting.push(Vec::new());
    while outcome.failure.is_none() && (began.elapsed() < time || !waiting.is_empty()) {
        let input = waiting
            .pop()
            .unwrap_or_else(|| derived(&outcome.inputs, target, &mut random));
        outcome.runs += 1;
        watch.runs(&input);
        match run_quietly(target, &input) {
            Ok(seen) if known.lacks(&seen) > 0 || outcome.inputs.is_empty() => {
                let news = known.news(&seen);
                let input = shortened(input, &mut random, |shorter| {
                    watch.runs(shorter);
                    run_quietly(target, shorter).is_ok_and(|seen| seen.lacks(&news) == 0)
                });
                // What the shorter one has lost besides is found again if it is worth it.
                if let Ok(seen) = run_quietly(target, &input) {
                    known.add(&seen);
                }
                outcome.inputs.push(input);
            }
            Ok(_) => {}
            Err(why) => {
                let input = shortened(input, &mut random, |shorter| {
                    watch.runs(shorter);
                    run_quietly(target, shorter).is_err()
                });
                let why = run_quietly(target, &input).err().unwrap_or(why);
                outcome.failure = Some((input, why));
            }
        }
    }
    outcome.took = began.elapsed();
    outcome.situations = known.len();
    outcome
}

fn derived(inputs: &[Vec<u8>], target: &Target, random: &mut Rng) -> Vec<u8> {
    // One in two is a descendant of what was found lately.
    let recent = inputs.len().min(16);
    let first = match random.index(2) {
        0 => inputs.len() - 1 - random.index(recent),
        _ => random.index(inputs.len()),
    };
    let mut input = inputs[first].clone();
    let other = &inputs[random.index(inputs.len())];
    change(&mut input, other, target.words, random);
    input
}

/// Cuts parts out of an input as long as it stays `good`.
fn shortened(mut input: Vec<u8>, random: &mut Rng, mut good: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let tries = SHORTENING.min(input.len() * 2);
    for attempt in 0..tries {
        if input.is_empty() {
            break;
        }
        // Large parts first.
        let most = (LONGEST >> (attempt * 8 / tries)).clamp(1, input.len());
        let length = 1 + random.index(most);
        let at = random.index(input.len() - length + 1);
        let mut shorter = input.clone();
        shorter.drain(at..at + length);
        if good(&shorter) {
            input = shorter;
        }
    }
    input
}

/// Ends the program when an input does not end, with that input saved.
struct Watchdog {
    present: Arc<Mutex<(u64, Vec<u8>)>>,
}

impl Watchdog {
    fn start(target: &'static Target) -> Self {
        let present = Arc::new(Mutex::new((0, Vec::new())));
        let watched = Arc::downgrade(&present);
        thread::spawn(move || {
            let mut last = 0;
            loop {
                thread::sleep(PATIENCE);
                let Some(present) = watched.upgrade() else {
                    return;
                };
                let (count, input) = present
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone();
                if count == last {
                    let place = corpus::keep_failure(target, &input);
                    eprintln!("{}: an input does not end: {place:?}", target.name);
                    std::process::exit(1);
                }
                last = count;
            }
        });
        Self { present }
    }

    fn runs(&self, input: &[u8]) {
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        present.0 += 1;
        present.1.clear();
        present.1.extend_from_slice(input);
    }
}
