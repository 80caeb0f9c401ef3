//! Which object decides about a key, and who is told what.

mod common;

use common::*;
use leasehold::layout::{Layout, Place, Plan, Register, Ruling, Standing, Told, Unfit};
use leasehold::protocol::{Call, Code, List, Operation, Refusal, Request};

fn layout(text: &str) -> Layout {
    text.parse().expect("a layout")
}

fn place(name: &str, setting: &str, standing: Standing) -> Place {
    Place::new(Some(name.into()), layout(setting), standing)
}

fn about(text: &str, operation: Operation) -> Call {
    Call::Request(Request {
        key: key(text),
        ..request(1, operation)
    })
}

fn told(in_force: &str, next: Option<(&str, u64)>) -> Told {
    Told {
        in_force: layout(in_force),
        next: next.map(|(next, left)| (layout(next), Some(ms(left)))),
    }
}

/// While the shards of what is in force are being closed.
fn told_closing(in_force: &str, next: &str) -> Told {
    Told {
        in_force: layout(in_force),
        next: Some((layout(next), None)),
    }
}

/// What a ruling comes to: `serve`, `ask`, `if held`, or the reason and the layout told.
fn outcome(ruling: Ruling) -> String {
    match ruling {
        Ruling::Serve(_) => "serve".into(),
        Ruling::Ask => "ask".into(),
        Ruling::IfHeld(_, refused) => format!("if held, else {}", told_by(refused)),
        Ruling::Refuse(refused) => told_by(refused),
    }
}

fn told_by(refusal: Refusal) -> String {
    assert_eq!(refusal.code, Code::Unavailable);
    let layout = refusal.layout.unwrap_or_default();
    let left = refusal.retry_after.map(|left| left.as_millis_floor());
    let left = left.map(|left| left.to_string()).unwrap_or_default();
    [&refusal.reason, &layout, left.as_str()]
        .join(" ")
        .trim_end()
        .to_string()
}

#[test]
fn settings_are_a_number_of_shards_or_a_key_and_perhaps_a_jurisdiction() {
    for (shards, jurisdiction, text) in [
        ("key", "", "key"),
        ("1", "", "1"),
        ("512", "", "512"),
        ("64", "eu", "eu/64"),
        ("key", "fedramp", "fedramp/key"),
    ] {
        let settings = Layout::of_settings(shards, jurisdiction).expect(text);
        assert_eq!(settings.text(), text);
        assert_eq!(text.parse(), Ok(settings));
    }
    for shards in [
        "",
        "0",
        "513",
        "-1",
        "1.5",
        "064",
        "+4",
        " 4",
        "keys",
        "99999999999",
    ] {
        assert_eq!(
            Layout::of_settings(shards, ""),
            Err(Unfit::Shards),
            "{shards}"
        );
    }
    for jurisdiction in ["EU", "e u", "key", "shard", "layout", "eu/4", "é"] {
        let settings = Layout::of_settings("4", jurisdiction);
        assert_eq!(settings, Err(Unfit::Jurisdiction), "{jurisdiction}");
    }
    for unfit in [Unfit::Shards, Unfit::Jurisdiction] {
        let refusal = Refusal::from(unfit);
        assert_eq!(refusal.reason, "not-configured");
        assert!(
            refusal.message.contains("LEASEHOLD_"),
            "{}",
            refusal.message
        );
    }
}

#[test]
fn a_key_has_one_object_by_fnv_1a_of_its_bytes() {
    // Worked out by another program.
    for (text, shards, index) in [
        ("a", 64, 12),
        ("foobar", 64, 40),
        ("order:42", 64, 49),
        ("order:42", 10, 1),
        ("é", 8, 1),
        ("é", 512, 1),
        (&"x".repeat(512), 512, 293),
        ("anything", 1, 0),
    ] {
        let name = layout(&shards.to_string()).object_of(text);
        assert_eq!(name, format!("shard/{shards}/{index}"), "{text}");
    }
    assert_eq!(layout("eu/64").object_of("a"), "eu/shard/64/12");
    assert_eq!(layout("key").object_of("a/b"), "key/a/b");
    assert_eq!(layout("eu/key").object_of("\0"), "eu/key/\0");
    let all: Vec<_> = layout("eu/3").shards().collect();
    assert_eq!(all, ["eu/shard/3/0", "eu/shard/3/1", "eu/shard/3/2"]);
    assert_eq!(layout("key").shards().count(), 0);
}

