//! One request to a Redis, from the first command to the response.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::answer::{Answer, Context, decode};
use super::command::{Invocation, Prefix};
use super::list::Listing;
use super::reply::{Reply, ReplyError, classify};
use super::script;
use crate::holder::Config;
use crate::json::Writer;
use crate::protocol::wire::{Outcome, REQUEST, Record, Verb, begin};
use crate::protocol::{Field, Invalid, MAX_POLL, Refusal, longest_poll};
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
    task: Task,
    key_locking: bool,
    by_text: bool,
    /// When the first command was sent that may have been carried out, and when the last.
    sent: Option<(Instant, Instant)>,
}

#[derive(Debug)]
enum Task {
    List(Listing),
    /// A request that no host would accept, and the response to it.
    Refused(String),
    Request(Box<Attempt>),
}

#[derive(Debug)]
struct Attempt {
    key: String,
    /// The fence that the request names.
    about: Option<u64>,
    is_watch: bool,
    invocation: Invocation,
    /// How much longer the client is willing to wait, as of the first command.
    wait: Span,
    /// The longest that one request waits.
    longest: Span,
    is_first_look: bool,
    /// How many were in front when it looked last.
    ahead: u32,
    /// Whether the last look has been taken, which waits no more.
    last_look: bool,
    /// Random bits that spread the polls of many waiters.
    jitter: u64,
}

/// What to do next for a [`Call`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The request is answered: the response in JSON.
    Done(String),
    /// No answer can be made of what came back: the outcome is unknown.
    Failed,
    /// Wait so long, or less if a message comes in on the channel; then take [`Call::poll`].
    Rest {
        /// The longest to wait.
        gap: Span,
        /// Where a hint may come in; if nowhere, it is the shortest to wait as well.
        channel: Option<String>,
    },
    /// Send a command, and hand the reply to [`Call::replied`].
    Send {
        /// The command, word by word.
        command: Vec<String>,
        /// How long the reply may take before who waits asks again; without it, as long as the call.
        timeout: Option<Span>,
        /// Whether the reply before has proved that nothing of this call was carried out so far: it
        /// counts from here.
        afresh: bool,
    },
}

impl Call {
    /// A call for a request in JSON, under this prefix. `key_locking` says whether this server knows the
    /// key-locking flag, as far as is known: an earlier call's [`Call::key_locking`].
    pub fn new(prefix: &str, request: &str, key_locking: bool) -> Self {
        let task = Task::new(prefix, request)
            .unwrap_or_else(|invalid| Task::Refused(Refusal::from(invalid).to_json()));
        Self {
            task,
            key_locking,
            by_text: false,
            sent: None,
        }
    }

    /// Whether the server knows the key-locking flag, as far as this call has found out.
    pub fn key_locking(&self) -> bool {
        self.key_locking
    }

    /// The next command: at the start, and after a [`Step::Rest`].
    pub fn poll(&mut self, now: Instant) -> Step {
        if let (Task::Request(attempt), Some((_, last))) = (&self.task, self.sent) {
            let pause = LOOKS.saturating_sub(now.since(last));
            if attempt.is_watch && !pause.is_zero() {
                return Step::Rest {
                    gap: pause,
                    channel: None,
                };
            }
        }
        self.send(now)
    }

    /// What to do instead of resting on when another call with the same op is under way, which gets
    /// the answer.
    pub fn superseded(&mut self, now: Instant) -> Step {
        match &self.task {
            Task::Request(attempt) if !attempt.is_watch => Step::Done(queued(attempt.ahead)),
            _ => self.poll(now),
        }
    }

    /// The same command in another form, since the server has refused the one before as a whole.
    fn resend(&mut self, now: Instant) -> Step {
        let is_first = self.sent.is_some_and(|(first, last)| first == last);
        if is_first {
            self.sent = None;
        }
        let mut step = self.send(now);
        if let Step::Send { afresh, .. } = &mut step {
            *afresh = is_first;
        }
        step
    }

    fn waits(&self) -> bool {
        matches!(&self.task, Task::Request(attempt) if !attempt.wait.is_zero())
    }

    fn send(&mut self, now: Instant) -> Step {
        let command = match &self.task {
            Task::List(listing) => listing.command(self.by_text, self.key_locking),
            Task::Refused(response) => return Step::Done(response.clone()),
            Task::Request(attempt) => attempt.invocation.command(self.by_text, self.key_locking),
        };
        let (first, _) = self.sent.unwrap_or((now, now));
        self.sent = Some((first, now));
        Step::Send {
            command,
            timeout: self.waits().then_some(Config::OP_TIMEOUT),
            afresh: false,
        }
    }

