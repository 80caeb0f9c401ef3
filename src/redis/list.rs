//! Which keys there are: the database's names are gone through, and the documents found are read.

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::answer::states;
use super::command::{Invocation, Prefix};
use super::word::number;
use crate::json::Writer;
use crate::name::Key;
use crate::protocol::wire::{Outcome, RESPONSE, Record, begin};
use crate::protocol::{Field, Invalid, List, MAX_LISTED};

/// How many names are looked at in the first step. It doubles as long as nothing is found.
const FIRST_COUNT: u64 = 100;

/// How often it doubles.
const MAX_DOUBLINGS: u32 = 3;

/// How many steps there are at most before an answer.
const MAX_SCANS: u32 = 8;

/// A list on its way.
#[derive(Debug)]
pub(super) struct Listing {
    prefix: Prefix,
    pattern: String,
    /// Where the server is to go on, in its own words; zero at the start and at the end.
    cursor: String,
    scans: u32,
    /// The keys of the last step that are to be read yet.
    found: Vec<Key>,
    /// What those read so far have.
    states: Writer,
}

impl Listing {
    /// # Errors
    /// [`Invalid`] unless it goes on where an answer of ours ended.
    pub fn new(prefix: &Prefix, list: &List) -> Result<Self, Invalid> {
        let cursor = list.after.clone().unwrap_or_else(|| "0".to_string());
        if !is_cursor(&cursor) {
            return Err(Invalid::new(
                Field::After,
                "must be what an earlier answer said",
            ));
        }
        let mut prefixed = String::new();
        for char in list.prefix.chars() {
            if matches!(char, '*' | '?' | '[' | ']' | '\\') {
                prefixed.push('\\');
            }
            prefixed.push(char);
        }
        prefixed.push('*');
        Ok(Self {
            prefix: prefix.clone(),
            pattern: prefix.document(&prefixed),
            cursor,
            scans: 0,
            found: Vec::new(),
            states: Writer::new(),
        })
    }

    /// The next command.
    pub fn command(&self, by_text: bool, key_locking: bool) -> Vec<String> {
        let keys = self.next();
        if !keys.is_empty() {
            return Invocation::list(&self.prefix, keys).command(by_text, key_locking);
        }
        let count = FIRST_COUNT << self.scans.min(MAX_DOUBLINGS);
        vec![
            "SCAN".to_string(),
            self.cursor.clone(),
            "MATCH".to_string(),
            self.pattern.clone(),
            "COUNT".to_string(),
            number(count),
        ]
    }

    /// The keys to be read in one go, so that none keeps the server for long.
    fn next(&self) -> &[Key] {
        let (next, _) = self.found.split_at(self.found.len().min(MAX_LISTED));
        next
    }

    /// Takes the reply: the response in JSON, or none if there is another command; `None` if it is no
    /// reply to the last command.
    pub fn replied(&mut self, words: &[String]) -> Option<Option<String>> {
        let is_last = if self.found.is_empty() {
            self.scanned(words)?
        } else {
            let count = self.next().len();
            let read: Vec<Key> = self.found.drain(..count).collect();
            states(&read, words, &mut self.states)?;
            self.found.is_empty()
        };
        if !is_last {
            return Some(None);
        }
        let response = Writer::of(|json| {
            begin(json, Outcome::Listed);
            json.list(Field::States.name(), &self.states);
            let cursor = Some(self.cursor.as_str());
            json.optional(Field::After.name(), cursor.filter(|cursor| *cursor != "0"));
        });
        Record::read(&response, RESPONSE).ok()?;
        Some(Some(response))
    }

    /// Takes what a step has found; whether that is nothing, and there is no other step.
    fn scanned(&mut self, words: &[String]) -> Option<bool> {
        let (cursor, names) = words.split_first()?;
        is_cursor(cursor).then_some(())?;
        self.cursor.clone_from(cursor);
        self.scans += 1;
        for name in names {
            let key = self.prefix.key(name).and_then(|key| Key::parse(key).ok());
            // The same name may come more than once.
            let Some(key) = key.filter(|key| !self.found.contains(key)) else {
                continue;
            };
            self.found.push(key);
        }
        Some(self.found.is_empty() && (self.cursor == "0" || self.scans >= MAX_SCANS))
    }
}

fn is_cursor(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}
