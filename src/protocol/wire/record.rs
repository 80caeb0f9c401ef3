//! Flat records: their fields stand once, and everything that reads, writes or describes them comes
//! from that.

use super::value::{FieldSchema, Slot};
use crate::invalid::{Field, Invalid};
use crate::json::{self, Writer};

/// A record as it stands in JSON.
pub(crate) trait Record: Sized {
    /// Its fields, in the order in which they are read and written.
    const SCHEMA: &'static [FieldSchema];

    /// The record whose fields have these values.
    fn from_values<'a>(values: impl FnMut() -> Option<&'a str>) -> Result<Self, Invalid>;

    /// Writes the fields that are there.
    fn write(&self, json: &mut Writer);
}

/// A record with its reader, its writer and its description. The first field that is wrong, in the
/// order of the definition, is the one that is named.
macro_rules! record {
    (
        $(#[$doc:meta])*
        pub struct $name:ident {
            $($(#[$field_doc:meta])* $field:ident: $type:ty => $label:ident,)+
        }
    ) => {
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        $(#[$doc])*
        pub struct $name {
            $(
                $(#[$field_doc])*
                #[serde(skip_serializing_if = "crate::protocol::wire::value::Slot::is_absent")]
                pub $field: $type,
            )+
        }

        impl $crate::protocol::wire::record::Record for $name {
            const SCHEMA: &'static [$crate::protocol::wire::value::FieldSchema] = &[$(
                $crate::protocol::wire::value::FieldSchema {
                    field: crate::invalid::Field::$label,
                    kind: <$type as $crate::protocol::wire::value::Slot>::KIND,
                    required: <$type as $crate::protocol::wire::value::Slot>::REQUIRED,
                },
            )+];

            fn from_values<'a>(
                mut values: impl FnMut() -> Option<&'a str>,
            ) -> Result<Self, crate::invalid::Invalid> {
                Ok(Self {
                    $($field: $crate::protocol::wire::record::take(values(), crate::invalid::Field::$label)?,)+
                })
            }

            fn write(&self, json: &mut crate::json::Writer) {
                $($crate::protocol::wire::record::put(json, crate::invalid::Field::$label, &self.$field);)+
            }
        }

        impl $crate::protocol::wire::value::Value for $name {
            const KIND: $crate::protocol::wire::value::Kind =
                $crate::protocol::wire::value::Kind::Record(
                    <Self as $crate::protocol::wire::record::Record>::SCHEMA,
                );
            const EXPECTED: &'static str = "must be a record of the protocol";

            fn read(value: &str) -> Option<Self> {
                $crate::protocol::wire::record::read(value).ok()
            }

            fn write(&self, json: &mut $crate::json::Writer) {
                json.object(|json| $crate::protocol::wire::record::Record::write(self, json));
            }
        }

        impl $name {
            /// The record's fields.
            pub const SCHEMA: &'static [$crate::protocol::wire::value::FieldSchema] =
                <Self as $crate::protocol::wire::record::Record>::SCHEMA;

            /// The record in a JSON text. Fields that are not known are skipped; `null` is not the
            /// same as absent, but of the wrong type.
            ///
            /// # Errors
            /// [`crate::invalid::Invalid`] naming the first field that is of the wrong type or
            /// given twice.
            pub fn from_json(text: &str) -> Result<Self, crate::invalid::Invalid> {
                $crate::protocol::wire::record::read(text)
            }

            /// Writes the record's fields.
            pub fn write(&self, json: &mut crate::json::Writer) {
                $crate::protocol::wire::record::Record::write(self, json);
            }
        }
    };
}

pub(crate) use record;

/// More fields than any record has.
const MAX_FIELDS: usize = 32;

pub(crate) fn read<T: Record>(text: &str) -> Result<T, Invalid> {
    let mut values = [None; MAX_FIELDS];
    split(text, T::SCHEMA, &mut values)?;
    let mut values = values.into_iter();
    T::from_values(|| values.next().flatten())
}

/// Finds the value of each field.
fn split<'a>(
    text: &'a str,
    schema: &[FieldSchema],
    values: &mut [Option<&'a str>],
) -> Result<(), Invalid> {
    let mut twice = None;
    let read = json::fields(text, &mut |name, value| {
        let name = json::text(name);
        let index = schema
            .iter()
            .position(|known| name.as_deref() == Some(known.field.name()));
        if let Some(index) = index
            && values.get_mut(index)?.replace(value).is_some()
        {
            twice = schema.get(index);
        }
        Some(())
    });
    if read.is_none() {
        return Err(Invalid::new(Field::Request, "must be one JSON object"));
    }
    twice.map_or(Ok(()), |twice| {
        Err(Invalid::new(twice.field, "must be given only once"))
    })
}

pub(crate) fn take<T: Slot>(value: Option<&str>, field: Field) -> Result<T, Invalid> {
    T::take(value).map_err(|expected| Invalid::new(field, expected))
}

pub(crate) fn put<T: Slot>(json: &mut Writer, field: Field, value: &T) {
    if !value.is_absent() {
        value.write(json.name(field.name()));
    }
}
