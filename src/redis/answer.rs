//! What the script answers.

use alloc::string::String;
use alloc::vec::Vec;

use super::word::{NONE, unescape, whole};
use crate::host::HostConfig;
use crate::json::Writer;
use crate::name::Key;
use crate::protocol::wire::{Outcome, RESPONSE, Record, begin};
use crate::protocol::{Code, Ended, Field, Refusal};
use crate::time::Span;

/// A script's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// To a watch: nothing has changed, and nothing will by itself for this long.
    Same { quiet: Option<Span> },
    /// Queued behind so many, while there can't be one holder more for this long.
    Queued { ahead: u32, left: Span },
    /// Anything else: a response in JSON.
    Other(String),
}

/// What a response tells that is not in the script's answer.
pub(super) struct Context<'a> {
    pub key: &'a str,
    /// The fence that the request named.
    pub about: Option<u64>,
    /// How long the request lay waiting.
    pub waited: Span,
}

/// The answer that the words are.
pub(super) fn decode(context: &Context<'_>, words: &[String]) -> Option<Answer> {
    let mut words = Words::new(words);
    let answer = match words.next() {
        "queued" => Answer::Queued {
            ahead: words.whole() as u32,
            left: words.span(),
        },
        "same" => Answer::Same {
            quiet: (!words.is_none()).then(|| words.span()),
        },
        "foreign" => Answer::Other(foreign_value(words.next()).to_json()),
        name => Answer::Other(match Outcome::from_name(name) {
            Some(outcome) => Writer::of(|json| {
                begin(json, outcome);
                words.response(json, outcome, context);
            }),
            None => refusal(name)?.to_json(),
        }),
    };
    words.are_over().then_some(())?;
    match &answer {
        Answer::Other(response) if Record::read(response, RESPONSE).is_err() => None,
        _ => Some(answer),
    }
}

/// Adds the states of these keys to a list, as far as they show anything.
pub(super) fn states(keys: &[Key], words: &[String], list: &mut Writer) -> Option<()> {
    let mut words = Words::new(words);
    let mut is_list = words.next() == "listed";
    for key in keys {
        let word = words.next();
        if word == "state" {
            let mut state = Writer::new();
            if words.state(&mut state, key.as_str()) {
                list.item().raw(&String::from(state));
            }
        } else {
            is_list &= word == NONE;
        }
    }
    (is_list && words.are_over()).then_some(())
}

/// The rest of an answer.
struct Words<'a> {
    rest: core::slice::Iter<'a, String>,
    /// Whether some word was not what it had to be.
    are_wrong: bool,
}

impl<'a> Words<'a> {
    fn new(words: &'a [String]) -> Self {
        Self {
            rest: words.iter(),
            are_wrong: false,
        }
    }

