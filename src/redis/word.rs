//! Text as words of a document: without spaces or control characters, and never `~`, which stands
//! for none.

use alloc::string::String;
use alloc::vec::Vec;

/// None.
pub const NONE: &str = "~";

/// A number as a word. By hand: what formats numbers would weigh more than the rest of this module.
pub fn number(value: u64) -> String {
    let mut word = if value < 10 {
        String::new()
    } else {
        number(value / 10)
    };
    word.push(char::from(b'0' + (value % 10) as u8));
    word
}

/// The number that a word stands for.
pub fn whole(word: &str) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.bytes().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| byte - b'0')?;
        number.checked_mul(10)?.checked_add(digit.into())
    })
}

/// The text as a word: bytes other than letters, digits and plain signs as `%` and two digits.
pub fn escape(text: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    if text.is_empty() {
        return String::from("%");
    }
    let mut word = String::with_capacity(text.len());
    for byte in text.bytes() {
        if matches!(byte, b'!'..=b'}') && byte != b'%' {
            word.push(char::from(byte));
        } else {
            word.push('%');
            word.push(char::from(HEX[usize::from(byte >> 4)]));
            word.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    word
}

/// The text that a word stands for; `None` if it is no word of ours.
pub fn unescape(word: &str) -> Option<String> {
    if word == "%" {
        return Some(String::new());
    }
    let mut text = Vec::with_capacity(word.len());
    let mut rest = word.bytes();
    while let Some(byte) = rest.next() {
        text.push(if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            u8::try_from(digit()? << 4 | digit()?).ok()?
        } else {
            byte
        });
    }
    String::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_one_word_and_comes_back() {
        for (text, word) in [
            ("ann", "ann"),
            ("", "%"),
            ("~", "%7E"),
            ("a b\n", "a%20b%0A"),
            ("100%", "100%25"),
            ("{\"k\":[1,\"\u{e9}\"]}", "{\"k\":[1,\"%C3%A9\"]}"),
            ("\0\u{7f}", "%00%7F"),
        ] {
            assert_eq!(escape(text), word);
            assert_eq!(unescape(word).as_deref(), Some(text));
        }
    }

    #[test]
    fn numbers_are_digits_and_nothing_else() {
        for value in [0, 9, 10, 1_700_000_000_000_000, u64::MAX] {
            assert_eq!(number(value), alloc::format!("{value}"));
            assert_eq!(whole(&number(value)), Some(value));
        }
        for word in ["", "+1", "-1", "1.0", "1e3", " 1", "18446744073709551616"] {
            assert_eq!(whole(word), None, "{word}");
        }
    }

    #[test]
    fn what_is_no_word_is_told() {
        for word in ["%4", "%zz", "a%", "%FF"] {
            assert_eq!(unescape(word), None, "{word}");
        }
    }
}
