//! One request to a Redis, from the first command to the response.

use alloc::string::String;
use alloc::vec::Vec;

use super::command::{Invocation, Prefix, channel};
use super::reply::{Answer, Reply, ReplyError};
use crate::holder::Config;
use crate::name::Key;
use crate::protocol::{Field, Invalid, Operation, Request, Response, longest_poll};
use crate::time::{Instant, Span};

/// The first gap between two polls of a waiter; it doubles from there.
const FIRST_GAP: Span = Span::from_millis(500);

/// The longest gap. It leaves a waiter's presence, which lasts twice as long, time to be renewed.
const MAX_GAP: Span = Span::from_millis(1_500);

/// The shortest gap: time for the server to let the expiring grant expire.
const MIN_GAP: Span = Span::from_millis(10);

/// A request being carried out.
#[derive(Debug)]
pub struct Call {
    key: Key,
    /// None for an operation that has no script.
    invocation: Option<Invocation>,
    key_locking: bool,
    by_text: bool,
    channel: String,
    /// How much longer the waiter is willing to wait, as of now here.
    wait: Span,
    /// The longest that this request may be kept waiting.
    poll: Span,
    /// When the server first said that this request has to wait, by its clock.
    queued_at: Option<Instant>,
    polls: u32,
    /// Whether the last look has been taken, which leaves the queue.
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
        /// Where a hint may come in.
        channel: String,
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
    /// A call for `request`. `key_locking` says whether this server knows the key-locking flag, as
    /// far as is known: an earlier call's [`Call::key_locking`].
    pub fn new(prefix: &Prefix, request: &Request, key_locking: bool) -> Self {
        let (wait, poll) = match &request.operation {
            Operation::Acquire(acquire) => (acquire.wait, longest_poll(acquire.ttl)),
            _ => (Span::ZERO, Span::ZERO),
        };
        Self {
            key: request.key.clone(),
            invocation: Invocation::new(prefix, request),
            key_locking,
            by_text: false,
            channel: channel(prefix, request.op),
            wait,
            poll,
            queued_at: None,
            polls: 0,
            last_look: false,
            jitter: request.op.to_bits() as u64,
        }
    }

    /// Whether the server knows the key-locking flag, as far as this call has found out.
    pub fn key_locking(&self) -> bool {
        self.key_locking
    }

    /// The next command: at the start, and after a [`Step::Rest`].
    pub fn poll(&mut self) -> Step {
        self.send(false)
    }

    /// The same command in another form, since the server has refused the one before as a whole.
    fn resend(&mut self) -> Step {
        self.send(self.queued_at.is_none())
    }

    fn send(&self, afresh: bool) -> Step {
        let Some(invocation) = &self.invocation else {
            let expected = "must be another: this host does not know it";
            let invalid = Invalid::new(Field::Operation, expected);
            return Step::Done(Response::Refused(invalid.into()));
        };
        Step::Send {
            command: invocation.command(self.by_text, self.key_locking),
            timeout: Config::OP_TIMEOUT,
            afresh,
        }
    }

    /// Takes the reply to the last command.
    pub fn replied(&mut self, reply: &Reply) -> Step {
        let (invocation, key_locking) = (self.invocation.as_ref(), self.key_locking);
        let called = |line| invocation?.called_on(line, key_locking);
        match reply.answer(&self.key, called) {
            Ok(Answer::Granted(mut granted, at)) => {
                // The server's own time between "wait" and "granted": it passed here as well.
                granted.waited = self
                    .queued_at
                    .filter(|_| !granted.replayed)
                    .map_or(Span::ZERO, |queued_at| at.since(queued_at));
                Step::Done(Response::Granted(granted))
            }
            Ok(Answer::Queued { ahead, left, at }) => self.queued(ahead, left, at),
            Ok(Answer::Other(response)) => Step::Done(response),
            // Only once: a script sent as text cannot be missing.
            Err(ReplyError::NoScript) if !self.by_text => {
                self.by_text = true;
                self.resend()
            }
            Err(ReplyError::NoKeyLocking) if self.key_locking => {
                self.key_locking = false;
                self.by_text = false;
                self.resend()
            }
            Err(ReplyError::Refused(refusal)) => Step::Done(Response::Refused(refusal)),
            Err(ReplyError::NoScript | ReplyError::NoKeyLocking | ReplyError::Unreadable) => {
                Step::Failed
            }
        }
    }

    fn queued(&mut self, ahead: u32, left: Span, at: Instant) -> Step {
        self.by_text = false;
        let queued_at = *self.queued_at.get_or_insert(at);
        let patience = self.wait.min(self.poll).saturating_sub(at.since(queued_at));
        if !patience.is_zero() {
            return Step::Rest {
                gap: self.gap(ahead, left).min(patience),
                channel: self.channel.clone(),
            };
        }
        if self.wait > self.poll {
            return Step::Done(Response::Queued {
                ahead,
                retry_after: Span::ZERO,
            });
        }
        if self.last_look {
            return Step::Failed;
        }
        self.last_look = true;
        if let Some(invocation) = &mut self.invocation {
            invocation.stop_waiting();
        }
        self.poll()
    }

    fn gap(&mut self, ahead: u32, left: Span) -> Span {
        let gap = FIRST_GAP.scale(1 << self.polls.min(4), 1).min(MAX_GAP);
        let gap = gap.scale(900 + self.jitter % 201, 1_000);
        self.jitter = self.jitter.rotate_right(8);
        self.polls = self.polls.saturating_add(1);
        // The next in turn looks as soon as the running grant can have expired.
        if ahead == 0 {
            gap.min(left).max(MIN_GAP)
        } else {
            gap
        }
    }
}
