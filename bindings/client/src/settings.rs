//! What the caller sets and asks for: a request of the protocol, without what the machine knows.

use leasehold::holder::{Ask, Config, Schedule};
use leasehold::id::LeaseId;
use leasehold::name::{EntryName, Key};
use leasehold::protocol::wire::{Verb, WireRequest};
use leasehold::protocol::{Credential, Field, Invalid, Limit, parse_keep, parse_ttl, parse_wait};
use leasehold::time::Span;
use leasehold_records::number::span;
use wasm_bindgen::prelude::*;

/// How a lease is kept, which no host is told. Times are in milliseconds.
#[wasm_bindgen]
pub struct Keeping {
    renewal: Option<Schedule>,
    time_limit: Option<Span>,
    max_hold: Option<Span>,
}

#[wasm_bindgen]
impl Keeping {
    /// To renew by itself or not; when, in parts of the term; limits of the call and of the hold.
    #[wasm_bindgen(constructor)]
    pub fn new(
        renews: bool,
        t1: Option<f64>,
        t2: Option<f64>,
        timeout_ms: Option<f64>,
        max_hold_ms: Option<f64>,
    ) -> Self {
        let thousandths = |part: f64| (part * 1_000.0) as u16;
        let schedule = Schedule {
            t1: t1.map_or(Schedule::DEFAULT.t1, thousandths),
            t2: t2.map(thousandths),
        };
        Self {
            renewal: renews.then_some(schedule),
            time_limit: timeout_ms.map(span),
            max_hold: max_hold_ms.map(span),
        }
    }
}

/// A lease that is to be had: an acquire, or a transfer's successor.
pub(crate) fn config(wire: WireRequest, keeping: &Keeping) -> Result<Config, Invalid> {
    let key = Key::parse(&required(wire.key, Field::Key)?)?;
    let holder = required(wire.holder, Field::Holder)?;
    let mut config = Config::new(key, holder, ttl(wire.ttl_ms)?);
    config.wait = parse_wait(wire.wait_ms.unwrap_or_default())?;
    config.limit = Limit::parse(wire.limit.unwrap_or(1))?;
    config.steal = wire.steal;
    config.fingerprint = wire.fingerprint;
    config.time_limit = keeping.time_limit.or(Config::usual_time_limit(config.wait));
    config.max_hold = keeping.max_hold;
    config.renewal = keeping.renewal;
    Ok(config)
}

pub(crate) fn credential(wire: &WireRequest) -> Result<Credential, Invalid> {
    Ok(Credential {
        lease: required(wire.lease, Field::Lease)?,
        fence: Some(required(wire.fence, Field::Fence)?),
    })
}

/// Something to be done with the lease. A successor's lease gets the id `next`.
pub(crate) fn ask(text: &str, next: LeaseId) -> Result<Ask, Invalid> {
    let wire = WireRequest::from_json(text)?;
    Ok(match wire.operation {
        Some(Verb::Entry) => Ask::Entry {
            name: EntryName::parse(&required(wire.name, Field::Name)?)?,
            value: wire.value.map(|json| json.0),
        },
        Some(Verb::Finish) => Ask::Finish {
            result: required(wire.result, Field::Result)?.0,
            keep: parse_keep(wire.keep_ms.unwrap_or_default())?,
        },
        Some(Verb::Release) => Ask::Release,
        Some(Verb::Renew) => Ask::Renew(wire.ttl_ms.map(parse_ttl).transpose()?),
        Some(Verb::Transfer) => Ask::Transfer {
            successor: required(wire.to_holder, Field::ToHolder)?,
            lease: next,
            ttl: ttl(wire.ttl_ms)?,
        },
        Some(Verb::Verify) => Ask::Verify,
        _ => return Err(Invalid::new(Field::Operation, "must be one on a lease")),
    })
}

fn ttl(millis: Option<u64>) -> Result<Span, Invalid> {
    parse_ttl(millis.unwrap_or_default())
}

fn required<T>(value: Option<T>, field: Field) -> Result<T, Invalid> {
    value.ok_or(Invalid::new(field, "must be given"))
}
