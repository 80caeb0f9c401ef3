//! What the caller sets and asks for: a request of the protocol, without what the machine knows and
//! with what no host is told.

use leasehold::holder::{Ask, Config, Holder, Schedule, Seed};
use leasehold::protocol::wire::{FieldSchema, Kind, Record, Verb, optional};
use leasehold::protocol::{Credential, Field, Invalid};

/// How a lease is to be had and kept. Times are in milliseconds.
const SETTINGS: &[FieldSchema] = &[
    optional(Field::Key, Kind::Text),
    optional(Field::Holder, Kind::Name(256)),
    // Of a lease that is carried on.
    optional(Field::Lease, Kind::Id),
    optional(Field::Fence, Kind::Decimal),
    optional(Field::Ttl, Kind::Whole),
    optional(Field::Wait, Kind::Whole),
    optional(Field::Limit, Kind::Whole),
    optional(Field::Steal, Kind::Flag),
    optional(Field::Fingerprint, Kind::Name(128)),
    optional(Field::Renews, Kind::Flag),
    // Thousandths of the term.
    optional(Field::T1, Kind::Whole),
    optional(Field::T2, Kind::Whole),
    optional(Field::Timeout, Kind::Whole),
    optional(Field::MaxHold, Kind::Whole),
    // From a cryptographic source: what ids of ops and of leases are counted up from.
    optional(Field::Op, Kind::Id),
    optional(Field::ToLease, Kind::Id),
];

/// Something to be done with a lease.
const ASKED: &[FieldSchema] = &[
    optional(Field::Operation, Kind::Word(Verb::WORDS)),
    optional(Field::Ttl, Kind::Whole),
    optional(Field::ToHolder, Kind::Name(256)),
    // From a cryptographic source.
    optional(Field::ToLease, Kind::Id),
    optional(Field::Name, Kind::Text),
    optional(Field::Value, Kind::JsonText),
    optional(Field::Result, Kind::JsonText),
    optional(Field::Keep, Kind::Whole),
];

/// The machine for a lease that is to be had: acquired, or carried on if it is named.
pub(crate) fn holder(settings: &str) -> Result<Holder, Invalid> {
    let record = Record::read(settings, SETTINGS)?;
    let (config, seed) = record.made(config(&record))?;
    if !record.has(Field::Lease) {
        return Holder::acquire(config, seed);
    }
    let lease = Credential {
        lease: record.made(record.lease(Field::Lease))?,
        fence: record.fence(),
    };
    Holder::resume(config, lease, seed)
}

fn config(record: &Record<'_>) -> Option<(Config, Seed)> {
    let holder = record.given(Record::holder, Field::Holder)?;
    let mut config = Config::new(record.key()?, holder, record.ttl()?);
    config.wait = record.wait()?;
    config.limit = record.limit()?;
    config.steal = record.flag(Field::Steal);
    config.fingerprint = record.fingerprint()?;
    let usual = Config::usual_time_limit(config.wait);
    config.time_limit = record.span(Field::Timeout).or(usual);
    config.max_hold = record.span(Field::MaxHold);
    let thousandths = |field| record.whole(field).map(|part| part as u16);
    config.renewal = record.flag(Field::Renews).then(|| Schedule {
        t1: thousandths(Field::T1).unwrap_or(Schedule::DEFAULT.t1),
        t2: thousandths(Field::T2),
    });
    let seed = Seed {
        ops: record.given(Record::id, Field::Op)?,
        leases: record.given(Record::id, Field::ToLease)?,
    };
    Some((config, seed))
}

/// What is to be done with the lease.
pub(crate) fn ask(text: &str) -> Result<Ask, Invalid> {
    let record = Record::read(text, ASKED)?;
    record.made(asked(&record))
}

fn asked(record: &Record<'_>) -> Option<Ask> {
    Some(match record.verb() {
        Some(Verb::Entry) => Ask::Entry {
            name: record.entry_name()?,
            value: record.json(Field::Value),
        },
        Some(Verb::Finish) => Ask::Finish {
            result: record.given(Record::json, Field::Result)?,
            keep: record.keep()?,
        },
        Some(Verb::Release) => Ask::Release,
        Some(Verb::Renew) if record.has(Field::Ttl) => Ask::Renew(Some(record.ttl()?)),
        Some(Verb::Renew) => Ask::Renew(None),
        Some(Verb::Transfer) => Ask::Transfer {
            successor: record.given(Record::holder, Field::ToHolder)?,
            lease: record.lease(Field::ToLease)?,
            ttl: record.ttl()?,
        },
        Some(Verb::Verify) => Ask::Verify,
        _ => return None,
    })
}
