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
        "2e19ff34d9b9efe7309c9d5ddf55f9fdb79e8cb5",
        "2fa7a3179c4c7e7f750601078384fbea62b8e577";
    CANCEL = "cancel",
        "f492ddd9dc84d85cd541c61669ff8a5cc4e5a701",
        "b75019717b5afa7473549a987348aa9e39e5d3d0";
    INSPECT = "inspect",
        "f2aed5af370086e3482996161ba204791f517751",
        "8d605068df68bf9b54ca334b473c08f907557440";
    RELEASE = "release",
        "1120d70c51a1fd7693d2e956e470c14bccfeaca9",
        "bee66926a916bf5c5a75c2a91fe80bca3b900482";
    RENEW = "renew",
        "98212a0403c169ab6ec8094f9365b65498f39a06",
        "ce51310a97a8675f2a1c59c53bd00c5f8239fd7c";
    REVOKE = "revoke",
        "4ea88a6dd5f03708fc8de0b9a0e421ff88822870",
        "6f1e9a712f8aee2c38e6e4b78f0ac1440f88bfba";
    TRANSFER = "transfer",
        "49befa88cfa863fe573dc0dc8a70a7cf5f793e7c",
        "fd0cd0dd08540f836c274e648d592a3ab73b3b30";
}
