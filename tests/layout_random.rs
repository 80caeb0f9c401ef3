//! Any sequence of deployments, operator's steps and requests: no key is held in two objects.

mod common;

use std::collections::BTreeMap;

use common::hosting::Server;
use common::*;
use leasehold::layout::{Layout, Place, Plan, Register, Ruling, Standing, Told};
use leasehold::protocol::{Call, Operation, Request, Response};
use proptest::prelude::*;

const LAYOUTS: [&str; 2] = ["1", "2"];
const KEYS: [&str; 2] = ["a", "b"];

#[derive(Clone, Copy, Debug)]
enum Action {
    /// Asks for a key at the object that a layout names.
    Acquire {
        layout: usize,
        key: usize,
        ttl: u64,
    },
    /// The operator's step goes one object further.
    Change,
    /// The register's answer to an earlier question arrives.
    Deliver(usize),
    /// New code; the objects in use run the old one until it reaches each.
    Deploy(usize),
    Reach(usize),
    /// Whoever was last granted a key renews where it was granted.
    Renew {
        key: usize,
        ttl: u64,
    },
    Wait(u64),
}

fn action() -> impl Strategy<Value = Action> {
    let ttl = prop_oneof![Just(500_u64), Just(2_000), Just(9_000)];
    prop_oneof![
        8 => (0..2_usize, 0..2_usize, ttl.clone())
            .prop_map(|(layout, key, ttl)| Action::Acquire { layout, key, ttl }),
        4 => Just(Action::Change),
        8 => prop_oneof![4 => Just(0_usize), 1 => Just(1)].prop_map(Action::Deliver),
        1 => (0..2_usize).prop_map(Action::Deploy),
        2 => (0..3_usize).prop_map(Action::Reach),
        4 => (0..2_usize, ttl).prop_map(|(key, ttl)| Action::Renew { key, ttl }),
        2 => prop_oneof![Just(100_u64), Just(1_000), Just(4_000)].prop_map(Action::Wait),
    ]
}

struct Object {
    server: Server,
    place: Place,
}

/// The operator's step: what is still to be closed, and the longest told so far.
struct Step {
    left: Vec<String>,
    longest: leasehold::time::Span,
}

struct World {
    now: u64,
    setting: Layout,
    objects: BTreeMap<String, Object>,
    register: Register,
    answers: Vec<(String, Request, Told)>,
    step: Option<Step>,
    /// Who was granted a key where, and until when it believes so.
    beliefs: BTreeMap<(String, String), (u128, u64)>,
    last: u128,
    granted: u32,
}

impl World {
    fn new() -> Self {
        Self {
            now: 0,
            setting: LAYOUTS[0].parse().expect("a layout"),
            objects: BTreeMap::new(),
            register: Register::default(),
            answers: Vec::new(),
            step: None,
            beliefs: BTreeMap::new(),
            last: 0,
            granted: 0,
        }
    }

