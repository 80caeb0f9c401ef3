//! When a request to a Redis is sent, and how long who waits rests between two looks.

use alloc::string::String;
use core::mem;

use crate::hash::fnv1a;
use crate::holder::Config;
use crate::id::hex;
use crate::protocol::wire::{REQUEST, Record, Verb};
use crate::protocol::{Field, Invalid, MAX_POLL, longest_poll};
use crate::time::{Instant, Span};

/// The first gap between two polls of a waiter, who may have missed a hint while it began to listen.
const FIRST_GAP: Span = Span::from_millis(1_000);

/// Every other gap. It leaves a waiter's presence, which lasts twice as long, time to be renewed.
const NEXT_GAP: Span = Span::from_millis(1_500);

/// The gap where nothing but the waiter's own lease is in its way.
const MIN_GAP: Span = Span::from_millis(10);

/// The shortest time between two looks of a watcher, however much changes.
const LOOKS: Span = Span::from_millis(100);

/// A request being carried out, by the clock of whoever sends its commands.
#[derive(Debug)]
pub struct Call {
    names: Names,
    is_watch: bool,
    /// How much longer the client is willing to wait, as of the first command.
    wait: Span,
    /// The longest that one request waits.
    longest: Span,
    /// Whether nothing of it has been carried out yet, as far as is known.
    is_first_look: bool,
    /// How many were in front when it looked last.
    ahead: u32,
    /// Whether the last look has been taken, which waits no more.
    last_look: bool,
    /// Random bits that spread the polls of many waiters.
    jitter: u64,
    /// When the first command was sent that may have been carried out, and when the last.
    sent: Option<(Instant, Instant)>,
}

/// What stands for a request in the database's names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// For its op: 64 of its 128 bits, which cannot be led back, since an op is a secret.
    pub op: String,
    /// For its key, which may be any text, where only some is safe.
    pub key: String,
}

/// What to do next for a [`Call`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The answer is that it waits on, behind so many.
    Queued(u32),
    /// No answer can be made of what came back: the outcome is unknown.
    Failed,
    /// Wait so long, or less if a hint comes in; then take [`Call::poll`].
    Rest {
        /// The longest to wait.
        gap: Span,
        /// Whether a hint may come in; if not, it is the shortest to wait as well.
        is_hinted: bool,
    },
    /// Run the script, and hand a `queued` to [`Call::queued`]; any other answer is the call's.
    Send {
        /// How long the request has lain waiting. A grant's term counts from the command that is
        /// answered with it.
        waited: Span,
        /// Whether it waits on where there is nothing to answer yet.
        waits: bool,
        /// How long the reply may take before who waits asks again; without it, as long as the call.
        timeout: Option<Span>,
        /// Whether the reply before has proved that nothing of this call was carried out so far: it
        /// counts from here.
        afresh: bool,
    },
}

impl Call {
    /// A call for a request in JSON.
    ///
    /// # Errors
    /// [`Invalid`] for one that no host would accept.
    pub fn new(request: &str) -> Result<Self, Invalid> {
        let record = Record::read(request, REQUEST)?;
        record.made(Self::of(&record))
    }

    fn of(record: &Record<'_>) -> Option<Self> {
        let verb = record.spoken(record.verb())?;
        let mut names = Names::default();
        let mut jitter = 0;
        // A list has neither.
        if verb != Verb::List {
            record.check(verb)?;
            let op = record.op()?.to_bits();
            jitter = op as u64;
            names.op = name(&op.to_be_bytes());
            names.key = name(record.key()?.as_str().as_bytes());
        }
        let is_watch = verb == Verb::Watch;
        let wait = record.span(Field::Wait);
        Some(Self {
            names,
            is_watch,
            wait: wait
                .filter(|_| is_watch || verb == Verb::Acquire)
                .unwrap_or_default(),
            longest: match record.span(Field::Ttl) {
                Some(ttl) if !is_watch => longest_poll(ttl),
                _ => MAX_POLL,
            },
            is_first_look: true,
            ahead: 0,
            last_look: false,
            jitter,
            sent: None,
        })
    }

    /// What stands for the request in the database's names.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// What to do at the start, and after a [`Step::Rest`].
    pub fn poll(&mut self, now: Instant) -> Step {
        if let (true, Some((_, last))) = (self.is_watch, self.sent) {
            let pause = LOOKS.saturating_sub(now.since(last));
            if !pause.is_zero() {
                return Step::Rest {
                    gap: pause,
                    is_hinted: false,
                };
            }
        }
        self.send(now)
    }

    /// What to do instead of resting on when another call with the same op is under way, which gets
    /// the answer.
    pub fn superseded(&mut self, now: Instant) -> Step {
        if self.is_watch {
            self.poll(now)
        } else {
            Step::Queued(self.ahead)
        }
    }

    /// The same again in another form, since the server has refused the last command as a whole.
    pub fn resend(&mut self, now: Instant) -> Step {
        if self.is_first_look {
            self.sent = None;
        }
        let mut step = self.send(now);
        if let Step::Send { afresh, .. } = &mut step {
            *afresh = self.is_first_look;
        }
        step
    }

    fn send(&mut self, now: Instant) -> Step {
        let (first, _) = self.sent.unwrap_or((now, now));
        self.sent = Some((first, now));
        Step::Send {
            waited: now.since(first),
            waits: !self.wait.is_zero() && !self.last_look,
            timeout: (!self.wait.is_zero()).then_some(Config::OP_TIMEOUT),
            afresh: false,
        }
    }

    /// Waits on behind so many, as long as the client is willing to and one request lasts. `quiet` is
    /// how long there can't be an answer, as far as is known.
    pub fn queued(&mut self, now: Instant, ahead: u32, quiet: Option<Span>) -> Step {
        self.ahead = ahead;
        let is_first = mem::replace(&mut self.is_first_look, false);
        let waited = self.sent.map_or(Span::ZERO, |(first, _)| now.since(first));
        let patience = self.wait.min(self.longest).saturating_sub(waited);
        if !patience.is_zero() {
            return Step::Rest {
                gap: self.gap(is_first, quiet).min(patience),
                is_hinted: true,
            };
        }
        if self.wait > self.longest && !self.is_watch {
            return Step::Queued(ahead);
        }
        // The last look leaves the queue unless it is granted, and has a watch answered.
        if mem::replace(&mut self.last_look, true) {
            return Step::Failed;
        }
        self.send(now)
    }

    fn gap(&mut self, is_first: bool, quiet: Option<Span>) -> Span {
        let gap = if is_first { FIRST_GAP } else { NEXT_GAP };
        let gap = gap.scale(900 + self.jitter % 201, 1_000);
        self.jitter = self.jitter.rotate_right(8);
        match quiet {
            // Who watches looks as soon as something ends by itself,
            Some(quiet) if self.is_watch => gap.min(quiet).max(LOOKS),
            // and the next in turn as soon as there can be one holder more.
            Some(Span::ZERO) if self.ahead == 0 => MIN_GAP,
            Some(quiet) if self.ahead == 0 => gap.min(quiet),
            _ => gap,
        }
    }
}

fn name(bytes: &[u8]) -> String {
    hex(&fnv1a(bytes).to_be_bytes())
}
