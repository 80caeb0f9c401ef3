//! Who may do what with which keys, and what is no basis for that.

mod common;

use common::*;
use leasehold::access::{Access, Entry, Fault, Flaw, Operator, Origins, Right, Rights};
use leasehold::protocol::wire::Verb;
use leasehold::protocol::{Acquire, Call, Code, Operation, Refusal, Request};

const TOKEN: &str = "0123456789abcdef";
const ORDERS: &str = "orders-0123456789";

fn entry(token: &str, prefixes: Option<&[&str]>) -> Entry {
    Entry {
        token: token.to_string(),
        prefixes: prefixes.map(|all| all.iter().map(|text| text.to_string()).collect()),
        rights: Rights::ALL,
    }
}

fn access(entries: &[Entry]) -> Access {
    Access::new(entries.iter().cloned().map(Ok).collect()).expect("sound")
}

fn faults(entries: Vec<Result<Entry, Flaw>>) -> Vec<Fault> {
    Access::new(entries).expect_err("faulty")
}

fn reason(result: Result<(), Refusal>) -> Option<String> {
    result.err().map(|refusal| {
        assert_eq!(refusal.code, Code::Denied);
        refusal.reason.into_owned()
    })
}

fn ask(access: &Access, bearer: &str, right: Right, text: &str) -> Option<String> {
    let request = Request {
        key: key(text),
        ..request(1, verify(1))
    };
    reason(access.check(bearer, right, &Call::Request(request)))
}

fn hold(access: &Access, bearer: &str, key: &str) -> Option<String> {
    ask(access, bearer, Right::Hold, key)
}

#[test]
fn a_token_without_prefixes_opens_every_key() {
    let access = access(&[entry(TOKEN, None)]);
    assert_eq!(hold(&access, TOKEN, "order:42"), None);
    assert_eq!(hold(&access, TOKEN, "\0"), None);
    assert_eq!(access.authorize(TOKEN, Right::Hold), Ok(()));
}

#[test]
fn only_the_whole_token_counts() {
    let access = access(&[entry(TOKEN, None), entry(ORDERS, Some(&["orders:"]))]);
    for wrong in [
        "",
        "0123456789abcde",
        "0123456789abcdef0",
        "0123456789abcdeF",
        "1123456789abcdef",
        "orders-0123456788",
    ] {
        let anywhere = reason(access.authorize(wrong, Right::Hold));
        for found in [anywhere, hold(&access, wrong, "orders:1")] {
            assert_eq!(found.as_deref(), Some("unauthorized"), "{wrong:?}");
        }
    }
}

#[test]
fn a_scope_is_what_a_key_begins_with() {
    let scoped = access(&[entry(ORDERS, Some(&["orders:", "é"]))]);
    for inside in ["orders:", "orders:42", "été"] {
        assert_eq!(hold(&scoped, ORDERS, inside), None, "{inside}");
    }
    for outside in ["orders", "Orders:42", " orders:42", "e\u{301}té"] {
        let found = hold(&scoped, ORDERS, outside);
        assert_eq!(found.as_deref(), Some("out-of-scope"), "{outside}");
    }
    assert_eq!(scoped.authorize(ORDERS, Right::Hold), Ok(()));
    assert_eq!(scoped.prefixes().collect::<Vec<_>>(), ["orders:", "é"]);
}

#[test]
fn no_prefix_opens_nothing_and_the_empty_one_everything() {
    let none = access(&[entry(TOKEN, Some(&[]))]);
    assert_eq!(hold(&none, TOKEN, "a").as_deref(), Some("out-of-scope"));
    let all = access(&[entry(TOKEN, Some(&[""]))]);
    assert_eq!(hold(&all, TOKEN, "a"), None);
}

