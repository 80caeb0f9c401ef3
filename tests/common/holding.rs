//! A scripted driver for a holder: it drains outputs, keeps a log, and plays the host.

use leasehold::holder::{
    Ask, Config, Delivery, Event, Failure, Holder, Input, LossReason, Output, Seed, Send, Ticket,
    Timer, TransportFailure,
};
use leasehold::id::AttemptId;
use leasehold::protocol::{Credential, Operation, Response};
use leasehold::time::{Instant, Span};

use super::{about, at, key, lease, ms, name};

/// No input may lead to more outputs than this, the outcomes of what was asked for excepted.
pub const MAX_OUTPUTS: usize = 28;

/// Holder `"a"` of key `"k"`.
pub fn config(ttl_ms: u64) -> Config {
    Config::new(key("k"), name("a"), ms(ttl_ms))
}

/// The same, willing to wait.
pub fn waiting(ttl_ms: u64, wait_ms: u64) -> Config {
    Config {
        wait: ms(wait_ms),
        ..config(ttl_ms)
    }
}

/// The same, renewing only when told.
pub fn manual(ttl_ms: u64) -> Config {
    Config {
        renewal: None,
        ..config(ttl_ms)
    }
}

/// The first lease id that a driven holder proposes; its first op id is 1001.
pub const LEASE: u128 = 2_001;

const SEED: Seed = Seed {
    ops: 1_000,
    leases: 2_000,
};

/// How the scripted host treats one attempt.
pub enum Fate {
    /// Answers after so many milliseconds, about the fence that the request names.
    Answer(u64, Response),
    /// Answers after so many milliseconds with just this.
    Raw(u64, Response),
    /// Answers about the fence that the request names, to the microsecond.
    AnswerAfter(Span, Response),
    /// The carrier reports a failure after so many milliseconds.
    Fail(u64, Delivery),
    /// Never says anything.
    Hang,
}

/// One holder and all that came out of it.
pub struct Driver {
    pub machine: Holder,
    pub now: Instant,
    pub sends: Vec<(Instant, Send)>,
    pub events: Vec<(Instant, Event)>,
    pub dropped: Vec<AttemptId>,
    pub wake: Option<(Instant, Timer)>,
    pub closed: bool,
    coming: Vec<(Instant, Input)>,
    served: usize,
}

impl Driver {
    /// A new holder that wants to acquire.
    pub fn acquire(config: Config) -> Self {
        Self::new(Holder::acquire(config, SEED).expect("a sound configuration"))
    }

    /// A new holder with ids of its own.
    pub fn numbered(config: Config, number: u128) -> Self {
        let seed = Seed {
            ops: number << 64,
            leases: number << 32,
        };
        Self::new(Holder::acquire(config, seed).expect("a sound configuration"))
    }

    /// A new holder that wants to claim this lease.
    pub fn resume(config: Config, lease: Credential) -> Self {
        Self::new(Holder::resume(config, lease, SEED).expect("a sound configuration"))
    }

    /// A holder whose first attempt went out at t = 0.
    pub fn started(config: Config) -> Self {
        let mut driver = Self::acquire(config);
        driver.input(0, Input::Start);
        driver
    }

    /// A holder that sent at t = 0 and was granted fence 1 for the whole term at t = 20.
    pub fn held(config: Config) -> Self {
        let ttl = config.ttl.as_millis_floor();
        let mut driver = Self::started(config);
        driver.answer(20, super::granted(LEASE, 1, ttl));
        driver.forget();
        driver
    }

    fn new(machine: Holder) -> Self {
        Self {
            machine,
            now: Instant::ZERO,
            sends: Vec::new(),
            events: Vec::new(),
            dropped: Vec::new(),
            wake: None,
            closed: false,
            coming: Vec::new(),
            served: 0,
        }
    }

    /// Empties the log.
    pub fn forget(&mut self) {
        self.sends.clear();
        self.events.clear();
        self.dropped.clear();
        self.served = 0;
    }

    /// One input at this millisecond, drained; what came out of it, the wake-up excepted.
    pub fn input(&mut self, millis: u64, input: Input) -> Vec<Output> {
        self.step(at(millis), input)
    }