#[test]
fn an_objects_name_tells_its_layout() {
    for (name, text) in [
        ("key/a", "key"),
        ("key/shard/4/1", "key"),
        ("key/", "key"),
        ("eu/key/a", "eu/key"),
        ("shard/4/1", "4"),
        ("eu/shard/64/63", "eu/64"),
    ] {
        assert_eq!(Layout::of_object(name), Some(layout(text)), "{name}");
    }
    for name in [
        "",
        "layout",
        "order:42",
        "shard",
        "shard/4",
        "shard/0/0",
        "eu/a/b",
        "EU/key/a",
    ] {
        assert_eq!(Layout::of_object(name), None, "{name}");
    }
}

#[test]
fn an_object_per_key_serves_its_key_without_asking() {
    let ask = |name: &str, setting, operation| {
        outcome(place(name, setting, Standing::Unknown).rule(at(0), about("a", operation), None))
    };
    let grants = [
        acquire("h", 1, 1_000, 0),
        transfer(by_lease(1), "b", 2, 1_000),
    ];
    let others = [
        renew(1, 1_000),
        release(1),
        verify(1),
        Operation::Cancel,
        Operation::Revoke { fence: None },
    ];
    for operation in grants.iter().chain(&others) {
        let right = [("key/a", "key"), ("eu/key/a", "eu/key")];
        for (name, setting) in right {
            assert_eq!(ask(name, setting, operation.clone()), "serve");
        }
        for name in ["key/b", "a", "layout", "shard/4/9", "shard/4/1"] {
            let answer = ask(name, "key", operation.clone());
            assert_eq!(answer, "wrong-object key", "{name}");
        }
    }
    // Of another kind: nobody keeps a record of what is in force.
    for (name, setting) in [("key/a", "4"), ("shard/4/0", "key"), ("eu/key/a", "key")] {
        for operation in grants.clone() {
            assert_eq!(
                ask(name, setting, operation),
                format!("wrong-object {setting}")
            );
        }
        for operation in others.clone() {
            let expected = format!("if held, else wrong-object {setting}");
            assert_eq!(ask(name, setting, operation), expected);
        }
    }
    let mut nameless = Place::new(None, layout("key"), Standing::Unknown);
    let ruling = nameless.rule(at(0), about("a", verify(1)), None);
    assert_eq!(outcome(ruling), "wrong-object key");
}

#[test]
fn a_shard_goes_by_what_is_in_force() {
    // Of key "a", FNV-1a modulo 4 is 0 and modulo 8 is 4.
    let rule = |name: &str, standing, operation, told| {
        outcome(place(name, "8", standing).rule(at(0), about("a", operation), told))
    };
    let take = || acquire("h", 1, 1_000, 0);
    let unknown = Standing::Unknown;
    assert_eq!(rule("shard/8/4", Standing::Open, take(), None), "serve");
    for operation in [take(), verify(1)] {
        assert_eq!(rule("shard/8/4", unknown, operation.clone(), None), "ask");
        let closed = Standing::Closed(at(0));
        assert_eq!(rule("shard/8/4", closed, operation.clone(), None), "ask");
        assert_eq!(
            rule("shard/8/3", unknown, operation, None),
            "wrong-object 8"
        );
    }
    assert_eq!(rule("shard/4/0", unknown, verify(1), None), "ask");
    assert_eq!(rule("shard/4/0", Standing::Open, verify(1), None), "ask");
    assert_eq!(
        rule("shard/4/0", Standing::Open, take(), None),
        "wrong-object 8"
    );

    let steady = || Some(told("8", None));
    let before = || Some(told("4", None));
    let closing = || Some(told("4", Some(("8", 700))));
    let elsewhere = || Some(told("4", Some(("16", 700))));
    for (name, told, grant, other) in [
        ("shard/8/4", steady(), "serve", "serve"),
        ("shard/8/4", before(), "layout-pending", "wrong-object 4"),
        (
            "shard/8/4",
            closing(),
            "layout-pending  700",
            "wrong-object 4",
        ),
        ("shard/8/4", elsewhere(), "layout-pending", "wrong-object 4"),
        ("shard/4/0", steady(), "wrong-object 8", "wrong-object 8"),
        ("shard/4/0", before(), "wrong-object 8", "serve"),
        ("shard/4/0", closing(), "wrong-object 8", "serve"),
    ] {
        assert_eq!(
            rule(name, unknown, take(), told.clone()),
            grant,
            "{name} {told:?}"
        );
        assert_eq!(
            rule(name, unknown, verify(1), told.clone()),
            other,
            "{name} {told:?}"
        );
    }
    // Deployed back while its own end is under way: it must not begin again.
    let mut back = place("shard/4/0", "4", Standing::Closed(at(700)));
    let ruling = back.rule(at(0), about("a", take()), closing());
    assert_eq!(outcome(ruling), "layout-pending");
    assert_eq!(back.standing(), Standing::Closed(at(700)));
}

