//! Fences, the numbers a resource checks, and revisions.

use crate::decimal::decimal;

decimal! {
    /// A number that strictly rises with every grant and transfer of a key, for ever.
    ///
    /// A resource that refuses any fence lower than the highest it has seen is never written by a
    /// stale holder. Public: it opens nothing.
    Fence
}

impl Fence {
    /// Lower than any fence ever granted.
    pub const NONE: Self = Self(0);

    /// The next higher fence, or `None` after 2^64 − 1 grants.
    pub const fn next(self) -> Option<Self> {
        match self.0.checked_add(1) {
            Some(value) => Some(Self(value)),
            None => None,
        }
    }
}

decimal! {
    /// Differs after every change to a key that an observer can see. Opaque to clients.
    Revision
}

impl Revision {
    /// That of a key of which the host knows nothing.
    pub const ABSENT: Self = Self(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal::ParseDecimalError;
    use alloc::string::String;

    #[test]
    fn is_exact_beyond_two_to_the_53() {
        for value in [0, 1, 9_007_199_254_740_993, u64::MAX] {
            let fence = Fence::from_value(value);
            assert_eq!(String::from(fence).parse(), Ok(fence));
        }
        assert_eq!(
            "9007199254740993".parse::<Fence>().map(Fence::value),
            Ok(9_007_199_254_740_993)
        );
    }

    #[test]
    fn refuses_what_is_not_a_decimal_number() {
        for text in ["", "+1", "-1", "1.0", "0x1", " 1", "18446744073709551616"] {
            assert_eq!(text.parse::<Fence>(), Err(ParseDecimalError), "{text}");
        }
    }

    #[test]
    fn ends_rather_than_wraps() {
        assert_eq!(Fence::from_value(u64::MAX).next(), None);
        assert_eq!(Fence::NONE.next(), Some(Fence::from_value(1)));
    }
}
