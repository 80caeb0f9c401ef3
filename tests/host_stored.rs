//! The bytes that a store keeps: what is written is read again, and nothing else is taken for it.

mod common;

use common::hosting::{read, rows};
use common::{at, cases, fence, lease, ms, op};
use leasehold::fence::Revision;
use leasehold::host::{
    DoneRecord, EntryRecord, Floor, GrantRecord, KeyRecord, Mutation, Offer, Past, PastOutcome,
    Row, Snapshot, WaiterRecord, kind,
};
use leasehold::json::Json;
use leasehold::name::{EntryName, Fingerprint, HolderName, Key};
use leasehold::protocol::{Ended, Limit};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// Names that could be mistaken for a part of a place.
fn text() -> impl Strategy<Value = String> {
    select(vec![
        "k", "/", "1/k", "k/1", "1/1/k", "waiter/7", "%", "é", "\0",
    ])
    .prop_map(Into::into)
}

fn key() -> impl Strategy<Value = Key> {
    text().prop_map(|text| Key::parse(&text).expect("a key"))
}

fn fingerprint() -> impl Strategy<Value = Option<Fingerprint>> {
    option::of(text().prop_map(|text| Fingerprint::parse(&text).expect("a fingerprint")))
}

fn holder() -> impl Strategy<Value = HolderName> {
    text().prop_map(|text| HolderName::parse(&text).expect("a holder"))
}

fn limit() -> impl Strategy<Value = Limit> {
    (1..=1_024_u64).prop_map(|holders| Limit::parse(holders).expect("a limit"))
}

fn json() -> impl Strategy<Value = Json> {
    let texts = vec!["null", "\"\"", "[1,{\"a\":\"\u{1f512}\"}]"];
    select(texts).prop_map(|text| Json::parse(text).expect("JSON"))
}

fn grant(slot: u32) -> impl Strategy<Value = GrantRecord> {
    let offers = vec![Offer::Made, Offer::Collected, Offer::Confirmed];
    let who = (holder(), limit(), fingerprint(), select(offers));
    (any::<(u64, u128, u128, u32)>(), who).prop_map(move |((number, id, by, length), who)| {
        GrantRecord {
            slot,
            fence: fence(number),
            lease: lease(id),
            op: op(by),
            holder: who.0,
            limit: who.1,
            since: at(length.into()),
            term: ms(length.into()),
            expires: at(number / 1_000),
            offer: who.3,
            fingerprint: who.2,
            entered: number,
        }
    })
}

fn past() -> impl Strategy<Value = Past> {
    let won = any::<(u128, u64, Option<u128>)>().prop_flat_map(|(id, number, by)| {
        select(Ended::ALL).prop_map(move |ended| PastOutcome::Grant {
            lease: lease(id),
            fence: fence(number),
            ended,
            by: by.map(op),
        })
    });
    let outcome = prop_oneof![
        Just(PastOutcome::Cancelled),
        any::<u32>().prop_map(PastOutcome::Revoked),
        won
    ];
    (any::<u128>(), any::<u32>(), outcome).prop_map(|(id, millis, outcome)| Past {
        op: op(id),
        at: at(millis.into()),
        outcome,
    })
}

fn done() -> impl Strategy<Value = DoneRecord> {
    (any::<(u64, u32)>(), json(), fingerprint()).prop_map(
        |((number, millis), result, fingerprint)| DoneRecord {
            fence: fence(number),
            result,
            since: at(millis.into()),
            until: at(u64::from(millis) * 2),
            fingerprint,
        },
    )
}

fn key_record() -> impl Strategy<Value = KeyRecord> {
    let parts = (option::of(grant(0)), vec(past(), 0..4), option::of(done()));
    (any::<(u64, u64, u32)>(), key(), parts).prop_map(|((number, revision, millis), key, parts)| {
        KeyRecord {
            key,
            fence: fence(number),
            revision: Revision::from_value(revision),
            written: at(millis.into()),
            grant: parts.0,
            past: parts.1,
            cautious_until: at(u64::from(millis) / 2),
            done: parts.2,
        }
    })
}

fn entry() -> impl Strategy<Value = EntryRecord> {
    (key(), 0..3_u32, text(), json()).prop_map(|(key, slot, name, value)| EntryRecord {
        key,
        slot,
        name: EntryName::parse(&name).expect("a name"),
        value,
    })
}

fn waiter() -> impl Strategy<Value = WaiterRecord> {
    let who = (key(), holder(), limit(), fingerprint());
    (any::<(u64, u128, u128, u32)>(), who).prop_map(|((number, id, by, millis), who)| {
        WaiterRecord {
            key: who.0,
            number,
            op: op(by),
            lease: lease(id),
            holder: who.1,
            ttl: ms(millis.into()),
            limit: who.2,
            fingerprint: who.3,
        }
    })
}

