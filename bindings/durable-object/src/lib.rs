//! The host machine in a Durable Object's storage. Converts and stores; decides nothing.
//!
//! Every step is synchronous, so all it reads and writes is one transaction of the caller's. A
//! step that throws leaves this object behind the storage: drop it and make a new one.

mod access;
mod layout;
mod record;
mod row;
mod store;

use std::cell::{Cell, RefCell};

use leasehold::host::{Host, HostConfig, HostInput, HostOutput, Mutation, ReplyTo};
use leasehold::json::Writer;
use leasehold::layout::{Layout, Place, Plan, Register, Ruling, Standing, Told};
use leasehold::protocol::Request;
use leasehold::time::Instant;
use leasehold_records::number;
use wasm_bindgen::prelude::*;
use worker_sys::DurableObjectState;

use access::Door;
use record::Step;
use store::Store;

/// The state of one Durable Object: its place in the layout, what its storage holds, and who waits
/// for an answer.
#[wasm_bindgen]
pub struct LeaseObject {
    store: Store,
    /// The name given by the runtime, if it was.
    named: Option<String>,
    setting: Layout,
    /// What the keys of the scopes that share the room begin with.
    prefixes: Vec<String>,
    place: RefCell<Option<Place>>,
    /// The standing that the storage has, and with it the name.
    stored: Cell<Option<Standing>>,
    host: RefCell<Option<Host>>,
}

#[wasm_bindgen]
impl LeaseObject {
    /// An object that reads its storage at its first step. The setting is a layout as text; the
    /// scopes behind the door share the room for keys.
    #[wasm_bindgen(constructor)]
    pub fn new(
        state: &DurableObjectState,
        name: Option<String>,
        setting: &str,
        door: &Door,
    ) -> Result<Self, JsValue> {
        Ok(Self {
            store: Store::new(state.storage()?.sql()),
            named: name,
            setting: layout_of(setting)?,
            prefixes: door.prefixes(),
            place: RefCell::new(None),
            stored: Cell::new(None),
            host: RefCell::new(None),
        })
    }

    /// Takes a request, as JSON. Its answer may come with a later step. When the step has
    /// `ask`, the layout's register is to be asked, and the request given again with its answer,
    /// `told`; but not if the object was closed meanwhile.
    pub fn call(
        &self,
        now_ms: f64,
        to: f64,
        request: &str,
        told: Option<String>,
    ) -> Result<String, JsValue> {
        let to = ReplyTo(to as u64);
        let now = instant(now_ms);
        let request = match Request::from_json(request) {
            Ok(request) => request,
            // The same for every state, so no storage needs to be asked.
            Err(invalid) => return Ok(Step::refusing(to, invalid.into()).into_json()),
        };
        let told = told.as_deref().and_then(Told::from_json);
        let ruling = self.with_place(|place| place.rule(now, request, told))?;
        match ruling {
            Ruling::Serve(request) => self.step(now, HostInput::Request(to, request)),
            Ruling::IfHeld(request, refusal) => {
                if self.holds(now, &request)? {
                    self.step(now, HostInput::Request(to, request))
                } else {
                    Ok(Step::refusing(to, refusal).into_json())
                }
            }
            Ruling::Refuse(refusal) => Ok(Step::refusing(to, refusal).into_json()),
            Ruling::Ask => Ok(Step::asking().into_json()),
        }
    }

    /// Does what is due.
    pub fn tick(&self, now_ms: f64) -> Result<String, JsValue> {
        self.step(instant(now_ms), HostInput::Tick)
    }

    /// Takes note that nobody awaits this answer any more.
    pub fn gone(&self, now_ms: f64, to: f64) -> Result<String, JsValue> {
        self.step(instant(now_ms), HostInput::Gone(ReplyTo(to as u64)))
    }

    /// Closes a shard: for how many milliseconds its last grant still runs. Whoever waits here is
    /// to be told that no answer comes.
    pub fn close(&self, now_ms: f64) -> Result<f64, JsValue> {
        let now = instant(now_ms);
        let is_used = self.store.is_used()?;
        let latest = if is_used {
            // Dropped: those in its queue are not to be granted anything, so it is read again.
            self.take_host(now)?.latest_expiry()
        } else {
            None
        };
        let left = self.with_place(|place| place.close(now, latest.unwrap_or(now)))?;
        if is_used {
            self.store_place()?;
        }
        Ok(left.as_millis_ceil() as f64)
    }

    /// In the register: tells a shard whose setting is this which layout is in force.
    pub fn ask(&self, now_ms: f64, setting: &str) -> Result<String, JsValue> {
        let setting = layout_of(setting)?;
        let mut register = self.register()?;
        let (told, changed) = register.ask(instant(now_ms), &setting);
        if changed {
            self.store.put_meta("layout", &register.text())?;
        }
        Ok(told.to_json())
    }

