//! Histories of real runs, judged by the same checks as simulated ones.
//!
//! One event a line: `believed KEY CLIENT LIFE LEASE FENCE FROM UNTIL` (microseconds of one clock,
//! in order of `FROM`) and, after those, `wrote KEY LEASE FENCE ACCEPTED` in order of arrival.

use leasehold::fence::Fence;
use leasehold::id::LeaseId;
use leasehold::name::Key;
use leasehold::protocol::Granted;
use leasehold::time::Span;

use crate::check::{Belief, Exclusion, Fences, Resource, Who};

/// Judges a history. Exclusion is only looked at where the host promises it.
///
/// # Errors
/// The rule that was broken, or the line that cannot be read.
pub fn judge(text: &str, exclusion: bool) -> Result<String, String> {
    let mut fences = Fences::default();
    let mut beliefs = Exclusion::default();
    let mut resource = Resource::default();
    let (mut believed, mut wrote) = (0, 0);
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["believed", key, client, life, lease, fence, from, until] => {
                let belief = Belief {
                    key: read(key, line)?,
                    who: Who {
                        client: read(client, line)?,
                        life: read(life, line)?,
                    },
                    lease: read(lease, line)?,
                    fence: read(fence, line)?,
                    limit: 1,
                    from: read(from, line)?,
                    until: read(until, line)?,
                };
                fences
                    .told(&name(key)?, &granted(belief.lease, belief.fence))
                    .map_err(|broken| format!("{}: {}: {line}", broken.check, broken.what))?;
                beliefs.believed(belief);
                believed += 1;
            }
            ["wrote", key, lease, fence, accepted] => {
                let (lease, fence) = (read(lease, line)?, read(fence, line)?);
                let done = resource
                    .write(&fences, (&name(key)?, 0), fence, lease)
                    .map_err(|broken| format!("{}: {}: {line}", broken.check, broken.what))?;
                if done != (accepted == "1") {
                    return Err(format!("the resource did otherwise: {line}"));
                }
                wrote += 1;
            }
            _ => return Err(format!("not an event: {line}")),
        }
    }
    match beliefs.overlap().filter(|_| exclusion) {
        Some((one, other)) => Err(format!("exclusion: {one:?} and {other:?}")),
        None => Ok(format!(
            "{believed} grants and {wrote} writes break no rule"
        )),
    }
}

fn read<T: std::str::FromStr>(word: &str, line: &str) -> Result<T, String> {
    word.parse()
        .map_err(|_| format!("cannot read {word}: {line}"))
}

fn name(number: &str) -> Result<Key, String> {
    Key::parse(number).map_err(|invalid| invalid.to_string())
}

fn granted(lease: LeaseId, fence: Fence) -> Granted {
    Granted {
        lease,
        fence,
        slot: 0,
        ttl: Span::ZERO,
        waited: Span::ZERO,
        replayed: false,
        wanted: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "believed 0 1 0 00000000000000000000000000000001 1 100 200";

    #[test]
    fn a_sound_history_passes() {
        let text = format!(
            "{ONE}\nbelieved 0 2 0 00000000000000000000000000000002 2 200 300\n\
             wrote 0 00000000000000000000000000000002 2 1\n\
             wrote 0 00000000000000000000000000000001 1 0\n"
        );
        assert!(judge(&text, true).is_ok());
    }

    #[test]
    fn an_overlap_is_found_where_it_matters() {
        let text = format!("{ONE}\nbelieved 0 2 0 00000000000000000000000000000002 2 199 300\n");
        assert!(judge(&text, true).is_err());
        assert!(judge(&text, false).is_ok());
    }

    #[test]
    fn a_fence_that_falls_is_found() {
        let text = format!("{ONE}\nbelieved 0 2 0 00000000000000000000000000000002 1 200 300\n");
        assert!(judge(&text, false).is_err());
    }
}
