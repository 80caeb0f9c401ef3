//! Finished works: the result is kept for a while, and whoever asks gets it instead of the key.

mod common;

use common::hosting::{Server, contended, held};
use common::*;
use leasehold::json::Json;
use leasehold::name::Fingerprint;
use leasehold::protocol::{Acquire, Code, Done, Ended, Finish, Limit, Operation, Response};

const FINISHED: Response = Response::Finished { about: None };

fn finish(lease_bits: u128, result: &str, keep_ms: u64) -> Operation {
    Operation::Finish(Finish {
        credential: by_lease(lease_bits),
        result: Json::parse(result).expect("JSON"),
        keep: ms(keep_ms),
    })
}

fn done(fence_value: u64, age_ms: u64, remaining_ms: u64, result: &str) -> Response {
    Response::Done(Done {
        fence: fence(fence_value),
        age: ms(age_ms),
        remaining: ms(remaining_ms),
        result: Json::parse(result),
    })
}

fn for_input(bits: u128, input: &str, wait_ms: u64) -> Operation {
    Operation::Acquire(Acquire {
        fingerprint: Fingerprint::parse(input).ok(),
        ..Acquire::new(name("x"), lease(bits), ms(10_000), ms(wait_ms))
    })
}

fn reason(response: &Response) -> Option<(Code, &str)> {
    match response {
        Response::Refused(refusal) => Some((refusal.code, &refusal.reason)),
        _ => None,
    }
}

#[test]
fn the_result_is_for_whoever_asks_until_it_has_been_kept_for_long_enough() {
    let mut server = held(10_000);
    assert_eq!(
        server.ask(1_000, 20, finish(11, "[1, 2]", 60_000)),
        FINISHED
    );
    for (at, bits) in [(1_000, 21), (31_000, 22), (60_999, 23)] {
        let told = server.ask(at, bits, acquire("b", bits, 10_000, 60_000));
        assert_eq!(told, done(1, at - 1_000, 61_000 - at, "[1, 2]"));
        server.restart(at);
    }
    assert_eq!(
        server.ask(61_000, 24, acquire("b", 24, 10_000, 0)),
        granted(24, 2, 10_000)
    );
    assert!(server.store.keys[&key("k")].done.is_none());
}

#[test]
fn whoever_waits_leaves_with_the_result() {
    let (mut server, waiter) = contended(10_000);
    let second = server.post(20, 3, acquire("c", 13, 10_000, 60_000));
    server.ask(1_000, 20, finish(11, "\"r\"", 60_000));
    for to in [waiter, second] {
        assert_eq!(server.reply(to), Some(done(1, 0, 60_000, "\"r\"")));
    }
    assert!(server.store.waiters.is_empty());
    // Each op has had its outcome, whatever becomes of the result.
    server.ask(2_000, 21, Operation::Revoke { fence: None });
    let late = server.ask(2_100, 2, acquire("b", 12, 10_000, 60_000));
    assert!(matches!(late, Response::Held(_)), "{late:?}");
}

#[test]
fn the_finisher_is_told_so_again_and_holds_nothing() {
    let mut server = held(10_000);
    server.ask(100, 20, finish(11, "1", 60_000));
    assert_eq!(server.ask(200, 20, finish(11, "1", 60_000)), FINISHED);
    assert_eq!(
        server.ask(300, 21, finish(11, "2", 60_000)),
        not_holder(Ended::Finished)
    );
    assert_eq!(server.ask(300, 22, verify(11)), not_holder(Ended::Finished));
    assert_eq!(
        server.ask(300, 1, acquire("a", 11, 10_000, 0)),
        done(1, 200, 59_800, "1")
    );
}

#[test]
fn only_one_that_has_the_key_alone_can_finish_it() {
    let mut server = Server::new();
    let acquire = Acquire {
        limit: Limit::MOST,
        ..Acquire::new(name("a"), lease(11), ms(10_000), ms(0))
    };
    server.ask(0, 1, Operation::Acquire(acquire));
    let refused = server.ask(1, 20, finish(11, "1", 60_000));
    assert_eq!(reason(&refused), Some((Code::Invalid, "not-exclusive")));
    assert!(matches!(
        server.ask(2, 21, verify(11)),
        Response::Renewed { .. }
    ));
}

#[test]
fn an_operator_clears_the_result() {
    let mut server = held(10_000);
    server.ask(100, 20, finish(11, "1", 60_000));
    let revoke = |only| Operation::Revoke { fence: only };
    assert_eq!(
        server.ask(200, 30, revoke(Some(fence(9)))),
        Response::Revoked(0)
    );
    assert_eq!(server.ask(200, 31, revoke(None)), Response::Revoked(1));
    assert_eq!(server.ask(200, 31, revoke(None)), Response::Revoked(1));
    assert_eq!(
        server.ask(300, 21, acquire("b", 21, 10_000, 0)),
        granted(21, 2, 10_000)
    );
}

#[test]
fn observers_see_that_it_is_done_and_not_what_came_of_it() {
    let mut server = held(10_000);
    server.ask(1_000, 20, finish(11, "\"secret\"", 60_000));
    let Response::State(state) = server.raw(3_000, 21, Operation::Inspect) else {
        panic!("no state");
    };
    assert!(state.holders.is_empty());
    let seen = state.done.clone().expect("done");
    assert_eq!(
        (seen.fence.value(), seen.age_ms, seen.remaining_ms),
        (1, 2_000, 58_000)
    );
    assert!(!Response::State(state).to_json().contains("secret"));
}

#[test]
fn another_input_is_refused_beside_a_grant_and_after_it() {
    let mut server = Server::new();
    server.ask(0, 1, for_input(11, "one", 0));
    let invalid = Some((Code::Invalid, "fingerprint"));
    assert_eq!(
        reason(&server.ask(1, 2, for_input(12, "two", 60_000))),
        invalid
    );
    let same = server.post(2, 3, for_input(13, "one", 60_000));
    let any = server.post(2, 4, acquire("y", 14, 10_000, 60_000));
    server.restart(3);
    assert_eq!(reason(&server.ask(3, 5, for_input(15, "two", 0))), invalid);
    server.ask(4, 20, finish(11, "1", 60_000));
    assert_eq!(server.reply(same), None, "the restart took the connection");
    assert_eq!(server.reply(any), None);
    assert_eq!(reason(&server.ask(5, 6, for_input(16, "two", 0))), invalid);
    assert_eq!(
        server.ask(5, 7, for_input(17, "one", 0)),
        done(1, 1, 59_999, "1")
    );
    assert_eq!(
        server.ask(5, 8, acquire("y", 18, 10_000, 0)),
        done(1, 1, 59_999, "1")
    );
}