    /// In the register: what it takes to bring its own setting into force.
    pub fn plan(&self, now_ms: f64) -> Result<String, JsValue> {
        let mut register = self.register()?;
        let plan = register.plan(instant(now_ms), &self.setting);
        if matches!(plan, Ok(Plan::Done(_))) {
            self.store.put_meta("layout", &register.text())?;
        }
        Ok(layout::plan(plan))
    }

    /// In the register: all objects to be closed are, and the last of their grants runs for so long.
    pub fn change(&self, now_ms: f64, longest_ms: f64) -> Result<String, JsValue> {
        let mut register = self.register()?;
        let longest = number::span(longest_ms);
        let told = register.change(instant(now_ms), &self.setting, longest);
        self.store.put_meta("layout", &register.text())?;
        Ok(told.to_json())
    }

    fn register(&self) -> Result<Register, JsValue> {
        if !self.with_place(|place| place.is_register())? {
            return Err(JsError::new("only the object named layout records it").into());
        }
        match self.store.meta("layout")? {
            None => Ok(Register::default()),
            Some(text) => Register::parse(&text)
                .ok_or_else(|| JsError::new("the layout on record can't be read").into()),
        }
    }

    fn with_place<T>(&self, run: impl FnOnce(&mut Place) -> T) -> Result<T, JsValue> {
        let mut place = match self.place.take() {
            Some(place) => place,
            None => self.load_place()?,
        };
        let result = run(&mut place);
        self.place.replace(Some(place));
        Ok(result)
    }

    fn load_place(&self) -> Result<Place, JsValue> {
        let stored = self.store.meta("standing")?;
        let standing = match stored.as_deref() {
            None => Standing::Unknown,
            Some(text) => {
                Standing::parse(text).ok_or_else(|| JsError::new("the standing can't be read"))?
            }
        };
        self.stored.set(stored.map(|_| standing));
        let name = match self.store.meta("name")? {
            None => self.named.clone(),
            stored => stored,
        };
        Ok(Place::new(name, self.setting.clone(), standing))
    }

    fn store_place(&self) -> Result<(), JsValue> {
        self.with_place(|place| {
            if self.stored.get() == Some(place.standing()) {
                return Ok(());
            }
            if let Some(name) = place.name() {
                self.store.put_meta("name", name)?;
            }
            self.store.put_meta("standing", &place.standing().text())?;
            self.stored.set(Some(place.standing()));
            Ok(())
        })?
    }

    /// Whether a grant runs in an object of an earlier layout. What never stored anything has none.
    fn holds(&self, now: Instant, request: &Request) -> Result<bool, JsValue> {
        if !self.store.is_used()? {
            return Ok(false);
        }
        let mut host = self.take_host(now)?;
        let holds = host.is_held(now, &request.key);
        self.host.replace(Some(host));
        Ok(holds)
    }

    /// Taken out, not borrowed: after an error what is in here would be ahead of the storage.
    fn take_host(&self, now: Instant) -> Result<Host, JsValue> {
        if let Some(host) = self.host.take() {
            return Ok(host);
        }
        let mut snapshot = self.store.load()?;
        if !self.with_place(|place| place.may_grant())? {
            self.store.delete_waiters()?;
            snapshot.waiters.clear();
        }
        let mut host = Host::restore(HostConfig::DURABLE_OBJECT, snapshot, now);
        host.share_among(self.prefixes.clone());
        Ok(host)
    }

    fn step(&self, now: Instant, input: HostInput) -> Result<String, JsValue> {
        let mut host = self.take_host(now)?;
        host.handle(now, input);
        let mut step = Step::default();
        let mut written = false;
        let mut forgotten = false;
        while let Some(output) = host.poll_output() {
            match output {
                HostOutput::Alarm(at) => step.alarm = Some(at.map(|at| at.since(now))),
                HostOutput::Persist(mutation) => {
                    forgotten |= matches!(mutation, Mutation::DeleteKey(_));
                    self.store.apply(mutation)?;
                    written = true;
                }
                HostOutput::Reply(to, response) => step.replies.push((to, response)),
            }
        }
        if written {
            self.store_place()?;
        } else {
            self.store.touch()?;
        }
        // A shard that is closed stays so.
        step.vanished =
            forgotten && host.is_empty() && self.with_place(|place| place.may_grant())?;
        if !step.vanished {
            self.host.replace(Some(host));
        }
        Ok(step.into_json())
    }
}

fn layout_of(text: &str) -> Result<Layout, JsValue> {
    text.parse()
        .map_err(|_| JsError::new("the layout can't be read").into())
}

/// The instant at the driver's time.
fn instant(now_ms: f64) -> Instant {
    Instant::ZERO + number::span(now_ms)
}

/// What the protocol knows of a request, in JSON: `{ request }`; or why no host would carry it out:
/// `{ refused }`.
#[wasm_bindgen(js_name = readRequest)]
pub fn read_request(request: &str) -> String {
    let read = Request::from_json(request).map_err(Into::into);
    Writer::of(|json| record::write_request(json, read))
}
