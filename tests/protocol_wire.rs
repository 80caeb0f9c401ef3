//! The form in which requests and answers travel, pinned by records written by hand.

mod common;
#[path = "common/oracle.rs"]
mod oracle;

use common::*;
use leasehold::fence::Revision;
use leasehold::json::Json;
use leasehold::name::{EntryName, Fingerprint};
use leasehold::protocol::wire::{REQUEST, RESPONSE, Unreadable};
use leasehold::protocol::{
    Acquire, Call, Code, Credential, Done, DoneState, Ended, Entry, Field, Finish, Held,
    HolderState, Invalid, KeyState, Limit, List, Operation, Refusal, Request, Response, Watch,
};
use leasehold::time::Span;
use proptest::prelude::*;
use serde_json::{Value, json};

/// 0x0f as it travels.
const OP: &str = "0000000000000000000000000000000f";
/// 0xab.
const LEASE: &str = "000000000000000000000000000000ab";
/// 0xcd.
const OTHER: &str = "000000000000000000000000000000cd";

fn read_request(record: &Value) -> Result<Request, Invalid> {
    Request::from_json(&record.to_string())
}

fn read_response(record: &Value) -> Result<Response, Unreadable> {
    Response::from_json(&record.to_string())
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn about_seven() -> Credential {
    Credential {
        fence: Some(fence(7)),
        ..by_lease(0xab)
    }
}

fn requests() -> Vec<(Value, Operation)> {
    vec![
        (
            json!({"v": 1, "operation": "acquire", "key": "k", "op": OP, "holder": "a", "lease": LEASE,
                   "ttlMs": 30000, "waitMs": 5000}),
            acquire("a", 0xab, 30_000, 5_000),
        ),
        (
            json!({"v": 1, "operation": "acquire", "key": "k", "op": OP, "holder": "a", "lease": LEASE,
                   "ttlMs": 100, "waitMs": 0, "limit": 1024, "repeat": "extend", "steal": true,
                   "fingerprint": "f"}),
            Operation::Acquire(Acquire {
                limit: Limit::MOST,
                extend: true,
                steal: true,
                fingerprint: Fingerprint::parse("f").ok(),
                ..Acquire::new(name("a"), lease(0xab), ms(100), ms(0))
            }),
        ),
        (
            json!({"v": 1, "operation": "entry", "key": "k", "op": OP, "lease": LEASE, "fence": "7",
                   "name": "n", "value": "{\"a\": [1, null]}", "number": 3}),
            Operation::Entry(Entry {
                credential: about_seven(),
                name: EntryName::parse("n").expect("a name"),
                value: Json::parse("{\"a\": [1, null]}"),
                number: 3,
            }),
        ),
        (
            json!({"v": 1, "operation": "entry", "key": "k", "op": OP, "lease": LEASE, "name": "n",
                   "number": 0}),
            Operation::Entry(Entry {
                credential: by_lease(0xab),
                name: EntryName::parse("n").expect("a name"),
                value: None,
                number: 0,
            }),
        ),
        (
            json!({"v": 1, "operation": "finish", "key": "k", "op": OP, "lease": LEASE, "fence": "7",
                   "result": "null", "keepMs": 60_000}),
            Operation::Finish(Finish {
                credential: about_seven(),
                result: Json::parse("null").expect("JSON"),
                keep: ms(60_000),
            }),
        ),
        (
            json!({"v": 1, "operation": "watch", "key": "k", "op": OP, "after": "12", "waitMs": 20_000}),
            Operation::Watch(Watch {
                after: Some(Revision::from_value(12)),
                wait: ms(20_000),
            }),
        ),
        (
            json!({"v": 1, "operation": "revoke", "key": "k", "op": OP, "fence": "7"}),
            Operation::Revoke {
                fence: Some(fence(7)),
            },
        ),
        (
            json!({"v": 1, "operation": "cancel", "key": "k", "op": OP}),
            Operation::Cancel,
        ),
        (
            json!({"v": 1, "operation": "inspect", "key": "k", "op": OP}),
            Operation::Inspect,
        ),
        (
            json!({"v": 1, "operation": "release", "key": "k", "op": OP, "lease": LEASE}),
            release(0xab),
        ),
        (
            json!({"v": 1, "operation": "release", "key": "k", "op": OP, "lease": LEASE,
                   "fence": "18446744073709551615"}),
            Operation::Release(Credential {
                fence: Some(fence(u64::MAX)),
                ..by_lease(0xab)
            }),
        ),
        (
            json!({"v": 1, "operation": "renew", "key": "k", "op": OP, "lease": LEASE, "ttlMs": 86400000}),
            renew(0xab, 86_400_000),
        ),
        (
            json!({"v": 1, "operation": "revoke", "key": "k", "op": OP}),
            Operation::Revoke { fence: None },
        ),
        (
            json!({"v": 1, "operation": "transfer", "key": "k", "op": OP, "lease": LEASE,
                   "toHolder": "b", "toLease": OTHER, "ttlMs": 1000}),
            transfer(by_lease(0xab), "b", 0xcd, 1_000),
        ),
        (
            json!({"v": 1, "operation": "verify", "key": "k", "op": OP, "lease": LEASE}),
            verify(0xab),
        ),
    ]
}

fn absent() -> Value {
    json!({"key": "k", "revision": "0", "holders": [], "waiters": 0})
}

fn entry(name: &str, value: &str) -> (EntryName, Json) {
    (
        EntryName::parse(name).expect("a name"),
        Json::parse(value).expect("JSON"),
    )
}

fn responses() -> Vec<(Value, Response)> {
    let mut all = vec![
        (json!({"v": 1, "outcome": "cancelled"}), Response::Cancelled),
        (
            json!({"v": 1, "outcome": "granted", "lease": LEASE, "fence": "9007199254740993", "slot": 0, "ttlMs": 1000}),
            granted(0xab, 9_007_199_254_740_993, 1_000),
        ),
        (
            json!({"v": 1, "outcome": "granted", "lease": LEASE, "fence": "18446744073709551615",
                   "slot": 0, "ttlMs": 1000, "waitedMs": 250}),
            granted_after(0xab, u64::MAX, 1_000, 250),
        ),
        (
            json!({"v": 1, "outcome": "granted", "lease": LEASE, "fence": "1", "slot": 0, "ttlMs": 0, "replayed": true}),
            replayed(0xab, 1, 0),
        ),
        (
            json!({"v": 1, "outcome": "held", "holder": "b", "retryAfterMs": 400}),
            held_by("b", 400),
        ),
        (
            json!({"v": 1, "outcome": "held", "retryAfterMs": 0}),
            Response::Held(Held {
                holder: None,
                fence: None,
                retry_after: Span::ZERO,
                waiters: 0,
            }),
        ),
        (
            json!({"v": 1, "outcome": "held", "holder": "b", "fence": "9", "retryAfterMs": 400, "waiters": 2}),
            Response::Held(Held {
                holder: Some(name("b")),
                fence: Some(fence(9)),
                retry_after: ms(400),
                waiters: 2,
            }),
        ),
        (
            json!({"v": 1, "outcome": "done", "fence": "7", "ageMs": 5, "remainingMs": 60_000,
                   "result": "[1]"}),
            Response::Done(Done {
                fence: fence(7),
                age: ms(5),
                remaining: ms(60_000),
                result: Json::parse("[1]"),
            }),
        ),
        (
            json!({"v": 1, "outcome": "entered", "fence": "7"}),
            Response::Entered {
                about: Some(fence(7)),
            },
        ),
        (
            json!({"v": 1, "outcome": "finished"}),
            Response::Finished { about: None },
        ),
        (
            json!({"v": 1, "outcome": "listed", "states": [absent()], "after": "k"}),
            Response::Listed {
                states: vec![KeyState::absent(key("k"))],
                after: Some("k".to_string()),
            },
        ),
        (
            json!({"v": 1, "outcome": "state", "state": absent()}),
            free(),
        ),
        (
            json!({"v": 1, "outcome": "state", "state": {
                "key": "k", "revision": "18446744073709551615", "waiters": 3,
                "holders": [{"holder": "b", "fence": "7", "slot": 1, "limit": 2, "ageMs": 5,
                    "remainingMs": 12, "entries": {"n": {"b": [1.5, "x", null]}, "o": true}}],
                "done": {"fence": "6", "ageMs": 1, "remainingMs": 2}}}),
            Response::State(KeyState {
                key: key("k"),
                revision: Revision::from_value(u64::MAX),
                holders: vec![HolderState {
                    holder: name("b"),
                    fence: fence(7),
                    slot: 1,
                    limit: 2,
                    age_ms: 5,
                    remaining_ms: 12,
                    entries: vec![entry("n", r#"{"b":[1.5,"x",null]}"#), entry("o", "true")],
                }],
                waiters: 3,
                done: Some(DoneState {
                    fence: fence(6),
                    age_ms: 1,
                    remaining_ms: 2,
                }),
            }),
        ),
        (
            json!({"v": 1, "outcome": "queued", "waiters": 0}),
            queued(0),
        ),
        (
            json!({"v": 1, "outcome": "queued", "waiters": 4, "retryAfterMs": 250}),
            Response::Queued {
                ahead: 4,
                retry_after: ms(250),
            },
        ),
        (json!({"v": 1, "outcome": "released"}), RELEASED),
        (
            json!({"v": 1, "outcome": "released", "fence": "7"}),
            Response::Released {
                about: Some(fence(7)),
            },
        ),
        (
            json!({"v": 1, "outcome": "renewed", "fence": "7", "ttlMs": 5}),
            Response::Renewed {
                about: Some(fence(7)),
                ttl: ms(5),
                wanted: 0,
            },
        ),
        (
            json!({"v": 1, "outcome": "not-holder", "fence": "7", "reason": "expired"}),
            Response::NotHolder {
                about: Some(fence(7)),
                ended: Ended::Expired,
                present: None,
            },
        ),
        (
            json!({"v": 1, "outcome": "renewed", "ttlMs": 5}),
            renewed(5),
        ),
        (
            json!({"v": 1, "outcome": "revoked", "revoked": 0}),
            Response::Revoked(0),
        ),
        (
            json!({"v": 1, "outcome": "revoked", "revoked": 3}),
            Response::Revoked(3),
        ),
        (
            json!({"v": 1, "outcome": "refused", "code": "UNAVAILABLE", "reason": "wrong-object",
                   "message": "M.", "layout": "shard/64"}),
            Response::Refused(Refusal {
                layout: Some("shard/64".into()),
                ..Refusal::new(Code::Unavailable, "wrong-object", "M.")
            }),
        ),
        (
            json!({"v": 1, "outcome": "refused", "code": "DENIED", "reason": "scope", "message": "No."}),
            Response::Refused(Refusal::new(Code::Denied, "scope", "No.")),
        ),
        (
            json!({"v": 1, "outcome": "refused", "code": "INVALID", "reason": "ttlMs", "message": "Mend it."}),
            Response::Refused(Refusal::new(Code::Invalid, "ttlMs", "Mend it.")),
        ),
        (
            json!({"v": 1, "outcome": "refused", "code": "UNAVAILABLE", "reason": "busy", "message": "Later.",
                   "retryAfterMs": 1000}),
            Response::Refused(Refusal {
                retry_after: Some(ms(1_000)),
                ..Refusal::new(Code::Unavailable, "busy", "Later.")
            }),
        ),
    ];
    let reasons = [
        ("cancelled", Ended::Cancelled),
        ("expired", Ended::Expired),
        ("finished", Ended::Finished),
        ("released", Ended::Released),
        ("revoked", Ended::Revoked),
        ("transferred", Ended::Transferred),
        ("unknown", Ended::Unknown),
    ];
    for (reason, ended) in reasons {
        all.push((
            json!({"v": 1, "outcome": "not-holder", "reason": reason}),
            not_holder(ended),
        ));
    }
    all
}

#[test]
fn every_request_has_one_form() {
    for (record, operation) in requests() {
        let typed = request(0xf, operation);
        assert_eq!(parsed(&typed.to_json()), record);
        assert_eq!(read_request(&record), Ok(typed));
    }
}

#[test]
fn every_response_has_one_form() {
    for (record, typed) in responses() {
        assert_eq!(parsed(&typed.clone().to_json()), record);
        assert_eq!(read_response(&record), Ok(typed));
    }
}

#[test]
fn fields_that_are_not_known_are_ignored() {
    for (mut record, operation) in requests() {
        record["later"] = json!({"a": [1, "b"]});
        assert_eq!(read_request(&record), Ok(request(0xf, operation)));
    }
    for (mut record, typed) in responses() {
        record["later"] = json!([null, 1.5]);
        assert_eq!(read_response(&record), Ok(typed));
    }
}

/// A record that is right but for one field, and the field that has to be named.
fn spoilt() -> Vec<(Value, Field)> {
    let full = [
        json!({"v": 1, "operation": "acquire", "key": "k", "op": OP, "holder": "a", "lease": LEASE,
               "ttlMs": 1000, "waitMs": 0}),
        json!({"v": 1, "operation": "renew", "key": "k", "op": OP, "lease": LEASE, "ttlMs": 1000}),
        json!({"v": 1, "operation": "release", "key": "k", "op": OP, "lease": LEASE}),
        json!({"v": 1, "operation": "verify", "key": "k", "op": OP, "lease": LEASE}),
        json!({"v": 1, "operation": "transfer", "key": "k", "op": OP, "lease": LEASE, "toHolder": "b",
               "toLease": OTHER, "ttlMs": 1000}),
    ];
    let absent = Value::Null;
    let mut all = Vec::new();
    let mut spoil = |record: &Value, name: &str, value: &Value, field| {
        let mut record = record.clone();
        let object = record.as_object_mut().expect("an object");
        if value.is_null() {
            object.remove(name);
        } else {
            object.insert(name.into(), value.clone());
        }
        all.push((record, field));
    };
    for record in &full {
        for version in [&absent, &json!(0), &json!(2), &json!(4_294_967_295_u32)] {
            spoil(record, "v", version, Field::Version);
        }
        for key in [
            &absent,
            &json!(""),
            &json!("k".repeat(513)),
            &json!("語".repeat(171)),
        ] {
            spoil(record, "key", key, Field::Key);
        }
        spoil(record, "op", &absent, Field::Op);
        for operation in [&absent, &json!(""), &json!("Acquire"), &json!("steal")] {
            spoil(record, "operation", operation, Field::Operation);
        }
        spoil(record, "lease", &absent, Field::Lease);
    }
    for record in [&full[0], &full[1], &full[4]] {
        let longest = 86_400_000_u64;
        for ttl in [
            &absent,
            &json!(0),
            &json!(1),
            &json!(99),
            &json!(longest + 1),
            &json!(u64::MAX),
        ] {
            spoil(record, "ttlMs", ttl, Field::Ttl);
        }
    }
    spoil(&full[0], "waitMs", &json!(86_400_001_u64), Field::Wait);
    for holder in [&absent, &json!(""), &json!("h".repeat(257))] {
        spoil(&full[0], "holder", holder, Field::Holder);
        spoil(&full[4], "toHolder", holder, Field::ToHolder);
    }
    spoil(&full[4], "toLease", &absent, Field::ToLease);
    for record in &full[1..] {
        spoil(record, "lease", &absent, Field::Lease);
    }
    all
}

#[test]
fn a_malformed_request_is_invalid_and_the_field_is_named() {
    for (record, field) in spoilt() {
        let refused = read_request(&record).err();
        assert_eq!(
            refused.map(|invalid| invalid.field),
            Some(field),
            "{record}"
        );
    }
}

#[test]
fn a_refusal_names_the_field_and_quotes_no_value() {
    let record = json!({"v": 1, "operation": "renew", "key": "secret", "op": OP, "lease": LEASE, "ttlMs": 7});
    let invalid = read_request(&record).expect_err("too short");
    let refusal = Refusal::from(invalid);
    assert_eq!(
        (refusal.code, refusal.reason.as_ref()),
        (Code::Invalid, "ttlMs")
    );
    for quoted in ["secret", LEASE, OP] {
        assert!(!refusal.message.contains(quoted), "{}", refusal.message);
    }
    assert_eq!(
        refusal.message,
        "ttlMs must be a whole number of milliseconds from 100 to 86400000"
    );
}

#[test]
fn a_value_of_the_wrong_type_is_refused_and_its_field_named() {
    let wrong = [
        json!(true),
        json!("yes"),
        json!("1000"),
        json!(12345),
        json!(1.5),
        json!(-1),
        json!(1e300),
        json!(u64::MAX),
        json!([]),
        json!({}),
        json!(null),
    ];
    for (record, _) in requests() {
        let fields = record.as_object().expect("an object");
        for (name, right) in fields {
            for value in &wrong {
                let same_kind = std::mem::discriminant(value) == std::mem::discriminant(right);
                let mut record = record.clone();
                record[name] = value.clone();
                match read_request(&record) {
                    Err(invalid) => assert_eq!(invalid.field.name(), name, "{record}"),
                    Ok(_) => assert!(same_kind, "{record}"),
                }
            }
        }
    }
}

#[test]
fn a_field_given_twice_is_refused_and_named() {
    for (record, _) in requests() {
        for (name, value) in record.as_object().expect("an object") {
            let text = record
                .to_string()
                .replacen('{', &format!("{{{}:{value},", json!(name)), 1);
            let refused = Request::from_json(&text).expect_err("twice");
            assert_eq!(
                refused,
                Invalid::new(refused.field, "must be given only once")
            );
            assert_eq!(refused.field.name(), name);
        }
    }
}

#[test]
fn another_version_is_named_whatever_its_fields_mean() {
    let text = r#"{"key": 7, "operation": [], "op": "x", "ttlMs": {}, "v": 2}"#;
    let refused = Request::from_json(text).expect_err("another version");
    assert_eq!(refused.field, Field::Version);
}

#[test]
fn names_that_look_like_something_else_stay_what_they_are() {
    for text in [
        "12345",
        "1e3",
        "true",
        "null",
        "{}",
        "00000000000000000001",
        " a ",
        "ключ🔒",
        "\0x",
    ] {
        let typed = Request {
            key: key(text),
            op: op(1),
            operation: acquire(text, 2, 1_000, 0),
        };
        assert_eq!(Request::from_json(&typed.to_json()), Ok(typed));
    }
}

#[test]
fn what_is_too_large_is_refused() {
    let nested = format!("{}{}", "[".repeat(64), "]".repeat(64));
    let entry = |name: &str, value: &str| {
        let mut record = requests().swap_remove(2).0;
        record["name"] = json!(name);
        record["value"] = json!(value);
        read_request(&record)
            .map(drop)
            .map_err(|invalid| invalid.reason)
    };
    let name = "é".repeat(64);
    let text = |length: usize| format!("\"{}\"", "x".repeat(length - 2));
    assert_eq!(entry(&name, &text(4_096)), Ok(()));
    assert_eq!(entry(&name, &nested), Ok(()));
    assert_eq!(entry(&format!("{name}x"), "1"), Err("entry-too-large"));
    assert_eq!(entry("n", &text(4_097)), Err("entry-too-large"));
    assert_eq!(entry("n", &format!("[{nested}]")), Err("value"));
    assert_eq!(entry("n", "{'a': 1}"), Err("value"));
    assert_eq!(entry("", "1"), Err("name"));
    let finish = |result: &str, keep: u64| {
        let mut record = requests().swap_remove(4).0;
        record["result"] = json!(result);
        record["keepMs"] = json!(keep);
        read_request(&record)
            .map(drop)
            .map_err(|invalid| invalid.reason)
    };
    assert_eq!(finish(&text(8_192), 60_000), Ok(()));
    assert_eq!(finish(&text(8_193), 60_000), Err("result"));
    assert_eq!(finish("", 60_000), Err("result"));
    assert_eq!(finish("1", 30 * 86_400_000), Ok(()));
    for keep in [0, 59_999, 30 * 86_400_000 + 1] {
        assert_eq!(finish("1", keep), Err("keepMs"));
    }
    for (limit, read) in [
        (0, Err("limit")),
        (1, Ok(())),
        (1_024, Ok(())),
        (1_025, Err("limit")),
    ] {
        let mut record = requests().swap_remove(0).0;
        record["limit"] = json!(limit);
        assert_eq!(
            read_request(&record)
                .map(drop)
                .map_err(|invalid| invalid.reason),
            read
        );
    }
}

#[test]
fn a_list_names_no_key() {
    for (record, list) in [
        (json!({"v": 1, "operation": "list"}), List::default()),
        (
            json!({"v": 1, "operation": "list", "prefix": "a:", "after": "a:7"}),
            List {
                prefix: "a:".to_string(),
                after: Some("a:7".to_string()),
            },
        ),
    ] {
        let text = record.to_string();
        assert_eq!(Call::from_json(&text), Ok(Call::List(list.clone())));
        assert_eq!(Call::from_json(&list.to_json()), Ok(Call::List(list)));
        // A host that serves one key at a time has none.
        let refused = read_request(&record).expect_err("a list");
        assert_eq!(refused.field, Field::Operation);
    }
    let (record, operation) = requests().remove(0);
    let call = Call::from_json(&record.to_string());
    assert_eq!(call, Ok(Call::Request(request(0xf, operation))));
}

#[test]
fn text_that_is_not_unicode_is_refused() {
    for (record, _) in requests() {
        for name in ["key", "holder", "toHolder"] {
            for lone in [
                r"\ud800",
                r"\udc00",
                r"\ud800\u0041",
                r"\udc00\ud800",
                r"a\uD800\n",
            ] {
                let mut record = record.clone();
                if record.get(name).is_some() {
                    record[name] = json!("LONE");
                    let text = record.to_string().replace("LONE", lone);
                    let refused = Request::from_json(&text).expect_err("no text");
                    assert_eq!(refused.field.name(), name, "{text}");
                }
            }
        }
    }
}

#[test]
fn an_answer_that_makes_no_sense_is_unreadable() {
    let mut records = vec![
        json!({}),
        json!({"v": 1}),
        json!({"v": 1, "outcome": ""}),
        json!({"v": 1, "outcome": "GRANTED"}),
        json!({"v": 1, "outcome": "refused", "code": "denied", "reason": "r"}),
        json!({"v": 1, "outcome": "held", "holder": "", "retryAfterMs": 1}),
        json!({"v": 1, "outcome": "state", "state": {"key": "k", "revision": "0", "holders": []}}),
        json!({"v": 1, "outcome": "state", "state": {"key": "k", "revision": "0", "waiters": 0, "holders": [{}]}}),
        json!({"v": 1, "outcome": "granted", "lease": LEASE, "fence": 7, "ttlMs": 1}),
        json!({"v": 1, "outcome": "granted", "lease": LEASE, "fence": "+7", "ttlMs": 1}),
        json!({"v": 1, "outcome": "granted", "lease": LEASE, "fence": "18446744073709551616", "ttlMs": 1}),
        json!({"v": 1, "outcome": "granted", "lease": LEASE, "fence": "7", "ttlMs": 1.5}),
        json!(null),
        json!("granted"),
        json!([1, 2]),
    ];
    // Every answer without one of the fields that it needs.
    let needed = [
        ("granted", vec!["lease", "fence", "ttlMs"]),
        ("held", vec!["retryAfterMs"]),
        ("queued", vec!["waiters"]),
        ("refused", vec!["code", "reason"]),
        ("renewed", vec!["ttlMs"]),
        ("done", vec!["fence", "ageMs", "remainingMs"]),
        ("listed", vec!["states"]),
        ("revoked", vec!["revoked"]),
        ("state", vec!["state"]),
    ];
    for (record, _) in responses() {
        let outcome = record["outcome"].as_str().expect("text");
        let fields = needed.iter().find(|(name, _)| *name == outcome);
        for field in fields.iter().flat_map(|(_, fields)| fields) {
            let mut record = record.clone();
            record.as_object_mut().expect("an object").remove(*field);
            records.push(record);
        }
        for version in [0, 2] {
            let mut record = record.clone();
            record["v"] = json!(version);
            records.push(record);
        }
    }
    for record in records {
        assert_eq!(read_response(&record), Err(Unreadable), "{record}");
    }
}

#[test]
fn an_end_of_a_kind_not_yet_known_is_still_an_end() {
    for record in [
        json!({"v": 1, "outcome": "not-holder", "reason": "eaten"}),
        json!({"v": 1, "outcome": "not-holder"}),
    ] {
        assert_eq!(read_response(&record), Ok(not_holder(Ended::Unknown)));
    }
}

#[test]
fn spans_are_rounded_to_the_safe_side() {
    // What is left is rounded down, what has to be waited for is rounded up.
    let left = Response::Renewed {
        about: None,
        wanted: 0,
        ttl: Span::from_micros(1_999),
    };
    assert_eq!(parsed(&left.to_json())["ttlMs"], 1);
    let wait = Response::Held(Held {
        holder: None,
        fence: None,
        waiters: 0,
        retry_after: Span::from_micros(1_001),
    });
    assert_eq!(parsed(&wait.to_json())["retryAfterMs"], 2);
}

/// Any JSON at all, with names and words of the protocol among its text.
fn any_json() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "acquire",
        "renew",
        "transfer",
        "granted",
        "held",
        "refused",
        "queued",
        "state",
        "UNAVAILABLE",
        OP,
        LEASE,
        "1",
        "k",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..=1_u64 << 53).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        Just(json!(1)),
        words.prop_map(Value::from),
        "\\PC{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any_name(), inner), 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn any_name() -> impl Strategy<Value = String> {
    let known = REQUEST.iter().chain(RESPONSE);
    let mut names: Vec<String> = known.map(|known| known.field.name().to_string()).collect();
    names.push("other".to_string());
    prop::sample::select(names)
}

/// A record of the protocol's fields with values of any kind, most of them plausible.
fn near_records() -> impl Strategy<Value = Value> {
    let all: Vec<Value> = requests()
        .into_iter()
        .map(|(record, _)| record)
        .chain(responses().into_iter().map(|(record, _)| record))
        .collect();
    (
        prop::sample::select(all),
        prop::collection::vec((any_name(), any_json()), 0..3),
    )
        .prop_map(|(mut record, changes)| {
            for (name, value) in changes {
                record[name] = value;
            }
            record
        })
}

proptest! {
    #![proptest_config(common::cases(1_500))]

    #[test]
    fn any_json_is_read_as_a_general_reader_reads_it(
        record in prop_oneof![any_json(), near_records()],
    ) {
        let text = record.to_string();
        if let Ok(request) = Request::from_json(&text) {
            let written = request.to_json();
            prop_assert!(oracle::fits(&record, REQUEST));
            prop_assert!(oracle::says(&record, &parsed(&written), REQUEST), "{written}");
            // What is accepted is legal, and says the same when it travels on.
            prop_assert_eq!(Request::from_json(&written), Ok(request));
        }
        let read = Response::from_json(&text);
        prop_assert_eq!(Response::is_in(&text), read.is_ok());
        let is_about_keys = matches!(read, Ok(Response::State(_) | Response::Listed { .. }));
        let to_holder = if is_about_keys { Err(Unreadable) } else { read.clone() };
        prop_assert_eq!(Response::from_json_to_holder(&text), to_holder);
        if let Ok(response) = read {
            let written = response.to_json();
            prop_assert!(oracle::fits(&record, RESPONSE));
            prop_assert!(oracle::says(&record, &parsed(&written), RESPONSE), "{written}");
            prop_assert_eq!(Response::from_json(&written), Ok(response));
        }
    }

    #[test]
    fn no_text_makes_the_readers_panic(text in "\\PC*|[\\[\\]{}\",:\\\\u0-9a-f]*") {
        let _ = Request::from_json(&text);
        let _ = Response::from_json(&text);
    }

    #[test]
    fn an_acquire_comes_back_as_it_was(
        text in "\\PC{1,40}",
        holder in "\\PC{1,40}",
        bits in any::<(u128, u128)>(),
        ttl in 100_u64..=86_400_000,
        wait in 0_u64..=86_400_000,
    ) {
        let typed = Request {
            key: key(&text),
            op: op(bits.0),
            operation: Operation::Acquire(Acquire::new(name(&holder), lease(bits.1), ms(ttl), ms(wait))),
        };
        prop_assert_eq!(Request::from_json(&typed.to_json()), Ok(typed));
    }

    #[test]
    fn a_grant_comes_back_as_it_was(
        bits in any::<u128>(),
        fence_value in any::<u64>(),
        ttl in 0_u64..=86_400_000,
        waited in 0_u64..=86_400_000,
    ) {
        let typed = granted_after(bits, fence_value, ttl, waited);
        prop_assert_eq!(Response::from_json(&typed.clone().to_json()), Ok(typed));
    }
}
