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
        "5e843deaa303c3f3b758ca1cae84793845e35cc5",
        "547e562021baad7c8bc893166ef090c447cda019";
    CANCEL = "cancel",
        "93e2c7be8f36809fa7036e1120a5d22b2020d7d8",
        "47399b5838aa3e5adafd5046e3691a68ebfd6ab4";
    INSPECT = "inspect",
        "de5304242e2fdac1fc7d521760427f97559d02f2",
        "fb099cd874aa9cc23a6a3a747423fe80e4484f1c";
    RELEASE = "release",
        "f432a3dadb3b713bd5cd726f3da43d100484975f",
        "187f81e413a3b45d1dce6f4fe78f54f1e6df933b";
    RENEW = "renew",
        "44c93796076a3a5f76397b3e6fc88cf3fac26f95",
        "25c04fe48d49fee01e3839b31fad10f1b499d277";
    REVOKE = "revoke",
        "aed8d48c7c9a7612556d243e06963c2abc91b42f",
        "0aafd336d5cece3ba3fc1de935bd95f8d2a72b4b";
    TRANSFER = "transfer",
        "c7f8a68bde1a117cd92a4f5078378432b052d36d",
        "0d1221bd72d364a14be189db9deeef06d46f2f91";
}
