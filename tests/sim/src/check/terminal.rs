//! A holder ends once: one terminal event, and nothing of weight after it. Whatever was asked for
//! has exactly one outcome.

use std::collections::BTreeSet;

use leasehold::holder::{Event, Output, Ticket};

use super::{Verdict, ensure};

const CHECK: &str = "terminal";

/// One holder's course.
#[derive(Default)]
pub struct Terminal {
    granted: bool,
    over: bool,
    closed: bool,
    /// What was asked for and has had no outcome.
    asked: BTreeSet<Ticket>,
}

impl Terminal {
    /// Something is about to be asked for.
    pub fn asked(&mut self, ticket: Ticket) {
        self.asked.insert(ticket);
    }

    /// Takes one output.
    ///
    /// # Errors
    /// When it must not come any more.
    pub fn output(&mut self, output: &Output) -> Verdict {
        match output {
            Output::Event(event) => self.event(event),
            Output::Send(_) | Output::Wake { .. } | Output::Drop(_) => {
                ensure(!self.closed, CHECK, || {
                    format!("closed, and yet it wants {output:?}")
                })
            }
        }
    }

    /// Whether the terminal event has come.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Whether the last event has come.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether the lease was held once.
    pub fn was_granted(&self) -> bool {
        self.granted
    }

    fn event(&mut self, event: &Event) -> Verdict {
        let allowed = match event {
            Event::Closed => self.over && !self.closed && self.asked.is_empty(),
            Event::Failed(_) => !self.over && !self.granted,
            Event::Granted(_) => !self.over && !self.granted,
            Event::Queued { .. } => !self.over && !self.granted,
            Event::Finished
            | Event::Lost(_)
            | Event::Released(_)
            | Event::Transferred
            | Event::Jeopardy { .. }
            | Event::RenewFailed { .. }
            | Event::Renewed { .. }
            | Event::Safe { .. }
            | Event::Wanted { .. } => self.granted && !self.over,
            Event::Settled(ticket, outcome) => {
                let waited = self.asked.remove(ticket);
                // Whoever asks after the end is told so.
                waited && (outcome.is_err() || self.granted && !self.closed)
            }
        };
        ensure(allowed, CHECK, || {
            let (granted, over, closed) = (self.granted, self.over, self.closed);
            format!("{event:?} must not come (granted {granted}, over {over}, closed {closed})")
        })?;
        self.granted |= matches!(event, Event::Granted(_));
        self.closed |= matches!(event, Event::Closed);
        self.over |= matches!(
            event,
            Event::Failed(_)
                | Event::Finished
                | Event::Lost(_)
                | Event::Released(_)
                | Event::Transferred
        );
        Ok(())
    }
}
