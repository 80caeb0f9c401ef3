//! Any sequence of inputs to a host: who may have what, judged by the rules of the simulation.

use std::collections::BTreeMap;

use leasehold::fence::{Fence, Revision};
use leasehold::host::{
    Floor, GrantRecord, Host, HostConfig, HostInput, HostOutput, Margin, ReplyTo, Snapshot,
};
use leasehold::id::LeaseId;
use leasehold::name::Key;
use leasehold::protocol::{List, Operation, Request, Response};
use leasehold::time::{Instant, Span};
use leasehold_sim::check::{Durability, HostChecks, Verdict};
use leasehold_sim::store::Store;

use crate::bytes::Bytes;
use crate::sample;
use crate::seen::{Seen, roughly};

/// No story is longer.
const MOST_INPUTS: usize = 100;

/// Sets a host up and tells it a story.
pub fn run(data: &[u8], seen: &mut Seen) {
    let mut bytes = Bytes::new(data);
    let config = config(&mut bytes);
    let start = Instant::from_millis(100_000);
    let snapshot = Snapshot {
        floor: Floor {
            fence: match bytes.below(8) {
                7 => Fence::from_value(u64::MAX - 3),
                _ => Fence::NONE,
            },
            ..Floor::default()
        },
        ..Snapshot::default()
    };
    let mut story = Story {
        host: Host::restore(config, snapshot.clone(), start),
        config,
        checks: HostChecks::new(config),
        store: Store::from(snapshot),
        now: start,
        alarm: None,
        revisions: BTreeMap::new(),
    };
    let mut now = start;
    let mut asked = 0;
    for _ in 0..MOST_INPUTS {
        if bytes.is_empty() {
            break;
        }
        // At the very end of time nothing can expire any more.
        now = pause(&mut bytes, now).min(Instant::FAR_FUTURE - Span::from_secs(1_000_000));
        let input = match bytes.below(16) {
            0 => HostInput::Tick,
            1..=3 => {
                // The alarm, on time or late.
                let Some(alarm) = story.alarm else { continue };
                now = now.max(alarm + late(&mut bytes));
                HostInput::Tick
            }
            4 => HostInput::Gone(ReplyTo(asked - asked.min(bytes.below(6) as u64))),
            5 => {
                let behind = bytes.once_in(4).then(|| sample::span(&mut bytes));
                // What is forgotten rests on a clock that is never so far behind.
                let behind = behind.unwrap_or(Span::ZERO).min(config.retention);
                sound(story.restart(now, behind));
                now = story.now;
                continue;
            }
            _ => {
                asked += 1;
                match bytes.below(32) {
                    31 => HostInput::List(ReplyTo(asked), List::default()),
                    _ => {
                        let mut request = sample::request(&mut bytes);
                        story.name_what_is(&mut request);
                        HostInput::Request(ReplyTo(asked), request)
                    }
                }
            }
        };
        sound(story.step(now, &input, seen));
    }
    sound(story.restart(now, Span::ZERO));
}

fn sound(verdict: Verdict) {
    if let Err(violation) = verdict {
        panic!("{}: {}", violation.check, violation.what);
    }
}

/// A host with its storage, its alarm and the rules.
struct Story {
    host: Host,
    config: HostConfig,
    checks: HostChecks,
    store: Store,
    now: Instant,
    alarm: Option<Instant>,
    revisions: BTreeMap<Key, Revision>,
}

impl Story {
    /// Puts real fences and revisions where the sample has only stand-ins.
    fn name_what_is(&self, request: &mut Request) {
        let key = &request.key;
        let grants: Vec<GrantRecord> = self.store.grants(key).cloned().collect();
        let of = |lease: Option<LeaseId>| {
            let mut grants = grants.iter();
            let grant = grants.find(|grant| lease.is_none_or(|lease| grant.lease == lease));
            grant.map(|grant| grant.fence)
        };
        let credential = match &mut request.operation {
            Operation::Release(credential)
            | Operation::Verify(credential)
            | Operation::Renew { credential, .. } => credential,
            Operation::Transfer(transfer) => &mut transfer.credential,
            Operation::Entry(entry) => &mut entry.credential,
            Operation::Finish(finish) => &mut finish.credential,
            Operation::Revoke { fence } => {
                *fence = fence.and_then(|fence| of(None).or(Some(fence)));
                return;
            }
            Operation::Watch(watch) => {
                if watch.after == Some(sample::LAST_TOLD) {
                    watch.after = self.revisions.get(key).copied();
                }
                return;
            }
            _ => return,
        };
        let known = of(Some(credential.lease));
        credential.fence = credential.fence.map(|fence| match fence.value() {
            0 => fence,
            _ => known.unwrap_or(fence),
        });
    }

