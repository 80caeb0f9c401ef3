//! Fuzz targets: what must hold of the core whatever bytes come in.
//!
//! A target turns bytes into something that the core takes from outside (a message, a server's
//! reply, a sequence of inputs with times) and checks, by rules of its own, what the core makes of
//! it. A target panics when a rule is broken, and never because of the bytes.
//!
//! While it runs, a target notes the situations it came through in [`seen::Seen`]. [`explore`]
//! changes known inputs at random and keeps those that lead into a situation never noted before;
//! the corpus in `corpus/` was grown like that. The tests replay it, `cargo xtask fuzz` goes on
//! exploring.

pub mod bytes;
pub mod corpus;
pub mod explore;
pub mod mutate;
#[path = "../../tests/common/oracle.rs"]
mod oracle;
pub mod sample;
pub mod seen;
pub mod targets;
