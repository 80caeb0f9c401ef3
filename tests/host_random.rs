//! Any sequence of operations: the host answers what a naive reference answers.

mod common;

use common::hosting::Server;
use common::*;
use leasehold::fence::Fence;
use leasehold::host::{HostConfig, HostInput, Margin, ReplyTo};
use leasehold::id::{LeaseId, OpId};
use leasehold::name::{HolderName, Key};
use leasehold::protocol::{
    Acquire, Credential, Ended, Granted, Held, Operation, Request, Response, Transfer,
};
use leasehold::time::{Instant, Span};
use proptest::prelude::*;

const CONFIG: HostConfig = HostConfig {
    margin: Margin {
        part: 20,
        most: Span::from_secs(1),
    },
    max_waiters: 3,
    ..HostConfig::EMBEDDED
};
const OFFER: Span = Span::from_secs(3);
const GRACE: Span = Span::from_secs(3);
const POLL: Span = Span::from_secs(20);

/// The reference: a list of keys, each with lists that are searched from end to end.
#[derive(Default)]
struct Reference {
    now: Instant,
    keys: Vec<Entry>,
    replies: Vec<(ReplyTo, Response)>,
}

struct Entry {
    key: Key,
    fence: u64,
    grant: Option<Grant>,
    queue: Vec<Waiter>,
    past: Vec<Past>,
    denied: Vec<OpId>,
}

#[derive(Clone)]
struct Grant {
    lease: LeaseId,
    op: OpId,
    holder: HolderName,
    term: Span,
    expires: Instant,
}

struct Waiter {
    op: OpId,
    acquire: Acquire,
    /// Where its request lies: asker, since when, and whether its patience ends with it.
    parked: Option<(ReplyTo, Instant, bool)>,
    until: Instant,
}

struct Past {
    op: OpId,
    won: Option<(LeaseId, u64)>,
    by: Option<OpId>,
    ended: Ended,
    at: Instant,
}

impl Reference {
    fn handle(&mut self, now: Instant, input: HostInput) {
        self.now = self.now.max(now);
        match input {
            HostInput::Gone(to) => {
                for waiter in self.keys.iter_mut().flat_map(|entry| &mut entry.queue) {
                    if waiter.parked.is_some_and(|(asker, ..)| asker == to) {
                        waiter.parked = None;
                        waiter.until = self.now + GRACE;
                    }
                }
            }
            HostInput::Request(to, request) => {
                if !self.keys.iter().any(|entry| entry.key == request.key) {
                    self.keys.push(Entry {
                        key: request.key.clone(),
                        fence: 0,
                        grant: None,
                        queue: Vec::new(),
                        past: Vec::new(),
                        denied: Vec::new(),
                    });
                }
                let entries = self.keys.iter_mut();
                for entry in entries.filter(|entry| entry.key == request.key) {
                    entry.settle(self.now, &mut self.replies);
                    entry.serve(
                        self.now,
                        to,
                        request.op,
                        &request.operation,
                        &mut self.replies,
                    );
                }
            }
            HostInput::Tick => {}
        }
        for entry in self.keys.iter_mut().filter(|entry| !entry.queue.is_empty()) {
            entry.settle(self.now, &mut self.replies);
        }
    }

    fn restart(&mut self) {
        for entry in &mut self.keys {
            entry.denied.clear();
            for waiter in &mut entry.queue {
                waiter.parked = None;
                waiter.until = self.now + GRACE;
            }
        }
    }
}

type Replies = Vec<(ReplyTo, Response)>;

impl Entry {
    fn settle(&mut self, now: Instant, replies: &mut Replies) {
        if self
            .grant
            .as_ref()
            .is_some_and(|grant| grant.expires <= now)
        {
            self.end(Ended::Expired, None, now);
        }
        self.next(now, replies);
        let mut position = 0;
        while position < self.queue.len() {
            if self.queue[position].until > now {
                position += 1;
                continue;
            }
            match self.queue[position].parked {
                Some((to, _, false)) => {
                    self.queue[position].parked = None;
                    self.queue[position].until = now + GRACE;
                    replies.push((to, queued(u32::try_from(position).expect("small"))));
                    position += 1;
                }
                _ => {
                    let waiter = self.queue.remove(position);
                    self.turn_away(&waiter, now, replies);
                }
            }
        }
    }

