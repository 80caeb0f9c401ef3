//! JSON that is carried as it is.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error, Serialize, SerializeMap, SerializeSeq, Serializer};

use super::{Writer, array, fields, is_json, text};

/// One JSON value as text, byte for byte as somebody wrote it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Json(Arc<str>);

impl Json {
    /// The value in this text; `None` if it is not one, or lies more than
    /// [`MAX_DEPTH`](super::MAX_DEPTH) deep in itself.
    pub fn parse(text: &str) -> Option<Self> {
        is_json(text).then(|| Self(text.trim().into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Prints no character: what is in it is the user's.
impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Json(..)")
    }
}

/// As the value that it is, in any format.
impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        value(&self.0, serializer)
    }
}

fn value<S: Serializer>(json: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let nested = |json: &str| Json(json.into());
    match json.as_bytes().first() {
        Some(b'{') => {
            let mut map = serializer.serialize_map(None)?;
            let mut failed = None;
            let _ = fields(json, &mut |name, value| {
                let name = text(name)?;
                let written = map.serialize_entry(&name, &nested(value));
                written.map_err(|error| failed = Some(error)).ok()
            });
            failed.map_or_else(|| map.end(), Err)
        }
        Some(b'[') => {
            let mut list = serializer.serialize_seq(None)?;
            let mut failed = None;
            let _ = array(json, &mut |item| {
                let written = list.serialize_element(&nested(item));
                written.map_err(|error| failed = Some(error)).ok()
            });
            failed.map_or_else(|| list.end(), Err)
        }
        Some(b'"') => match text(json) {
            Some(text) => serializer.serialize_str(&text),
            None => Err(S::Error::custom("a lone surrogate")),
        },
        Some(b't') => serializer.serialize_bool(true),
        Some(b'f') => serializer.serialize_bool(false),
        Some(b'n') => serializer.serialize_unit(),
        _ => {
            if let Ok(number) = json.parse::<u64>() {
                serializer.serialize_u64(number)
            } else if let Ok(number) = json.parse::<i64>() {
                serializer.serialize_i64(number)
            } else {
                let number = json.parse::<f64>().map_err(S::Error::custom)?;
                serializer.serialize_f64(number)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

fn written(write: impl FnOnce(&mut Writer)) -> Json {
    let mut json = Writer::default();
    write(&mut json);
    Json(String::from(json).into())
}

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value of JSON")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Json, E> {
        Ok(written(|json| json.raw("null")))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Json, E> {
        Ok(written(|json| json.truth(value)))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Json, E> {
        Ok(written(|json| json.digits(value)))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Json, E> {
        Ok(Json(alloc::format!("{value}").into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Json, E> {
        Json::parse(&alloc::format!("{value}")).ok_or_else(|| E::custom("no number of JSON"))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Json, E> {
        Ok(written(|json| json.quoted(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut all = alloc::vec::Vec::<Json>::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(written(|json| {
            json.items(&all, |json, item| json.raw(item.as_str()));
        }))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut all = alloc::vec::Vec::<(String, Json)>::new();
        while let Some(entry) = entries.next_entry()? {
            all.push(entry);
        }
        Ok(written(|json| {
            json.object(|json| {
                for (name, value) in &all {
                    json.name(name).raw(value.as_str());
                }
            });
        }))
    }
}
