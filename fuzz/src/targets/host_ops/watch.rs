//! A host under watch: each drain in order, each answer true.

use std::collections::{BTreeMap, BTreeSet};

use leasehold::fence::Fence;
use leasehold::host::{Host, HostConfig, HostInput, HostOutput, ReplyTo};
use leasehold::id::OpId;
use leasehold::name::Key;
use leasehold::protocol::{Granted, Operation, Request, Response};
use leasehold::time::{Instant, Span};

use super::restart::same_behaviour;
use super::storage::{Storage, opens};
use crate::sample;
use crate::seen::{Seen, roughly};

/// The longest that a host lets a request lie.
const LONGEST_POLL: Span = Span::from_secs(20);

/// A patience that is no longer takes a single poll: twenty of the shortest terms.
const SHORTEST_POLL: Span = Span::from_secs(2);

/// No input brings about more than this.
const MOST_OUTPUTS: usize = 40;

/// A host, what it has stored, and whom it owes an answer.
pub struct Watch {
    host: Host,
    config: HostConfig,
    storage: Storage,
    pub now: Instant,
    pub alarm: Option<Instant>,
    owed: BTreeMap<ReplyTo, (Request, Instant)>,
    /// Whether answers may contradict each other.
    careless: bool,
}

impl Watch {
    pub fn new(host: Host, config: HostConfig, floor: Fence, now: Instant, careless: bool) -> Self {
        Self {
            host,
            config,
            storage: Storage::new(floor),
            now,
            alarm: None,
            owed: BTreeMap::new(),
            careless,
        }
    }

    /// One input, with everything that must hold afterwards.
    pub fn step(&mut self, now: Instant, input: &HostInput, seen: &mut Seen) {
        self.now = self.now.max(now);
        match input {
            HostInput::Tick => self.alarm = None,
            HostInput::Gone(to) => drop(self.owed.remove(to)),
            HostInput::Request(to, request) => {
                self.owed.insert(*to, (request.clone(), self.now));
            }
        }
        self.host.handle(now, input.clone());
        let (mut mutations, mut replies) = (Vec::new(), Vec::new());
        let mut alarm = None;
        while let Some(output) = self.host.poll_output() {
            assert!(alarm.is_none(), "the alarm ends the drain");
            match output {
                HostOutput::Persist(mutation) => {
                    assert!(replies.is_empty(), "an answer left before what it rests on");
                    mutations.push(mutation);
                }
                HostOutput::Reply(to, response) => replies.push((to, response)),
                HostOutput::Alarm(at) => alarm = Some(at),
            }
            assert!(mutations.len() + replies.len() <= MOST_OUTPUTS, "a flood");
        }
        self.alarm = alarm.unwrap_or(self.alarm);
        if self.time_is_over() {
            return;
        }
        self.storage.apply(self.now, input, mutations);
        let asked = match input {
            HostInput::Request(_, request) => sample::operation_kind(&request.operation),
            HostInput::Gone(_) => "gone",
            HostInput::Tick => "tick",
        };
        let load = (roughly(self.storage.waiters.len()), self.storage.keys.len());
        for (to, response) in replies {
            seen.note((asked, sample::kind(&response), load));
            let (request, since) = self.owed.remove(&to).expect("an answer to one who asked");
            let at_once = matches!(input, HostInput::Request(asker, _) if *asker == to);
            if self.careless {
                continue;
            }
            if at_once {
                self.is_true(&request, since, &response);
            } else {
                self.ends_a_wait(&request, since, &response);
            }
        }
        self.within_limits();
        self.nobody_is_forgotten();
    }

    /// The host is thrown away and another carries on, on a clock that may be behind.
    pub fn restart(&mut self, now: Instant, behind: Span) {
        if self.time_is_over() {
            return;
        }
        let restore = |now| Host::restore(self.config, self.storage.snapshot(), now);
        let mut restored = restore(self.now);
        let ops = self.storage.ops();
        same_behaviour(&mut self.host, &mut restored, self.now, &ops);
        let now = self.now.max(now);
        let written = self
            .storage
            .keys
            .values()
            .map(|record| record.written)
            .max();
        self.now = (now - behind).max(written.unwrap_or(Instant::ZERO));
        self.host = restore(self.now);
        self.alarm = None;
        self.owed.clear();
        self.step(self.now, &HostInput::Tick, &mut Seen::default());
    }

    /// At the last instant there is, grants begin and end at once: only the form of a drain is
    /// checked from there on.
    fn time_is_over(&self) -> bool {
        self.now == Instant::FAR_FUTURE
    }

    fn within_limits(&self) {
        let waited_for = self.storage.waiters.values().map(|waiter| &waiter.key);
        let keys: BTreeSet<&Key> = self.storage.keys.keys().chain(waited_for).collect();
        let room = self.config.max_keys + self.config.spare_keys;
        assert!(keys.len() <= room, "too many keys");
        for key in keys {
            let waiters = self.storage.waiters_for(key);
            assert!(
                waiters.count() <= self.config.max_waiters,
                "too many waiters"
            );
        }
    }

    /// Whoever is owed an answer is in the queue, and the host will come back to it.
    fn nobody_is_forgotten(&self) {
        for (request, since) in self.owed.values() {
            let mut places = self.storage.waiters_for(&request.key);
            assert!(
                places.any(|waiter| waiter.op == request.op),
                "no answer and no place"
            );
            assert!(self.now.since(*since) <= LONGEST_POLL, "a poll for ever");
        }
        for waiter in self.storage.waiters.values() {
            let running = self.storage.grant(&waiter.key, self.now);
            assert!(running.is_some(), "somebody waits for a free key");
        }
        match self.alarm {
            None => assert!(self.storage.waiters.is_empty(), "waiters and no alarm"),
            Some(at) => {
                assert!(!self.storage.waiters.is_empty(), "an alarm for nobody");
                assert!(at > self.now && at <= self.now + LONGEST_POLL);
            }
        }
    }

