//! The records' fields stand once: `openapi.json` and the TypeScript types say the same.

use std::collections::BTreeMap;
use std::fs;

use leasehold::protocol::Call;
use leasehold::protocol::wire::{
    DONE_STATE, FieldSchema, HOLDER_STATE, KEY_STATE, Kind, Outcome, REQUEST, RESPONSE, Verb,
};
use serde_json::{Map, Value, json};

fn file(path: &str) -> String {
    fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).expect(path)
}

fn schemas() -> Value {
    let openapi: Value = serde_json::from_str(&file("openapi.json")).expect("JSON");
    openapi["components"]["schemas"].clone()
}

/// A value that no operation objects to.
fn sample(field: &FieldSchema) -> Value {
    match (field.field.name(), field.kind) {
        ("v", _) => json!(1),
        ("op" | "lease" | "toLease", _) => json!("0".repeat(32)),
        ("fence" | "after" | "value" | "result", _) => json!("7"),
        ("repeat", _) => json!("extend"),
        ("ttlMs", _) => json!(1_000),
        ("keepMs", _) => json!(60_000),
        (_, Kind::Flag) => json!(true),
        (_, Kind::Count | Kind::Whole) => json!(7),
        _ => json!("x"),
    }
}

/// The fields that an operation reads, and whether it can't do without them.
fn fields_of(verb: Verb) -> BTreeMap<&'static str, bool> {
    let mut full = Map::new();
    for field in REQUEST {
        full.insert(field.field.name().to_string(), sample(field));
    }
    full.insert("operation".to_string(), json!(verb.name()));
    let read =
        |record: &Map<String, Value>| Call::from_json(&Value::from(record.clone()).to_string());
    let whole = read(&full).expect("all fields are there");
    // The path may tell the operation instead.
    let mut fields = BTreeMap::from([("operation", false)]);
    for field in REQUEST {
        let name = field.field.name();
        let mut record = full.clone();
        record.remove(name);
        match read(&record) {
            _ if name == "operation" => {}
            Err(_) => drop(fields.insert(name, true)),
            Ok(call) if call != whole => drop(fields.insert(name, false)),
            Ok(_) => {}
        }
    }
    fields
}

#[test]
fn openapi_has_the_fields_that_each_operation_reads() {
    let schemas = schemas();
    for verb in Verb::ALL {
        let mut name = verb.name().to_string();
        name[..1].make_ascii_uppercase();
        let schema = &schemas[&name];
        let required = schema["required"].as_array().expect("a list");
        let properties = schema["properties"].as_object().expect("properties");
        let described: BTreeMap<&str, bool> = properties
            .keys()
            .map(|field| (field.as_str(), required.contains(&json!(field))))
            .collect();
        assert_eq!(described, fields_of(*verb), "{name}");
        for field in REQUEST {
            if let Some(property) = properties.get(field.field.name()) {
                assert!(fits(property, &field.kind), "{name}: {property}");
            }
        }
    }
}

/// Whether a JSON schema describes this kind of value.
fn fits(schema: &Value, kind: &Kind) -> bool {
    let described = schema["type"].as_str();
    match kind {
        Kind::Any => described.is_none(),
        Kind::Flag => described == Some("boolean"),
        Kind::List(item) => described == Some("array") && fits(&schema["items"], item),
        Kind::Map(value) => {
            described == Some("object") && fits(&schema["additionalProperties"], value)
        }
        Kind::Record(_) => schema["$ref"].is_string(),
        Kind::Decimal | Kind::Id | Kind::JsonText | Kind::Name(_) | Kind::Text | Kind::Word(_) => {
            described == Some("string") || schema["const"].is_string() || schema["enum"].is_array()
        }
        Kind::Count | Kind::Version | Kind::Whole => {
            described == Some("integer") || schema["const"].is_number()
        }
    }
}

fn describes(schema: &Value, record: &[FieldSchema]) {
    let properties = schema["properties"].as_object().expect("properties");
    let required = schema["required"].as_array().expect("a list");
    let mut names: Vec<&str> = record.iter().map(|known| known.field.name()).collect();
    names.sort_unstable();
    let described: Vec<&str> = properties.keys().map(String::as_str).collect();
    assert_eq!(described, names);
    for known in record {
        let name = known.field.name();
        assert!(fits(&properties[name], &known.kind), "{name}");
        assert_eq!(required.contains(&json!(name)), known.required, "{name}");
    }
}

