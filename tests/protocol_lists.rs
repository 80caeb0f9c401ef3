//! One list from several hosts that share the keys.

use leasehold::protocol::wire::merged;

fn page(keys: &[&str], after: Option<&str>) -> String {
    let states: Vec<String> = keys
        .iter()
        .map(|key| format!(r#"{{"key":"{key}","revision":"1","holders":[],"waiters":0}}"#))
        .collect();
    let after = after.map_or(String::new(), |after| format!(r#","after":"{after}""#));
    let states = states.join(",");
    format!(r#"{{"v":1,"outcome":"listed","states":[{states}]{after}}}"#)
}

#[test]
fn the_states_come_in_the_order_of_their_names() {
    let pages = [
        page(&["b", "d"], None),
        page(&[], None),
        page(&["a", "c"], None),
    ];
    assert_eq!(merged(&pages), Some(page(&["a", "b", "c", "d"], None)));
    // By code points: U+FF01 comes before U+1F512, whose UTF-16 form begins lower.
    let pages = [page(&["\u{1f512}"], None), page(&["\u{ff01}"], None)];
    assert_eq!(merged(&pages), Some(page(&["\u{ff01}", "\u{1f512}"], None)));
    assert_eq!(merged(&[]), Some(page(&[], None)));
}

#[test]
fn nothing_is_told_beyond_what_one_of_them_has_told() {
    let pages = [page(&["a", "m"], Some("m")), page(&["b", "n", "z"], None)];
    assert_eq!(merged(&pages), Some(page(&["a", "b", "m"], Some("m"))));
    // What it went through need not be anything that is alive.
    let pages = [page(&[], Some("c")), page(&["b", "d"], None)];
    assert_eq!(merged(&pages), Some(page(&["b"], Some("c"))));
}

#[test]
fn an_answer_has_a_hundred_states_and_a_quarter_of_a_megabyte_at_the_most() {
    let keys: Vec<String> = (0..150).map(|n| format!("k{n:03}")).collect();
    let (even, odd): (Vec<&str>, Vec<&str>) = (
        keys.iter().step_by(2).map(String::as_str).collect(),
        keys.iter().skip(1).step_by(2).map(String::as_str).collect(),
    );
    let all: Vec<&str> = keys.iter().map(String::as_str).collect();
    let first = merged(&[page(&even, None), page(&odd, None)]);
    assert_eq!(first, Some(page(&all[..100], Some("k099"))));

    let more = format!(r#""waiters":0,"more":"{}""#, "x".repeat(60_000));
    let long = |keys: &[&str], after| page(keys, after).replace(r#""waiters":0"#, &more);
    let answer = merged(&[long(&["a", "b", "c", "d", "e"], None)]).expect("an answer");
    assert_eq!(answer, long(&["a", "b", "c"], Some("c")));
    assert!(answer.len() < 262_144);
}

#[test]
fn where_one_refuses_that_is_the_answer() {
    let refusal = r#"{"v":1,"outcome":"refused","code":"UNAVAILABLE","reason":"wrong-object"}"#;
    let pages = [page(&["a"], None), refusal.into()];
    assert_eq!(merged(&pages).as_deref(), Some(refusal));
    for answer in [
        "",
        "[]",
        r#"{"outcome":"listed"}"#,
        r#"{"outcome":"listed","states":[1]}"#,
    ] {
        assert_eq!(merged(&[answer.into()]), None, "{answer}");
    }
}
