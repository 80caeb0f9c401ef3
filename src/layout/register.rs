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
    /// The one that follows, and from when on; not known while the shards before it are being closed.
    next: Option<(Layout, Option<Instant>)>,
}

/// In the stored text, for an instant that is not known yet.
const CLOSING: &str = "closing";

/// What the register answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The layout whose objects decide.
    pub in_force: Layout,
    /// The one that follows, and in how long; not known while the shards before it are being closed.
    pub next: Option<(Layout, Option<Span>)>,
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
            json.optional_number("inMs", left.map(Span::as_millis_ceil));
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
            next: next.map(|next| (next, left)),
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
        let next = next.map(|(layout, from)| (layout.clone(), from.map(|from| from.since(now))));
        (Told { in_force, next }, settled || is_first)
    }

    /// What it takes to bring `setting`, the one deployed, into force. From now on no shard is opened,
    /// so that those which are closed stay so. A change that got no further gives way to this one.
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
            Some((next, Some(left))) if next != setting => Err(Refusal {
                retry_after: Some(*left),
                ..Refusal::new(
                    Code::Unavailable,
                    "layout-pending",
                    "Another change of the layout is under way: repeat this when it is in force.",
                )
            }),
            Some((_, Some(_))) => Ok(Plan::Done(told)),
            _ if told.in_force == *setting => {
                self.next = None;
                Ok(Plan::Done(self.ask(now, setting).0))
            }
            _ => {
                self.next = Some((setting.clone(), None));
                Ok(Plan::Close(told.in_force))
            }
        }
    }

    /// As planned, all objects of the layout in force are closed, and nothing of theirs runs for
    /// longer than `longest`: from then on it is `setting`'s.
    pub fn change(&mut self, now: Instant, setting: &Layout, longest: Span) -> Told {
        self.settle(now);
        if let Some((next, from @ None)) = &mut self.next
            && next == setting
        {
            *from = Some(now + longest);
        }
        self.ask(now, setting).0
    }

    /// Whether what was to follow has followed.
    fn settle(&mut self, now: Instant) -> bool {
        match self.next.take() {
            Some((layout, Some(from))) if from <= now => {
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
            let from = from.map(|from| decimal::text(from.as_micros()));
            text.extend([" ", &next.text(), " ", from.as_deref().unwrap_or(CLOSING)]);
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
                let from = match words.next()? {
                    CLOSING => None,
                    from => Some(Instant::from_micros(from.parse().ok()?)),
                };
                Some((layout.parse().ok()?, from))
            }
        };
        Some(Self { in_force, next })
    }
}
