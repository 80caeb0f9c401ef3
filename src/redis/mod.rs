//! The host that a Redis is: one Lua script, run where the data is.
//!
//! The script takes a request as it travels and gives the answer as it travels; whoever holds the
//! connection sends it and knows the server's own words. Here is the script, and a [`Call`] says when
//! a request is sent, and how long who waits rests. One clock decides, the server's.
//!
//! All of a key lies in one document, which a step reads and writes whole; only the entries of its
//! grants have a record of their own. The script tells its form.
//!
//! Exclusion on a store that replicates asynchronously is best effort: a failover can lose a
//! grant. A grant's fence is the server's time in microseconds or one more than the last fence,
//! whichever is higher, so it still rises after a failover that lost the last writes.
//!
//! Three rules differ from the other hosts', since every command costs. An acquire that was denied
//! is not remembered: a holder never repeats one. A key that has come free is not offered to the
//! first waiter but kept for it: its next poll takes it, and since that is sent by somebody who is
//! there, with the whole term. And where nobody waits or watches, a release doesn't read the time: a
//! lease that is over, but not yet cleared away, is `released`.

mod call;
mod script;

pub use call::{Call, Names, Step};
pub use script::{FOREIGN, KEY_LOCKING, script};
