//! Between clients and host: delay, loss, doubles, partitions, and a door that may stay shut.

use leasehold::holder::{Delivery, Input, Send, TransportFailure};
use leasehold::id::AttemptId;
use leasehold::protocol::{Code, Refusal, Request, Response};
use leasehold::time::Span;

use super::client::Mail;
use super::{Event, World};
use crate::check::Who;
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
            self.tally.count(Fault::Garbled);
            let input = if self.rng.per_mille(500) {
                Input::Answered(from.attempt, Response::Revoked(0))
            } else {
                failed(from.attempt, Delivery::Unknown)
            };
            return self.answer(from, input);
        }
        // What travels are whole milliseconds.
        let input = match Response::from_json(&response.to_json()) {
            Ok(response) => Input::Answered(from.attempt, response),
            Err(_) => failed(from.attempt, Delivery::Unknown),
        };
        self.answer(from, input);
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
