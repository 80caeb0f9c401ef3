//! What a machine is told.

use leasehold::holder::{Delivery, Input, Ticket, TransportFailure};
use leasehold::id::AttemptId;
use leasehold::protocol::{Invalid, Response};
use leasehold::time::Span;
use wasm_bindgen::prelude::*;

use crate::settings;

/// What has happened, or is to be done.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum Occurrence {
    /// The first attempt is to be sent.
    Start = "start",
    /// An attempt was answered. An answer that makes no sense counts as none.
    Answered = "answered",
    /// An attempt got no answer,
    Unanswered = "unanswered",
    /// and certainly never reached the host.
    Undelivered = "undelivered",
    /// Nothing of what an attempt has sent so far was carried out, and it is about to be sent again.
    Resent = "resent",
    /// What is due is to be done.
    Wake = "wake",
    /// The grant is waited for no longer.
    Cancel = "cancel",
    /// The lease is left to whoever resumes it.
    Detach = "detach",
    /// Something is asked for. How it ended is told under the ticket.
    Ask = "ask",
}

impl Occurrence {
    /// The machine's input: about the attempt or ticket `id`, with an answer or what is asked for as
    /// JSON, or when to try again after a failure.
    pub(crate) fn input(
        self,
        id: u32,
        text: &str,
        retry_after: Option<Span>,
    ) -> Result<Input, Invalid> {
        let attempt = AttemptId(id);
        let failed = |delivery| {
            let failure = TransportFailure {
                delivery,
                retry_after,
            };
            Input::Failed(attempt, failure)
        };
        Ok(match self {
            Self::Start => Input::Start,
            Self::Answered => match Response::from_json_to_holder(text) {
                Ok(response) => Input::Answered(attempt, response),
                Err(_) => failed(Delivery::Unknown),
            },
            Self::Unanswered => failed(Delivery::Unknown),
            Self::Undelivered => failed(Delivery::Never),
            Self::Resent => Input::Resent(attempt),
            Self::Cancel => Input::Cancel,
            Self::Detach => Input::Detach,
            Self::Ask => Input::Ask(Ticket(id), settings::ask(text)?),
            // A word that is none of these does no harm either.
            _ => Input::Wake,
        })
    }
}
