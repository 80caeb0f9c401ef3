//! Works that were finished, and whose result is kept for a while.

use super::super::effects::Effects;
use super::super::record::DoneRecord;
use super::grants::differ;
use super::{Asked, KeyMachine};
use crate::name::Fingerprint;
use crate::protocol::{Done, DoneState, Ended, Finish, Limit, Refusal, Response};
use crate::time::Instant;

impl KeyMachine {
    /// Ends the grant with a result. Whoever waits gets the result instead of the key.
    pub(super) fn finish_work(
        &mut self,
        asked: Asked,
        finish: Finish,
        fx: &mut Effects,
    ) -> Response {
        let Asked { op, now, .. } = asked;
        let Finish {
            credential,
            result,
            keep,
        } = finish;
        let about = credential.fence;
        if self.memory.was_ended_by(op, Ended::Finished) {
            return Response::Finished { about };
        }
        let position = self.grants.opened_by(credential);
        let grant = position.and_then(|position| self.grants.get_mut(position));
        let (Some(position), Some(grant)) = (position, grant) else {
            return self.not_holder(about, self.memory.end_of(credential));
        };
        if grant.record.limit != Limit::EXCLUSIVE {
            return Response::Refused(Refusal::NOT_EXCLUSIVE);
        }
        self.done = Some(DoneRecord {
            fence: grant.record.fence,
            result,
            since: now,
            until: now + keep,
            fingerprint: grant.record.fingerprint.clone(),
        });
        self.end(position, Ended::Finished, Some(op), now, fx);
        while let Some(waiter) = self.queue.remove(0, fx) {
            self.memory.remember_denied(waiter.record.op, now);
            let response = self.settled_by_done(waiter.record.fingerprint.as_ref(), now);
            if let (Some(parked), Some(response)) = (waiter.parked(), response) {
                fx.reply(parked.to, response);
            }
        }
        Response::Finished { about }
    }

    /// The answer to whoever asks for a key that is done.
    pub(super) fn settled_by_done(
        &self,
        fingerprint: Option<&Fingerprint>,
        now: Instant,
    ) -> Option<Response> {
        let done = self.done.as_ref()?;
        if differ(done.fingerprint.as_ref(), fingerprint) {
            return Some(Response::Refused(Refusal::ANOTHER_INPUT));
        }
        Some(Response::Done(Done {
            fence: done.fence,
            age: now.since(done.since),
            remaining: done.until.since(now),
            result: Some(done.result.clone()),
        }))
    }

    /// Drops a result that has been kept for long enough.
    pub(super) fn end_done(&mut self, now: Instant) {
        if self.done.as_ref().is_some_and(|done| done.until <= now) {
            self.done = None;
            self.changed = true;
            self.dirty = true;
        }
    }

    /// What an observer may know of it.
    pub(super) fn done_state(&self, now: Instant) -> Option<DoneState> {
        self.done.as_ref().map(|done| DoneState {
            fence: done.fence,
            age_ms: now.since(done.since).as_millis_floor(),
            remaining_ms: done.until.since(now).as_millis_floor(),
        })
    }
}
