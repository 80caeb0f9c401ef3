//! One list from hosts that share the keys.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::record::Record;
use super::response::{Outcome, RESPONSE};
use super::state::KEY_STATE;
use crate::invalid::Field;
use crate::json::{self, Writer};
use crate::protocol::{MAX_LISTED, MAX_LISTED_BYTES, VERSION};

/// What each of several hosts has answered to the same list, as one answer: the first keys in the
/// order of their names. Where one has refused, that is the answer. `None` for what is no answer.
pub fn merged(answers: &[String]) -> Option<String> {
    let mut states: Vec<(Cow<str>, &str)> = Vec::new();
    let mut horizon: Option<Cow<str>> = None;
    for answer in answers {
        let page = Record::read(answer, RESPONSE).ok()?;
        if page.text(Field::Outcome)? != Outcome::Listed.name() {
            return Some(answer.clone());
        }
        json::array(page.raw(Field::States)?, &mut |state| {
            let key = Record::read(state, KEY_STATE).ok()?.text(Field::Key)?;
            let place = states.partition_point(|(before, _)| *before < key);
            states.insert(place, (key, state));
            Some(())
        })?;
        // Beyond this one's last key others know more than it has told.
        horizon = [horizon, page.text(Field::After)]
            .into_iter()
            .flatten()
            .min();
    }
    if let Some(horizon) = &horizon {
        states.truncate(states.partition_point(|(key, _)| key <= horizon));
    }
    let all = states.len();
    let mut length = 0;
    let enough = states.iter().position(|(_, state)| {
        length += state.len();
        length > MAX_LISTED_BYTES
    });
    states.truncate(enough.map_or(MAX_LISTED, |last| MAX_LISTED.min(last + 1)));
    if states.len() < all {
        horizon = states.last().map(|(key, _)| key.clone());
    }
    Some(Writer::of(|json| {
        json.number(Field::Version.name(), VERSION.into());
        json.text(Field::Outcome.name(), Outcome::Listed.name());
        json.array(Field::States.name(), states, |json, (_, state)| {
            json.raw(state)
        });
        json.optional(Field::After.name(), horizon.as_deref());
    }))
}
