//! The host machine in a Durable Object's storage. Converts and stores; decides nothing.
//!
//! Every step is synchronous, so all it reads and writes is one transaction of the caller's. A
//! step that throws leaves this object behind the storage: drop it and make a new one.

mod access;
mod record;
mod request;
mod row;
mod store;

use std::cell::RefCell;

use leasehold::host::{Host, HostConfig, HostInput, HostOutput, ReplyTo};
use leasehold::time::Instant;
use wasm_bindgen::prelude::*;
use worker_sys::DurableObjectState;

use record::{Alarm, Reply, Step};
use request::RawRequest;
use store::Store;

/// The state of one Durable Object: what its storage holds, and who waits for an answer.
#[wasm_bindgen]
pub struct LeaseObject {
    store: Store,
    host: RefCell<Option<Host>>,
}

#[wasm_bindgen]
impl LeaseObject {
    /// An object that reads its storage at its first step.
    #[wasm_bindgen(constructor)]
    pub fn new(state: &DurableObjectState) -> Result<Self, JsValue> {
        Ok(Self {
            store: Store::new(state.storage()?.sql()),
            host: RefCell::new(None),
        })
    }

    /// Takes a request. Its answer may come with a later step.
    pub fn call(&self, now_ms: f64, to: f64, request: &RawRequest) -> Result<JsValue, JsValue> {
        let to = ReplyTo(to as u64);
        match request.parse() {
            Ok(request) => self.step(now_ms, HostInput::Request(to, request)),
            // The same for every state, so no storage needs to be asked.
            Err(invalid) => Ok(record::plain(&Step::refusing(to, invalid))),
        }
    }

    /// Does what is due.
    pub fn tick(&self, now_ms: f64) -> Result<JsValue, JsValue> {
        self.step(now_ms, HostInput::Tick)
    }

    /// Takes note that nobody awaits this answer any more.
    pub fn gone(&self, now_ms: f64, to: f64) -> Result<JsValue, JsValue> {
        self.step(now_ms, HostInput::Gone(ReplyTo(to as u64)))
    }

    fn step(&self, now_ms: f64, input: HostInput) -> Result<JsValue, JsValue> {
        let now = Instant::from_micros((now_ms * 1_000.0) as u64);
        // Taken out, not borrowed: after an error what is in here would be ahead of the storage.
        let mut host = match self.host.take() {
            Some(host) => host,
            None => Host::restore(HostConfig::DURABLE_OBJECT, self.store.load()?, now),
        };
        host.handle(now, input);
        let mut step = Step::default();
        let mut written = false;
        while let Some(output) = host.poll_output() {
            match output {
                HostOutput::Alarm(at) => step.alarm = Some(Alarm::after(now, at)),
                HostOutput::Persist(mutation) => {
                    self.store.apply(mutation)?;
                    written = true;
                }
                HostOutput::Reply(to, response) => step.replies.push(Reply::new(to, response)),
            }
        }
        if !written {
            self.store.touch()?;
        }
        self.host.replace(Some(host));
        Ok(record::plain(&step))
    }
}

/// Why no host would carry out this request, if that is so.
#[wasm_bindgen]
pub fn refusal(request: &RawRequest) -> JsValue {
    match request.parse() {
        Ok(_) => JsValue::UNDEFINED,
        Err(invalid) => record::response(record::refused(invalid)),
    }
}
