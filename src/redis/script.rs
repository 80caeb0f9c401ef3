//! The script.

use alloc::format;
use alloc::string::String;

use crate::host::{HostConfig, MAX_PAST, MEMORY};
use crate::protocol::{Code, MAX_ENTRIES, MAX_ENTRIES_BYTES, Refusal};

/// Its parts, in order.
const PARTS: [&str; 5] = [
    include_str!("lua/answer.lua"),
    include_str!("lua/document.lua"),
    include_str!("lua/entries.lua"),
    include_str!("lua/rules.lua"),
    include_str!("lua/operations.lua"),
];

/// Lets Upstash lock the script's keys instead of the whole database. It has to be the very first
/// line, and a plain Redis refuses it.
pub const KEY_LOCKING: &str = "#!lua flags=allow-key-locking\n";

/// A value at one of our names that we did not write. The script says its type instead of `value`.
pub const FOREIGN: Refusal = Refusal::new(
    Code::Unavailable,
    "foreign-value",
    "A value of somebody else's is stored where a record of the lease belongs, and was left alone: use another prefix or remove it.",
);

/// The script in Lua, without [`KEY_LOCKING`]: how a host behaves and what it refuses, and then what it
/// does.
pub fn script() -> String {
    let mut script = String::new();
    let config = &HostConfig::REDIS;
    let numbers = [
        ("MEMORY", MEMORY.as_micros()),
        ("MOST", MAX_PAST as u64),
        ("GRACE", config.grace.as_micros()),
        ("OFFER", config.offer.as_micros()),
        ("WAITERS", config.max_waiters as u64),
        ("RETENTION", config.retention.as_micros()),
        ("MARGIN_PART", config.margin.part),
        ("MARGIN_MOST", config.margin.most.as_micros()),
        ("ENTRIES", MAX_ENTRIES as u64),
        ("ROOM", MAX_ENTRIES_BYTES as u64),
    ];
    for (name, number) in numbers {
        script.push_str(&format!("local {name} = {number}\n"));
    }
    let refusals = [
        ("entries", Refusal::ENTRIES_FULL),
        ("fences", Refusal::FENCES_EXHAUSTED),
        ("foreign", FOREIGN),
        ("input", Refusal::ANOTHER_INPUT),
        ("room", Refusal::KEY_TOO_LARGE),
        ("shared", Refusal::NOT_EXCLUSIVE),
        ("successor", Refusal::SAME_LEASE),
        ("waiters", Refusal::TOO_MANY_WAITERS),
    ];
    script.push_str("local REFUSALS = {}\n");
    for (name, refusal) in refusals {
        script.push_str(&format!("REFUSALS.{name} = [[{}]]\n", refusal.to_json()));
    }
    script + &PARTS.concat()
}
