//! Seeded random changes to inputs.

/// A small random source (splitmix64: Steele, Lea and Flood 2014), the same for the same seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A source that this seed determines.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `end`, which is not zero.
    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    fn byte(&mut self) -> u8 {
        (self.bits() >> 32) as u8
    }
}

/// No input grows longer than this.
pub const LONGEST: usize = 512;

/// Changes `input` in one to eight places. `other` is a second input to take parts from.
pub fn change(input: &mut Vec<u8>, other: &[u8], words: &[&str], random: &mut Random) {
    for _ in 0..(1 << random.below(4)) {
        change_once(input, other, words, random);
    }
    input.truncate(LONGEST);
}

fn change_once(input: &mut Vec<u8>, other: &[u8], words: &[&str], random: &mut Random) {
    let at = random.below(input.len() + 1);
    let length = (input.len() - at).min(1 + random.below(16));
    match random.below(10) {
        0 if length > 0 => input[at] ^= 1 << random.below(8),
        1 if length > 0 => input[at] = random.byte(),
        2 if length > 0 => input[at] = input[at].wrapping_add([1, 255][random.below(2)]),
        3 => drop(input.drain(at..at + length)),
        4 => {
            let again = input[at..at + length].to_vec();
            input.splice(at..at, again);
        }
        5 => {
            let fresh: Vec<u8> = (0..1 + random.below(12)).map(|_| random.byte()).collect();
            input.splice(at..at, fresh);
        }
        6 if !other.is_empty() => {
            let from = random.below(other.len());
            let to = (from + 1 + random.below(32)).min(other.len());
            input.splice(at..at + length, other[from..to].iter().copied());
        }
        7 if !other.is_empty() => {
            let from = random.below(other.len());
            input.truncate(at);
            input.extend(&other[from..]);
        }
        8 if !words.is_empty() => {
            let word = words[random.below(words.len())];
            input.splice(at..at, word.bytes());
        }
        _ => input.push(random.byte()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_changes() {
        let run = |seed| {
            let (mut random, mut input) = (Random::new(seed), b"abcdef".to_vec());
            for _ in 0..100 {
                change(&mut input, b"xyz", &["word"], &mut random);
            }
            input
        };
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
    }

    #[test]
    fn nothing_grows_without_end() {
        let (mut random, mut input) = (Random::new(1), Vec::new());
        for _ in 0..10_000 {
            let other = input.clone();
            change(&mut input, &other, &[], &mut random);
            assert!(input.len() <= LONGEST);
        }
    }
}