    fn turn_away(&mut self, waiter: &Waiter, now: Instant, replies: &mut Replies) {
        self.deny(waiter.op);
        if let Some((to, ..)) = waiter.parked {
            replies.push((to, self.held(now)));
        }
    }

    fn deny(&mut self, op: OpId) {
        if self.denied.len() == 16 {
            self.denied.remove(0);
        }
        self.denied.push(op);
    }

    fn held(&self, now: Instant) -> Response {
        Response::Held(Held {
            fence: None,
            waiters: 0,
            holder: self.grant.as_ref().map(|grant| grant.holder.clone()),
            retry_after: self
                .grant
                .as_ref()
                .map_or(Span::ZERO, |grant| grant.expires.since(now)),
        })
    }

    /// Gives a free key to the first waiter that is still there.
    fn next(&mut self, now: Instant, replies: &mut Replies) {
        while self.grant.is_none() && !self.queue.is_empty() {
            let waiter = self.queue.remove(0);
            let patient = matches!(waiter.parked, Some((_, _, false)));
            if waiter.until < now && !patient {
                self.turn_away(&waiter, now, replies);
                continue;
            }
            let term = waiter.acquire.ttl.min(OFFER);
            let Acquire { lease, holder, .. } = waiter.acquire;
            let since = waiter.parked.map_or(now, |(_, since, _)| since);
            let granted = self.give(lease, waiter.op, holder, term, now, now.since(since));
            if let Some((to, ..)) = waiter.parked {
                replies.push((to, granted));
            }
        }
    }

    fn give(
        &mut self,
        lease: LeaseId,
        op: OpId,
        holder: HolderName,
        term: Span,
        now: Instant,
        waited: Span,
    ) -> Response {
        self.fence += 1;
        self.grant = Some(Grant {
            lease,
            op,
            holder,
            term,
            expires: now + term,
        });
        self.granted(now, waited, false)
    }

    fn told(&self, now: Instant) -> Span {
        self.grant.as_ref().map_or(Span::ZERO, |grant| {
            let margin = grant.term.div(20).min(Span::from_secs(1));
            grant.expires.since(now).saturating_sub(margin)
        })
    }

    fn granted(&self, now: Instant, waited: Span, replayed: bool) -> Response {
        let grant = self.grant.as_ref().expect("granted");
        Response::Granted(Granted {
            slot: 0,
            wanted: 0,
            lease: grant.lease,
            fence: Fence::from_value(self.fence),
            ttl: self.told(now),
            waited,
            replayed,
        })
    }

    fn end(&mut self, ended: Ended, by: Option<OpId>, now: Instant) {
        if let Some(grant) = self.grant.take() {
            let won = Some((grant.lease, self.fence));
            self.remember(Past {
                op: grant.op,
                won,
                by,
                ended,
                at: now,
            });
        }
    }

    fn remember(&mut self, past: Past) {
        let now = past.at;
        while self.past.len() >= 16
            || self
                .past
                .first()
                .is_some_and(|first| now.since(first.at) >= Span::from_secs(60))
        {
            self.past.remove(0);
        }
        self.past.push(past);
    }

    fn bury(&mut self, op: OpId, ended: Ended, now: Instant) {
        self.remember(Past {
            op,
            won: None,
            by: None,
            ended,
            at: now,
        });
    }

    fn outcome(&self, op: OpId, now: Instant) -> Option<Response> {
        if self.grant.as_ref().is_some_and(|grant| grant.op == op) {
            return Some(self.granted(now, Span::ZERO, true));
        }
        let past = self.past.iter().find(|past| past.op == op)?;
        Some(match (past.won, past.ended) {
            (Some((lease, fence)), _) => Response::Granted(Granted {
                slot: 0,
                wanted: 0,
                lease,
                fence: Fence::from_value(fence),
                ttl: Span::ZERO,
                waited: Span::ZERO,
                replayed: true,
            }),
            (None, Ended::Cancelled) => Response::Cancelled,
            (None, ended) => not_holder(ended),
        })
    }