/// A record, put into a store.
fn put() -> impl Strategy<Value = Mutation> {
    let floor = any::<(u64, u32)>().prop_map(|(number, millis)| Floor {
        fence: fence(number),
        cautious_until: at(millis.into()),
    });
    let grant = (key(), (1..4_u32).prop_flat_map(grant));
    prop_oneof![
        key_record().prop_map(Mutation::PutKey),
        grant.prop_map(|(key, grant)| Mutation::PutGrant { key, grant }),
        entry().prop_map(Mutation::PutEntry),
        waiter().prop_map(Mutation::PutWaiter),
        floor.prop_map(Mutation::PutFloor),
    ]
}

fn delete(put: &Mutation) -> Option<Mutation> {
    Some(match put.clone() {
        Mutation::PutKey(record) => Mutation::DeleteKey(record.key),
        Mutation::PutGrant { key, grant } => Mutation::DeleteGrant {
            key,
            slot: grant.slot,
        },
        Mutation::PutEntry(EntryRecord {
            key, slot, name, ..
        }) => Mutation::DeleteEntry { key, slot, name },
        Mutation::PutWaiter(WaiterRecord { key, number, .. }) => {
            Mutation::DeleteWaiter { key, number }
        }
        _ => return None,
    })
}

fn alone(put: &Mutation) -> Snapshot {
    let mut snapshot = Snapshot::default();
    match put.clone() {
        Mutation::PutKey(record) => snapshot.keys.push(record),
        Mutation::PutGrant { key, grant } => snapshot.grants.push((key, grant)),
        Mutation::PutEntry(entry) => snapshot.entries.push(entry),
        Mutation::PutWaiter(waiter) => snapshot.waiters.push(waiter),
        Mutation::PutFloor(floor) => snapshot.floor = floor,
        other => panic!("{other:?} puts nothing"),
    }
    snapshot
}

/// The record that was read from this place.
fn held(place: &str, snapshot: Snapshot) -> Mutation {
    let grant = snapshot
        .grants
        .into_iter()
        .map(|(key, grant)| Mutation::PutGrant { key, grant });
    let records = snapshot.keys.into_iter().map(Mutation::PutKey);
    let entries = snapshot.entries.into_iter().map(Mutation::PutEntry);
    let waiters = snapshot.waiters.into_iter().map(Mutation::PutWaiter);
    let mut all = records.chain(grant).chain(entries).chain(waiters);
    match kind(place) {
        "floor" => Mutation::PutFloor(snapshot.floor),
        _ => all.next().expect("a record"),
    }
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn a_record_is_read_as_it_was_written_and_deleted_where_it_was_put(put in put()) {
        prop_assert_eq!(read(&rows(vec![put.clone()])), alone(&put));
        if let Some(delete) = delete(&put) {
            prop_assert!(rows(vec![put, delete]).is_empty());
        }
    }

    #[test]
    fn two_records_have_one_place_only_if_they_are_of_the_same(one in put(), other in put()) {
        let places = rows(vec![one.clone(), other.clone()]).len();
        let is_same = match (delete(&one), delete(&other)) {
            // A waiter is found by its number alone.
            (
                Some(Mutation::DeleteWaiter { number, .. }),
                Some(Mutation::DeleteWaiter { number: of_other, .. }),
            ) => number == of_other,
            (one, other) => one == other,
        };
        prop_assert_eq!(places == 1, is_same);
    }

    #[test]
    fn a_record_that_is_cut_short_or_goes_on_is_none(put in put(), cut in any::<usize>()) {
        let Row { place, record } = put.into();
        let record = record.expect("it was put");
        let cut = &record[..cut % record.len()];
        prop_assert!(Snapshot::default().add(&place, cut).is_none());
        let longer = [&record[..], &[0]].concat();
        prop_assert!(Snapshot::default().add(&place, &longer).is_none());
    }

    #[test]
    fn a_record_with_another_byte_is_none_or_written_again_with_it(
        put in put(),
        position in any::<usize>(),
        byte in any::<u8>(),
    ) {
        let Row { place, record } = put.into();
        let mut record = record.expect("it was put");
        let position = position % record.len();
        record[position] = byte;
        let mut snapshot = Snapshot::default();
        if snapshot.add(&place, &record).is_some() {
            let again = Row::from(held(&place, snapshot)).record;
            prop_assert_eq!(again, Some(record));
        }
    }
}
