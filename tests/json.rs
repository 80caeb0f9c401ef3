//! The reader and writer of JSON, beside a general one.

mod common;

use leasehold::json::{self, MAX_DEPTH, Writer};
use proptest::prelude::*;
use serde_json::Value;

#[test]
fn what_is_json_and_what_is_not() {
    for text in [
        "0",
        "-0",
        "1.5e+3",
        "-1E-2",
        "\"\"",
        "true",
        " [ ] ",
        "{}",
        "\t{ \"a\" : [ 1 , { } ] }\r\n",
        r#""\ud800""#,
        r#""\"\\\/\b\f\n\r\té""#,
    ] {
        assert!(json::is_json(text), "{text}");
    }
    for text in [
        "",
        " ",
        "01",
        "-",
        "+1",
        "1.",
        ".5",
        "1e",
        "0x1",
        "NaN",
        "tru",
        "True",
        "nul",
        "'a'",
        "\"",
        "\"\n\"",
        r#""\x""#,
        r#""\u12g4""#,
        "[",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{1:1}",
        "[]]",
        "{}{}",
        "1 2",
        "/**/1",
    ] {
        assert!(!json::is_json(text), "{text}");
    }
}

#[test]
fn values_may_lie_in_each_other_only_so_deep() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let nested = |depth| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        assert!(json::is_json(&nested(MAX_DEPTH)));
        assert!(!json::is_json(&nested(MAX_DEPTH + 1)));
        // Far beyond what any stack would hold.
        assert!(!json::is_json(&nested(1_000_000)));
    }
}

proptest! {
    #![proptest_config(common::cases(3_000))]

    #[test]
    fn text_is_json_where_a_general_reader_says_so(
        text in "[\\[\\]{}\",:\\\\u0-9a-f.eE+ntrl -]{0,12}",
    ) {
        // It also looks at what the text of a string means.
        let general = serde_json::from_str::<Value>(&text);
        let differs = text.contains("\\u") || general.as_ref().is_err_and(|error| error.to_string().contains("out of range"));
        prop_assert!(differs || json::is_json(&text) == general.is_ok(), "{}", text);
    }

    #[test]
    fn what_is_written_reads_as_it_was(name in ".*", value in ".*", number in any::<u64>(), flag: bool) {
        let text = Writer::of(|json| {
            json.text(&name, &value);
            json.array("items", [1, number], |json, item| json.digits(item));
            json.record("inner", |json| json.flag("flag", flag));
            json.decimal("large", number);
        });
        let read: Value = serde_json::from_str(&text).expect("JSON");
        if !["items", "inner", "large"].contains(&name.as_str()) {
            prop_assert_eq!(&read[&name], &Value::from(value));
        }
        prop_assert_eq!(&read["items"], &serde_json::json!([1, number]));
        prop_assert_eq!(&read["inner"]["flag"], &Value::from(flag));
        prop_assert_eq!(&read["large"], &Value::from(number.to_string()));
    }
}
