//! A record as it stands in a text.

use alloc::borrow::Cow;
use core::cell::Cell;

use super::schema::FieldSchema;
use crate::decimal;
use crate::id::from_hex;
use crate::invalid::{Field, Invalid};
use crate::json::{self, Json};
use crate::name::HolderName;
use crate::time::Span;

/// A record in a JSON text, whose fields are what its table says.
#[derive(Debug)]
pub struct Record<'a> {
    schema: &'static [FieldSchema],
    /// The value of each field that is there, where it stands in the text.
    values: [Option<&'a str>; Field::ALL.len()],
    /// The first thing that was found wrong in what was made of it: carrying it through each step of
    /// the making would take more code than the making.
    wrong: Cell<Option<Invalid>>,
}

impl<'a> Record<'a> {
    /// The record in a text. Fields that are not known are skipped; `null` is not the same as absent,
    /// but of the wrong kind.
    ///
    /// # Errors
    /// [`Invalid`] naming a field that is given twice, or the first in the table that is of the wrong
    /// kind or missing.
    pub fn read(text: &'a str, schema: &'static [FieldSchema]) -> Result<Self, Invalid> {
        let mut values = [None; Field::ALL.len()];
        let mut twice = None;
        let read = json::fields(text, &mut |name, value| {
            let name = json::text(name);
            let known = schema
                .iter()
                .find(|known| name.as_deref() == Some(known.field.name()));
            if let Some(FieldSchema { field, .. }) = known
                && values.get_mut(*field as usize)?.replace(value).is_some()
            {
                twice = Some(*field);
            }
            Some(())
        });
        if read.is_none() {
            let invalid = Invalid::new(Field::Request, "must be one JSON object");
            return Err(invalid.because("malformed-json"));
        }
        if let Some(twice) = twice {
            return Err(Invalid::new(twice, "must be given only once"));
        }
        let record = Self {
            schema,
            values,
            wrong: Cell::new(None),
        };
        let wrong = schema.iter().find(|known| {
            !record
                .value(known.field)
                .map_or(!known.required, |value| known.kind.fits(value))
        });
        match wrong {
            Some(known) => Err(record.invalid(known.field)),
            None => Ok(record),
        }
    }

    /// What was made of the record.
    ///
    /// # Errors
    /// [`Invalid`] with the first thing that was wrong.
    pub fn made<T>(&self, made: Option<T>) -> Result<T, Invalid> {
        match made {
            Some(made) if self.wrong.get().is_none() => Ok(made),
            _ => Err(self.fault()),
        }
    }

    #[inline(never)]
    fn fault(&self) -> Invalid {
        let unknown = Invalid::new(Field::Request, "must be one of the protocol's");
        self.wrong.get().unwrap_or(unknown)
    }

    /// Takes note of what is wrong.
    #[inline(never)]
    fn note(&self, invalid: Invalid) {
        self.wrong.set(self.wrong.get().or(Some(invalid)));
    }

    /// A value, unless it is wrong.
    pub fn checked<T>(&self, value: Result<T, Invalid>) -> Option<T> {
        value.map_err(|invalid| self.note(invalid)).ok()
    }

    /// What `get` gets of a field that the operation can't do without.
    pub fn given<T>(&self, get: impl FnOnce(&Self, Field) -> Option<T>, field: Field) -> Option<T> {
        get(self, field).or_else(|| {
            self.missing(field);
            None
        })
    }

    #[inline(never)]
    fn missing(&self, field: Field) {
        self.note(self.invalid(field));
    }

    fn invalid(&self, field: Field) -> Invalid {
        let known = self.schema.iter().find(|known| known.field == field);
        Invalid::new(
            field,
            known.map_or("must be given", |known| known.kind.expected()),
        )
    }

    fn value(&self, field: Field) -> Option<&'a str> {
        self.values.get(field as usize).copied().flatten()
    }

    /// Whether the field is there.
    pub fn has(&self, field: Field) -> bool {
        self.value(field).is_some()
    }

    /// A flag; false where it is absent.
    pub fn flag(&self, field: Field) -> bool {
        self.value(field) == Some("true")
    }

    /// A number.
    pub fn whole(&self, field: Field) -> Option<u64> {
        json::whole(self.value(field)?)
    }

    /// A count; none where it is absent.
    pub fn count(&self, field: Field) -> u32 {
        self.whole(field).unwrap_or_default() as u32
    }

    /// A number of milliseconds.
    pub fn span(&self, field: Field) -> Option<Span> {
        self.whole(field).map(Span::from_millis)
    }

    /// What a string says.
    pub fn text(&self, field: Field) -> Option<Cow<'a, str>> {
        json::text(self.value(field)?)
    }

    /// The number in a string.
    pub fn decimal(&self, field: Field) -> Option<u64> {
        decimal::parse(&self.text(field)?).ok()
    }

    /// The 128 bits of an id.
    pub fn id(&self, field: Field) -> Option<u128> {
        from_hex(&self.text(field)?).ok()
    }

    /// A holder's name.
    pub fn holder(&self, field: Field) -> Option<HolderName> {
        HolderName::parse(&self.text(field)?).ok()
    }

    /// The JSON in a string.
    pub fn json(&self, field: Field) -> Option<Json> {
        Json::parse(&self.text(field)?)
    }

    /// The value as it stands in the text.
    pub(super) fn raw(&self, field: Field) -> Option<&'a str> {
        self.value(field)
    }
}
