//! Leases for short-lived code (core).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod access;
pub mod clock;
pub mod fence;
pub mod holder;
pub mod host;
pub mod id;
pub mod name;
pub mod protocol;
pub mod redis;
pub mod time;
