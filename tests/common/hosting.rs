//! A driver for a host: it stores what has to be stored, and keeps the answers.

use std::collections::BTreeMap;

use leasehold::fence::{Fence, Revision};
use leasehold::host::{
    EntryRecord, Floor, GrantRecord, Host, HostConfig, HostInput, HostOutput, KeyRecord, Mutation,
    PastOutcome, ReplyTo, Row, Snapshot, WaiterRecord,
};
use leasehold::name::{EntryName, Key};
use leasehold::protocol::{Operation, Request, Response};
use leasehold::time::Instant;

use super::{at, key, ms, op};

/// What a host has stored.
#[derive(Clone, Debug, Default)]
pub struct Store {
    pub floor: Floor,
    pub keys: BTreeMap<Key, KeyRecord>,
    pub grants: BTreeMap<(Key, u32), GrantRecord>,
    pub entries: BTreeMap<(Key, u32, EntryName), EntryRecord>,
    pub waiters: BTreeMap<u64, WaiterRecord>,
}

impl Store {
    /// Carries out one mutation; one that makes no sense is a fault of the host.
    pub fn apply(&mut self, mutation: Mutation) {
        match mutation {
            Mutation::DeleteEntry { key, slot, name } => {
                self.entries
                    .remove(&(key, slot, name))
                    .expect("a stored entry");
            }
            Mutation::DeleteGrant { key, slot } => {
                self.grants.remove(&(key, slot)).expect("a stored grant");
            }
            Mutation::DeleteKey(key) => {
                self.keys.remove(&key).expect("a stored key is deleted");
                assert!(self.grants.keys().all(|(of, _)| *of != key));
                assert!(self.entries.keys().all(|(of, ..)| *of != key));
                assert!(self.waiters.values().all(|waiter| waiter.key != key));
            }
            Mutation::DeleteWaiter { key, number } => {
                let waiter = self.waiters.remove(&number).expect("a stored waiter");
                assert_eq!(waiter.key, key);
            }
            Mutation::PutEntry(entry) => {
                let place = (entry.key.clone(), entry.slot, entry.name.clone());
                self.entries.insert(place, entry);
            }
            Mutation::PutFloor(floor) => {
                assert!(
                    floor.fence >= self.floor.fence
                        && floor.cautious_until >= self.floor.cautious_until,
                    "a floor only rises"
                );
                self.floor = floor;
            }
            Mutation::PutGrant { key, grant } => {
                assert!(grant.slot > 0, "the first is in the key's own record");
                self.grants.insert((key, grant.slot), grant);
            }
            Mutation::PutKey(record) => {
                if let Some(before) = self.keys.get(&record.key) {
                    assert!(record.fence >= before.fence, "a fence only rises");
                    assert!(record.written >= before.written, "time only moves on");
                }
                self.keys.insert(record.key.clone(), record);
            }
            Mutation::PutWaiter(waiter) => {
                let last = self.waiters.last_key_value().map(|(number, _)| *number);
                assert!(last < Some(waiter.number), "a waiter goes to the end");
                self.waiters.insert(waiter.number, waiter);
            }
        }
    }

    /// What a host is restored from: read from rows, as a real store has them.
    pub fn snapshot(&self) -> Snapshot {
        let grants = self.grants.clone().into_iter();
        let puts: Vec<Mutation> = [Mutation::PutFloor(self.floor)]
            .into_iter()
            .chain(self.keys.values().cloned().map(Mutation::PutKey))
            .chain(grants.map(|((key, _), grant)| Mutation::PutGrant { key, grant }))
            .chain(self.entries.values().cloned().map(Mutation::PutEntry))
            .chain(self.waiters.values().cloned().map(Mutation::PutWaiter))
            .collect();
        read(&rows(puts))
    }
}

/// The rows that a store has after these changes.
pub fn rows(mutations: Vec<Mutation>) -> BTreeMap<String, Vec<u8>> {
    let mut rows = BTreeMap::new();
    for Row { place, record } in mutations.into_iter().map(Row::from) {
        match record {
            Some(record) => drop(rows.insert(place, record)),
            None => drop(rows.remove(&place).expect("a stored row")),
        }
    }
    rows
}

/// What rows hold.
pub fn read(rows: &BTreeMap<String, Vec<u8>>) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for (place, record) in rows {
        snapshot.add(place, record).expect("a record");
    }
    snapshot
}

/// Fences as tests write them: 1 for a key's first grant, 2 for its second, and so on.
#[derive(Default)]
struct Ordinals(BTreeMap<Key, Vec<Fence>>);