    fn object(&mut self, name: &str) -> &mut Object {
        let setting = self.setting.clone();
        self.objects.entry(name.into()).or_insert_with(|| Object {
            server: Server::new(),
            place: Place::new(Some(name.into()), setting, Standing::Unknown),
        })
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Acquire { layout, key, ttl } => {
                self.last += 1;
                let layout: Layout = LAYOUTS[layout].parse().expect("a layout");
                let name = layout.object_of(KEYS[key]);
                self.ask(&name, KEYS[key], acquire("h", self.last, ttl, 0), None);
            }
            Action::Renew { key, ttl } => {
                let of_key = |((_, of), _): &(&(String, String), &(u128, u64))| of == KEYS[key];
                let held = self
                    .beliefs
                    .iter()
                    .filter(of_key)
                    .max_by_key(|(_, held)| held.0);
                if let Some(((name, _), (lease, _))) = held {
                    let (name, lease) = (name.clone(), *lease);
                    self.ask(&name, KEYS[key], renew(lease, ttl), None);
                }
            }
            Action::Wait(millis) => self.now += millis,
            Action::Deploy(layout) => self.deploy(LAYOUTS[layout]),
            Action::Reach(index) => self.reach(index),
            Action::Change => self.change(),
            Action::Deliver(index) if index < self.answers.len() => {
                let (name, request, told) = self.answers.remove(index);
                let key = request.key.as_str().to_string();
                self.ask(&name, &key, request.operation, Some(told));
            }
            Action::Deliver(_) => {}
        }
    }

    fn ask(&mut self, name: &str, text: &str, operation: Operation, told: Option<Told>) {
        self.last += 1;
        let (millis, bits) = (self.now, self.last);
        let request = Request {
            key: key(text),
            ..request(bits, operation)
        };
        let object = self.object(name);
        let call = Call::Request(request.clone());
        match object.place.rule(at(millis), call, told) {
            Ruling::Serve(Call::List(_)) => panic!("no list was asked for"),
            Ruling::Serve(Call::Request(request)) => {
                let to = object.server.send(millis, request.clone());
                let answer = object.server.reply(to).expect("an answer at once");
                self.learn(name, text, &request, &answer);
            }
            Ruling::Ask => {
                let setting = object.place.setting().clone();
                let (told, _) = self.register.ask(at(millis), &setting);
                self.answers.push((name.into(), request, told));
            }
            Ruling::Refuse(_) => {}
            Ruling::IfHeld(..) => panic!("all layouts are sharded"),
        }
    }

    fn learn(&mut self, name: &str, text: &str, request: &Request, answer: &Response) {
        let place = (name.to_string(), text.to_string());
        match answer {
            Response::Granted(granted) => {
                for ((other, of), (_, until)) in &self.beliefs {
                    let elsewhere = of == text && other != name;
                    assert!(
                        !elsewhere || *until <= self.now,
                        "held at {other} and {name}"
                    );
                }
                let until = self.now + granted.ttl.as_millis_ceil();
                let lease = match &request.operation {
                    Operation::Acquire(acquire) => acquire.lease,
                    other => panic!("{other:?} was granted"),
                };
                let bits = u128::from_str_radix(&lease.to_hex(), 16).expect("hexadecimal");
                self.beliefs.insert(place, (bits, until));
                self.granted += 1;
            }
            Response::Renewed { ttl, .. } => {
                if let Some((_, until)) = self.beliefs.get_mut(&place) {
                    *until = (*until).max(self.now + ttl.as_millis_ceil());
                }
            }
            _ => {}
        }
    }

    /// The register has the new code at once.
    fn deploy(&mut self, text: &str) {
        self.setting = text.parse().expect("a layout");
        self.step = None;
        self.register = Register::parse(&self.register.text()).unwrap_or_default();
    }

    /// An object restarts with the new code from what it has stored, which is nothing if it was never
    /// used.
    fn reach(&mut self, index: usize) {
        let Some((name, object)) = self.objects.iter_mut().nth(index) else {
            return;
        };
        let is_used = !object.server.store.keys.is_empty();
        let standing = if is_used {
            object.place.standing()
        } else {
            Standing::Unknown
        };
        let standing = Standing::parse(&standing.text()).expect("what was stored");
        object.place = Place::new(Some(name.clone()), self.setting.clone(), standing);
        object.server.restart(self.now);
        self.answers.retain(|(asker, ..)| asker != name);
    }

    fn change(&mut self) {
        let (now, setting) = (at(self.now), self.setting.clone());
        match self.step.take() {
            None => {
                if let Ok(Plan::Close(layout)) = self.register.plan(now, &setting) {
                    let left = layout.shards().collect();
                    let longest = leasehold::time::Span::ZERO;
                    self.step = Some(Step { left, longest });
                }
            }
            Some(mut step) => match step.left.pop() {
                Some(name) => {
                    let object = self.object(&name);
                    let latest = object.server.host.latest_expiry().unwrap_or(now);
                    step.longest = step.longest.max(object.place.close(now, latest));
                    self.answers.retain(|(asker, ..)| *asker != name);
                    self.step = Some(step);
                }
                None => {
                    self.register.change(now, &setting, step.longest);
                }
            },
        }
    }
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn no_key_is_held_in_two_objects(actions in prop::collection::vec(action(), 1..200)) {
        let mut world = World::new();
        for action in actions {
            world.act(action);
        }
    }
}

#[test]
fn the_random_world_sees_changes_come_into_force() {
    let mut world = World::new();
    let take = |layout, key| Action::Acquire {
        layout,
        key,
        ttl: 1_000,
    };
    let steps = [
        take(0, 0),
        Action::Deliver(0),
        take(0, 1),
        Action::Deploy(1),
        Action::Reach(0),
    ];
    steps.into_iter().for_each(|action| world.act(action));
    assert!(world.granted >= 1);
    let before = world.granted;
    // To plan, to close one, to change.
    (0..3).for_each(|_| world.act(Action::Change));
    for action in [take(1, 1), Action::Deliver(0)] {
        world.act(action);
    }
    assert_eq!(world.granted, before, "not before all has run out");
    for action in [Action::Wait(1_000), take(1, 0), Action::Deliver(0)] {
        world.act(action);
    }
    assert_eq!(world.granted, before + 1);
}
