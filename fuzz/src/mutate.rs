//! Seeded random changes to inputs.

use leasehold_sim::rng::Rng;

/// No input grows longer than this.
pub const LONGEST: usize = 512;

/// Changes `input` in one to eight places. `other` is a second input to take parts from.
pub fn change(input: &mut Vec<u8>, other: &[u8], words: &[&str], random: &mut Rng) {
    for _ in 0..(1 << random.index(4)) {
        change_once(input, other, words, random);
    }
    input.truncate(LONGEST);
}

fn change_once(input: &mut Vec<u8>, other: &[u8], words: &[&str], random: &mut Rng) {
    let at = random.index(input.len() + 1);
    let length = (input.len() - at).min(1 + random.index(16));
    match random.index(10) {
        0 if length > 0 => input[at] ^= 1 << random.index(8),
        1 if length > 0 => input[at] = byte(random),
        2 if length > 0 => input[at] = input[at].wrapping_add([1, 255][random.index(2)]),
        3 => drop(input.drain(at..at + length)),
        4 => {
            let again = input[at..at + length].to_vec();
            input.splice(at..at, again);
        }
        5 => {
            let fresh: Vec<u8> = (0..1 + random.index(12)).map(|_| byte(random)).collect();
            input.splice(at..at, fresh);
        }
        6 if !other.is_empty() => {
            let from = random.index(other.len());
            let to = (from + 1 + random.index(32)).min(other.len());
            input.splice(at..at + length, other[from..to].iter().copied());
        }
        7 if !other.is_empty() => {
            let from = random.index(other.len());
            input.truncate(at);
            input.extend(&other[from..]);
        }
        8 if !words.is_empty() => {
            let word = words[random.index(words.len())];
            input.splice(at..at, word.bytes());
        }
        _ => input.push(byte(random)),
    }
}

fn byte(random: &mut Rng) -> u8 {
    random.bits() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_changes() {
        let run = |seed| {
            let (mut random, mut input) = (Rng::new(seed), b"abcdef".to_vec());
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
        let (mut random, mut input) = (Rng::new(1), Vec::new());
        for _ in 0..10_000 {
            let other = input.clone();
            change(&mut input, &other, &[], &mut random);
            assert!(input.len() <= LONGEST);
        }
    }
}
