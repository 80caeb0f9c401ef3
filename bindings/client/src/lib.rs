//! The holder machine for TypeScript. Converts; decides nothing.
//!
//! Every call takes a sample of the caller's two clocks, feeds the machine one input and drains it
//! into one plain record. Nothing here calls back into the caller's code.
#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

mod record;
mod redis;
mod settings;

use alloc::string::String;

use leasehold::clock::Clock;
use leasehold::holder::{self, Delivery, Input, Ticket, TransportFailure};
use leasehold::id::AttemptId;
use leasehold::protocol::{Invalid, Response};
use leasehold::time::Instant;
use leasehold_records::complaint;
use leasehold_records::number::span;
use wasm_bindgen::prelude::*;

/// One lease at its holder, with the clock it decides by. What a step comes to is a record in JSON.
#[wasm_bindgen]
pub struct Holder {
    machine: Result<holder::Holder, Invalid>,
    clock: Clock,
}

#[wasm_bindgen]
impl Holder {
    /// A holder for a lease that is to be had and kept as settings in JSON say. Whether they will do
    /// tells `complaint`.
    #[wasm_bindgen(constructor)]
    pub fn new(settings: &str) -> Self {
        Self {
            machine: settings::holder(settings),
            clock: Clock::new(),
        }
    }

    /// What is wrong with the settings: then nothing can be done with this.
    pub fn complaint(&self) -> Option<String> {
        self.machine.as_ref().err().map(complaint)
    }

    /// Sends the first attempt.
    pub fn start(&mut self, monotonic_ms: f64, wall_ms: f64) -> String {
        self.step(monotonic_ms, wall_ms, Input::Start)
    }

    /// Takes the answer to an attempt, as JSON. One that makes no sense counts as none.
    pub fn answered(
        &mut self,
        monotonic_ms: f64,
        wall_ms: f64,
        attempt: u32,
        response: &str,
    ) -> String {
        let attempt = AttemptId(attempt);
        let input = match Response::from_json_to_holder(response) {
            Ok(response) => Input::Answered(attempt, response),
            Err(_) => Input::Failed(
                attempt,
                TransportFailure {
                    delivery: Delivery::Unknown,
                    retry_after: None,
                },
            ),
        };
        self.step(monotonic_ms, wall_ms, input)
    }

    /// Takes note of an attempt that got no answer.
    pub fn failed(
        &mut self,
        monotonic_ms: f64,
        wall_ms: f64,
        attempt: u32,
        never_delivered: bool,
        retry_after_ms: Option<f64>,
    ) -> String {
        let failure = TransportFailure {
            delivery: if never_delivered {
                Delivery::Never
            } else {
                Delivery::Unknown
            },
            retry_after: retry_after_ms.map(span),
        };
        self.step(
            monotonic_ms,
            wall_ms,
            Input::Failed(AttemptId(attempt), failure),
        )
    }

    /// Takes note that nothing of what an attempt has sent so far was carried out, and that it is
    /// about to be sent again.
    pub fn resent(&mut self, monotonic_ms: f64, wall_ms: f64, attempt: u32) -> String {
        self.step(monotonic_ms, wall_ms, Input::Resent(AttemptId(attempt)))
    }

    /// Does what is due.
    pub fn wake(&mut self, monotonic_ms: f64, wall_ms: f64) -> String {
        self.step(monotonic_ms, wall_ms, Input::Wake)
    }

    /// Stops waiting for the grant.
    pub fn cancel(&mut self, monotonic_ms: f64, wall_ms: f64) -> String {
        self.step(monotonic_ms, wall_ms, Input::Cancel)
    }

    /// Leaves the lease to whoever resumes it.
    pub fn detach(&mut self, monotonic_ms: f64, wall_ms: f64) -> String {
        self.step(monotonic_ms, wall_ms, Input::Detach)
    }

    /// Does what a request in JSON says with the lease, or says what is wrong with the request. How it
    /// ended is told under the ticket.
    pub fn ask(&mut self, monotonic_ms: f64, wall_ms: f64, ticket: u32, request: &str) -> String {
        match settings::ask(request) {
            Ok(ask) => self.step(monotonic_ms, wall_ms, Input::Ask(Ticket(ticket), ask)),
            Err(invalid) => complaint(&invalid),
        }
    }

    /// How long the lease can be trusted from now on.
    #[wasm_bindgen(js_name = remainingMs)]
    pub fn remaining_ms(&mut self, monotonic_ms: f64, wall_ms: f64) -> f64 {
        let now = self.now(monotonic_ms, wall_ms);
        let machine = self.machine.as_ref();
        machine.map_or(0, |machine| machine.remaining(now).as_millis_floor()) as f64
    }

    /// Whether the lease's term has run out without the machine having been told.
    #[wasm_bindgen(js_name = isOverdue)]
    pub fn is_overdue(&mut self, monotonic_ms: f64, wall_ms: f64) -> bool {
        let now = self.now(monotonic_ms, wall_ms);
        let machine = self.machine.as_ref();
        machine.is_ok_and(|machine| machine.is_overdue(now))
    }

    fn now(&mut self, monotonic_ms: f64, wall_ms: f64) -> Instant {
        self.clock.sample(span(monotonic_ms), span(wall_ms))
    }

    fn step(&mut self, monotonic_ms: f64, wall_ms: f64, input: Input) -> String {
        let now = self.now(monotonic_ms, wall_ms);
        match &mut self.machine {
            Ok(machine) => {
                machine.handle(now, input);
                record::drain(machine, now)
            }
            Err(invalid) => complaint(invalid),
        }
    }
}

/// Whether a text is an answer that a host can give.
#[wasm_bindgen(js_name = isAnswer)]
pub fn is_answer(response: &str) -> bool {
    Response::is_in(response)
}

/// How long a call may take that names its wait alone, 0 of a single question; both in milliseconds.
#[wasm_bindgen(js_name = usualTimeoutMs)]
pub fn usual_timeout_ms(wait_ms: f64) -> f64 {
    let limit = holder::Config::usual_time_limit(span(wait_ms));
    limit.unwrap_or(holder::Config::OP_TIMEOUT).as_millis_ceil() as f64
}
