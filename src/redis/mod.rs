//! The host that a Redis is: each operation is one Lua script, run where the data is.
//!
//! Pure: this module makes commands out of requests and responses out of replies. A [`Call`]
//! drives one request, waiting included; whoever holds the connection sends what it says. One
//! clock decides, the server's.
//!
//! Exclusion on a store that replicates asynchronously is best effort: a failover can lose a
//! grant. A grant's fence is the server's time in microseconds or one more than the last fence,
//! whichever is higher, so it still rises after a failover that lost the last writes.
//!
//! An op repeated gets its first outcome, as on every host, with one exception: an acquire that was
//! denied is not remembered, since that would cost a write each time. A holder never repeats one.

mod call;
mod command;
mod reply;
mod script;

pub use call::{Call, Step};
pub use command::{Prefix, channel};
pub use reply::{Reply, ReplyError};
pub use script::{SCRIPTS, Script};