    /// `None` if the credential opens the running grant, else how its own ended.
    fn shut(&self, credential: &Credential) -> Option<Ended> {
        let fence = credential.fence.map_or(self.fence, Fence::value);
        let opens = |grant: &Grant| grant.lease == credential.lease && fence == self.fence;
        if self.grant.as_ref().is_some_and(opens) {
            return None;
        }
        let past = self
            .past
            .iter()
            .find(|past| past.won.is_some_and(|(won, _)| won == credential.lease));
        Some(past.map_or(Ended::Unknown, |past| past.ended))
    }

    fn extend(&mut self, ttl: Span, now: Instant) {
        if let Some(grant) = self
            .grant
            .as_mut()
            .filter(|grant| now + ttl > grant.expires)
        {
            grant.term = ttl;
            grant.expires = now + ttl;
        }
    }

    fn serve(
        &mut self,
        now: Instant,
        to: ReplyTo,
        op: OpId,
        operation: &Operation,
        replies: &mut Replies,
    ) {
        let answer = match operation {
            Operation::Acquire(acquire) => self.acquire(now, to, op, acquire, replies),
            Operation::Cancel => Some(self.cancel(now, op, replies)),
            Operation::Inspect => Some(self.grant.as_ref().map_or_else(free, |grant| {
                let waiters = u32::try_from(self.queue.len()).expect("small");
                let left = grant.expires.since(now).as_millis_floor();
                info(grant.holder.as_str(), self.fence, left, waiters)
            })),
            Operation::Release(credential) => Some(self.release(now, op, credential, replies)),
            Operation::Renew { credential, ttl } => Some(match self.shut(credential) {
                Some(ended) => refusal(*credential, ended),
                None => {
                    self.extend(*ttl, now);
                    Response::Renewed {
                        wanted: 0,
                        about: credential.fence,
                        ttl: self.told(now),
                    }
                }
            }),
            Operation::Revoke { .. } => {
                Some(Response::Revoked(u32::from(self.revoke(now, op, replies))))
            }
            Operation::Entry(_) | Operation::Finish(_) | Operation::Watch(_) => {
                unreachable!("not asked")
            }
            Operation::Transfer(transfer) => Some(self.transfer(now, op, transfer)),
            Operation::Verify(credential) => Some(match self.shut(credential) {
                Some(ended) => refusal(*credential, ended),
                None => Response::Renewed {
                    wanted: 0,
                    about: credential.fence,
                    ttl: self.told(now),
                },
            }),
        };
        replies.extend(answer.map(|answer| (to, answer)));
    }

    fn acquire(
        &mut self,
        now: Instant,
        to: ReplyTo,
        op: OpId,
        acquire: &Acquire,
        replies: &mut Replies,
    ) -> Option<Response> {
        if let Some(outcome) = self.outcome(op, now) {
            return Some(outcome);
        }
        let queued_as = self.queue.iter().find(|waiter| waiter.op == op);
        let ttl = queued_as.map_or(acquire.ttl, |waiter| waiter.acquire.ttl);
        let poll = ttl.scale(2, 1).max(ms(1_000)).min(POLL);
        let parked = Some((to, now, acquire.wait <= poll));
        let until = now + acquire.wait.min(poll);
        if let Some(position) = self.queue.iter().position(|waiter| waiter.op == op) {
            if acquire.wait.is_zero() {
                let waiter = self.queue.remove(position);
                self.turn_away(&waiter, now, replies);
                return Some(self.held(now));
            }
            let waiter = &mut self.queue[position];
            if let Some((before, ..)) = waiter.parked {
                replies.push((before, queued(u32::try_from(position).expect("small"))));
            }
            waiter.parked = parked;
            waiter.until = until;
            return None;
        }
        if self.denied.contains(&op) {
            return Some(self.held(now));
        }
        if self.grant.is_none() {
            let holder = acquire.holder.clone();
            return Some(self.give(acquire.lease, op, holder, acquire.ttl, now, Span::ZERO));
        }
        if acquire.wait.is_zero() {
            self.deny(op);
            return Some(self.held(now));
        }
        if self.queue.len() == 3 {
            return Some(too_many_waiters());
        }
        self.queue.push(Waiter {
            op,
            acquire: acquire.clone(),
            parked,
            until,
        });
        None
    }

