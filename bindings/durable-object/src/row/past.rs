//! What a key remembers, in one column of bytes: it is written anew with every grant, so it is kept
//! short and takes no rendering.

use leasehold::fence::Fence;
use leasehold::host::{Past, PastOutcome};
use leasehold::id::{LeaseId, OpId};
use leasehold::protocol::Ended;
use leasehold::time::Instant;

/// The bytes that an op takes, or a little more.
const USUAL: usize = 80;

const CANCELLED: u8 = 0;
const REVOKED: u8 = 1;
const GRANT: u8 = 2;

/// Op, when, what has become of it; of a grant also its id and fence, how it ended, by which op.
pub(super) fn bytes(past: &[Past]) -> Vec<u8> {
    let mut to = Vec::with_capacity(past.len() * USUAL);
    for past in past {
        to.extend(past.op.to_bits().to_be_bytes());
        to.extend(past.at.as_micros().to_be_bytes());
        match past.outcome {
            PastOutcome::Cancelled => to.push(CANCELLED),
            PastOutcome::Revoked(count) => {
                to.push(REVOKED);
                to.extend(count.to_be_bytes());
            }
            PastOutcome::Grant {
                lease,
                fence,
                ended,
                by,
            } => {
                to.push(GRANT);
                to.extend(lease.to_bits().to_be_bytes());
                to.extend(fence.value().to_be_bytes());
                let ended = ended.name().as_bytes();
                to.push(ended.len() as u8);
                to.extend(ended);
                to.push(u8::from(by.is_some()));
                if let Some(by) = by {
                    to.extend(by.to_bits().to_be_bytes());
                }
            }
        }
    }
    to
}

/// The ops in these bytes, unless they are of another kind.
pub(super) fn records(bytes: &[u8]) -> Option<Vec<Past>> {
    let mut from = Bytes(bytes);
    let mut past = Vec::new();
    while !from.0.is_empty() {
        past.push(record(&mut from)?);
    }
    Some(past)
}

fn record(from: &mut Bytes) -> Option<Past> {
    Some(Past {
        op: OpId::from_bits(u128::from_be_bytes(from.take()?)),
        at: Instant::from_micros(u64::from_be_bytes(from.take()?)),
        outcome: match from.byte()? {
            CANCELLED => PastOutcome::Cancelled,
            REVOKED => PastOutcome::Revoked(u32::from_be_bytes(from.take()?)),
            GRANT => PastOutcome::Grant {
                lease: LeaseId::from_bits(u128::from_be_bytes(from.take()?)),
                fence: Fence::from_value(u64::from_be_bytes(from.take()?)),
                ended: ended(from)?,
                by: match from.byte()? {
                    0 => None,
                    _ => Some(OpId::from_bits(u128::from_be_bytes(from.take()?))),
                },
            },
            _ => return None,
        },
    })
}

fn ended(from: &mut Bytes) -> Option<Ended> {
    let length = usize::from(from.byte()?);
    let (name, rest) = from.0.split_at_checked(length)?;
    from.0 = rest;
    Ended::from_name(core::str::from_utf8(name).ok()?)
}

/// What is left to be read.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take().map(|[byte]| byte)
    }
}
