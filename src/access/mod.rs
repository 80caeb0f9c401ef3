//! Who may do what with which keys, for hosts that anyone can reach: bearer tokens with scopes and
//! rights, an operator's token, and the origins of pages.
//!
//! What is configured is taken as a whole or not at all: a host that misread a scope would be open.

mod entry;
mod fault;
mod list;
mod origin;

pub use entry::{Entry, Right, Rights};
pub use fault::{Fault, Flaw};
pub use origin::Origins;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::hint::black_box;

use crate::protocol::{Call, Code, Refusal};

/// The tokens that a host accepts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    entries: Vec<Entry>,
}

impl Access {
    /// Access by these entries, in the order in which faults count them.
    ///
    /// # Errors
    /// Every [`Fault`] there is: then nobody has access.
    pub fn new(entries: Vec<Result<Entry, Flaw>>) -> Result<Self, Vec<Fault>> {
        if entries.is_empty() {
            return Err(Fault::of_tokens(None, Flaw::NoToken).into());
        }
        let mut faults = Vec::new();
        let mut good: Vec<Entry> = Vec::new();
        for (index, entry) in entries.into_iter().enumerate() {
            let is_known = |token: &str| good.iter().any(|other| other.token == token);
            match entry.and_then(Entry::checked) {
                Ok(entry) if is_known(&entry.token) => {
                    faults.push(Fault::of_tokens(Some(index + 1), Flaw::Duplicate));
                }
                Ok(entry) => good.push(entry),
                Err(flaw) => faults.push(Fault::of_tokens(Some(index + 1), flaw)),
            }
        }
        if faults.is_empty() {
            Ok(Self { entries: good })
        } else {
            Err(faults)
        }
    }

    /// Whether the bearer of this token may do this to any key at all: all that can be said before a
    /// request has been read.
    ///
    /// # Errors
    /// `unauthorized` when the token is not accepted, `no-right` when it lacks the right.
    pub fn authorize(&self, bearer: &str, right: Right) -> Result<(), Refusal> {
        self.entry(bearer, right).map(drop)
    }

    /// Whether the bearer of this token may make this call. What a list asks for has to be within one
    /// of the token's prefixes.
    ///
    /// # Errors
    /// Those of [`Self::authorize`], and `out-of-scope` when the token opens other keys only.
    pub fn check(&self, bearer: &str, right: Right, call: &Call) -> Result<(), Refusal> {
        let entry = self.entry(bearer, right)?;
        let asked = match call {
            Call::List(list) => list.prefix.as_str(),
            Call::Request(request) => {
                if let Some(beside) = Right::beside(&request.operation) {
                    self.authorize(bearer, beside)?;
                }
                request.key.as_str()
            }
        };
        if !entry.covers(asked) {
            return Err(denied(
                "out-of-scope",
                "The token does not open this key: use one whose prefixes cover it.",
            ));
        }
        Ok(())
    }

    fn entry(&self, bearer: &str, right: Right) -> Result<&Entry, Refusal> {
        // Through all entries, so that the time taken tells nothing about any token.
        let mut found = None;
        for entry in &self.entries {
            if is_same(bearer.as_bytes(), entry.token.as_bytes()) {
                found = Some(entry);
            }
        }
        let Some(entry) = found else {
            return Err(denied(
                "unauthorized",
                "A bearer token that this host accepts is needed.",
            ));
        };
        if !entry.rights.include(right) {
            return Err(denied("no-right", right.missing()));
        }
        Ok(entry)
    }

    /// What the keys of the scopes begin with.
    pub fn prefixes(&self) -> impl Iterator<Item = &str> {
        let scoped = self
            .entries
            .iter()
            .filter_map(|entry| entry.prefixes.as_ref());
        scoped.flatten().map(String::as_str)
    }
}

/// A token that opens the operator's part.
#[derive(Clone, PartialEq, Eq)]
pub struct Operator(String);

impl Operator {
    /// The bearer of this token.
    ///
    /// # Errors
    /// A [`Fault`] for what no header can show or anybody could guess.
    pub fn new(token: &str) -> Result<Self, Fault> {
        match entry::check_token(token) {
            Ok(()) => Ok(Self(token.into())),
            Err(flaw) => Err(Fault::of_operator(flaw)),
        }
    }

    /// Whether it is the bearer of this token.
    pub fn is(&self, bearer: &str) -> bool {
        is_same(bearer.as_bytes(), self.0.as_bytes())
    }
}

/// Prints no character of the token.
impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Operator(..)")
    }
}

/// What everybody is told while the tokens are not understood.
pub fn not_configured() -> Refusal {
    Refusal::new(
        Code::Unavailable,
        "not-configured",
        "The secret LEASEHOLD_TOKENS is not set or not understood: the Worker's log says why, and \
         so does /healthz to the bearer of LEASEHOLD_OPERATOR_TOKEN.",
    )
}

/// Compares in a time that depends on the lengths alone.
fn is_same(given: &[u8], token: &[u8]) -> bool {
    let mut difference = given.len() ^ token.len();
    for (position, byte) in token.iter().enumerate() {
        let other = given.get(position).copied().unwrap_or(!byte);
        difference |= usize::from(black_box(byte ^ other));
    }
    black_box(difference) == 0
}

fn denied(reason: &'static str, message: &'static str) -> Refusal {
    Refusal::new(Code::Denied, reason, message)
}