    fn cancel(&mut self, now: Instant, op: OpId, replies: &mut Replies) -> Response {
        if self.grant.as_ref().is_some_and(|grant| grant.op == op) {
            self.end(Ended::Cancelled, Some(op), now);
            self.next(now, replies);
            return Response::Cancelled;
        }
        if let Some(position) = self.queue.iter().position(|waiter| waiter.op == op) {
            let waiter = self.queue.remove(position);
            replies.extend(waiter.parked.map(|(to, ..)| (to, Response::Cancelled)));
        }
        if !self.past.iter().any(|past| past.op == op) {
            self.bury(op, Ended::Cancelled, now);
        }
        Response::Cancelled
    }

    fn ended_by(&self, op: OpId, ended: Ended) -> bool {
        self.past
            .iter()
            .any(|past| past.by == Some(op) && past.ended == ended)
    }

    fn in_vain(&self, op: OpId) -> Option<Ended> {
        let past = self.past.iter().find(|past| past.op == op)?;
        past.won.is_none().then_some(past.ended)
    }

    fn release(
        &mut self,
        now: Instant,
        op: OpId,
        credential: &Credential,
        replies: &mut Replies,
    ) -> Response {
        let released = Response::Released {
            about: credential.fence,
        };
        if self.ended_by(op, Ended::Released) {
            return released;
        }
        if let Some(ended) = self.shut(credential) {
            return refusal(*credential, ended);
        }
        self.end(Ended::Released, Some(op), now);
        self.next(now, replies);
        released
    }

    fn revoke(&mut self, now: Instant, op: OpId, replies: &mut Replies) -> bool {
        if self.ended_by(op, Ended::Revoked) {
            return true;
        }
        if self.in_vain(op).is_some() {
            return false;
        }
        if self.grant.is_none() {
            self.bury(op, Ended::Revoked, now);
            return false;
        }
        self.end(Ended::Revoked, Some(op), now);
        self.next(now, replies);
        true
    }

    fn transfer(&mut self, now: Instant, op: OpId, transfer: &Transfer) -> Response {
        if let Some(outcome) = self.outcome(op, now) {
            return outcome;
        }
        if let Some(ended) = self.shut(&transfer.credential) {
            return refusal(transfer.credential, ended);
        }
        self.end(Ended::Transferred, Some(op), now);
        let Transfer {
            successor,
            lease,
            ttl,
            ..
        } = transfer.clone();
        self.give(lease, op, successor, ttl, now, Span::ZERO)
    }
}

/// This refusal's text is checked elsewhere: here any refusal is as good.
fn too_many_waiters() -> Response {
    refused(leasehold::protocol::Code::Unavailable, None)
}

fn comparable((to, response): (ReplyTo, Response)) -> (ReplyTo, Response) {
    match response {
        Response::Refused(_) => (to, too_many_waiters()),
        other => (to, other),
    }
}

#[derive(Clone, Debug)]
enum Move {
    /// A request for one of three keys.
    Ask(usize, u128, Operation),
    /// One of the latest askers goes away.
    Leave(u64),
    /// The alarm, so late.
    Alarm(u64),
    Tick,
    Restart,
}

fn refusal(credential: Credential, ended: Ended) -> Response {
    Response::NotHolder {
        present: None,
        about: credential.fence,
        ended,
    }
}

fn holders() -> impl Strategy<Value = HolderName> {
    prop::sample::select(vec!["a", "b", "c"]).prop_map(name)
}

/// Ids of acquires are 1 to 8, of transfers 11 to 14; each proposes the lease 100 higher.
fn credentials() -> impl Strategy<Value = Credential> {
    let fences = prop_oneof![3 => Just(None), 2 => (0_u64..6).prop_map(|value| Some(fence(value)))];
    let leases = prop_oneof![101_u128..=108, 111_u128..=114];
    (leases, fences).prop_map(|(bits, fence)| Credential {
        lease: lease(bits),
        fence,
    })
}

