//! A list of tokens as it is configured.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::{Access, Entry, Fault, Flaw, Rights};
use crate::json;

impl Access {
    /// Access by what a secret says: one token, which may do everything, or a JSON list of
    /// `{ token, prefixes, rights }`.
    ///
    /// # Errors
    /// Every [`Fault`] there is: then nobody has access.
    pub fn parse(secret: &str) -> Result<Self, Vec<Fault>> {
        let secret = secret.trim();
        let mut entries = Vec::new();
        if secret.starts_with(['[', '{']) {
            let list = json::array(secret, &mut |value| {
                entries.push(entry(value));
                Some(())
            });
            list.ok_or(Fault::of_tokens(None, Flaw::Unreadable))?;
        } else if !secret.is_empty() {
            entries = vec![Ok(Entry {
                token: secret.into(),
                prefixes: None,
                rights: Rights::ALL,
            })];
        }
        Self::new(entries)
    }
}

fn entry(value: &str) -> Result<Entry, Flaw> {
    let (mut token, mut prefixes, mut rights) = (None, None, None);
    let mut is_known = true;
    let read = json::fields(value, &mut |name, value| {
        let field = match &*json::text(name)? {
            "token" => &mut token,
            "prefixes" => &mut prefixes,
            "rights" => &mut rights,
            _ => {
                is_known = false;
                return Some(());
            }
        };
        is_known &= field.replace(value).is_none();
        Some(())
    });
    read.ok_or(Flaw::Entry)?;
    if !is_known {
        return Err(Flaw::Field);
    }
    let texts = |value, flaw| json::text_items(value).ok_or(flaw);
    Ok(Entry {
        token: token.and_then(json::text).ok_or(Flaw::Token)?.into(),
        prefixes: prefixes
            .map(|value| texts(value, Flaw::Prefixes))
            .transpose()?,
        rights: match rights {
            None => Rights::DEFAULT,
            Some(value) => Rights::named(texts(value, Flaw::Rights)?.iter().map(String::as_str))?,
        },
    })
}
