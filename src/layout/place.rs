//! One object's place in the layout: which requests are its own to answer.

use alloc::string::String;

use super::{Layout, REGISTER, Told};
use crate::decimal;
use crate::protocol::{Call, Code, Operation, Refusal, Request};
use crate::time::{Instant, Span};

/// What one object knows of its place.
#[derive(Clone, Debug)]
pub struct Place {
    name: Option<String>,
    /// The layout that the name is of.
    own: Option<Layout>,
    setting: Layout,
    standing: Standing,
}

/// Whether a shard may grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// Not before the register has said so.
    #[default]
    Unknown,
    /// Its layout is in force until it is closed.
    Open,
    /// It grants nothing, and what it has granted ends at this instant at the latest.
    Closed(Instant),
}

/// What an object is to do with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// Ask the register, and rule again with its answer, unless the object was closed meanwhile: then
    /// nothing is to come of the call.
    Ask,
    /// Serve it if a grant of its key runs here, else answer the refusal. Between an object per key
    /// and shards there is no record of what is in force.
    IfHeld(Request, Refusal),
    /// It is not this object's, or not yet.
    Refuse(Refusal),
    /// Serve it.
    Serve(Call),
}

impl Place {
    /// The place of an object of this name, where `setting` is what was deployed.
    pub fn new(name: Option<String>, setting: Layout, standing: Standing) -> Self {
        Self {
            own: name.as_deref().and_then(Layout::of_object),
            name,
            setting,
            standing,
        }
    }

    /// The object's name.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// What was deployed.
    pub fn setting(&self) -> &Layout {
        &self.setting
    }

    /// Whether it may grant.
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// Whether this is the object that records the layout in force.
    pub fn is_register(&self) -> bool {
        self.name() == Some(REGISTER)
    }

    /// Whether anybody may wait here for a grant.
    pub fn may_grant(&self) -> bool {
        self.is_current() && !matches!(self.standing, Standing::Closed(_))
    }

    fn is_current(&self) -> bool {
        self.own.as_ref() == Some(&self.setting)
    }

    /// What to do with a call; `told` is the register's answer to [`Ruling::Ask`] about it.
    pub fn rule(&mut self, now: Instant, call: Call, told: Option<Told>) -> Ruling {
        let could_serve = self.is_current() || !makes_a_grant(&call);
        if !(could_serve && self.is_addressed_by(&call)) {
            return Ruling::Refuse(wrong_object(&self.setting));
        }
        let is_sharded = self.own.as_ref().is_some_and(Layout::is_sharded);
        if self.is_current() && (!is_sharded || self.standing == Standing::Open) {
            return Ruling::Serve(call);
        }
        if !(is_sharded && self.setting.is_sharded()) {
            let refusal = wrong_object(&self.setting);
            return match call {
                Call::List(_) => Ruling::Refuse(refusal),
                Call::Request(request) => Ruling::IfHeld(request, refusal),
            };
        }
        match told {
            Some(told) => self.rule_as_told(now, call, told),
            None => Ruling::Ask,
        }
    }

    /// Whether it is among the objects that answer this in its own layout: of a key one object, of a
    /// list each shard.
    fn is_addressed_by(&self, call: &Call) -> bool {
        self.own.as_ref().is_some_and(|own| match call {
            Call::List(_) => own.is_sharded(),
            Call::Request(request) => {
                Some(own.object_of(request.key.as_str()).as_str()) == self.name()
            }
        })
    }

    fn rule_as_told(&mut self, now: Instant, call: Call, told: Told) -> Ruling {
        let is_in_force = self.own.as_ref() == Some(&told.in_force);
        if is_in_force && self.is_current() && told.next.is_none() {
            self.standing = Standing::Open;
            return Ruling::Serve(call);
        }
        if !makes_a_grant(&call) {
            return if is_in_force {
                Ruling::Serve(self.within_term(now, call))
            } else {
                Ruling::Refuse(wrong_object(&told.in_force))
            };
        }
        let next = told.next.filter(|(next, _)| *next == self.setting);
        Ruling::Refuse(pending(next.and_then(|(_, left)| left)))
    }

    /// What a closed shard has granted runs on, but no longer than it has told the register.
    fn within_term(&self, now: Instant, mut call: Call) -> Call {
        if let Standing::Closed(until) = self.standing
            && let Call::Request(request) = &mut call
            && let Operation::Renew { ttl, .. } = &mut request.operation
        {
            *ttl = (*ttl).min(until.since(now));
        }
        call
    }

    /// Closes a shard whose grants run until `latest`; for how much longer they may. Closing it
    /// again changes nothing.
    pub fn close(&mut self, now: Instant, latest: Instant) -> Span {
        let until = match self.standing {
            Standing::Closed(until) => until,
            Standing::Open | Standing::Unknown => latest.max(now),
        };
        self.standing = Standing::Closed(until);
        until.since(now)
    }
}

/// Whether a call could give its key a holder that it did not have.
fn makes_a_grant(call: &Call) -> bool {
    let Call::Request(request) = call else {
        return false;
    };
    matches!(
        request.operation,
        Operation::Acquire(_) | Operation::Transfer(_)
    )
}

fn wrong_object(right: &Layout) -> Refusal {
    let message = "Another object decides about this key: route by the layout told here.";
    Refusal {
        layout: Some(right.text().into()),
        ..Refusal::new(Code::Unavailable, "wrong-object", message)
    }
}

fn pending(left: Option<Span>) -> Refusal {
    Refusal {
        retry_after: left,
        ..Refusal::new(
            Code::Unavailable,
            "layout-pending",
            "The number of shards was changed: nothing new is granted until an operator has brought \
             the change into force and the last old lease has run out.",
        )
    }
}

impl Standing {
    /// For storage.
    pub fn text(self) -> String {
        match self {
            Self::Unknown => "unknown".into(),
            Self::Open => "open".into(),
            Self::Closed(until) => decimal::text(until.as_micros()),
        }
    }

    /// From what [`Self::text`] gave.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "unknown" => Some(Self::Unknown),
            "open" => Some(Self::Open),
            until => Some(Self::Closed(Instant::from_micros(until.parse().ok()?))),
        }
    }
}
