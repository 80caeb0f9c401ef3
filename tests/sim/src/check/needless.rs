//! No needless loss: with a healthy host and a constant round trip that leaves room for a renewal, a
//! lease is never lost; where messages get lost as well, only if there was no room for another attempt.

use leasehold::holder::{Event, LossReason, Send};
use leasehold::id::AttemptId;
use leasehold::protocol::{Ended, Operation, Response};
use leasehold::time::{Instant, Span};

use super::{Verdict, ensure};

const CHECK: &str = "needless";

/// The most renewals of one term that nobody asked for.
const MOST: usize = 10;

/// One holder, in a world where only what its scenario says can go wrong.
pub struct Needless {
    /// The longest round trip of this world.
    trip: Span,
    /// Whether messages get lost, refused or spoilt.
    is_lossy: bool,
    /// Whether the lease is renewed by itself.
    renews: bool,
    /// The renewals that no answer has made useless, oldest first.
    sent: Vec<(AttemptId, Instant)>,
    /// What they were before the last answer, which may have come too late to count.
    before: (Instant, Vec<(AttemptId, Instant)>),
    /// The longest term that was told.
    told: Span,
    /// Whether the running one leaves room for a renewal.
    has_room: bool,
    /// When it was told.
    since: Instant,
    /// Whether somebody has asked for a pause since.
    is_put_off: bool,
}

impl Needless {
    /// A holder whose answers take no longer than `trip`.
    pub fn new(trip: Span, is_lossy: bool, renews: bool) -> Self {
        Self {
            trip,
            is_lossy,
            renews,
            sent: Vec::new(),
            before: (Instant::ZERO, Vec::new()),
            told: Span::ZERO,
            has_room: false,
            since: Instant::ZERO,
            is_put_off: false,
        }
    }

    /// Takes note of an attempt.
    pub fn sent(&mut self, send: &Send, now: Instant) {
        if matches!(send.request.operation, Operation::Renew { .. }) {
            self.sent.push((send.attempt, now));
        }
    }

    /// Takes note of an answer that is about to be told.
    pub fn answered(&mut self, attempt: AttemptId, response: &Response, now: Instant) {
        self.before = (now, self.sent.clone());
        match response {
            Response::Granted(granted) => {
                self.since = now;
                self.told = granted.ttl;
                self.has_room = self.fits(granted.ttl, granted.waited);
            }
            Response::Renewed { ttl, .. } => {
                if let Some(index) = self.sent.iter().position(|(sent, _)| *sent == attempt) {
                    (self.since, self.is_put_off) = (now, false);
                    self.told = self.told.max(*ttl);
                    self.has_room = self.fits(*ttl, Span::ZERO);
                    self.sent.drain(..=index);
                }
            }
            _ => {}
        }
    }

    /// Whether such a term leaves room for a renewal: 2·L < 0.99·told − 10 ms − lead − 0.01·w, with
    /// 8 ms for the steps of clocks.
    fn fits(&self, told: Span, waited: Span) -> bool {
        let lead = told.div(20).min(Span::from_millis(500));
        let spent = Span::from_millis(18) + lead + waited.div(100) + self.trip.scale(2, 1);
        spent < told.scale(99, 100)
    }

    /// A request was refused, and is to be made again later.
    pub fn put_off(&mut self) {
        self.is_put_off = true;
    }

    /// The lease is given away: whoever keeps it renewed is another.
    pub fn detached(&mut self) {
        self.renews = false;
    }

    /// Looks at what the holder says.
    ///
    /// # Errors
    /// When it says that a lease is lost which nothing threatened.
    pub fn told(&self, events: &[Event], now: Instant) -> Verdict {
        let reasons = events.iter().filter_map(|event| match event {
            Event::Lost(reason) => Some(*reason),
            _ => None,
        });
        for reason in reasons.filter(|_| self.renews) {
            let needless = match reason {
                LossReason::Expired => self.has_room && (!self.is_lossy || self.had_room(now)),
                LossReason::NotHolder(Ended::Transferred) => false,
                // A transfer in doubt, or one that took so long that its lease ran out.
                LossReason::NotHolder(Ended::Unknown | Ended::Expired) => !self.is_lossy,
                _ => true,
            };
            ensure(!needless, CHECK, || {
                let sent = &self.sent;
                format!("a lease is lost ({reason:?}) that nothing threatened, after {sent:?}")
            })?;
        }
        Ok(())
    }

    /// Whether another renewal could have gone out, and its answer come back, before the end.
    fn had_room(&self, ends: Instant) -> bool {
        let (answered, before) = &self.before;
        let sent = if *answered == ends {
            before
        } else {
            &self.sent
        };
        let [.., (_, last)] = sent[..] else {
            return true;
        };
        if sent.len() >= MOST {
            return false;
        }
        if self.too_few(sent, ends) {
            return true;
        }
        // The last is late after an eighth more than the round trip; the third before it must not be
        // young any more; a little of the term is for the timer.
        let late = last + self.trip.scale(9, 8) + Span::from_millis(2);
        let third = sent.len().checked_sub(3).map(|index| sent[index].1);
        let next = third.map_or(late, |third| late.max(third + self.trip.scale(3, 1)));
        let slack = self.told.div(32).min(Span::from_millis(100)) + Span::from_millis(10);
        next + self.trip + slack < ends
    }

    /// Whether less was tried than there was time for, from two fifths of the term on.
    fn too_few(&self, sent: &[(AttemptId, Instant)], ends: Instant) -> bool {
        let slack = self.told.div(32).min(Span::from_millis(100)) + Span::from_millis(10);
        let last = ends - (self.trip + slack);
        let window = last.since(self.since + self.told.scale(2, 5));
        let pace = self.trip.scale(27, 16) + Span::from_millis(6);
        let fair = 1 + window.as_micros() / pace.as_micros();
        // Pauses grow: the first few go out soon.
        let in_time = sent.iter().filter(|(_, sent)| *sent <= last).count() as u64;
        !self.is_put_off && in_time < fair.min(MOST as u64 - 1)
    }
}
