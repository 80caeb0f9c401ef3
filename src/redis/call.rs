//! One request to a Redis, from the first command to the response.

use alloc::string::String;
use alloc::vec::Vec;

use super::answer::{Answer, decode};
use super::command::{Invocation, Prefix, channel};
use super::list::Listing;
use super::reply::{Reply, ReplyError, classify};
use super::script;
use crate::holder::Config;
use crate::protocol::{self, MAX_POLL, Operation, Request, Response, longest_poll};
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
    /// A request that no host would accept.
    Refused(Response),
    Request(Attempt),
}

#[derive(Debug)]
struct Attempt {
    request: Request,
    invocation: Invocation,
    /// Where a hint may come in.
    channel: String,
    /// How much longer the client is willing to wait, as of the first command.
    wait: Span,
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
    /// The request is answered.
    Done(Response),
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
        /// How long the reply may take.
        timeout: Span,
        /// Whether the reply before has proved that nothing of this call was carried out so far: it
        /// counts from here.
        afresh: bool,
    },
}

impl Call {
    /// A call for `asked`. `key_locking` says whether this server knows the key-locking flag, as
    /// far as is known: an earlier call's [`Call::key_locking`].
    pub fn new(prefix: &Prefix, asked: protocol::Call, key_locking: bool) -> Self {
        let task = match asked {
            protocol::Call::List(list) => match Listing::new(prefix, &list) {
                Ok(listing) => Task::List(listing),
                Err(invalid) => Task::Refused(Response::Refused(invalid.into())),
            },
            protocol::Call::Request(request) => Task::Request(Attempt::new(prefix, request)),
        };
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
            if attempt.is_watch() && !pause.is_zero() {
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
            Task::Request(attempt) if !attempt.is_watch() => Step::Done(Response::Queued {
                ahead: attempt.ahead,
                retry_after: Span::ZERO,
            }),
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
            timeout: Config::OP_TIMEOUT,
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
            Task::Request(attempt) => decode(&attempt.request, words),
        };
        match answer {
            Some(Answer::Other(response)) => Step::Done(self.waited(response)),
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
            ReplyError::Refused(refusal) => Step::Done(Response::Refused(refusal)),
            ReplyError::NoScript | ReplyError::NoKeyLocking | ReplyError::Unreadable => {
                Step::Failed
            }
        }
    }

    /// A grant's term counts from the command that was answered with it.
    fn waited(&self, mut response: Response) -> Response {
        if let (Response::Granted(granted), Some((first, last))) = (&mut response, self.sent) {
            granted.waited = last.since(first);
        }
        response
    }

    /// Waits on, as long as the client is willing to and one request lasts.
    fn wait(&mut self, now: Instant, answer: &Answer) -> Step {
        let waited = self.sent.map_or(Span::ZERO, |(first, _)| now.since(first));
        let Task::Request(attempt) = &mut self.task else {
            return Step::Failed;
        };
        let longest = attempt.longest_poll();
        let patience = attempt.wait.min(longest).saturating_sub(waited);
        if !patience.is_zero() {
            return Step::Rest {
                gap: attempt.gap(answer).min(patience),
                channel: Some(attempt.channel.clone()),
            };
        }
        match *answer {
            Answer::Queued { ahead, .. } if attempt.wait > longest => {
                Step::Done(Response::Queued {
                    ahead,
                    retry_after: Span::ZERO,
                })
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

impl Attempt {
    /// The longest that one request waits.
    fn longest_poll(&self) -> Span {
        match &self.request.operation {
            Operation::Acquire(acquire) => longest_poll(acquire.ttl),
            _ => MAX_POLL,
        }
    }

    fn new(prefix: &Prefix, request: Request) -> Self {
        let wait = match &request.operation {
            Operation::Acquire(acquire) => acquire.wait,
            Operation::Watch(watch) => watch.wait,
            _ => Span::ZERO,
        };
        Self {
            invocation: Invocation::new(prefix, &request),
            channel: channel(prefix, &request),
            wait,
            is_first_look: true,
            ahead: 0,
            last_look: false,
            jitter: request.op.to_bits() as u64,
            request,
        }
    }

    fn is_watch(&self) -> bool {
        matches!(self.request.operation, Operation::Watch(_))
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
