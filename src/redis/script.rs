//! The scripts and their hashes.

use alloc::string::String;

/// What every script begins with.
const PRELUDE: &str = include_str!("lua/prelude.lua");

/// Lets Upstash lock the script's keys instead of the whole database. It has to be the very first
/// line, and a plain Redis refuses it.
const KEY_LOCKING: &str = "#!lua flags=allow-key-locking\n";

/// One operation's script.
#[derive(Debug)]
pub struct Script {
    /// The operation's name.
    pub name: &'static str,
    body: &'static str,
    /// SHA-1 of the text with and without the key-locking line, as Redis knows it.
    hashes: [&'static str; 2],
}

impl Script {
    /// The text to send.
    pub fn text(&self, key_locking: bool) -> String {
        let flag = if key_locking { KEY_LOCKING } else { "" };
        [flag, PRELUDE, self.body].concat()
    }

    /// The text's SHA-1, in hexadecimal.
    pub const fn hash(&self, key_locking: bool) -> &'static str {
        if key_locking {
            self.hashes[0]
        } else {
            self.hashes[1]
        }
    }
}

macro_rules! scripts {
    ($($constant:ident = $name:literal, $with:literal, $without:literal;)*) => {
        $(pub(super) static $constant: Script = Script {
            name: $name,
            body: include_str!(concat!("lua/", $name, ".lua")),
            hashes: [$with, $without],
        };)*

        /// All scripts.
        pub static SCRIPTS: &[&Script] = &[$(&$constant),*];
    };
}

scripts! {
    ACQUIRE = "acquire",
        "95c3dbd3e4bf98dc7a1bc2efa3f003da1e38da43",
        "27ce88515d8dad2f504db95610b6b57e6d200378";
    CANCEL = "cancel",
        "4236cff36c0c56ab2375702afbe7a491c66c3aa6",
        "e4ed5a5793dfa5d07d58069c72fb3c1031237a36";
    INSPECT = "inspect",
        "e6854c0df6ee5d2319f3faf0b7189fed02b23712",
        "f2a3e997b3291b3fa21b83e4cc3ed438dc964bf3";
    RELEASE = "release",
        "0c1b26d2c8a4a160f4c98d14b2478d76b8269f30",
        "40881d43aa2a5c5f50d18ae31abfaaae8220caa9";
    RENEW = "renew",
        "c170690443a771ad1f009c7d846a2a7d7c95ffd7",
        "5368d54319d7a32dee3df27b68fe9ee8136faea0";
    REVOKE = "revoke",
        "5f9f58ac3bd14b33dfc49edf25745e0f184ae2ff",
        "212cc9b8039a586b8752bb76add79a7eaa2aa269";
    TRANSFER = "transfer",
        "41ce0e20921185cb612e07cf7b2ea1f333640627",
        "c372880a37f8bbfdeb096181c5718e719169540b";
}
