//! What the documents say about limits is what the code has.

use std::collections::BTreeMap;

mod common;

use common::*;
use leasehold::access;
use leasehold::host::{Host, HostConfig, HostInput, HostOutput, ReplyTo};
use leasehold::json::Json;
use leasehold::layout::Layout;
use leasehold::name::{EntryName, Fingerprint, HolderName, Key};
use leasehold::protocol::{
    Entry, Limit, MAX_ENTRIES, MAX_ENTRIES_BYTES, MAX_KEEP, MAX_LISTED, MAX_POLL, MAX_RESULT_BYTES,
    MAX_TTL, MAX_VALUE_BYTES, MAX_WAIT, MIN_KEEP, MIN_TTL, Operation,
};

/// The numbers in the second cell of each row, by what the row is about.
fn documented(page: &'static str) -> BTreeMap<&'static str, Vec<u64>> {
    let table = page.lines().skip_while(|line| !line.starts_with("| "));
    let rows = table.take_while(|line| line.starts_with("| ")).skip(2);
    rows.map(|row| {
        let mut cells = row.split('|').map(str::trim).skip(1);
        let what = cells.next().expect("a first cell");
        let limit = cells.next().expect("a second cell").replace(',', "");
        let limit = limit.replace("UTF-8", "");
        let words = limit.split(|char: char| !char.is_ascii_digit());
        (what, words.filter_map(|word| word.parse().ok()).collect())
    })
    .collect()
}

#[test]
fn every_limit_is_documented_as_it_is() {
    let object = HostConfig::DURABLE_OBJECT;
    let ms = |span: leasehold::time::Span| span.as_millis_floor();
    let count = |number: usize| u64::try_from(number).expect("small");
    let expected = [
        ("a key", vec![1, count(Key::MAX_BYTES)]),
        ("a holder's name", vec![1, count(HolderName::MAX_BYTES)]),
        (
            "`ttlMs`, the length of a term",
            vec![ms(MIN_TTL), ms(MAX_TTL)],
        ),
        ("`waitMs`, a wait", vec![0, ms(MAX_WAIT)]),
        (
            "`limit`, holders of one key",
            vec![1, Limit::MOST.holders().into()],
        ),
        ("an entry's name", vec![1, count(EntryName::MAX_BYTES)]),
        ("an entry's value, JSON", vec![count(MAX_VALUE_BYTES)]),
        ("entries of one lease", vec![count(MAX_ENTRIES)]),
        (
            "entries of one key, together",
            vec![count(MAX_ENTRIES_BYTES)],
        ),
        ("a result, JSON", vec![count(MAX_RESULT_BYTES)]),
        (
            "`keepMs`, how long a result is kept",
            vec![ms(MIN_KEEP), ms(MAX_KEEP)],
        ),
        ("a fingerprint", vec![1, count(Fingerprint::MAX_BYTES)]),
        ("keys in one answer to `list`", vec![count(MAX_LISTED)]),
        ("one request's wait at the host", vec![ms(MAX_POLL)]),
        (
            "a waiter's place between two requests",
            vec![ms(object.grace)],
        ),
        (
            "the first term of a grant that ends a wait",
            vec![ms(object.offer)],
        ),
        ("waiters for one key", vec![count(object.max_waiters)]),
        (
            "live keys of one Durable Object, so of one shard",
            vec![count(object.max_keys)],
        ),
        (
            "live keys of a memory host",
            vec![count(HostConfig::EMBEDDED.max_keys)],
        ),
        (
            "keys remembered beyond those, as something of theirs was cancelled",
            vec![count(object.spare_keys)],
        ),
        ("shards", vec![1, Layout::MAX_SHARDS.into()]),
        // TypeScript's own: held against the host itself in `tests/ts/workerd/limits.test.ts`.
        ("a request's body over HTTPS", vec![32_768]),
        ("a token", vec![count(access::Entry::MIN_TOKEN_BYTES)]),
    ];
    let documented = documented(include_str!("../docs/limits.md"));
    assert_eq!(documented, BTreeMap::from(expected));
}

/// A Durable Object's host on a key that has been leased before, and what it has had written.
struct Counted {
    host: Host,
    millis: u64,
    ops: u128,
    rows: u64,
}

impl Counted {
    fn new() -> Self {
        let mut counted = Self {
            host: Host::new(HostConfig::DURABLE_OBJECT),
            millis: 1_800_000_000_000,
            ops: 0,
            rows: 0,
        };
        counted.pair();
        counted.rows = 0;
        counted
    }

    fn ask(&mut self, operation: Operation) {
        self.millis += 10;
        self.ops += 1;
        let input = HostInput::Request(ReplyTo(self.millis), request(self.ops, operation));
        self.host.handle(at(self.millis), input);
        while let Some(output) = self.host.poll_output() {
            // An alarm that is set is billed as a row, one that is deleted as well.
            self.rows += u64::from(!matches!(output, HostOutput::Reply(..)));
        }
    }

    fn pair(&mut self) {
        self.ask(acquire("a", 1, 30_000, 0));
        self.ask(release(1));
    }
}

#[test]
fn rows_are_written_as_documented() {
    let rows = |work: &dyn Fn(&mut Counted)| {
        let mut counted = Counted::new();
        work(&mut counted);
        vec![counted.rows]
    };
    let held = |work: &dyn Fn(&mut Counted)| {
        let pair = 2;
        let with = rows(&|host| {
            host.ask(acquire("a", 1, 30_000, 0));
            work(host);
            host.ask(release(1));
        });
        vec![with[0] - pair]
    };
    let expected = [
        (
            "acquire and release, nobody else there",
            rows(&Counted::pair),
        ),
        ("each renewal", held(&|host| host.ask(renew(1, 30_000)))),
        (
            "a lease that waited for the one before it, with its confirmation",
            held(&|host| {
                host.ask(acquire("b", 2, 30_000, 20_000));
                host.ask(release(1));
                host.ask(renew(2, 30_000));
                host.ask(release(2));
            }),
        ),
        (
            "an acquire that is denied",
            held(&|host| host.ask(acquire("b", 2, 30_000, 0))),
        ),
        (
            "verify, inspect, watch",
            held(&|host| {
                host.ask(verify(1));
                host.ask(Operation::Inspect);
            }),
        ),
        (
            "an entry, and its end",
            held(&|host| {
                host.ask(Operation::Entry(Entry {
                    credential: by_lease(1),
                    name: EntryName::parse("at").expect("a name"),
                    value: Json::parse("1"),
                    number: 1,
                }));
            }),
        ),
    ];
    let documented = documented(include_str!("../docs/costs.md"));
    assert_eq!(documented, BTreeMap::from(expected));
}
