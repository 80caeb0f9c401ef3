//! A holder under watch: what may be concluded from its inputs alone.

use std::collections::{BTreeMap, BTreeSet};

use leasehold::holder::{Ask, Done, Event, Holder, Input, Output, Ticket};
use leasehold::id::AttemptId;
use leasehold::protocol::{Acquire, Entry, Finish, Operation, Response, Transfer};
use leasehold::time::{ClockBounds, Instant, Span};

use crate::sample;
use crate::seen::Seen;

/// No input leads to more outputs, those excepted that tell each asker the end of what it asked for.
const MOST_OUTPUTS: usize = 28;

/// Sixteen renewals, three attempts to verify, and as many each for four things that are taken back.
const MOST_AT_ONCE: usize = 31;

/// Left to its timers and a host that is silent, a holder ends within so many of them.
const MOST_WAKES: usize = 400;

/// A holder and what is known of it.
pub struct Watch {
    holder: Holder,
    bounds: ClockBounds,
    now: Instant,
    /// When the holder wants to be woken.
    pub wake: Option<Instant>,
    /// The number of the last attempt.
    pub attempts: u32,
    /// When each attempt went out, and what it asked.
    sent: BTreeMap<AttemptId, (Instant, Operation)>,
    /// Attempts that are awaited.
    open: BTreeSet<AttemptId>,
    /// What was asked for and has not ended.
    asked: BTreeSet<Ticket>,
    /// The longest term that was ever asked for.
    longest: Span,
    /// No lease can be held from here on.
    ends: Instant,
    ended: bool,
    closed: bool,
    /// The last event's kind, which stands for the holder's state.
    last: &'static str,
}

impl Watch {
    pub fn new(holder: Holder, bounds: ClockBounds) -> Self {
        Self {
            holder,
            bounds,
            now: Instant::ZERO,
            wake: None,
            attempts: 0,
            sent: BTreeMap::new(),
            open: BTreeSet::new(),
            asked: BTreeSet::new(),
            longest: Span::ZERO,
            ends: Instant::ZERO,
            ended: false,
            closed: false,
            last: "new",
        }
    }

    /// One input, with everything that must hold afterwards.
    pub fn step(&mut self, now: Instant, input: Input, seen: &mut Seen) {
        self.now = self.now.max(now);
        let told = input_kind(&input);
        let reported = match &input {
            Input::Answered(attempt, response) => {
                self.answered(*attempt, response);
                Some(*attempt)
            }
            Input::Failed(attempt, _) => Some(*attempt),
            Input::Resent(attempt) => {
                if let Some((sent, _)) = self.sent.get_mut(attempt)
                    && self.open.contains(attempt)
                {
                    *sent = self.now;
                }
                None
            }
            Input::Ask(ticket, _) => {
                self.asked.insert(*ticket);
                None
            }
            _ => None,
        };
        if let Some(attempt) = reported {
            self.open.remove(&attempt);
        }
        self.holder.handle(now, input);
        if self.time_is_over() {
            let rest = std::iter::from_fn(|| self.holder.poll_output());
            let most = MOST_OUTPUTS + 1 + self.asked.len();
            return assert!(rest.count() <= most, "a flood");
        }
        self.wake = None;
        let was_closed = self.closed;
        let before = self.last;
        let mut count = 0;
        while let Some(output) = self.holder.poll_output() {
            assert!(self.wake.is_none(), "a wake-up ends the drain");
            assert!(
                !was_closed || is_refusal(&output),
                "after closing: {output:?}"
            );
            seen.note((before, told, output_kind(&output)));
            count += usize::from(!matches!(output, Output::Event(Event::Settled(..))));
            self.take(output, reported);
            assert!(count <= MOST_OUTPUTS, "a flood");
        }
        self.check();
    }

