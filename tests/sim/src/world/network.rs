//! Between clients and host: delay, loss, doubles, partitions, and a door that may stay shut.

use leasehold::fence::Fence;
use leasehold::holder::{Delivery, Input, Send, TransportFailure};
use leasehold::id::{AttemptId, LeaseId};
use leasehold::protocol::{Code, Ended, Operation, Refusal, Request, Response};
use leasehold::time::Span;

use super::client::Mail;
use super::{Event, World};
use crate::check::{Verdict, Who};
use crate::fault::Fault;
use crate::machine::TrueTime;

/// The way between one client and the host.
#[derive(Default)]
pub struct Link {
    cut_to_host: bool,
    cut_to_client: bool,
    last_arrival: [TrueTime; 2],
}

impl Link {
    /// Ends a partition.
    pub fn heal(&mut self) {
        (self.cut_to_host, self.cut_to_client) = (false, false);
    }

    /// Begins a partition.
    pub fn cut(&mut self, to_host: bool, to_client: bool) {
        (self.cut_to_host, self.cut_to_client) = (to_host, to_client);
    }
}

/// Which way a message goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    ToHost,
    ToClient,
}

/// Who asked, and in which attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct From {
    /// The holder, or nobody of ours.
    pub who: Who,
    /// The attempt.
    pub attempt: AttemptId,
}

/// A request on its way.
pub struct Parcel {
    /// Who asked.
    pub from: From,
    /// What.
    pub request: Request,
}

impl World {
    /// Sends an attempt.
    pub(super) fn post(&mut self, from: From, send: &Send) {
        // A first acquire may have to go twice; that a renewal has, too, is no constant latency.
        let acquires = matches!(send.request.operation, Operation::Acquire(_));
        let steady = self.scenario.steady.is_some_and(|steady| !steady.is_lossy);
        if (acquires || !steady)
            && self.rng.per_mille(self.odds.resent)
            && let Some(there) = self.arrival(from.who.client, Way::ToHost)
            && let Some(back) = self.arrival(from.who.client, Way::ToClient)
        {
            self.tally.count(Fault::Resent);
            let at = self.now + (there - self.now) + (back - self.now);
            let send = Box::new(send.clone());
            self.agenda.put(at, Event::Resend { from, send });
            return;
        }
        self.carry(from, send);
    }

    /// An attempt was refused as a whole: it goes out again, and counts from now.
    pub(super) fn resend(&mut self, from: From, send: &Send) -> Verdict {
        let client = from.who.client;
        if self.clients[client].life != from.who.life || self.stands_still(client) {
            return Ok(());
        }
        self.tell(client, Input::Resent(from.attempt))?;
        self.carry(from, send);
        Ok(())
    }

    fn carry(&mut self, from: From, send: &Send) {
        if self.rng.per_mille(self.odds.refused) {
            let refusal = self.refusal();
            return self.answer(from, Input::Answered(from.attempt, refusal));
        }
        let request = match Request::from_json(&send.request.to_json()) {
            Ok(request) => request,
            Err(invalid) => {
                let refusal = Response::Refused(invalid.into());
                return self.answer(from, Input::Answered(from.attempt, refusal));
            }
        };
        let mut delivered = false;
        for _ in 0..self.copies() {
            if let Some(at) = self.arrival(from.who.client, Way::ToHost) {
                delivered = true;
                let request = request.clone();
                self.agenda
                    .put(at, Event::ToHost(Box::new(Parcel { from, request })));
            }
        }
        // The carrier may notice that nothing comes back, or leave it to the holder's own timer.
        if !delivered && self.rng.per_mille(300) {
            let delivery = self.rng.pick(&[Delivery::Never, Delivery::Unknown]);
            self.fail(from, delivery);
        } else if self.rng.per_mille(300) {
            let at = self.now + send.timeout.as_micros();
            let input = failed(from.attempt, Delivery::Unknown);
            self.agenda
                .put(at, Event::ToClient(Box::new(Mail { from, input })));
        }
    }

    /// Sends an answer of the host.
    pub(super) fn send_back(&mut self, from: From, response: Response) {
        if self.rng.per_mille(self.odds.garbled) {
            if self.rng.per_mille(500) {
                self.tally.count(Fault::Foreign);
                let response = self.foreign(response);
                return self.answer(from, Input::Answered(from.attempt, response));
            }
            self.tally.count(Fault::Garbled);
            return self.answer(from, failed(from.attempt, Delivery::Unknown));
        }
        // What travels are whole milliseconds.
        let input = match Response::from_json(&response.to_json()) {
            Ok(response) => Input::Answered(from.attempt, response),
            Err(_) => failed(from.attempt, Delivery::Unknown),
        };
        self.answer(from, input);
    }

