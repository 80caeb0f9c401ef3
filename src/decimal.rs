//! Numbers as text.

use alloc::string::String;

/// A number in decimal, without the formatting machinery: that weighs more than what uses this.
pub(crate) fn decimal(number: u64) -> String {
    let mut digits = if number >= 10 {
        decimal(number / 10)
    } else {
        String::new()
    };
    digits.push(char::from(b'0' + (number % 10) as u8));
    digits
}
