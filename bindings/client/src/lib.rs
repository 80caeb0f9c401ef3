//! The holder machine for TypeScript. Converts; decides nothing.
//!
//! Every call takes a sample of the caller's two clocks, feeds the machine one input and drains it
//! into one plain record. Nothing here calls back into the caller's code.
#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

mod layout;
mod record;
mod settings;

use leasehold::clock::Clock;
use leasehold::holder::{self, Delivery, Input, Seed, Ticket, TransportFailure};
use leasehold::id::{AttemptId, LeaseId};
use leasehold::protocol::wire::WireRequest;
use leasehold::protocol::{Field, Invalid, Response};
use leasehold::time::Instant;
use wasm_bindgen::prelude::*;

use settings::Keeping;

use leasehold_records::js::complaint;
use leasehold_records::number::span;

/// One lease at its holder, with the clock it decides by.
#[wasm_bindgen]
pub struct Holder {
    machine: holder::Holder,
    clock: Clock,
}

#[wasm_bindgen]
impl Holder {
    /// A holder that will acquire a lease, as an acquire in JSON asks for it.
    pub fn acquire(request: &str, keeping: Keeping) -> Result<Holder, JsValue> {
        let wire = WireRequest::from_json(request).map_err(complaint)?;
        let config = settings::config(wire, &keeping).map_err(complaint)?;
        holder::Holder::acquire(config, seed()?)
            .map(Self::new)
            .map_err(complaint)
    }

    /// A holder that will carry on the lease that is named in JSON, with its id and fence.
    pub fn resume(request: &str, keeping: Keeping) -> Result<Holder, JsValue> {
        let wire = WireRequest::from_json(request).map_err(complaint)?;
        let lease = settings::credential(&wire).map_err(complaint)?;
        let config = settings::config(wire, &keeping).map_err(complaint)?;
        holder::Holder::resume(config, lease, seed()?)
            .map(Self::new)
            .map_err(complaint)
    }

    fn new(machine: holder::Holder) -> Self {
        Self {
            machine,
            clock: Clock::new(),
        }
    }

    /// Sends the first attempt.
    pub fn start(&mut self, monotonic_ms: f64, wall_ms: f64) -> JsValue {
        self.step(monotonic_ms, wall_ms, Input::Start)
    }

    /// Takes the answer to an attempt, as JSON. One that makes no sense counts as none.
    pub fn answered(
        &mut self,
        monotonic_ms: f64,
        wall_ms: f64,
        attempt: u32,
        response: &str,
    ) -> JsValue {
        let attempt = AttemptId(attempt);
        let input = match Response::from_json(response) {
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
    ) -> JsValue {
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
    pub fn resent(&mut self, monotonic_ms: f64, wall_ms: f64, attempt: u32) -> JsValue {
        self.step(monotonic_ms, wall_ms, Input::Resent(AttemptId(attempt)))
    }

    /// Does what is due.
    pub fn wake(&mut self, monotonic_ms: f64, wall_ms: f64) -> JsValue {
        self.step(monotonic_ms, wall_ms, Input::Wake)
    }

    /// Stops waiting for the grant.
    pub fn cancel(&mut self, monotonic_ms: f64, wall_ms: f64) -> JsValue {
        self.step(monotonic_ms, wall_ms, Input::Cancel)
    }

    /// Stops renewing.
    pub fn detach(&mut self, monotonic_ms: f64, wall_ms: f64) -> JsValue {
        self.step(monotonic_ms, wall_ms, Input::Detach)
    }

    /// Does what a request in JSON says with the lease. How it ended is told under the ticket.
    pub fn ask(
        &mut self,
        monotonic_ms: f64,
        wall_ms: f64,
        ticket: u32,
        request: &str,
    ) -> Result<JsValue, JsValue> {
        let next = LeaseId::from_bits(random()?);
        let ask = settings::ask(request, next).map_err(complaint)?;
        Ok(self.step(monotonic_ms, wall_ms, Input::Ask(Ticket(ticket), ask)))
    }

    /// How long the lease can be trusted from now on.
    #[wasm_bindgen(js_name = remainingMs)]
    pub fn remaining_ms(&mut self, monotonic_ms: f64, wall_ms: f64) -> f64 {
        let now = self.now(monotonic_ms, wall_ms);
        self.machine.remaining(now).as_millis_floor() as f64
    }

    /// Whether the lease's term has run out without the machine having been told.
    #[wasm_bindgen(js_name = isOverdue)]
    pub fn is_overdue(&mut self, monotonic_ms: f64, wall_ms: f64) -> bool {
        let now = self.now(monotonic_ms, wall_ms);
        self.machine.is_overdue(now)
    }

    fn now(&mut self, monotonic_ms: f64, wall_ms: f64) -> Instant {
        self.clock.sample(span(monotonic_ms), span(wall_ms))
    }

    fn step(&mut self, monotonic_ms: f64, wall_ms: f64, input: Input) -> JsValue {
        let now = self.now(monotonic_ms, wall_ms);
        self.machine.handle(now, input);
        record::drain(&mut self.machine, now)
    }
}

/// Whether a text is an answer that a host can give.
#[wasm_bindgen(js_name = isAnswer)]
pub fn is_answer(response: &str) -> bool {
    Response::from_json(response).is_ok()
}

/// How long the answer to one request may take, in milliseconds.
#[wasm_bindgen(js_name = opTimeoutMs)]
pub fn op_timeout_ms() -> f64 {
    holder::Config::OP_TIMEOUT.as_millis_ceil() as f64
}

fn seed() -> Result<Seed, JsValue> {
    Ok(Seed {
        ops: random()?,
        leases: random()?,
    })
}

fn random() -> Result<u128, JsValue> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| {
        complaint(Invalid::new(
            Field::Request,
            "needs crypto.getRandomValues, which is missing here",
        ))
    })?;
    Ok(u128::from_ne_bytes(bytes))
}