impl Ordinals {
    /// Takes note of the fences in a record.
    fn note(&mut self, mutation: &Mutation) {
        let (key, fences) = match mutation {
            Mutation::PutKey(record) => {
                let past = record.past.iter().filter_map(|past| match past.outcome {
                    PastOutcome::Grant { fence, .. } => Some(fence),
                    _ => None,
                });
                let first = record.grant.iter().map(|grant| grant.fence);
                (&record.key, past.chain(first).collect())
            }
            Mutation::PutGrant { key, grant } => (key, vec![grant.fence]),
            _ => return,
        };
        let known = self.0.entry(key.clone()).or_default();
        known.extend(fences);
        known.sort_unstable();
        known.dedup();
    }

    fn of(&self, key: &Key, fence: Fence) -> Fence {
        let known = self.0.get(key).map_or(&[][..], Vec::as_slice);
        let index = known.iter().position(|known| *known == fence);
        index.map_or(fence, |index| Fence::from_value(index as u64 + 1))
    }

    /// The host's own, for one that a test names; an unknown one stays as it is.
    fn real(&self, key: &Key, named: Fence) -> Fence {
        let fences = self.0.get(key).map_or(&[][..], Vec::as_slice);
        let index = usize::try_from(named.value())
            .ok()
            .and_then(|ordinal| ordinal.checked_sub(1));
        index
            .and_then(|index| fences.get(index).copied())
            .unwrap_or(named)
    }

    fn name_in(&self, request: &mut Request) {
        let key = request.key.clone();
        let fence = match &mut request.operation {
            Operation::Release(credential)
            | Operation::Verify(credential)
            | Operation::Renew { credential, .. } => &mut credential.fence,
            Operation::Transfer(transfer) => &mut transfer.credential.fence,
            Operation::Entry(entry) => &mut entry.credential.fence,
            Operation::Finish(finish) => &mut finish.credential.fence,
            Operation::Revoke { fence } => fence,
            _ => return,
        };
        *fence = fence.map(|named| self.real(&key, named));
    }

    /// The response with what every test would have to repeat left out: ages, revisions, and how
    /// many others want the key.
    fn plain(&self, key: &Key, mut response: Response) -> Response {
        match &mut response {
            Response::Granted(granted) => {
                granted.fence = self.of(key, granted.fence);
                granted.wanted = 0;
            }
            Response::Held(held) => {
                held.fence = None;
                held.waiters = 0;
            }
            Response::NotHolder { about, present, .. } => {
                *about = about.map(|fence| self.of(key, fence));
                *present = None;
            }
            Response::Renewed { about, wanted, .. } => {
                *about = about.map(|fence| self.of(key, fence));
                *wanted = 0;
            }
            Response::Entered { about }
            | Response::Finished { about }
            | Response::Released { about } => *about = about.map(|fence| self.of(key, fence)),
            Response::Done(done) => done.fence = self.of(key, done.fence),
            Response::State(state) => {
                state.revision = Revision::ABSENT;
                for holder in &mut state.holders {
                    holder.fence = self.of(key, holder.fence);
                    holder.age_ms = 0;
                }
                if let Some(done) = &mut state.done {
                    done.fence = self.of(key, done.fence);
                    done.age_ms = 0;
                }
            }
            _ => {}
        }
        response
    }
}

/// One host, its storage, its alarm and its answers.
pub struct Server {
    pub host: Host,
    pub config: HostConfig,
    pub now: Instant,
    pub store: Store,
    pub alarm: Option<Instant>,
    pub replies: Vec<(Instant, ReplyTo, Response)>,
    /// The same as the host gave them.
    raw: BTreeMap<ReplyTo, Response>,
    about: BTreeMap<ReplyTo, Key>,
    ordinals: Ordinals,
    asked: u64,
}

impl Server {
    /// A host without a margin.
    pub fn new() -> Self {
        Self::with(HostConfig::EMBEDDED)
    }

    pub fn with(config: HostConfig) -> Self {
        Self {
            host: Host::new(config),
            config,
            now: Instant::ZERO,
            store: Store::default(),
            alarm: None,
            replies: Vec::new(),
            raw: BTreeMap::new(),
            about: BTreeMap::new(),
            ordinals: Ordinals::default(),
            asked: 0,
        }
    }

    /// One input at this millisecond, drained.
    pub fn input(&mut self, millis: u64, input: HostInput) {
        self.step(at(millis), input);
    }

    /// One input, drained, with the rules that hold for every drain checked.
    pub fn step(&mut self, now: Instant, input: HostInput) {
        self.now = self.now.max(now);
        if input == HostInput::Tick {
            self.alarm = None;
        }
        self.host.handle(now, input);
        let mut replied = false;
        let mut ended = false;
        while let Some(output) = self.host.poll_output() {
            assert!(!ended, "the alarm ends the drain");
            match output {
                HostOutput::Alarm(alarm) => {
                    assert!(alarm.is_none_or(|at| at > self.now), "an alarm in the past");
                    self.alarm = alarm;
                    ended = true;
                }
                HostOutput::Persist(mutation) => {
                    assert!(!replied, "an answer left before what it rests on");
                    self.ordinals.note(&mutation);
                    self.store.apply(mutation);
                }
                HostOutput::Reply(to, response) => {
                    replied = true;
                    self.raw.insert(to, response.clone());
                    let key = self.about.get(&to).cloned().unwrap_or_else(|| key("k"));
                    let response = self.ordinals.plain(&key, response);
                    self.replies.push((self.now, to, response));
                }
            }
        }
    }

