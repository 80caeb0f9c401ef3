//! Leases for short-lived code: the core, free of I/O.
//!
//! Two machines make a lease. A [`holder::Holder`] acquires one lease, keeps it renewed, and knows
//! from its own clock alone when it must stop. A [`host::Host`] decides who gets which key, in
//! which order, under which fence. Neither reads a clock, draws a random number, opens a socket or
//! writes a file: a driver does that for them, and what travels between the two is in
//! [`protocol`]. [`redis`] has the host's rules once more, as scripts for a Redis server.
//!
//! # The contract
//!
//! Both machines are driven in the same way:
//!
//! 1. Give the machine one input, with the present instant: `handle(now, input)`.
//! 2. Drain it: call `poll_output` until it returns `None`. Only then comes the next input; what
//!    happens during the drain waits its turn.
//! 3. Carry the outputs out in their order. A host's [`host::HostOutput::Persist`] outputs are one
//!    transaction, and durable before any [`host::HostOutput::Reply`] of the same drain leaves.
//! 4. Come back with [`holder::Input::Wake`] or [`host::HostInput::Tick`] at the instant the last
//!    drain named. The latest drain counts alone: a holder's drain without a
//!    [`holder::Output::Wake`] means that no timer is needed; a host names its alarm only when it
//!    changes, and after each tick.
//!
//! The driver owes the machines this, and no more:
//!
//! - **Time.** `now` is read just before `handle`, from a clock that does not run backwards
//!   ([`clock::Clock`] makes one). An earlier instant counts as the latest seen. The holder's clock
//!   keeps within the rate of [`time::ClockBounds`]; nothing else depends on any two clocks.
//! - **Timers are hints.** A late wake-up delays notices and renewals; it never makes a lease valid
//!   for longer. Ask [`holder::Holder::is_held`] with a fresh instant before anything that matters.
//!   Wake-ups too early or too many change nothing.
//! - **Attempts.** Each [`holder::Output::Send`] goes out after the drain that gave it, and is
//!   reported at most once, as [`holder::Input::Answered`] or [`holder::Input::Failed`] under its
//!   attempt id; several may be under way at once. Saying nothing is allowed; the machine keeps its
//!   own time. Failures are [`holder::Delivery::Never`] only if the host cannot have seen the request.
//!   [`holder::Input::Resent`] is only for what was refused as a whole and goes out again.
//! - **Randomness.** Each holder gets a fresh [`holder::Seed`] from a cryptographic source. Lease
//!   ids are credentials.
//! - **Storage.** A host is restored from the sum of its mutations: [`host::Snapshot`].
//! - **The end.** After [`holder::Event::Closed`] a holder needs nothing more and can be dropped.
//!
//! In return no input makes a machine panic, no answer revives a lease that is over, exactly one
//! event ends it, and everything that repeats or grows has a limit.
//!
//! # Both machines, on virtual time
//!
//! ```
//! use std::collections::VecDeque;
//!
//! use leasehold::holder::{
//!     Ask, Config, Done, Event, Holder, Input, Output, Release, Seed, Ticket,
//! };
//! use leasehold::host::{Host, HostConfig, HostInput, HostOutput, ReplyTo};
//! use leasehold::name::{HolderName, Key};
//! use leasehold::time::{Instant, Span};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let key = Key::parse("order:42")?;
//! let config = Config::new(key, HolderName::parse("worker-1")?, Span::from_secs(30));
//! // Bits from a cryptographic source; fixed here, so that the example repeats itself.
//! let seed = Seed { ops: 0x51c6_a3f0, leases: 0x9e04_77d2 };
//! let mut holder = Holder::acquire(config, seed)?;
//! let mut host = Host::new(HostConfig::EMBEDDED);
//!
//! let mut now = Instant::ZERO;
//! let mut inputs = VecDeque::from([Input::Start]);
//! let mut wake = None;
//! let (mut stored, mut events) = (Vec::new(), Vec::new());
//! loop {
//!     // What has arrived comes first; else time passes until something is due.
//!     let input = match (inputs.pop_front(), wake) {
//!         (Some(input), _) => input,
//!         (None, Some(at)) => {
//!             now = at;
//!             Input::Wake
//!         }
//!         (None, None) => break,
//!     };
//!     holder.handle(now, input);
//!     wake = None;
//!     while let Some(output) = holder.poll_output() {
//!         match output {
//!             Output::Send(send) => {
//!                 // A carrier would do this in its own time. Here the way to the host is short.
//!                 let asker = ReplyTo(send.attempt.0.into());
//!                 let request = (*send.request).clone();
//!                 host.handle(now, HostInput::Request(asker, request));
//!                 while let Some(output) = host.poll_output() {
//!                     match output {
//!                         HostOutput::Persist(mutation) => stored.push(mutation),
//!                         HostOutput::Reply(to, response) if to == asker => {
//!                             inputs.push_back(Input::Answered(send.attempt, response));
//!                         }
//!                         HostOutput::Reply(..) => {} // to somebody else
//!                         HostOutput::Alarm(_) => {}  // nobody waits here
//!                     }
//!                 }
//!             }
//!             Output::Event(event) => {
//!                 if matches!(event, Event::Renewed { .. }) {
//!                     // The work is done.
//!                     inputs.push_back(Input::Ask(Ticket(1), Ask::Release));
//!                 }
//!                 events.push(event);
//!             }
//!             Output::Wake { at, .. } => wake = Some(at),
//!             Output::Drop(_attempt) => {} // a carrier would stop waiting for this answer
//!         }
//!     }
//! }
//!
//! let [Event::Granted(grant), Event::Renewed { .. }, end, settled, Event::Closed] = &events[..]
//! else {
//!     panic!("{events:?}");
//! };
//! assert_eq!(grant.fence.value(), 1);
//! // The first term was renewed after a third of it, and then given back.
//! assert!(now >= Instant::from_millis(8_991) && now <= Instant::from_millis(10_989));
//! assert_eq!(*end, Event::Released(Release::Done));
//! assert_eq!(*settled, Event::Settled(Ticket(1), Ok(Done::Released(Release::Done))));
//! assert!(!holder.is_held(now));
//! assert_eq!(stored.len(), 3); // granted, renewed, released
//! # Ok(())
//! # }
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod access;
pub mod clock;
pub mod decimal;
pub mod fence;
mod hash;
pub mod holder;
pub mod host;
pub mod id;
pub mod invalid;
pub mod json;
pub mod layout;
pub mod name;
pub mod protocol;
pub mod redis;
pub mod time;
mod words;
