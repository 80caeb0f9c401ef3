//! The targets, one file each.

pub mod access;
pub mod clock;
pub mod holder_ops;
pub mod host_ops;
pub mod redis_call;
pub mod wire_request;
pub mod wire_response;

use crate::seen::Seen;

/// One thing to attack.
pub struct Target {
    /// Its name, and that of its folder in the corpus.
    pub name: &'static str,
    /// Runs one input; panics when a rule is broken.
    pub run: fn(&[u8], &mut Seen),
    /// Words that random changes alone would take too long to find.
    pub words: &'static [&'static str],
}

/// All targets.
pub const TARGETS: [Target; 7] = [
    Target {
        name: "access",
        run: access::run,
        words: &[],
    },
    Target {
        name: "clock",
        run: clock::run,
        words: &[],
    },
    Target {
        name: "holder_ops",
        run: holder_ops::run,
        words: &[],
    },
    Target {
        name: "host_ops",
        run: host_ops::run,
        words: &[],
    },
    Target {
        name: "redis_call",
        run: redis_call::run,
        words: &[],
    },
    Target {
        name: "wire_request",
        run: wire_request::run,
        words: &wire_request::WORDS,
    },
    Target {
        name: "wire_response",
        run: wire_response::run,
        words: &wire_response::WORDS,
    },
];

/// The target with this name.
pub fn named(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