    /// Takes the reply to the last command.
    pub fn replied(&mut self, now: Instant, reply: &Reply) -> Step {
        let words = match reply {
            Reply::Error(text) => {
                let called = |line| script::called_on(line, self.key_locking);
                return self.refused(now, classify(text, called));
            }
            Reply::Words(words) => words,
        };
        self.by_text = false;
        let answer = match &mut self.task {
            Task::List(listing) => match listing.replied(words) {
                Some(Some(response)) => return Step::Done(response),
                Some(None) => return self.send(now),
                None => None,
            },
            Task::Refused(_) => None,
            Task::Request(attempt) => {
                // A grant's term counts from the command that was answered with it.
                let waited = self.sent.map(|(first, last)| last.since(first));
                let context = Context {
                    key: &attempt.key,
                    about: attempt.about,
                    waited: waited.unwrap_or_default(),
                };
                decode(&context, words)
            }
        };
        match answer {
            Some(Answer::Other(response)) => Step::Done(response),
            Some(answer) => self.wait(now, &answer),
            None => Step::Failed,
        }
    }

    fn refused(&mut self, now: Instant, error: ReplyError) -> Step {
        match error {
            // Only once: a script sent as text cannot be missing.
            ReplyError::NoScript if !self.by_text => {
                self.by_text = true;
                self.resend(now)
            }
            ReplyError::NoKeyLocking if self.key_locking => {
                self.key_locking = false;
                self.by_text = false;
                self.resend(now)
            }
            ReplyError::Refused(refusal) => Step::Done(refusal.to_json()),
            ReplyError::NoScript | ReplyError::NoKeyLocking | ReplyError::Unreadable => {
                Step::Failed
            }
        }
    }

    /// Waits on, as long as the client is willing to and one request lasts.
    fn wait(&mut self, now: Instant, answer: &Answer) -> Step {
        let waited = self.sent.map_or(Span::ZERO, |(first, _)| now.since(first));
        let Task::Request(attempt) = &mut self.task else {
            return Step::Failed;
        };
        let patience = attempt.wait.min(attempt.longest).saturating_sub(waited);
        if !patience.is_zero() {
            return Step::Rest {
                gap: attempt.gap(answer).min(patience),
                channel: Some(attempt.invocation.channel()),
            };
        }
        match *answer {
            Answer::Queued { ahead, .. } if attempt.wait > attempt.longest => {
                Step::Done(queued(ahead))
            }
            _ if attempt.last_look => Step::Failed,
            _ => {
                attempt.last_look = true;
                attempt.invocation.stop_waiting();
                self.send(now)
            }
        }
    }
}

impl Task {
    fn new(prefix: &str, request: &str) -> Result<Self, Invalid> {
        let prefix = Prefix::parse(prefix)?;
        let request = Record::read(request, REQUEST)?;
        match request.spoken(request.verb()) {
            Some(Verb::List) => Listing::new(&prefix, &request.list()).map(Self::List),
            verb => {
                let attempt = verb.and_then(|verb| Attempt::new(&prefix, verb, &request));
                let attempt = request.made(attempt)?;
                Ok(Self::Request(Box::new(attempt)))
            }
        }
    }
}

impl Attempt {
    fn new(prefix: &Prefix, verb: Verb, request: &Record<'_>) -> Option<Self> {
        let is_watch = verb == Verb::Watch;
        let is_patient = is_watch || verb == Verb::Acquire;
        let wait = request.span(Field::Wait).filter(|_| is_patient);
        Some(Self {
            invocation: Invocation::new(prefix, verb, request)?,
            key: request.key()?.as_str().into(),
            about: request.decimal(Field::Fence),
            is_watch,
            wait: wait.unwrap_or_default(),
            longest: match request.span(Field::Ttl) {
                Some(ttl) if !is_watch => longest_poll(ttl),
                _ => MAX_POLL,
            },
            is_first_look: true,
            ahead: 0,
            last_look: false,
            jitter: request.op()?.to_bits() as u64,
        })
    }

    fn gap(&mut self, answer: &Answer) -> Span {
        if let Answer::Queued { ahead, .. } = *answer {
            self.ahead = ahead;
        }
        let gap = if self.is_first_look {
            FIRST_GAP
        } else {
            NEXT_GAP
        };
        let gap = gap.scale(900 + self.jitter % 201, 1_000);
        self.jitter = self.jitter.rotate_right(8);
        self.is_first_look = false;
        match *answer {
            // The next in turn looks as soon as there can be one holder more,
            Answer::Queued { ahead: 0, left } if left.is_zero() => MIN_GAP,
            Answer::Queued { ahead: 0, left } => gap.min(left),
            // and who watches as soon as something ends by itself.
            Answer::Same { quiet: Some(quiet) } => gap.min(quiet).max(LOOKS),
            _ => gap,
        }
    }
}

/// The response to one that waits on.
fn queued(ahead: u32) -> String {
    Writer::of(|json| {
        begin(json, Outcome::Queued);
        json.number(Field::Waiters.name(), ahead.into());
    })
}