#[test]
fn each_shard_of_what_is_in_force_answers_a_list() {
    let list = |name: &str, setting, told| {
        let mut place = place(name, setting, Standing::Unknown);
        outcome(place.rule(at(0), Call::List(List::default()), told))
    };
    for name in ["shard/8/0", "shard/8/7", "shard/4/3"] {
        assert_eq!(list(name, "8", None), "ask");
    }
    let steady = || Some(told("8", None));
    let closing = || Some(told("4", Some(("8", 700))));
    assert_eq!(list("shard/8/7", "8", steady()), "serve");
    assert_eq!(list("shard/8/7", "8", closing()), "wrong-object 4");
    assert_eq!(list("shard/4/3", "8", closing()), "serve");
    assert_eq!(list("shard/4/3", "8", steady()), "wrong-object 8");
    for (name, setting) in [("key/a", "key"), ("key/a", "8"), ("shard/4/3", "key")] {
        let expected = format!("wrong-object {setting}");
        assert_eq!(list(name, setting, None), expected);
    }
}

#[test]
fn a_shard_is_open_from_the_registers_word_until_it_is_closed() {
    let mut shard = place("shard/4/0", "4", Standing::Unknown);
    assert!(shard.may_grant());
    let serve = shard.rule(at(0), about("a", verify(1)), Some(told("4", None)));
    assert_eq!(outcome(serve), "serve");
    assert_eq!(shard.standing(), Standing::Open);
    assert_eq!(shard.close(at(1_000), at(9_000)), ms(8_000));
    assert!(!shard.may_grant());
    assert_eq!(shard.close(at(3_000), at(99_000)), ms(6_000), "closed once");
    assert_eq!(shard.standing(), Standing::Closed(at(9_000)));
    // What runs may be renewed, up to what was told.
    let half = told("4", Some(("8", 5_000)));
    for (ttl, now, left) in [
        (2_000, 4_000, 2_000),
        (60_000, 4_000, 5_000),
        (60_000, 9_500, 0),
    ] {
        let ruling = shard.rule(at(now), about("a", renew(1, ttl)), Some(half.clone()));
        let Ruling::Serve(Call::Request(Request {
            operation: Operation::Renew { ttl, .. },
            ..
        })) = ruling
        else {
            panic!("{ruling:?}");
        };
        assert_eq!(ttl, ms(left));
    }
    let again = shard.rule(
        at(9_000),
        about("a", acquire("h", 1, 1_000, 0)),
        Some(told("4", None)),
    );
    assert_eq!(outcome(again), "serve");
    assert_eq!(shard.standing(), Standing::Open);
    for standing in [Standing::Unknown, Standing::Open, Standing::Closed(at(7))] {
        assert_eq!(Standing::parse(&standing.text()), Some(standing));
    }
    assert_eq!(Standing::parse("ajar"), None);
}