    /// An answer to a request that lay waiting. It may be older than what is stored by a part of
    /// this step.
    fn ends_a_wait(&self, request: &Request, since: Instant, response: &Response) {
        let Operation::Acquire(acquire) = &request.operation else {
            panic!("only an acquire waits");
        };
        match response {
            Response::Granted(granted) => {
                // Patience for a single poll is over when it is over, however late the alarm.
                let single = acquire.wait <= SHORTEST_POLL;
                assert!(
                    !single || granted.waited <= acquire.wait,
                    "nobody was there"
                );
                assert_eq!(granted.waited, self.now.since(since));
                assert!(!granted.replayed);
                self.is_granted(request, granted);
            }
            Response::Cancelled | Response::Held(_) | Response::Queued { .. } => {}
            Response::Refused(refusal) => assert_eq!(refusal.reason, "fences-exhausted"),
            response => panic!("a wait ended with {response:?}"),
        }
    }

    /// An answer at once is covered by what is stored.
    fn is_true(&self, request: &Request, since: Instant, response: &Response) {
        let now = self.now;
        let key = &request.key;
        let grant = self.storage.grant(key, now);
        let record = self.storage.keys.get(key);
        let fence = record.map_or(Fence::NONE, |record| record.fence);
        let margin = |term| self.config.margin.of(term);
        match (response, &request.operation) {
            (Response::Granted(granted), Operation::Acquire(_) | Operation::Transfer(_)) => {
                assert!(granted.waited <= now.since(since), "a wait that was none");
                self.is_granted(request, granted);
            }
            (
                Response::Renewed { about, ttl, .. },
                Operation::Renew { credential, .. } | Operation::Verify(credential),
            ) => {
                let grant = grant.expect("a grant that can be renewed");
                assert_eq!(*about, credential.fence);
                assert!(opens(credential, grant, fence));
                assert!(now + *ttl + margin(grant.term) <= grant.expires || ttl.is_zero());
                if let Operation::Renew { ttl, .. } = &request.operation {
                    assert!(grant.expires >= now + *ttl, "renewed by less");
                }
            }
            (
                Response::NotHolder { about, .. },
                Operation::Renew { credential, .. } | Operation::Verify(credential),
            ) => {
                assert_eq!(*about, credential.fence);
                assert!(!grant.is_some_and(|grant| opens(credential, grant, fence)));
            }
            (Response::NotHolder { about, .. }, Operation::Release(credential)) => {
                assert_eq!(*about, credential.fence);
                let holds = grant.is_some_and(|grant| opens(credential, grant, fence));
                assert!(!holds || self.has_had(key, request.op));
            }
            (Response::Held(held), Operation::Acquire(_)) => {
                let holder = grant.map(|grant| &grant.holder);
                assert!(held.holder.as_ref() == holder);
                let left = grant.map_or(Span::ZERO, |grant| grant.expires.since(now));
                assert_eq!(held.retry_after, left);
            }
            (Response::State(state), Operation::Inspect) => {
                let info = state.holders.first();
                assert_eq!(info.is_some(), grant.is_some());
                if let (Some(info), Some(grant)) = (info, grant) {
                    assert!(info.holder == grant.holder);
                    assert_eq!(
                        info.remaining_ms,
                        grant.expires.since(now).as_millis_floor()
                    );
                    let waiters = self.storage.waiters_for(key).count();
                    assert_eq!(state.waiters as usize, waiters);
                }
            }
            (
                Response::Cancelled,
                Operation::Cancel | Operation::Acquire(_) | Operation::Transfer(_),
            ) => {
                assert!(
                    grant.is_none_or(|grant| grant.op != request.op),
                    "cancelled and held"
                );
                let mut waiters = self.storage.waiters_for(key);
                assert!(
                    waiters.all(|waiter| waiter.op != request.op),
                    "cancelled and queued"
                );
            }
            (Response::Queued { ahead, .. }, Operation::Acquire(_)) => {
                assert!((*ahead as usize) < self.config.max_waiters);
            }
            (Response::NotHolder { .. }, Operation::Acquire(_) | Operation::Transfer(_))
            | (Response::Released { .. }, Operation::Release(_))
            | (Response::Revoked(_), Operation::Revoke { .. })
            | (
                Response::Refused(_),
                Operation::Acquire(_) | Operation::Cancel | Operation::Transfer(_),
            ) => {}
            (response, operation) => panic!("{operation:?} was answered with {response:?}"),
        }
    }

    fn is_granted(&self, request: &Request, granted: &Granted) {
        let record = self.storage.keys.get(&request.key);
        let record = record.expect("a stored grant");
        let id = Some((granted.lease, granted.fence));
        let running = record.grant.as_ref();
        let Some(grant) = running.filter(|grant| Some((grant.lease, record.fence)) == id) else {
            // It is over: told again with nothing left, or ended in the very step that began it.
            let past = record.past.iter().find(|past| past.grant == id);
            let over = past.expect("a grant that was");
            let again = granted.replayed && granted.ttl.is_zero();
            return assert!(again || (over.at == self.now && over.ended_by.is_some()));
        };
        assert!(grant.op == request.op, "another's grant");
        let kept = self.now + granted.ttl + self.config.margin.of(grant.term);
        assert!(
            kept <= grant.expires || granted.ttl.is_zero(),
            "told more than is kept"
        );
    }

    /// Whether this op has had an outcome that is remembered.
    fn has_had(&self, key: &Key, op: OpId) -> bool {
        let record = self.storage.keys.get(key);
        record.is_some_and(|record| record.past.iter().any(|past| past.op == op))
    }
}