    /// The response as a host gives it to this attempt: about what it asks for.
    pub fn fitting(&self, attempt: AttemptId, mut response: Response) -> Response {
        let operation = self.sent.get(&attempt).map(|(_, operation)| operation);
        match (&mut response, operation) {
            (
                Response::Granted(granted),
                Some(
                    Operation::Acquire(Acquire { lease, ttl, .. })
                    | Operation::Transfer(Transfer { lease, ttl, .. }),
                ),
            ) => {
                granted.lease = *lease;
                granted.ttl = granted.ttl.min(*ttl);
            }
            (
                Response::Renewed { about, .. }
                | Response::Entered { about }
                | Response::Finished { about }
                | Response::Released { about }
                | Response::NotHolder { about, .. },
                Some(
                    Operation::Renew { credential, .. }
                    | Operation::Verify(credential)
                    | Operation::Entry(Entry { credential, .. })
                    | Operation::Finish(Finish { credential, .. })
                    | Operation::Release(credential)
                    | Operation::Transfer(Transfer { credential, .. }),
                ),
            ) => *about = credential.fence,
            _ => {}
        }
        response
    }

    /// At the last instant there is, no deadline lies ahead: nothing can be awaited any more.
    fn time_is_over(&self) -> bool {
        self.now == Instant::FAR_FUTURE
    }

    /// Takes note of an answer before the holder does. Only what was ever asked for, and granted,
    /// can have lengthened the term; no answer about another grant can, and none that no host gives.
    fn answered(&mut self, attempt: AttemptId, response: &Response) {
        let Some((sent, operation)) = self.sent.get(&attempt) else {
            return;
        };
        let (ttl, waited) = match (response, operation) {
            (
                Response::Granted(granted),
                Operation::Acquire(Acquire { lease, .. })
                | Operation::Transfer(Transfer { lease, .. }),
            ) if granted.lease == *lease => {
                (granted.ttl, granted.waited.min(self.now.since(*sent)))
            }
            (
                Response::Renewed { about, ttl, .. },
                Operation::Renew { credential, .. } | Operation::Verify(credential),
            ) if *about == credential.fence => (*ttl, Span::ZERO),
            _ => return,
        };
        if ttl > self.longest {
            return;
        }
        // s + (ttl + min(w, r − s)) · (1 − 2ρ) − ε, less the lead, which is the running term's
        // after a verification.
        let kept = 1_000_000_u128.saturating_sub(2 * u128::from(self.bounds.rate_error_ppm));
        let term = u128::from(ttl.as_micros()) + u128::from(waited.as_micros());
        let usable =
            (term * kept / 1_000_000).saturating_sub(self.bounds.quantum.as_micros().into());
        let until = u128::from(sent.as_micros()) + usable;
        let until = u64::try_from(until).unwrap_or(u64::MAX);
        let lead = match operation {
            Operation::Verify(_) => 0,
            _ => (ttl.as_micros() / 20).min(500_000),
        };
        let ends = Instant::from_micros(until.saturating_sub(lead));
        self.ends = self.ends.max(ends);
    }

    fn take(&mut self, output: Output, reported: Option<AttemptId>) {
        match output {
            Output::Send(send) => {
                let operation = send.request.operation.clone();
                let gives_back = matches!(operation, Operation::Release(_) | Operation::Cancel);
                assert!(!self.ended || gives_back, "after the end: {operation:?}");
                assert!(!send.timeout.is_zero(), "an attempt without time");
                if let Operation::Acquire(Acquire { ttl, .. })
                | Operation::Transfer(Transfer { ttl, .. })
                | Operation::Renew { ttl, .. } = &operation
                {
                    self.longest = self.longest.max(*ttl);
                }
                self.attempts += 1;
                assert_eq!(send.attempt.0, self.attempts, "attempts are counted");
                self.sent.insert(send.attempt, (self.now, operation));
                self.open.insert(send.attempt);
                assert!(
                    self.open.len() <= MOST_AT_ONCE,
                    "{} at once",
                    self.open.len()
                );
            }
            Output::Drop(attempt) => {
                // An answer that comes together with the end comes after it.
                let awaited = self.open.remove(&attempt) || reported == Some(attempt);
                assert!(awaited, "dropped what is not awaited");
            }
            Output::Wake { at, .. } => {
                assert!(at >= self.now, "due in the past");
                assert!(!self.closed, "a timer after closing");
                self.wake = Some(at);
            }
            Output::Event(event) => self.happened(&event),
        }
    }