#[test]
fn openapi_describes_the_answers() {
    let schemas = schemas();
    describes(&schemas["KeyState"], KEY_STATE);
    describes(&schemas["HolderState"], HOLDER_STATE);
    describes(&schemas["DoneState"], DONE_STATE);
    // A refusal has a schema of its own; both together have every field.
    let mut both = schemas["Response"].clone();
    both["required"] = json!([]);
    let outcomes = both["properties"]["outcome"]["enum"].as_array();
    let mut outcomes = outcomes.expect("a list").clone();
    outcomes.push(schemas["Refusal"]["properties"]["outcome"]["const"].clone());
    outcomes.sort_by_key(Value::to_string);
    let known: Vec<Value> = Outcome::ALL
        .iter()
        .map(|known| json!(known.name()))
        .collect();
    assert_eq!(outcomes, known);
    let refusal = &schemas["Refusal"]["properties"];
    for (name, property) in refusal.as_object().expect("properties") {
        both["properties"][name] = property.clone();
    }
    describes(&both, RESPONSE);
}

/// The fields of a TypeScript interface: name, whether it is optional, type.
fn interface(source: &str, name: &str) -> Vec<(String, bool, String)> {
    let start = format!("export interface {name} {{");
    let (_, rest) = source.split_once(&start).expect("an interface");
    let (body, _) = rest.split_once("\n}").expect("its end");
    body.lines()
        .filter_map(|line| line.trim().strip_prefix("readonly "))
        .map(|line| {
            let (name, kind) = line.split_once(": ").expect("a field");
            let optional = name.strip_suffix('?');
            let kind = kind.trim_end_matches(';').to_string();
            (
                optional.unwrap_or(name).to_string(),
                optional.is_some(),
                kind,
            )
        })
        .collect()
}

fn typed(source: &str, name: &str, record: &[FieldSchema], always: &[&str]) {
    let found = interface(source, name);
    let names: Vec<_> = found
        .iter()
        .map(|(field, optional, _)| (field.as_str(), *optional))
        .collect();
    let expected: Vec<_> = record
        .iter()
        .map(|known| {
            let field = known.field.name();
            (field, !known.required && !always.contains(&field))
        })
        .collect();
    assert_eq!(names, expected, "{name}");
    for ((field, _, kind), known) in found.iter().zip(record) {
        let fits = match known.kind {
            Kind::Any => kind == "unknown",
            Kind::Flag => kind == "boolean",
            Kind::List(_) => kind.starts_with("readonly ") && kind.ends_with("[]"),
            Kind::Map(_) => kind.starts_with("Readonly<Record<string, "),
            Kind::Record(_) => kind.starts_with("Wire"),
            Kind::Decimal
            | Kind::Id
            | Kind::JsonText
            | Kind::Name(_)
            | Kind::Text
            | Kind::Word(_) => {
                ["string", "Operation", "Outcome"].contains(&kind.as_str()) || kind.contains('"')
            }
            Kind::Count | Kind::Version | Kind::Whole => kind == "number" || kind == "1",
        };
        assert!(fits, "{name}.{field}: {kind}");
    }
}

#[test]
fn the_typescript_types_are_those_of_the_records() {
    let source = file("pkg/src/lease/backend.ts");
    typed(
        &source,
        "WireRequest",
        REQUEST,
        &["v", "operation", "key", "op"],
    );
    typed(&source, "WireResponse", RESPONSE, &["v", "outcome"]);
    typed(&source, "WireKeyState", KEY_STATE, &[]);
    typed(&source, "WireHolderState", HOLDER_STATE, &[]);
    typed(&source, "WireDoneState", DONE_STATE, &[]);
    let words = |start: &str| -> Vec<String> {
        let (_, rest) = source.split_once(start).expect("words");
        let (list, _) = rest.split_once(';').expect("their end");
        list.split('"')
            .skip(1)
            .step_by(2)
            .map(String::from)
            .collect()
    };
    let verbs: Vec<_> = Verb::ALL.iter().map(|verb| verb.name()).collect();
    assert_eq!(words("export const OPERATIONS = "), verbs);
    let outcomes: Vec<_> = Outcome::ALL.iter().map(|outcome| outcome.name()).collect();
    assert_eq!(words("export type Outcome ="), outcomes);
}