fn asked() -> impl Strategy<Value = (u128, Operation)> {
    let ttl = || prop_oneof![3 => 100_u64..10_000, 1 => 10_000_u64..100_000];
    let wait = prop_oneof![2 => Just(0_u64), 3 => 1_u64..20_000, 2 => 20_000_u64..60_000];
    prop_oneof![
        8 => (1_u128..=8, holders(), ttl(), wait).prop_map(|(op, holder, ttl, wait)| {
            (op, Operation::Acquire(Acquire::new(holder, lease(100 + op), ms(ttl), ms(wait))))
        }),
        2 => prop_oneof![1_u128..=8, 11_u128..=14].prop_map(|op| (op, Operation::Cancel)),
        4 => (21_u128..=30, credentials()).prop_map(|(op, credential)| (op, Operation::Release(credential))),
        4 => (31_u128..=40, credentials(), ttl())
            .prop_map(|(op, credential, ttl)| (op, Operation::Renew { credential, ttl: ms(ttl) })),
        1 => (21_u128..=30).prop_map(|op| (op, Operation::Revoke { fence: None })),
        3 => (11_u128..=14, credentials(), holders(), ttl()).prop_map(|(op, credential, successor, ttl)| {
            (op, Operation::Transfer(Transfer { credential, successor, lease: lease(100 + op), ttl: ms(ttl) }))
        }),
        2 => (31_u128..=40, credentials()).prop_map(|(op, credential)| (op, Operation::Verify(credential))),
    ]
}

fn moves() -> impl Strategy<Value = (i64, Move)> {
    let pauses = prop_oneof![
        4 => Just(0_i64), 6 => 1_i64..500, 3 => 500_i64..5_000, 1 => 5_000_i64..70_000, 1 => -2_000_i64..0,
    ];
    let one = prop_oneof![
        20 => (0_usize..3, asked()).prop_map(|(key, (op, operation))| Move::Ask(key, op, operation)),
        1 => (0_u64..4).prop_map(Move::Leave),
        4 => prop_oneof![3 => Just(0_u64), 1 => 0_u64..10_000].prop_map(Move::Alarm),
        1 => Just(Move::Tick),
        1 => Just(Move::Restart),
    ];
    (pauses, one)
}

/// Plays the story to both. Restarted before every step, the host has nothing but its storage.
fn check(story: Vec<(i64, Move)>, restart_always: bool) {
    let mut server = Server::with(CONFIG);
    let mut reference = Reference::default();
    let keys = ["k", "l", "m"].map(key);
    let mut now = 100_000_u64;
    let mut asker = 0;
    for (pause, one) in story {
        // A clock that steps back now and then; both sides go on from the latest.
        now = now.saturating_add_signed(pause);
        let input = match one.clone() {
            Move::Ask(index, bits, operation) => {
                asker += 1;
                HostInput::Request(
                    ReplyTo(asker),
                    Request {
                        key: keys[index].clone(),
                        op: op(bits),
                        operation,
                    },
                )
            }
            Move::Leave(which) => HostInput::Gone(ReplyTo(asker.saturating_sub(which))),
            Move::Alarm(late) => {
                let Some(alarm) = server.alarm else { continue };
                now = now.max(alarm.as_millis_ceil() + late);
                HostInput::Tick
            }
            Move::Tick => HostInput::Tick,
            Move::Restart => HostInput::Tick,
        };
        if restart_always || matches!(one, Move::Restart) {
            // The store alone says how to go on; what the host knew is gone.
            now = now.max(server.now.as_millis_ceil());
            server.restart(now);
            reference.now = reference.now.max(at(now));
            reference.restart();
        }
        server.replies.clear();
        server.step(at(now), input.clone());
        reference.handle(at(now), input.clone());
        let mut expected: Vec<_> = reference.replies.drain(..).map(comparable).collect();
        let replies = server.replies.drain(..);
        let mut answers: Vec<_> = replies
            .map(|(_, to, response)| comparable((to, response)))
            .collect();
        expected.sort_by_key(|(to, _)| *to);
        answers.sort_by_key(|(to, _)| *to);
        assert_eq!(answers, expected, "at {now}: {input:?}");
    }
}

proptest! {
    #![proptest_config(common::cases(400))]

    #[test]
    fn the_host_answers_like_the_reference(story in prop::collection::vec(moves(), 0..120)) {
        check(story, false);
    }

    #[test]
    fn what_is_stored_says_all_that_the_host_knows(
        story in prop::collection::vec(moves(), 0..120),
    ) {
        check(story, true);
    }
}