    fn happened(&mut self, event: &Event) {
        let ends = is_end(event);
        assert!(!ends || !self.ended, "a second end: {event:?}");
        self.ended |= ends;
        if *event == Event::Closed {
            assert!(self.ended, "closed without an end");
            assert!(!self.closed, "closed twice");
            assert!(self.open.is_empty(), "closed with attempts awaited");
            assert!(self.asked.is_empty(), "closed, and somebody waits");
            self.closed = true;
        }
        if let Event::Settled(ticket, _) = event {
            assert!(self.asked.remove(ticket), "told an outcome twice");
        }
        if let Event::Granted(grant) = event {
            assert!(!grant.remaining.is_zero(), "granted when it was over");
        }
        self.last = event_kind(event);
    }

    fn check(&self) {
        let (holder, now) = (&self.holder, self.now);
        let remaining = holder.remaining(now);
        assert_eq!(holder.is_held(now), !remaining.is_zero());
        if holder.is_held(now) {
            assert!(!self.ended, "held after the end");
            assert!(now + remaining <= self.ends, "held beyond what was granted");
            assert!(!holder.is_held(self.ends), "held at the end of the term");
            assert!(
                self.wake.is_some_and(|at| at <= self.ends),
                "nobody would notice the end"
            );
        }
        assert!(!self.closed || self.wake.is_none());
        assert!(
            self.wake.is_some() || self.ended || self.attempts == 0,
            "nothing is due and nothing has ended"
        );
    }

    /// With timers served and a host that is silent, everything comes to its end.
    pub fn run_out(&mut self, seen: &mut Seen) {
        // A wait of a day has a day's worth of attempts.
        self.step(self.now, Input::Cancel, seen);
        for _ in 0..MOST_WAKES {
            let Some(at) = self.wake else { break };
            self.step(at, Input::Wake, seen);
        }
        assert!(
            self.closed || self.time_is_over(),
            "it never ends: {:?}",
            self.wake
        );
    }
}

/// Whether this event ends the lease, or the way to it.
fn is_end(event: &Event) -> bool {
    matches!(
        event,
        Event::Failed(_) | Event::Lost(_) | Event::Released(_) | Event::Transferred
    )
}

/// The answer to a question that comes too late.
fn is_refusal(output: &Output) -> bool {
    matches!(output, Output::Event(Event::Settled(_, Err(_))))
}

fn input_kind(input: &Input) -> &'static str {
    match input {
        Input::Start => "start",
        Input::Answered(_, response) => sample::kind(response),
        Input::Failed(..) => "failed",
        Input::Wake => "wake",
        Input::Cancel => "cancel",
        Input::Detach => "detach",
        Input::Resent(_) => "resent",
        Input::Ask(_, Ask::Entry { .. }) => "entry",
        Input::Ask(_, Ask::Finish { .. }) => "finish",
        Input::Ask(_, Ask::Release) => "release",
        Input::Ask(_, Ask::Renew(_)) => "renew",
        Input::Ask(_, Ask::Transfer { .. }) => "transfer",
        Input::Ask(_, Ask::Verify) => "verify",
    }
}

fn output_kind(output: &Output) -> &'static str {
    match output {
        Output::Drop(_) => "drop",
        Output::Event(event) => event_kind(event),
        Output::Send(send) => sample::operation_kind(&send.request.operation),
        Output::Wake { .. } => "wake",
    }
}

fn event_kind(event: &Event) -> &'static str {
    match event {
        Event::Closed => "closed",
        Event::Failed(failure) => failure.code.name(),
        Event::Finished => "finished",
        Event::Granted(_) => "granted",
        Event::Jeopardy { .. } => "jeopardy",
        Event::Lost(_) => "lost",
        Event::Queued { .. } => "queued",
        Event::Released(_) => "released",
        Event::RenewFailed { .. } => "renew failed",
        Event::Renewed { .. } => "renewed",
        Event::Safe { .. } => "safe",
        Event::Settled(_, Ok(Done::Entered)) => "entry done",
        Event::Settled(_, Ok(Done::Finished)) => "finish done",
        Event::Settled(_, Ok(Done::Released(_))) => "release done",
        Event::Settled(_, Ok(Done::Renewed)) => "renew done",
        Event::Settled(_, Ok(Done::Transferred(_))) => "transfer done",
        Event::Settled(_, Ok(Done::Verified)) => "verify done",
        Event::Settled(_, Err(failure)) => failure.code.name(),
        Event::Transferred => "transferred",
        Event::Wanted { .. } => "wanted",
    }
}