    /// One input, drained, with the rules that hold for every drain checked.
    pub fn step(&mut self, now: Instant, input: Input) -> Vec<Output> {
        self.now = self.now.max(now);
        let was_closed = self.closed;
        self.machine.handle(now, input);
        self.wake = None;
        let mut outputs = Vec::new();
        while let Some(output) = self.machine.poll_output() {
            assert!(self.wake.is_none(), "a wake-up ends the drain");
            match &output {
                Output::Drop(attempt) => self.dropped.push(*attempt),
                Output::Event(event) => self.log(event, was_closed),
                Output::Send(send) => self.sends.push((self.now, send.clone())),
                Output::Wake { at, why } => {
                    assert!(*at >= self.now, "{why:?} is due in the past");
                    self.wake = Some((*at, *why));
                }
            }
            if !matches!(output, Output::Wake { .. }) {
                assert!(
                    !was_closed || is_refusal(&output),
                    "after closing: {output:?}"
                );
                outputs.push(output);
            }
        }
        let told = |output: &&Output| matches!(output, Output::Event(Event::Settled(..)));
        let most = MAX_OUTPUTS + outputs.iter().filter(told).count();
        assert!(outputs.len() <= most, "{outputs:?}");
        assert!(!self.closed || self.wake.is_none(), "a timer after closing");
        outputs
    }

    fn log(&mut self, event: &Event, was_closed: bool) {
        assert!(was_closed || !self.closed, "{event:?} after closing");
        self.closed |= *event == Event::Closed;
        self.events.push((self.now, event.clone()));
    }

    /// Answers the last attempt, about the fence that it named.
    pub fn answer(&mut self, millis: u64, response: Response) -> Vec<Output> {
        let (_, send) = self.sends.last().expect("something was sent");
        let response = about(&send.request, response);
        self.input(millis, Input::Answered(send.attempt, response))
    }

    /// Answers the last attempt of this kind.
    pub fn answer_to(
        &mut self,
        which: fn(&Operation) -> bool,
        millis: u64,
        response: Response,
    ) -> Vec<Output> {
        let of_kind = |(_, send): &&(Instant, Send)| which(&send.request.operation);
        let (_, send) = self.sends.iter().rfind(of_kind).expect("it was sent");
        let response = about(&send.request, response);
        self.input(millis, Input::Answered(send.attempt, response))
    }

    /// Fails the last attempt.
    pub fn fail(&mut self, millis: u64, delivery: Delivery) -> Vec<Output> {
        let attempt = self.last_attempt();
        self.input(millis, failure(attempt, delivery))
    }

    pub fn last_attempt(&self) -> AttemptId {
        self.sends.last().expect("something was sent").1.attempt
    }

    pub fn last_operation(&self) -> &Operation {
        let (_, send) = self.sends.last().expect("something was sent");
        &send.request.operation
    }

    /// Serves the holder's timers, each exactly on time, until this millisecond.
    pub fn run_until(&mut self, millis: u64) {
        self.run(millis, |_| Fate::Hang);
    }

    /// Serves timers and plays the host until this millisecond. Attempts that have been sent
    /// already are treated by the script, too.
    pub fn run(&mut self, millis: u64, mut script: impl FnMut(&Send) -> Fate) {
        self.run_with(at(millis), |_, send| script(send));
    }

    /// The same with a script that is told when each attempt was sent.
    pub fn run_with(&mut self, end: Instant, mut script: impl FnMut(Instant, &Send) -> Fate) {
        loop {
            assert!(self.sends.len() < 20_000, "a storm");
            self.take_in(&mut script);
            let coming = self.coming.iter().map(|(at, _)| *at).min();
            let wake = self.wake.map(|(at, _)| at);
            let next = match (coming, wake) {
                (Some(coming), Some(wake)) => coming.min(wake),
                (Some(at), None) | (None, Some(at)) => at,
                (None, None) => break,
            };
            if next > end {
                break;
            }
            match self.coming.iter().position(|(at, _)| *at == next) {
                Some(position) => {
                    let (at, input) = self.coming.remove(position);
                    self.step(at, input);
                }
                None => {
                    self.step(next, Input::Wake);
                }
            }
        }
        self.now = self.now.max(end);
    }

