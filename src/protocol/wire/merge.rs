//! One list from hosts that share the keys.

use alloc::collections::BTreeMap;
use alloc::string::String;

use super::record::Record;
use super::response::{Outcome, RESPONSE};
use super::state::KEY_STATE;
use crate::invalid::Field;
use crate::json::{self, Writer};
use crate::protocol::{MAX_LISTED, VERSION};

/// How long one answer's states are together, in bytes, or a little more.
const ENOUGH: usize = 131_072;

/// What each of several hosts has answered to the same list, as one answer: the first keys in the
/// order of their names. Where one has refused, that is the answer. `None` for what is no answer.
pub fn merged(answers: &[String]) -> Option<String> {
    let mut states = BTreeMap::new();
    let mut horizon: Option<String> = None;
    for answer in answers {
        let page = Record::read(answer, RESPONSE).ok()?;
        if page.text(Field::Outcome)? != Outcome::Listed.name() {
            return Some(answer.clone());
        }
        json::array(page.raw(Field::States)?, &mut |state| {
            let key = Record::read(state, KEY_STATE).ok()?.text(Field::Key)?;
            states.insert(String::from(key), state);
            Some(())
        })?;
        // Beyond this one's last key others know more than it has told.
        let after = page.text(Field::After).map(String::from);
        horizon = [horizon, after].into_iter().flatten().min();
    }
    let within = |key: &String| horizon.as_ref().is_none_or(|horizon| key <= horizon);
    let mut first = BTreeMap::new();
    let mut length = 0;
    let mut rest = states.into_iter().filter(|(key, _)| within(key));
    while first.len() < MAX_LISTED && length < ENOUGH {
        let Some((key, state)) = rest.next() else {
            break;
        };
        length += state.len();
        first.insert(key, state);
    }
    let cut = rest.next().and_then(|_| first.keys().next_back().cloned());
    let after = cut.or(horizon);
    Some(Writer::of(|json| {
        json.number(Field::Version.name(), VERSION.into());
        json.text(Field::Outcome.name(), Outcome::Listed.name());
        json.array(Field::States.name(), first.values(), |json, state| {
            json.raw(state)
        });
        json.optional(Field::After.name(), after.as_deref());
    }))
}
