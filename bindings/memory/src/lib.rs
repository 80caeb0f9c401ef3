//! The host machine for use inside the holders' own process. Converts; decides nothing.
#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use leasehold::host::{Host, HostConfig, HostInput, HostOutput, ReplyTo};
use leasehold::json::Writer;
use leasehold::protocol::{Call, Response};
use leasehold::time::Instant;
use leasehold_records::number::{MAX_TIMER_MS, span};
use wasm_bindgen::prelude::*;

/// A host that forgets everything with the process.
#[wasm_bindgen]
pub struct MemoryHost {
    machine: Host,
    alarm: Option<Instant>,
}

#[wasm_bindgen]
impl MemoryHost {
    /// A host that has never granted anything.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::new_without_default, reason = "called from JavaScript alone")]
    pub fn new() -> Self {
        Self {
            machine: Host::new(HostConfig::EMBEDDED),
            alarm: None,
        }
    }

    /// Takes a request as JSON, to be answered to `to` now or later.
    pub fn request(&mut self, now_ms: f64, to: u32, request: &str) -> String {
        match Call::from_json(request) {
            Ok(Call::List(list)) => self.step(now_ms, HostInput::List(reply_to(to), list)),
            Ok(Call::Request(request)) => {
                self.step(now_ms, HostInput::Request(reply_to(to), request))
            }
            Err(invalid) => {
                let refused = Response::Refused(invalid.into());
                self.record(instant(now_ms), vec![(reply_to(to), refused)])
            }
        }
    }

    /// Does what is due.
    pub fn tick(&mut self, now_ms: f64) -> String {
        self.alarm = None;
        self.step(now_ms, HostInput::Tick)
    }

    /// Takes note that nobody awaits the answer to `to` any more.
    pub fn gone(&mut self, now_ms: f64, to: u32) -> String {
        self.step(now_ms, HostInput::Gone(reply_to(to)))
    }

    fn step(&mut self, now_ms: f64, input: HostInput) -> String {
        let now = instant(now_ms);
        self.machine.handle(now, input);
        let mut replies = Vec::new();
        while let Some(output) = self.machine.poll_output() {
            match output {
                HostOutput::Alarm(at) => self.alarm = at,
                // The machine itself is the only record.
                HostOutput::Persist(_) => {}
                HostOutput::Reply(to, response) => replies.push((to, response)),
            }
        }
        self.record(now, replies)
    }

    /// A step's outcome as JSON: the answers, and when to come back.
    fn record(&self, now: Instant, replies: Vec<(ReplyTo, Response)>) -> String {
        Writer::of(|json| {
            json.array("replies", replies, |json, (to, response)| {
                json.object(|json| {
                    json.number("to", to.0);
                    json.record("response", |json| response.write(json));
                });
            });
            if let Some(alarm) = self.alarm {
                json.number(
                    "alarmInMs",
                    alarm.since(now).as_millis_ceil().min(MAX_TIMER_MS),
                );
            }
        })
    }
}

fn reply_to(ticket: u32) -> ReplyTo {
    ReplyTo(u64::from(ticket))
}

fn instant(millis: f64) -> Instant {
    Instant::ZERO + span(millis)
}