    fn take_in(&mut self, script: &mut impl FnMut(Instant, &Send) -> Fate) {
        for (sent, send) in &self.sends[self.served..] {
            match script(*sent, send) {
                Fate::Answer(delay, response) => {
                    let response = about(&send.request, response);
                    self.coming
                        .push((*sent + ms(delay), Input::Answered(send.attempt, response)));
                }
                Fate::Raw(delay, response) => {
                    self.coming
                        .push((*sent + ms(delay), Input::Answered(send.attempt, response)));
                }
                Fate::AnswerAfter(delay, response) => {
                    let response = about(&send.request, response);
                    self.coming
                        .push((*sent + delay, Input::Answered(send.attempt, response)));
                }
                Fate::Fail(delay, delivery) => {
                    self.coming
                        .push((*sent + ms(delay), failure(send.attempt, delivery)));
                }
                Fate::Hang => {}
            }
        }
        self.served = self.sends.len();
    }

    pub fn is_held(&self) -> bool {
        self.machine.is_held(self.now)
    }

    pub fn remaining_ms(&self) -> u64 {
        self.machine.remaining(self.now).as_millis_floor()
    }

    /// When the lease was lost, and why.
    pub fn loss(&self) -> Option<(Instant, LossReason)> {
        self.events.iter().find_map(|(at, event)| match event {
            Event::Lost(reason) => Some((*at, *reason)),
            _ => None,
        })
    }

    /// Why the acquire ended without a lease.
    pub fn failure(&self) -> Option<&Failure> {
        self.events.iter().find_map(|(_, event)| match event {
            Event::Failed(failure) => Some(&**failure),
            _ => None,
        })
    }

    /// How many operations of each name were sent: acquire, renew, release, cancel and so on.
    pub fn sent(&self, which: fn(&Operation) -> bool) -> usize {
        self.sends
            .iter()
            .filter(|(_, send)| which(&send.request.operation))
            .count()
    }
}

pub fn failure(attempt: AttemptId, delivery: Delivery) -> Input {
    Input::Failed(
        attempt,
        TransportFailure {
            delivery,
            retry_after: None,
        },
    )
}

pub fn failure_asking(attempt: AttemptId, retry_after: Span) -> Input {
    Input::Failed(
        attempt,
        TransportFailure {
            delivery: Delivery::Unknown,
            retry_after: Some(retry_after),
        },
    )
}

pub fn is_acquire(operation: &Operation) -> bool {
    matches!(operation, Operation::Acquire(_))
}

pub fn is_cancel(operation: &Operation) -> bool {
    matches!(operation, Operation::Cancel)
}

pub fn is_release(operation: &Operation) -> bool {
    matches!(operation, Operation::Release(_))
}

pub fn is_renew(operation: &Operation) -> bool {
    matches!(operation, Operation::Renew { .. })
}

pub fn is_transfer(operation: &Operation) -> bool {
    matches!(operation, Operation::Transfer(_))
}

/// Whether this event ends the lease, or the way to it. A machine has exactly one.
pub fn is_terminal(event: &Event) -> bool {
    matches!(
        event,
        Event::Failed(_)
            | Event::Finished
            | Event::Lost(_)
            | Event::Released(_)
            | Event::Transferred
    )
}

/// The answer to a question that comes too late.
pub fn is_refusal(output: &Output) -> bool {
    matches!(output, Output::Event(Event::Settled(_, Err(_))))
}

/// Names what a test asks for, where one name is enough.
pub const TICKET: Ticket = Ticket(7);

/// Asks a holder to do this.
pub fn asked(ask: Ask) -> Input {
    Input::Ask(TICKET, ask)
}

/// Has the lease handed over to `"b"` under the id 900, for 5 s.
pub fn hand_over() -> Input {
    asked(Ask::Transfer {
        successor: name("b"),
        lease: lease(900),
        ttl: ms(5_000),
    })
}
