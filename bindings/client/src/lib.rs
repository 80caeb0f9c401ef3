//! The holder machine for TypeScript. Converts; decides nothing.
//!
//! Every call takes a sample of the caller's two clocks, feeds the machine one input and drains it
//! into one plain record. Nothing here calls back into the caller's code.
#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

mod occurrence;
mod record;
mod redis;
mod settings;

use alloc::string::String;

use leasehold::clock::Clock;
use leasehold::holder;
use leasehold::protocol::{Invalid, Response};
use leasehold::time::Instant;
use leasehold_records::complaint;
use leasehold_records::number::span;
use wasm_bindgen::prelude::*;

use occurrence::Occurrence;

/// One lease at its holder, with the clock it decides by. What a step comes to is a record in JSON.
#[wasm_bindgen]
pub struct Holder {
    machine: Result<holder::Holder, Invalid>,
    clock: Clock,
}

#[wasm_bindgen]
impl Holder {
    /// A holder for a lease that is to be had and kept as settings in JSON say. Whether they will do
    /// tells the first step.
    #[wasm_bindgen(constructor)]
    pub fn new(settings: &str) -> Self {
        Self {
            machine: settings::holder(settings),
            clock: Clock::new(),
        }
    }

    /// Tells the machine what has happened, and what to do. `id` is the attempt's or the ticket, `text`
    /// an answer or what is asked for, both as JSON; `retry_after_ms` may come with a failure.
    pub fn step(
        &mut self,
        monotonic_ms: f64,
        wall_ms: f64,
        occurrence: Occurrence,
        id: u32,
        text: &str,
        retry_after_ms: Option<f64>,
    ) -> String {
        let now = self.now(monotonic_ms, wall_ms);
        let stepped = self.machine.as_mut().map_err(|invalid| *invalid);
        let stepped = stepped.and_then(|machine| {
            let retry_after = retry_after_ms.map(span);
            machine.handle(now, occurrence.input(id, text, retry_after)?);
            Ok(record::drain(machine, now))
        });
        stepped.unwrap_or_else(|invalid| complaint(&invalid))
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
