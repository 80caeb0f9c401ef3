//! One Durable Object.

use alloc::string::String;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use leasehold::host::{Host, HostConfig, HostInput, HostOutput, Mutation, ReplyTo};
use leasehold::layout::{Layout, Place, Plan, Register, Ruling, Standing, Told};
use leasehold::protocol::{Call, Refusal, Request};
use leasehold::time::{Instant, Span};
use wasm_bindgen::{JsError, JsValue};

use crate::sql::SqlStorage;
use crate::step::Step;
use crate::store::Store;

/// The state of one Durable Object: its place in the layout, what its storage holds, and who waits
/// for an answer.
pub struct Object {
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

impl Object {
    /// An object that reads its storage at its first step. The scopes whose keys begin with these
    /// prefixes share the room.
    pub fn new(
        storage: SqlStorage,
        name: Option<String>,
        setting: Layout,
        prefixes: Vec<String>,
    ) -> Self {
        Self {
            store: Store::new(storage),
            named: name,
            setting,
            prefixes,
            place: RefCell::new(None),
            stored: Cell::new(None),
            host: RefCell::new(None),
        }
    }

    /// Takes a call, as JSON. Its answer may come with a later step. When the step has
    /// [`Step::ask`], the layout's register is to be asked, and the call given again with its answer,
    /// `told`; but not if the object was closed meanwhile.
    ///
    /// # Errors
    /// What the storage throws, here as in all steps.
    pub fn call(
        &self,
        now: Instant,
        to: ReplyTo,
        call: &str,
        told: Option<Told>,
    ) -> Result<Step, JsValue> {
        let call = match Call::from_json(call) {
            Ok(call) => call,
            // The same for every state, so no storage needs to be asked.
            Err(invalid) => return Ok(Step::refusing(to, invalid.into())),
        };
        match self.with_place(|place| place.rule(now, call, told))? {
            Ruling::Serve(Call::List(list)) => self.step(now, HostInput::List(to, list)),
            Ruling::Serve(Call::Request(request)) => {
                self.step(now, HostInput::Request(to, request))
            }
            Ruling::IfHeld(request, refusal) => self.serve_held(now, to, request, refusal),
            Ruling::Refuse(refusal) => Ok(Step::refusing(to, refusal)),
            Ruling::Ask => Ok(Step::asking()),
        }
    }

    /// Does what is due.
    ///
    /// # Errors
    /// What the storage throws.
    pub fn tick(&self, now: Instant) -> Result<Step, JsValue> {
        self.step(now, HostInput::Tick)
    }

    /// Takes note that nobody awaits this answer any more.
    ///
    /// # Errors
    /// What the storage throws.
    pub fn gone(&self, now: Instant, to: ReplyTo) -> Result<Step, JsValue> {
        self.step(now, HostInput::Gone(to))
    }

    /// Closes a shard: for how long its last grant still runs. Whoever waits here is to be told that
    /// no answer comes.
    ///
    /// # Errors
    /// What the storage throws.
    pub fn close(&self, now: Instant) -> Result<Span, JsValue> {
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
        Ok(left)
    }

    /// In the register: tells a shard whose setting is this which layout is in force.
    ///
    /// # Errors
    /// What the storage throws; that this is not the register.
    pub fn ask(&self, now: Instant, setting: &Layout) -> Result<Told, JsValue> {
        let mut register = self.register()?;
        let (told, changed) = register.ask(now, setting);
        if changed {
            self.store.put_meta("layout", &register.text())?;
        }
        Ok(told)
    }

    /// In the register: what it takes to bring its own setting into force.
    ///
    /// # Errors
    /// What the storage throws; that this is not the register.
    pub fn plan(&self, now: Instant) -> Result<Result<Plan, Refusal>, JsValue> {
        let mut register = self.register()?;
        let plan = register.plan(now, &self.setting);
        if plan.is_ok() {
            self.store.put_meta("layout", &register.text())?;
        }
        Ok(plan)
    }

    /// In the register: all objects to be closed are, and the last of their grants runs for so long.
    ///
    /// # Errors
    /// What the storage throws; that this is not the register.
    pub fn change(&self, now: Instant, longest: Span) -> Result<Told, JsValue> {
        let mut register = self.register()?;
        let told = register.change(now, &self.setting, longest);
        self.store.put_meta("layout", &register.text())?;
        Ok(told)
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

    /// Serves what is about a grant that runs in an object of an earlier layout. What never stored
    /// anything has none.
    fn serve_held(
        &self,
        now: Instant,
        to: ReplyTo,
        request: Request,
        refusal: Refusal,
    ) -> Result<Step, JsValue> {
        if !self.store.is_used()? {
            return Ok(Step::refusing(to, refusal));
        }
        let mut host = self.take_host(now)?;
        let holds = host.is_held(now, &request.key);
        self.host.replace(Some(host));
        if holds {
            self.step(now, HostInput::Request(to, request))
        } else {
            Ok(Step::refusing(to, refusal))
        }
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

    fn step(&self, now: Instant, input: HostInput) -> Result<Step, JsValue> {
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
        Ok(step)
    }
}