#[test]
fn a_right_is_needed_for_each_operation() {
    for verb in Verb::ALL {
        let expected = match verb.name() {
            "inspect" | "list" | "watch" => Right::Inspect,
            "revoke" => Right::Revoke,
            _ => Right::Hold,
        };
        assert_eq!(Right::for_operation(*verb), expected, "{verb:?}");
    }
    for right in Right::ALL.iter().copied() {
        let rights = Rights::named([right.name()]).expect("a right");
        let access = access(&[Entry {
            rights,
            ..entry(TOKEN, None)
        }]);
        for other in Right::ALL.iter().copied() {
            let expected = (other != right).then_some("no-right");
            let anywhere = reason(access.authorize(TOKEN, other));
            for found in [anywhere, ask(&access, TOKEN, other, "k")] {
                assert_eq!(found.as_deref(), expected, "{other:?} with {right:?}");
            }
        }
    }
    let usual = [Right::Hold, Right::Inspect, Right::Revoke].map(|r| Rights::DEFAULT.include(r));
    assert_eq!(usual, [true, true, false]);
    for names in [&[][..], &["hold", "steal"], &["Hold"], &[""]] {
        assert_eq!(Rights::named(names.iter().copied()), Err(Flaw::Rights));
    }
}

#[test]
fn to_steal_takes_the_right_to_revoke() {
    let steal = Request {
        operation: match acquire("h", 1, 1_000, 0) {
            Operation::Acquire(acquire) => Operation::Acquire(Acquire {
                steal: true,
                ..acquire
            }),
            other => other,
        },
        ..request(1, verify(1))
    };
    for (rights, expected) in [(Rights::ALL, None), (Rights::DEFAULT, Some("no-right"))] {
        let access = access(&[Entry {
            rights,
            ..entry(TOKEN, None)
        }]);
        let found = reason(access.check(TOKEN, Right::Hold, &Call::Request(steal.clone())));
        assert_eq!(found.as_deref(), expected);
    }
}

#[test]
fn every_fault_of_a_list_is_told_and_one_closes_it() {
    let list = vec![
        Ok(entry(TOKEN, None)),
        Ok(entry("0123456789abcde", None)),
        Err(Flaw::Field),
        Ok(entry(TOKEN, Some(&["a:"]))),
        Ok(entry("a token with spaces", None)),
        Ok(entry("tökens-0123456789", None)),
        Ok(entry(ORDERS, None)),
    ];
    let expected = [
        (2, Flaw::Short),
        (3, Flaw::Field),
        (4, Flaw::Duplicate),
        (5, Flaw::Unmatchable),
        (6, Flaw::Unmatchable),
    ];
    let expected = expected.map(|(entry, flaw)| Fault::of_tokens(Some(entry), flaw));
    let found = faults(list);
    assert_eq!(found, expected);
    for fault in &found {
        let message = fault.message();
        assert!(message.starts_with("LEASEHOLD_TOKENS, entry "), "{message}");
        assert!(!message.contains("0123456789"), "{message}");
    }
    assert_eq!(faults(vec![]), [Fault::of_tokens(None, Flaw::NoToken)]);
}