    /// Sends a request; the answer may come later.
    pub fn send(&mut self, millis: u64, mut request: Request) -> ReplyTo {
        self.asked += 1;
        let to = ReplyTo(self.asked);
        self.ordinals.name_in(&mut request);
        self.about.insert(to, request.key.clone());
        self.input(millis, HostInput::Request(to, request));
        to
    }

    /// Sends operation `bits` on key `"k"`.
    pub fn post(&mut self, millis: u64, bits: u128, operation: Operation) -> ReplyTo {
        self.send(millis, super::request(bits, operation))
    }

    /// The same, with the answer that must come at once.
    pub fn ask(&mut self, millis: u64, bits: u128, operation: Operation) -> Response {
        let to = self.post(millis, bits, operation);
        self.reply(to).expect("an answer at once")
    }

    /// The same, as the host gave it: fences, revisions and all.
    pub fn raw(&mut self, millis: u64, bits: u128, operation: Operation) -> Response {
        let to = self.post(millis, bits, operation);
        self.raw_reply(to).expect("an answer at once")
    }

    /// The answer to this asker as the host gave it.
    pub fn raw_reply(&self, to: ReplyTo) -> Option<Response> {
        self.raw.get(&to).cloned()
    }

    /// The same, for another key.
    pub fn ask_about(
        &mut self,
        millis: u64,
        text: &str,
        bits: u128,
        operation: Operation,
    ) -> Response {
        let request = Request {
            key: key(text),
            op: op(bits),
            operation,
        };
        let to = self.send(millis, request);
        self.reply(to).expect("an answer at once")
    }

    /// The answer to this asker; it is a fault to answer twice.
    pub fn reply(&self, to: ReplyTo) -> Option<Response> {
        let mut answers = self.replies.iter().filter(|(_, asker, _)| *asker == to);
        let answer = answers.next().map(|(_, _, response)| response.clone());
        assert!(answers.next().is_none(), "answered twice");
        answer
    }

    /// When this asker was answered, in milliseconds, and what.
    pub fn reply_at(&self, to: ReplyTo) -> Option<(u64, Response)> {
        self.replies
            .iter()
            .find(|(_, asker, _)| *asker == to)
            .map(|(at, _, response)| (at.as_millis_ceil(), response.clone()))
    }

    /// Serves the alarms, each exactly on time, until this millisecond.
    pub fn run_until(&mut self, millis: u64) {
        while let Some(alarm) = self.alarm.filter(|alarm| *alarm <= at(millis)) {
            self.step(alarm, HostInput::Tick);
        }
        self.now = self.now.max(at(millis));
    }

    /// Throws the host away and carries on from its storage, on a clock that shows this.
    pub fn restart(&mut self, millis: u64) {
        self.host = Host::restore(self.config, self.store.snapshot(), at(millis));
        self.alarm = None;
        self.now = at(millis);
        self.step(at(millis), HostInput::Tick);
    }

    /// Who holds key `"k"`: the holder's name, the fence, milliseconds left, and waiters.
    pub fn look(&mut self, millis: u64) -> Option<(String, u64, u64, u32)> {
        match self.ask(millis, u128::MAX, Operation::Inspect) {
            Response::State(state) => state.holders.first().map(|holder| {
                (
                    holder.holder.as_str().to_string(),
                    holder.fence.value(),
                    holder.remaining_ms,
                    state.waiters,
                )
            }),
            other => panic!("an inspect was answered with {other:?}"),
        }
    }
}

/// A host with `"a"` holding key `"k"` since t = 0 under op 1, lease 11 and fence 1.
pub fn held(ttl_ms: u64) -> Server {
    let mut server = Server::new();
    server.post(0, 1, super::acquire("a", 11, ttl_ms, 0));
    server
}

/// The same with waiter `"b"` (op 2, lease 12) in the queue since t = 10, waiting for 60 s.
pub fn contended(ttl_ms: u64) -> (Server, ReplyTo) {
    let mut server = held(ttl_ms);
    let waiter = server.post(10, 2, super::acquire("b", 12, ttl_ms, 60_000));
    (server, waiter)
}

/// Settings with small limits.
pub fn small() -> HostConfig {
    HostConfig {
        max_keys: 3,
        spare_keys: 1,
        max_waiters: 2,
        grace: ms(3_000),
        ..HostConfig::EMBEDDED
    }
}
