//! What the one object that records the layout in force does.

use alloc::string::String;

use super::Layout;
use crate::decimal;
use crate::json::{self, Writer};
use crate::protocol::{Code, Refusal};
use crate::time::{Instant, Span};

/// The layout in force, and the one that follows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Register {
    in_force: Option<Layout>,
    /// From when on.
    next: Option<(Layout, Instant)>,
}

/// What the register answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The layout whose objects decide.
    pub in_force: Layout,
    /// The one that follows, and when.
    pub next: Option<(Layout, Span)>,
}

impl Told {
    /// `{ inForce, next, inMs }` as a JSON text.
    pub fn to_json(&self) -> String {
        Writer::of(|json| self.write(json))
    }

    /// Writes the fields.
    pub fn write(&self, json: &mut Writer) {
        json.text("inForce", &self.in_force.text());
        if let Some((next, left)) = &self.next {
            json.text("next", &next.text());
            json.number("inMs", left.as_millis_ceil());
        }
    }

    /// From what [`Self::to_json`] gave.
    pub fn from_json(text: &str) -> Option<Self> {
        let (mut in_force, mut next, mut left) = (None, None, None);
        json::fields(text, &mut |name, value| {
            let layout = || -> Option<Layout> { json::text(value)?.parse().ok() };
            match &*json::text(name)? {
                "inForce" => in_force = Some(layout()?),
                "next" => next = Some(layout()?),
                "inMs" => left = Some(Span::from_millis(json::whole(value)?)),
                _ => {}
            }
            Some(())
        })?;
        Some(Self {
            in_force: in_force?,
            next: next.zip(left),
        })
    }
}

/// What an operator's change of the layout takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Nothing: it is in force, or comes into force by itself.
    Done(Told),
    /// The shards of this layout are to be closed; the longest that any grant of theirs still runs is wanted.
    Close(Layout),
}

impl Register {
    /// A shard asks what is in force; `setting` is its own. The first that asks settles it.
    /// Whether this has changed the register is told beside the answer.
    pub fn ask(&mut self, now: Instant, setting: &Layout) -> (Told, bool) {
        let settled = self.settle(now);
        let is_first = self.in_force.is_none();
        let in_force = self.in_force.get_or_insert_with(|| setting.clone()).clone();
        let next = self.next.as_ref();
        let next = next.map(|(layout, from)| (layout.clone(), from.since(now)));
        (Told { in_force, next }, settled || is_first)
    }

    /// What it takes to bring `setting`, the one deployed, into force.
    ///
    /// # Errors
    /// A [`Refusal`] while another change is under way, or for a layout without shards.
    pub fn plan(&mut self, now: Instant, setting: &Layout) -> Result<Plan, Refusal> {
        if !setting.is_sharded() {
            return Err(Refusal::new(
                Code::Invalid,
                "no-shards",
                "An object per key needs no such step: see the documentation on changing shards.",
            ));
        }
        let (told, _) = self.ask(now, setting);
        match &told.next {
            Some((next, left)) if next != setting => Err(Refusal {
                retry_after: Some(*left),
                ..Refusal::new(
                    Code::Unavailable,
                    "layout-pending",
                    "Another change of the layout is under way: repeat this when it is in force.",
                )
            }),
            None if told.in_force != *setting => Ok(Plan::Close(told.in_force)),
            _ => Ok(Plan::Done(told)),
        }
    }

    /// All objects of the layout in force are closed, and nothing of theirs runs for longer than
    /// `longest`: from then on it is `setting`'s.
    pub fn change(&mut self, now: Instant, setting: &Layout, longest: Span) -> Told {
        self.settle(now);
        if self.in_force.as_ref() != Some(setting) && self.next.is_none() {
            self.next = Some((setting.clone(), now + longest));
        }
        self.ask(now, setting).0
    }

    /// Whether what was to follow has followed.
    fn settle(&mut self, now: Instant) -> bool {
        match self.next.take() {
            Some((layout, from)) if from <= now => {
                self.in_force = Some(layout);
                true
            }
            next => {
                self.next = next;
                false
            }
        }
    }

    /// For storage.
    pub fn text(&self) -> String {
        let mut text = self.in_force.as_ref().map(Layout::text).unwrap_or_default();
        if let Some((next, from)) = &self.next {
            text.extend([" ", &next.text(), " ", &decimal::text(from.as_micros())]);
        }
        text
    }

    /// From what [`Self::text`] gave.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let in_force = Some(words.next()?.parse().ok()?);
        let next = match words.next() {
            None => None,
            Some(layout) => {
                let from = words.next()?.parse().ok()?;
                Some((layout.parse().ok()?, Instant::from_micros(from)))
            }
        };
        Some(Self { in_force, next })
    }
}