#[test]
fn a_secret_is_one_token_or_a_list_that_is_understood_as_a_whole() {
    let plain = Access::parse(&format!(" {TOKEN}\n")).expect("one token");
    assert_eq!(
        plain,
        access(&[entry(TOKEN, None)]),
        "which may do everything"
    );
    let list = format!(
        r#" [ {{"token":"{TOKEN}"}},
        {{"prefixes":["a:","\u00e9"],"token":"{ORDERS}","rights":["revoke"]}} ] "#
    );
    let listed = Access::parse(&list).expect("a list");
    assert_eq!(hold(&listed, TOKEN, "any"), None);
    let lacking = reason(listed.authorize(TOKEN, Right::Revoke));
    assert_eq!(lacking.as_deref(), Some("no-right"));
    assert_eq!(ask(&listed, ORDERS, Right::Revoke, "été"), None);
    let elsewhere = ask(&listed, ORDERS, Right::Revoke, "b:");
    assert_eq!(elsewhere.as_deref(), Some("out-of-scope"));

    for (secret, flaw) in [
        ("", Flaw::NoToken),
        (" \n", Flaw::NoToken),
        ("[]", Flaw::NoToken),
        ("{}", Flaw::Unreadable),
        ("[{", Flaw::Unreadable),
        ("[{}]]", Flaw::Unreadable),
    ] {
        assert_eq!(
            Access::parse(secret),
            Err(vec![Fault::of_tokens(None, flaw)]),
            "{secret}"
        );
    }
    for secret in [
        "short",
        "two words-0123456789",
        "\u{feff}0123456789abcdef",
        "[0123456789abcdef",
    ] {
        assert!(Access::parse(secret).is_err(), "{secret}");
    }
    let deep = "[".repeat(100_000);
    assert!(Access::parse(&deep).is_err());
    for (text, flaw) in [
        ("1", Flaw::Entry),
        (r#"["0123456789abcdef"]"#, Flaw::Entry),
        (r#""0123456789abcdef""#, Flaw::Entry),
        (r#"{"prefixes":[]}"#, Flaw::Token),
        (r#"{"token":7}"#, Flaw::Token),
        (r#"{"token":null}"#, Flaw::Token),
        (r#"{"token":"\ud800-0123456789"}"#, Flaw::Token),
        (r#"{"token":"short"}"#, Flaw::Short),
        (r#"{"token":"0123456789abcdef "}"#, Flaw::Unmatchable),
        (
            r#"{"token":"0123456789abcdef","prefix":["orders:"]}"#,
            Flaw::Field,
        ),
        (
            r#"{"token":"0123456789abcdef","token":"0123456789abcdeg"}"#,
            Flaw::Field,
        ),
        (r#"{"0123456789abcdef":["orders:"]}"#, Flaw::Field),
        (
            r#"{"token":"0123456789abcdef","prefixes":"orders:"}"#,
            Flaw::Prefixes,
        ),
        (
            r#"{"token":"0123456789abcdef","prefixes":[1]}"#,
            Flaw::Prefixes,
        ),
        (
            r#"{"token":"0123456789abcdef","prefixes":null}"#,
            Flaw::Prefixes,
        ),
        (
            r#"{"token":"0123456789abcdef","rights":"hold"}"#,
            Flaw::Rights,
        ),
        (r#"{"token":"0123456789abcdef","rights":[]}"#, Flaw::Rights),
        (
            r#"{"token":"0123456789abcdef","rights":["hold","Revoke"]}"#,
            Flaw::Rights,
        ),
    ] {
        let list = format!(r#"[{{"token":"{ORDERS}","prefixes":["orders:"]}},{text}]"#);
        let expected = Err(vec![Fault::of_tokens(Some(2), flaw)]);
        assert_eq!(Access::parse(&list), expected, "{text}");
    }
}

#[test]
fn an_operator_is_the_bearer_of_one_fit_token() {
    let operator = Operator::new(TOKEN).expect("fit");
    assert!(operator.is(TOKEN));
    for wrong in ["", "0123456789abcde", ORDERS] {
        assert!(!operator.is(wrong));
    }
    assert_eq!(Operator::new("short"), Err(Fault::of_operator(Flaw::Short)));
    let spaced = Operator::new("0123456789 abcdef");
    assert_eq!(spaced, Err(Fault::of_operator(Flaw::Unmatchable)));
}

#[test]
fn origins_are_taken_as_browsers_write_them() {
    let text = " https://app.example.com,http://localhost:5173 , http://[::1]:8080, ";
    let origins = Origins::parse(text).expect("sound");
    for page in [
        "https://app.example.com",
        "http://localhost:5173",
        "http://[::1]:8080",
    ] {
        assert!(origins.allow(page), "{page}");
    }
    for other in [
        "",
        "null",
        "http://app.example.com",
        "https://app.example.com/",
    ] {
        assert!(!origins.allow(other), "{other}");
    }
    assert_eq!(Origins::parse(""), Ok(Origins::default()));
    let unfit = [
        "*",
        "null",
        "app.example.com",
        "https://",
        "https://app.example.com/",
        "https://app.example.com/path",
        "https://App.example.com",
        "https://app.example.com:443",
        "http://localhost:80",
        "https://app.example.com:0",
        "https://app.example.com:99999",
        "ftp://example.com",
        "https://user@example.com",
    ];
    for text in unfit {
        let list = format!("https://a.example,{text}");
        let expected = vec![Fault::of_origins(Some(2), Flaw::Origin)];
        assert_eq!(Origins::parse(&list), Err(expected), "{text}");
    }
}

#[test]
fn debug_shows_no_token() {
    let shown = format!(
        "{:?} {:?}",
        access(&[entry(TOKEN, None)]),
        Operator::new(TOKEN)
    );
    assert!(!shown.contains(TOKEN), "{shown}");
}
