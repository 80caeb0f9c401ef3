//! What whoever moves keys between hosts has to know.

use super::Host;
use super::key::KeyMachine;
use crate::name::Key;
use crate::time::Instant;

impl Host {
    /// Whether a grant of this key runs at `now`.
    pub fn is_held(&mut self, now: Instant, key: &Key) -> bool {
        let now = self.now.max(now);
        let machine = self.table.get_mut(key);
        machine.is_some_and(|machine| machine.last_expiry() > Some(now))
    }

    /// When the last of the running grants ends unless it is renewed.
    pub fn latest_expiry(&self) -> Option<Instant> {
        let machines = self.table.machines();
        machines.filter_map(KeyMachine::last_expiry).max()
    }
}
