//! Which object decides about a key, where a host is many objects.
//!
//! The layout is a setting of whoever deploys the objects, never the asker's word. An object's name
//! carries it, so that an object can tell by its own name which keys are its own ([`Place`]), and
//! an asker that went by another layout is told the right one. One object of a namespace, named
//! [`REGISTER`], records the layout in force ([`Register`]): a change of shards then never has two
//! objects decide about one key at once.

mod place;
mod register;

pub use place::{Place, Ruling, Standing};
pub use register::{Plan, Register, Told};

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::str::FromStr;

use crate::decimal;
use crate::hash::fnv1a;
use crate::protocol::{Code, Refusal};

/// The name of the object that records the layout in force, one in each namespace.
pub const REGISTER: &str = "layout";

const BY_KEY: &str = "key";
const SHARD: &str = "shard";

/// How keys are spread over objects, and where those are to be.
///
/// As text: `key` for an object per key, a number for so many shards, either with a jurisdiction in
/// front, as in `eu/64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Empty where it does not matter.
    jurisdiction: String,
    /// None for an object per key.
    shards: Option<u32>,
}

/// A setting that is no layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The jurisdiction is not a word of lowercase letters.
    Jurisdiction,
    /// The number of shards is none, or out of range.
    Shards,
}

impl From<Unfit> for Refusal {
    fn from(unfit: Unfit) -> Self {
        Self::new(
            Code::Unavailable,
            "not-configured",
            match unfit {
                Unfit::Jurisdiction => {
                    "LEASEHOLD_JURISDICTION must be a jurisdiction's name, such as eu."
                }
                Unfit::Shards => {
                    "LEASEHOLD_SHARDS must be a whole number from 1 to 512, or the word key."
                }
            },
        )
    }
}

impl Layout {
    /// The most shards: one step has to reach them all.
    pub const MAX_SHARDS: u32 = 512;

    /// The layout of these settings; no jurisdiction is the empty text.
    ///
    /// # Errors
    /// [`Unfit`] naming the setting that is wrong.
    pub fn of_settings(shards: &str, jurisdiction: &str) -> Result<Self, Unfit> {
        let is_name = |text: &str| {
            text.len() <= 32
                && text.bytes().all(|byte| byte.is_ascii_lowercase())
                && ![BY_KEY, SHARD, REGISTER].contains(&text)
        };
        if !is_name(jurisdiction) {
            return Err(Unfit::Jurisdiction);
        }
        Ok(Self {
            jurisdiction: jurisdiction.to_owned(),
            shards: match shards {
                BY_KEY => None,
                number => Some(count(number).ok_or(Unfit::Shards)?),
            },
        })
    }

    /// The layout that an object of this name belongs to, if it is one of a layout's.
    pub fn of_object(name: &str) -> Option<Self> {
        let (first, rest) = name.split_once('/')?;
        let (jurisdiction, kind, rest) = match (first, rest.split_once('/')) {
            (BY_KEY | SHARD, _) => ("", first, rest),
            (jurisdiction, Some((kind, rest))) => (jurisdiction, kind, rest),
            _ => return None,
        };
        let shards = match kind {
            BY_KEY => BY_KEY,
            SHARD => rest.split_once('/')?.0,
            _ => return None,
        };
        Self::of_settings(shards, jurisdiction).ok()
    }

    /// The name of the object that decides about a key.
    pub fn object_of(&self, key: &str) -> String {
        match self.shards {
            None => self.named(&[BY_KEY, "/", key]),
            Some(shards) => {
                let index = fnv1a(key.as_bytes()).checked_rem(shards.into());
                self.shard(shards, index.unwrap_or(0))
            }
        }
    }

    /// The names of all its objects, where their number is fixed.
    pub fn shards(&self) -> impl Iterator<Item = String> + '_ {
        let shards = self.shards.unwrap_or(0);
        (0..shards).map(move |index| self.shard(shards, index.into()))
    }

    /// Whether a number of objects share the keys.
    pub fn is_sharded(&self) -> bool {
        self.shards.is_some()
    }

    /// Where the objects have to be.
    pub fn jurisdiction(&self) -> Option<&str> {
        Some(self.jurisdiction.as_str()).filter(|name| !name.is_empty())
    }

    /// The layout as text.
    pub fn text(&self) -> String {
        match self.shards {
            None => self.named(&[BY_KEY]),
            Some(shards) => self.named(&[&decimal::text(shards.into())]),
        }
    }

    fn shard(&self, shards: u32, index: u64) -> String {
        self.named(&[
            SHARD,
            "/",
            &decimal::text(shards.into()),
            "/",
            &decimal::text(index),
        ])
    }

    fn named(&self, parts: &[&str]) -> String {
        let mut name = self.jurisdiction.clone();
        if !name.is_empty() {
            name.push('/');
        }
        name.extend(parts.iter().copied());
        name
    }
}

/// A number of shards, in the one way to write it.
fn count(text: &str) -> Option<u32> {
    let number = u32::try_from(decimal::parse(text).ok()?).ok()?;
    let fits = (1..=Layout::MAX_SHARDS).contains(&number) && !text.starts_with('0');
    fits.then_some(number)
}

impl FromStr for Layout {
    type Err = Unfit;

    fn from_str(text: &str) -> Result<Self, Unfit> {
        match text.split_once('/') {
            Some(("", _)) => Err(Unfit::Jurisdiction),
            Some((jurisdiction, shards)) => Self::of_settings(shards, jurisdiction),
            None => Self::of_settings(text, ""),
        }
    }
}
