//! Entries: what a holder sets beside its grant ends with it.

mod common;

use common::hosting::{Server, held};
use common::*;
use leasehold::json::Json;
use leasehold::name::EntryName;
use leasehold::protocol::{Acquire, Ended, Entry, Limit, Operation, Response};

const ENTERED: Response = Response::Entered { about: None };

fn set(lease_bits: u128, number: u64, name: &str, value: Option<&str>) -> Operation {
    Operation::Entry(Entry {
        credential: by_lease(lease_bits),
        name: EntryName::parse(name).expect("a name"),
        value: value.map(|value| Json::parse(value).expect("JSON")),
        number,
    })
}

fn shown(server: &mut Server, at: u64) -> Vec<(u32, String, String)> {
    let Response::State(state) = server.raw(at, 999, Operation::Inspect) else {
        panic!("no state");
    };
    let mut all = Vec::new();
    for holder in &state.holders {
        for (name, value) in &holder.entries {
            all.push((
                holder.slot,
                name.as_str().to_string(),
                value.as_str().to_string(),
            ));
        }
    }
    all
}

fn entry(slot: u32, name: &str, value: &str) -> (u32, String, String) {
    (slot, name.to_string(), value.to_string())
}

#[test]
fn entries_are_shown_by_name_and_survive_a_restart() {
    let mut server = held(10_000);
    assert_eq!(server.ask(1, 20, set(11, 1, "b", Some("[1, 2]"))), ENTERED);
    assert_eq!(server.ask(2, 21, set(11, 2, "a", Some("null"))), ENTERED);
    assert_eq!(
        server.ask(3, 22, set(11, 3, "b", Some("{\"x\": 1}"))),
        ENTERED
    );
    let expected = [entry(0, "a", "null"), entry(0, "b", "{\"x\": 1}")];
    assert_eq!(shown(&mut server, 4), expected);
    server.restart(5);
    assert_eq!(shown(&mut server, 6), expected);
    assert_eq!(server.ask(7, 23, set(11, 4, "a", None)), ENTERED);
    assert_eq!(shown(&mut server, 8), [entry(0, "b", "{\"x\": 1}")]);
}

#[test]
fn a_change_that_comes_after_a_later_one_is_ignored() {
    let mut server = held(10_000);
    server.ask(1, 20, set(11, 7, "a", Some("7")));
    for number in [0, 6, 7] {
        assert_eq!(server.ask(2, 21, set(11, number, "a", Some("0"))), ENTERED);
        assert_eq!(server.ask(2, 22, set(11, number, "a", None)), ENTERED);
        assert_eq!(server.ask(2, 23, set(11, number, "b", Some("0"))), ENTERED);
    }
    assert_eq!(shown(&mut server, 3), [entry(0, "a", "7")]);
    server.restart(4);
    server.ask(5, 24, set(11, 7, "a", Some("0")));
    assert_eq!(shown(&mut server, 6), [entry(0, "a", "7")]);
}

#[test]
fn entries_end_with_their_grant_however_it_ends() {
    let ends: [(&str, u64, u128, Operation); 4] = [
        ("released", 100, 50, release(11)),
        ("revoked", 100, 50, Operation::Revoke { fence: None }),
        ("cancelled", 100, 1, Operation::Cancel),
        ("expired", 10_000, 50, Operation::Inspect),
    ];
    for (how, at, bits, operation) in ends {
        let mut server = held(10_000);
        server.ask(1, 20, set(11, 1, "a", Some("1")));
        server.ask(at, bits, operation);
        server.ask(at, 30, acquire("b", 30, 10_000, 0));
        assert_eq!(shown(&mut server, at), [], "{how}");
        assert!(server.store.entries.is_empty(), "{how}");
        let late = server.ask(at, 31, set(11, 2, "a", Some("2")));
        assert!(
            matches!(late, Response::NotHolder { ended, .. } if ended != Ended::Unknown),
            "{how}"
        );
    }
}

#[test]
fn entries_move_with_a_hand_over_and_their_numbers_start_anew() {
    let mut server = held(10_000);
    server.ask(1, 20, set(11, 9, "a", Some("1")));
    server.ask(2, 21, transfer(by_lease(11), "b", 12, 10_000));
    assert_eq!(shown(&mut server, 3), [entry(0, "a", "1")]);
    server.ask(4, 22, set(12, 1, "a", Some("2")));
    assert_eq!(shown(&mut server, 5), [entry(0, "a", "2")]);
    server.restart(6);
    assert_eq!(shown(&mut server, 7), [entry(0, "a", "2")]);
}

#[test]
fn each_holder_has_its_own() {
    let mut server = Server::new();
    for n in [10, 11] {
        let acquire = Acquire {
            limit: Limit::MOST,
            ..Acquire::new(name("h"), lease(n), ms(10_000), ms(0))
        };
        server.ask(0, n, Operation::Acquire(acquire));
        server.ask(1, 20 + n, set(n, 1, "a", Some(&n.to_string())));
    }
    assert_eq!(
        shown(&mut server, 2),
        [entry(0, "a", "10"), entry(1, "a", "11")]
    );
    server.ask(3, 50, release(11));
    assert_eq!(shown(&mut server, 4), [entry(0, "a", "10")]);
    assert_eq!(server.store.entries.len(), 1);
}

#[test]
fn what_grows_has_a_limit() {
    let reason = |response: Response| match response {
        Response::Refused(refusal) => refusal.reason.into_owned(),
        other => panic!("{other:?}"),
    };
    let mut server = held(10_000);
    for n in 0..64 {
        assert_eq!(
            server.ask(1, 100, set(11, n + 1, &format!("{n}"), Some("1"))),
            ENTERED
        );
    }
    assert_eq!(
        reason(server.ask(2, 200, set(11, 65, "x", Some("1")))),
        "entries-full"
    );
    // A refused change is none: the same number may come again. One that is there can be changed.
    assert_eq!(server.ask(3, 201, set(11, 65, "0", Some("2"))), ENTERED);
    assert_eq!(server.ask(3, 202, set(11, 66, "0", None)), ENTERED);
    assert_eq!(server.ask(3, 203, set(11, 67, "x", Some("1"))), ENTERED);

    let mut server = held(10_000);
    let large = format!("\"{}\"", "v".repeat(4_093));
    for n in 0..16 {
        // A name of 1 byte and a value of 4,095 take a sixteenth of all.
        let name = char::from(b'a' + n).to_string();
        assert_eq!(
            server.ask(1, 100, set(11, u64::from(n) + 1, &name, Some(&large))),
            ENTERED
        );
    }
    assert_eq!(
        reason(server.ask(2, 200, set(11, 20, "y", Some("1")))),
        "key-too-large"
    );
    assert_eq!(server.ask(3, 201, set(11, 20, "a", Some("1"))), ENTERED);
    assert_eq!(server.ask(4, 202, set(11, 21, "y", Some("1"))), ENTERED);
}
