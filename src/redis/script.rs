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

    /// The command that is called on this line of the text, counted from 1.
    pub(super) fn called_on(&self, line: usize, key_locking: bool) -> Option<String> {
        let text = self.text(key_locking);
        let line = text.split('\n').nth(line.checked_sub(1)?)?;
        let (_, call) = line.split_once("call('")?;
        let (command, _) = call.split_once('\'')?;
        Some(command.into())
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
        "7b8166620b793cb72cf949895913b729ac9c2a03",
        "3ad85bc204472995ddfe2cdaaae5ecfeb6a3c1fc";
    CANCEL = "cancel",
        "6a296ea80a14dacb3f1cccd29d85bf4c514b13f8",
        "e05ac34007f091466585268ef96f67ebd5fce059";
    INSPECT = "inspect",
        "6d6cc44c03eb6cac2db32e488a911059729937cb",
        "01906e4ece19defa125fc4d529a52b144861f896";
    RELEASE = "release",
        "ee93dc1aa1e10421d67a1dc76efb0122f2f25bc6",
        "dc92e7b4ffbcab16538a5b40012593891453abf0";
    RENEW = "renew",
        "a462e0253078dbb87bbef00afbef62977a4c4375",
        "3025a596e2e06054609145a559100114ba2273ae";
    REVOKE = "revoke",
        "5956011802678956f4589312ab4d944df7083591",
        "1f223223518a7de21800176a4b1c0f4878c6d1d0";
    TRANSFER = "transfer",
        "3244dc8bf57f103669716034e832d27b8e761b62",
        "079df49602777d19feb337a53f56fe9c13614ed6";
}
