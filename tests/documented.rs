//! What the documents say about limits is what the code has.

use std::collections::BTreeMap;

use leasehold::access::Entry;
use leasehold::host::HostConfig;
use leasehold::layout::Layout;
use leasehold::name::{EntryName, Fingerprint, HolderName, Key};
use leasehold::protocol::{
    Limit, MAX_ENTRIES, MAX_ENTRIES_BYTES, MAX_KEEP, MAX_LISTED, MAX_POLL, MAX_RESULT_BYTES,
    MAX_TTL, MAX_VALUE_BYTES, MAX_WAIT, MIN_KEEP, MIN_TTL,
};

/// Each row's numbers, by what the row is about.
fn documented() -> BTreeMap<&'static str, Vec<u64>> {
    let rows = include_str!("../docs/limits.md").lines();
    let rows = rows.filter(|line| line.starts_with("| ")).skip(2);
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
        ("a token", vec![count(Entry::MIN_TOKEN_BYTES)]),
    ];
    assert_eq!(documented(), BTreeMap::from(expected));
}
