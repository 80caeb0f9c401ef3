//! What whoever moves keys between hosts has to know.

use super::Host;
use crate::name::Key;
use crate::time::Instant;

impl Host {
    /// Whether a grant of this key runs at `now`.
    pub fn is_held(&mut self, now: Instant, key: &Key) -> bool {
        let now = self.now.max(now);
        let slot = self.table.get_mut(key);
        slot.is_some_and(|slot| slot.expires() > Some(now))
    }

    /// When the last of the running grants ends unless it is renewed.
    pub fn latest_expiry(&self) -> Option<Instant> {
        self.table.slots().filter_map(|slot| slot.expires()).max()
    }
}
