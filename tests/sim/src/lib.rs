//! Deterministic simulation of leasehold's machines.
//!
//! A [`world::World`] is one run: the very [`leasehold::holder::Holder`] and
//! [`leasehold::host::Host`] that ship, on virtual true time, with machines whose clocks go wrong,
//! a network that loses and delays, and a host that crashes; all of it decided by one seed.
//! [`check`] has one file per rule that must hold. [`batch`] runs many seeds and judges them
//! together.

pub mod agenda;
pub mod batch;
pub mod check;
pub mod fault;
pub mod history;
pub mod machine;
pub mod rng;
pub mod scenario;
pub mod store;
pub mod world;