    fn step(&mut self, now: Instant, input: &HostInput, seen: &mut Seen) -> Verdict {
        self.now = self.now.max(now);
        self.checks.input(input, self.now, &self.store);
        self.host.handle(now, input.clone());
        let outputs: Vec<HostOutput> = std::iter::from_fn(|| self.host.poll_output()).collect();
        for output in &outputs {
            match output {
                HostOutput::Alarm(at) => self.alarm = *at,
                HostOutput::Persist(_) => {}
                HostOutput::Reply(_, response) => {
                    if let Response::State(state) = response {
                        self.revisions.insert(state.key.clone(), state.revision);
                    }
                    note(input, response, seen);
                }
            }
        }
        if *input == HostInput::Tick
            && !outputs
                .iter()
                .any(|output| matches!(output, HostOutput::Alarm(_)))
        {
            self.alarm = None;
        }
        let (now, alarm) = (self.now, self.alarm);
        self.checks
            .step(input, now, &outputs, alarm, &mut self.store)
    }

    /// Throws the host away and carries on from its storage, on a clock that may be behind.
    fn restart(&mut self, now: Instant, behind: Span) -> Verdict {
        let fresh = Host::restore(self.config, self.store.snapshot(), now - behind);
        let memory = std::mem::replace(&mut self.host, fresh);
        Durability::restored(memory, self.config, &self.store, self.now)?;
        self.now = self.store.snapshot().written().max(now - behind);
        self.alarm = Some(self.now);
        self.checks.crashed();
        self.checks.restored(&self.store, self.now);
        Ok(())
    }
}

fn note(input: &HostInput, response: &Response, seen: &mut Seen) {
    let asked = match input {
        HostInput::Request(_, request) => sample::operation_kind(&request.operation),
        HostInput::Gone(_) => "gone",
        HostInput::List(..) => "list",
        HostInput::Tick => "tick",
    };
    let slot = match response {
        Response::Granted(granted) => granted.slot as usize,
        _ => 0,
    };
    seen.note((asked, sample::kind(response), roughly(slot)));
}

fn config(bytes: &mut Bytes) -> HostConfig {
    HostConfig {
        margin: bytes.pick(&[
            HostConfig::DURABLE_OBJECT.margin,
            Margin::NONE,
            Margin {
                part: 0,
                most: Span::from_millis(50),
            },
        ]),
        retention: bytes.pick(&[HostConfig::EMBEDDED.retention, Span::from_secs(20)]),
        max_keys: [3, 4, 1, 2][bytes.below(4)],
        spare_keys: 2,
        max_waiters: [2, 3, 1, 0][bytes.below(4)],
        max_watchers: [2, 1][bytes.below(2)],
        ..HostConfig::EMBEDDED
    }
}

/// Mostly no time or little; now and then the clock steps back.
fn pause(bytes: &mut Bytes, now: Instant) -> Instant {
    match bytes.below(11) {
        0..=3 => now,
        4 => now + Span::from_millis(1),
        5 => now + Span::from_millis(100),
        6 => now + Span::from_millis(450),
        7 => now + Span::from_millis(3_000),
        8 => now + Span::from_millis(20_000),
        9 => now + sample::span(bytes),
        _ => now - Span::from_millis(1_500),
    }
}

fn late(bytes: &mut Bytes) -> Span {
    match bytes.below(4) {
        3 => sample::span(bytes),
        _ => Span::ZERO,
    }
}