#[test]
fn a_shard_that_was_closed_for_a_change_does_not_open_before_it_is_recorded() {
    let (four, eight) = (layout("4"), layout("8"));
    let mut register = Register::default();
    register.ask(at(0), &four);
    // One shard still runs the code of before while the operator's step closes them all.
    let mut shard = place("shard/4/0", "4", Standing::Open);
    assert_eq!(register.plan(at(0), &eight), Ok(Plan::Close(four.clone())));
    assert_eq!(shard.close(at(0), at(5_000)), ms(5_000));
    for operation in [acquire("h", 1, 60_000, 0), renew(1, 60_000), verify(1)] {
        let (told, _) = register.ask(at(100), &four);
        let told = Told::from_json(&told.to_json()).expect("what travels");
        shard.rule(at(100), about("a", operation), Some(told));
        assert_eq!(shard.standing(), Standing::Closed(at(5_000)));
    }
    assert_eq!(
        register.change(at(1_000), &eight, ms(5_000)),
        told("4", Some(("8", 5_000)))
    );
}

#[test]
fn a_change_that_got_no_further_than_its_plan_is_taken_back_or_replaced() {
    let (four, eight, sixteen) = (layout("4"), layout("8"), layout("16"));
    let mut register = Register::default();
    register.ask(at(0), &four);
    assert_eq!(register.plan(at(0), &eight), Ok(Plan::Close(four.clone())));
    assert_eq!(
        register.plan(at(0), &sixteen),
        Ok(Plan::Close(four.clone()))
    );
    assert_eq!(
        register.change(at(0), &eight, ms(0)),
        told_closing("4", "16"),
        "of what was not planned nothing comes"
    );
    assert_eq!(register.plan(at(0), &four), Ok(Plan::Done(told("4", None))));
    assert_eq!(register.change(at(0), &sixteen, ms(0)), told("4", None));
}

#[test]
fn a_register_changes_once_all_has_run_out() {
    let mut register = Register::default();
    let (four, eight) = (layout("4"), layout("8"));
    assert_eq!(
        register.ask(at(0), &four),
        (told("4", None), true),
        "the first that asks"
    );
    assert_eq!(register.ask(at(0), &eight), (told("4", None), false));
    assert_eq!(register.plan(at(0), &four), Ok(Plan::Done(told("4", None))));
    assert_eq!(register.plan(at(0), &eight), Ok(Plan::Close(four.clone())));
    assert_eq!(register.ask(at(0), &four), (told_closing("4", "8"), false));
    assert_eq!(Register::parse(&register.text()).as_ref(), Some(&register));
    assert_eq!(register.plan(at(0), &eight), Ok(Plan::Close(four.clone())));
    let pending = told("4", Some(("8", 5_000)));
    assert_eq!(register.change(at(1_000), &eight, ms(5_000)), pending);
    assert_eq!(Register::parse(&register.text()).as_ref(), Some(&register));
    assert_eq!(
        register.change(at(2_000), &eight, ms(60_000)),
        told("4", Some(("8", 4_000)))
    );
    assert_eq!(
        register.plan(at(2_000), &eight),
        Ok(Plan::Done(told("4", Some(("8", 4_000)))))
    );
    let busy = register
        .plan(at(2_000), &layout("16"))
        .expect_err("another is under way");
    assert_eq!(
        (busy.reason.as_ref(), busy.retry_after),
        ("layout-pending", Some(ms(4_000)))
    );
    assert_eq!(register.ask(at(5_999), &eight).0, told("4", Some(("8", 1))));
    assert_eq!(register.ask(at(6_000), &eight), (told("8", None), true));
    assert_eq!(
        register.plan(at(6_000), &layout("16")),
        Ok(Plan::Close(eight))
    );
    assert_eq!(Register::parse(&register.text()).as_ref(), Some(&register));
    let by_key = register
        .plan(at(6_000), &layout("key"))
        .expect_err("no shards");
    assert_eq!(by_key.code, Code::Invalid);
    for text in ["", "many", "4 8", "4 8 soon"] {
        assert_eq!(Register::parse(text), None, "{text}");
    }
    for told in [
        told("4", None),
        told("eu/4", Some(("8", 700))),
        told_closing("4", "8"),
    ] {
        assert_eq!(Told::from_json(&told.to_json()), Some(told));
    }
    for text in [
        "",
        "{}",
        r#"{"inForce":"many"}"#,
        r#"{"inForce":4}"#,
        r#"{"next":"4"}"#,
    ] {
        assert_eq!(Told::from_json(text), None, "{text}");
    }
}
