//! The script and its hashes.

use alloc::string::String;

use super::reply::after;

/// The script's parts, in order.
const SOURCE: &[u8] = concat!(
    include_str!("lua/document.lua"),
    include_str!("lua/entries.lua"),
    include_str!("lua/rules.lua"),
    include_str!("lua/operations.lua"),
)
.as_bytes();

/// What is sent of it: comments and indentation stay here.
static TEXT: &str = match core::str::from_utf8(&STRIPPED) {
    Ok(text) => text,
    Err(_) => "",
};

static STRIPPED: [u8; strip::<{ SOURCE.len() }>().1] = {
    let (text, length) = strip::<{ SOURCE.len() }>();
    let mut stripped = [0; strip::<{ SOURCE.len() }>().1];
    let mut i = 0;
    while i < length {
        stripped[i] = text[i];
        i += 1;
    }
    stripped
};

/// The source without comments, indentation and empty lines, and its length.
const fn strip<const LENGTH: usize>() -> ([u8; LENGTH], usize) {
    let mut stripped = [0; LENGTH];
    let (mut from, mut to) = (0, 0);
    while from < LENGTH {
        while SOURCE[from] == b' ' {
            from += 1;
        }
        let is_kept = SOURCE[from] != b'\n' && (SOURCE[from] != b'-' || SOURCE[from + 1] != b'-');
        loop {
            if is_kept {
                stripped[to] = SOURCE[from];
                to += 1;
            }
            from += 1;
            if SOURCE[from - 1] == b'\n' {
                break;
            }
        }
    }
    (stripped, to)
}

/// Lets Upstash lock the script's keys instead of the whole database. It has to be the very first
/// line, and a plain Redis refuses it.
const KEY_LOCKING: &str = "#!lua flags=allow-key-locking\n";

/// The text to send.
pub fn text(key_locking: bool) -> String {
    let flag = if key_locking { KEY_LOCKING } else { "" };
    [flag, TEXT].concat()
}

/// The command that is called on this line of the text, counted from 1.
pub(super) fn called_on(line: usize, key_locking: bool) -> Option<String> {
    let text = text(key_locking);
    let line = text.split('\n').nth(line.checked_sub(1)?)?;
    let command = after(line, "call('")?.split('\'').next()?;
    Some(command.into())
}

/// The text's SHA-1 in hexadecimal, as Redis knows it.
pub const fn hash(key_locking: bool) -> &'static str {
    if key_locking {
        "68fd4e3920eb8e8cc752875e5a9fb84967edccf5"
    } else {
        "cefa8edc3b411500cdaf22c2cfd63030f3d20d52"
    }
}