    fn next(&mut self) -> &'a str {
        let next = self.rest.next();
        self.expected(next.map(String::as_str))
    }

    /// Takes note of what is not there.
    fn expected<T: Default>(&mut self, found: Option<T>) -> T {
        self.are_wrong |= found.is_none();
        found.unwrap_or_default()
    }

    /// Whether all of them were read and right.
    fn are_over(&self) -> bool {
        self.rest.len() == 0 && !self.are_wrong
    }

    /// Whether the next word is none, which is passed over then.
    fn is_none(&mut self) -> bool {
        let is_none = self
            .rest
            .as_slice()
            .first()
            .is_some_and(|word| word == NONE);
        if is_none {
            self.rest.next();
        }
        is_none
    }

    fn whole(&mut self) -> u64 {
        let whole = whole(self.next());
        self.expected(whole)
    }

    fn span(&mut self) -> Span {
        Span::from_micros(self.whole())
    }

    fn unescaped(&mut self) -> String {
        let text = unescape(self.next());
        self.expected(text)
    }

    // What follows makes a field of the next words.

    fn count(&mut self, json: &mut Writer, field: Field) -> u64 {
        let count = self.whole();
        json.number(field.name(), count);
        count
    }

    fn decimal(&mut self, json: &mut Writer, field: Field) {
        json.decimal(field.name(), self.whole());
    }

    fn millis(&mut self, json: &mut Writer, field: Field) {
        json.number(field.name(), self.span().as_millis_floor());
    }

    fn text(&mut self, json: &mut Writer, field: Field) {
        json.text(field.name(), &self.unescaped());
    }

    /// How long a holder may count on its grant, of what is left of it and its whole term.
    fn told(&mut self, json: &mut Writer) {
        let left = self.span();
        let told = left.saturating_sub(HostConfig::REDIS.margin.of(self.span()));
        json.number(Field::Ttl.name(), told.as_millis_floor());
    }

    /// The fields of a response that has this outcome.
    fn response(&mut self, json: &mut Writer, outcome: Outcome, context: &Context<'_>) {
        match outcome {
            Outcome::Cancelled => {}
            Outcome::Done => {
                self.done(json);
                self.text(json, Field::Result);
            }
            Outcome::Entered | Outcome::Finished | Outcome::Released => about(json, context),
            Outcome::Granted => {
                json.text(Field::Lease.name(), self.next());
                self.decimal(json, Field::Fence);
                self.count(json, Field::Slot);
                self.told(json);
                self.count(json, Field::Wanted);
                json.flag(Field::Replayed.name(), self.next() == "1");
                json.number(Field::Waited.name(), context.waited.as_millis_floor());
            }
            Outcome::Held => {
                if !self.is_none() {
                    self.text(json, Field::Holder);
                }
                if !self.is_none() {
                    self.decimal(json, Field::Fence);
                }
                json.number(Field::RetryAfter.name(), self.span().as_millis_ceil());
                self.count(json, Field::Waiters);
            }
            Outcome::NotHolder => {
                about(json, context);
                json.text(Field::Reason.name(), ended(self.next()).name());
                if !self.is_none() {
                    self.decimal(json, Field::Present);
                }
            }
            Outcome::Renewed => {
                about(json, context);
                self.told(json);
                self.count(json, Field::Wanted);
            }
            Outcome::Revoked => {
                self.count(json, Field::Revoked);
            }
            Outcome::State => {
                self.state(json.name(Field::State.name()), context.key);
            }
            Outcome::Listed | Outcome::Queued | Outcome::Refused => self.are_wrong = true,
        }
    }

    fn done(&mut self, json: &mut Writer) {
        self.decimal(json, Field::Fence);
        self.millis(json, Field::Age);
        self.millis(json, Field::Remaining);
    }

    /// A key's state; whether it shows anything.
    fn state(&mut self, json: &mut Writer, key: &str) -> bool {
        let mut shows = false;
        json.object(|json| {
            json.text(Field::Key.name(), key);
            self.decimal(json, Field::Revision);
            shows |= self.count(json, Field::Waiters) > 0;
            if !self.is_none() {
                shows = true;
                json.record(Field::Done.name(), |json| self.done(json));
            }
            let mut holders = Writer::new();
            shows |= self.each(|words| holders.item().object(|json| words.holder(json)));
            json.list(Field::Holders.name(), &holders);
        });
        shows
    }

    /// Reads as many as the next word says; whether there are any.
    fn each(&mut self, mut read: impl FnMut(&mut Self)) -> bool {
        let count = self.whole();
        for _ in 0..count {
            if self.are_wrong {
                break;
            }
            read(self);
        }
        count > 0
    }

    fn holder(&mut self, json: &mut Writer) {
        self.text(json, Field::Holder);
        self.decimal(json, Field::Fence);
        self.count(json, Field::Slot);
        self.count(json, Field::Limit);
        self.millis(json, Field::Age);
        self.millis(json, Field::Remaining);
        let mut entries: Vec<(String, String)> = Vec::new();
        self.each(|words| {
            let (name, value) = (words.unescaped(), words.unescaped());
            let place = entries.partition_point(|(before, _)| *before < name);
            entries.insert(place, (name, value));
        });
        json.record(Field::Entries.name(), |json| {
            for (name, value) in &entries {
                json.name(name).raw(value);
            }
        });
    }
}

fn about(json: &mut Writer, context: &Context<'_>) {
    if let Some(about) = context.about {
        json.decimal(Field::Fence.name(), about);
    }
}

fn ended(state: &str) -> Ended {
    match state {
        "c" => Ended::Cancelled,
        "e" => Ended::Expired,
        "f" => Ended::Finished,
        "r" => Ended::Released,
        "t" => Ended::Transferred,
        "v" => Ended::Revoked,
        _ => Ended::Unknown,
    }
}

/// What the script refuses.
fn refusal(name: &str) -> Option<Refusal> {
    Some(match name {
        "entries-full" => Refusal::ENTRIES_FULL,
        "fences-exhausted" => Refusal::FENCES_EXHAUSTED,
        "fingerprint" => Refusal::ANOTHER_INPUT,
        "key-too-large" => Refusal::KEY_TOO_LARGE,
        "not-exclusive" => Refusal::NOT_EXCLUSIVE,
        "same-lease" => Refusal::SAME_LEASE,
        "too-many-waiters" => Refusal::TOO_MANY_WAITERS,
        _ => return None,
    })
}

/// The refusal of a value at one of our names that we did not write.
pub(super) fn foreign_value(kind: &str) -> Refusal {
    let kind = ["string", "hash", "list", "set", "stream"]
        .into_iter()
        .find(|known| *known == kind)
        .unwrap_or("value");
    Refusal {
        message: [
            "A ",
            kind,
            " of somebody else's is stored where a record of the lease belongs, and was left alone: use another prefix or remove it.",
        ]
        .concat()
        .into(),
        ..Refusal::new(Code::Unavailable, "foreign-value", "")
    }
}