    /// An answer about another grant, or one that no host gives.
    fn foreign(&mut self, mut response: Response) -> Response {
        let other = |fence: Fence| Fence::from_value(fence.value() ^ 1);
        match &mut response {
            Response::Granted(granted) => match self.rng.below(3) {
                0 => granted.fence = Fence::NONE,
                1 => granted.lease = LeaseId::from_bits(granted.lease.to_bits() ^ 1),
                _ => granted.ttl = granted.ttl + Span::from_secs(90_000),
            },
            Response::Renewed { about, ttl, .. } => match self.rng.below(4) {
                0 => *about = None,
                1 => *about = about.map(other),
                2 => {
                    response = Response::NotHolder {
                        about: about.map(other),
                        ended: Ended::Revoked,
                        present: None,
                    }
                }
                _ => *ttl = *ttl + Span::from_secs(90_000),
            },
            Response::NotHolder { about, .. } | Response::Released { about } => {
                *about = about.map(other);
            }
            _ => {
                response = Response::NotHolder {
                    about: Some(Fence::from_value(77)),
                    ended: Ended::Revoked,
                    present: None,
                }
            }
        }
        response
    }

    /// Tells a client that its attempt has failed.
    pub(super) fn fail(&mut self, from: From, delivery: Delivery) {
        self.answer(from, failed(from.attempt, delivery));
    }

    fn answer(&mut self, from: From, input: Input) {
        if from.who == Who::NOBODY {
            return;
        }
        for _ in 0..self.copies() {
            if let Some(at) = self.arrival(from.who.client, Way::ToClient) {
                let input = input.clone();
                self.agenda
                    .put(at, Event::ToClient(Box::new(Mail { from, input })));
            }
        }
    }

    fn copies(&mut self) -> u32 {
        if self.rng.per_mille(self.odds.duplicated) {
            self.tally.count(Fault::Duplicated);
            return 2;
        }
        1
    }

    /// When a message sent now arrives, if it does.
    fn arrival(&mut self, client: usize, way: Way) -> Option<TrueTime> {
        let link = &self.links[client];
        let (cut, cut_back) = match way {
            Way::ToHost => (link.cut_to_host, link.cut_to_client),
            Way::ToClient => (link.cut_to_client, link.cut_to_host),
        };
        if cut {
            self.tally.count(if cut_back {
                Fault::Partition
            } else {
                Fault::OneWayPartition
            });
            return None;
        }
        if self.rng.per_mille(self.odds.lost) {
            self.tally.count(Fault::Lost);
            return None;
        }
        let flight = if self.rng.per_mille(self.odds.very_late) {
            self.tally.count(Fault::VeryLate);
            self.rng.range(10_000_000, 60_000_000)
        } else if let Some(steady) = &self.scenario.steady {
            steady.flight(self.now, way == Way::ToHost)
        } else {
            self.rng.range(50, self.flight())
        };
        let at = self.now + flight;
        let last = &mut self.links[client].last_arrival[way as usize];
        if at < *last {
            self.tally.count(Fault::Reordered);
        }
        *last = at.max(*last);
        Some(at)
    }

    /// The longest ordinary flight.
    pub(super) fn flight(&self) -> u64 {
        if self.scenario.is_embedded() {
            return 200;
        }
        match self.stage {
            super::Stage::Faulty => self.scenario.flight,
            _ => self.scenario.flight.min(5_000),
        }
    }

    fn refusal(&mut self) -> Response {
        let for_now = self.rng.per_mille(600);
        self.tally.count(if for_now {
            Fault::RefusedForNow
        } else {
            Fault::Refused
        });
        let wait = Span::from_millis(self.rng.range(1, 1_000));
        let code = self.rng.pick(&[Code::Denied, Code::Unavailable]);
        Response::Refused(Refusal {
            retry_after: for_now.then_some(wait),
            ..Refusal::new(code, "at-the-door", "Not now.")
        })
    }
}

fn failed(attempt: AttemptId, delivery: Delivery) -> Input {
    Input::Failed(
        attempt,
        TransportFailure {
            delivery,
            retry_after: None,
        },
    )
}
