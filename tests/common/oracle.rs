//! What a record of the protocol is to a reader who knows JSON in general and the tables.

use leasehold::protocol::wire::{FieldSchema, Kind};
use serde_json::Value;

/// Whether the fields of a record that are known are what the table says.
pub fn fits(record: &Value, schema: &[FieldSchema]) -> bool {
    record.is_object()
        && schema
            .iter()
            .all(|known| match record.get(known.field.name()) {
                Some(value) => is(value, &known.kind),
                None => !known.required,
            })
}

fn is(value: &Value, kind: &Kind) -> bool {
    let text = value.as_str();
    match kind {
        Kind::Any => true,
        Kind::Decimal => text.is_some_and(|text| {
            text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u64>().is_ok()
        }),
        Kind::Flag => value.is_boolean(),
        Kind::Id => text.is_some_and(|text| {
            text.len() == 32 && text.chars().all(|char| char.is_ascii_hexdigit())
        }),
        Kind::JsonText => text.is_some_and(is_json),
        Kind::List(item) => value
            .as_array()
            .is_some_and(|items| items.iter().all(|value| is(value, item))),
        Kind::Map(item) => value.as_object().is_some_and(|entries| {
            entries
                .iter()
                .all(|(name, value)| (1..=128).contains(&name.len()) && is(value, item))
        }),
        Kind::Name(most) => text.is_some_and(|text| (1..=*most).contains(&text.len())),
        Kind::Record(schema) => fits(value, schema),
        Kind::Text => text.is_some(),
        Kind::Version => value.as_u64() == Some(1),
        Kind::Count => value.as_u64().is_some_and(|number| number < 1 << 32),
        Kind::Whole => value.as_u64().is_some_and(|number| number <= 1 << 53),
        Kind::Word(words) => text.is_some_and(|text| words.contains(&text)),
    }
}

/// Also for numbers and characters that a general reader can't take in.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok() || text.contains(['e', 'E', '\\'])
}

/// Whether everything that is written was said before: what was read says nothing of its own.
pub fn says(said: &Value, written: &Value, schema: &[FieldSchema]) -> bool {
    schema.iter().all(|known| {
        let name = known.field.name();
        match (said.get(name), written.get(name)) {
            (_, None) => true,
            // An end of a kind that is not known.
            (_, Some(reason)) if name == "reason" && *reason == "unknown" => true,
            (None, Some(default)) => *default == 0 || *default == "",
            (Some(said), Some(written)) => same(said, written, &known.kind),
        }
    })
}

fn same(said: &Value, written: &Value, kind: &Kind) -> bool {
    let texts = (said.as_str().unwrap_or_default(), written.as_str());
    match kind {
        Kind::Id => Some(&*texts.0.to_lowercase()) == texts.1,
        Kind::Decimal => texts.0.parse::<u64>().ok() == texts.1.and_then(|text| text.parse().ok()),
        Kind::JsonText => Some(texts.0.trim()) == texts.1,
        Kind::Record(schema) => says(said, written, schema),
        Kind::List(item) => {
            let (said, written) = (said.as_array(), written.as_array());
            said.zip(written).is_some_and(|(said, written)| {
                let mut pairs = said.iter().zip(written);
                said.len() == written.len()
                    && pairs.all(|(said, written)| same(said, written, item))
            })
        }
        _ => said == written,
    }
}
