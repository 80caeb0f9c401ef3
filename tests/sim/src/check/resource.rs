//! Guarantee B where it counts: a resource that refuses lower fences is never written by a stale
//! holder after a newer one.

use std::collections::BTreeMap;

use leasehold::fence::Fence;
use leasehold::id::LeaseId;
use leasehold::name::Key;

use super::{Fences, Violation, ensure};

const CHECK: &str = "resource";

/// One fenced resource per key and slot.
#[derive(Default)]
pub struct Resource {
    keys: BTreeMap<(Key, u32), Seen>,
}

#[derive(Default)]
struct Seen {
    highest: Fence,
    /// Where the last writer's grant stands in the order of grants.
    order: usize,
}

impl Resource {
    /// A write arrives. Says whether it was accepted.
    ///
    /// # Errors
    /// When it was accepted although a later grant's holder has written already.
    pub fn write(
        &mut self,
        fences: &Fences,
        (key, slot): (&Key, u32),
        fence: Fence,
        lease: LeaseId,
    ) -> Result<bool, Violation> {
        let order = fences.order(key, fence, lease);
        ensure(order.is_some(), CHECK, || {
            format!("somebody writes with fence {fence}, which was never granted to it")
        })?;
        let seen = self.keys.entry((key.clone(), slot)).or_default();
        if fence < seen.highest {
            return Ok(false);
        }
        seen.highest = fence;
        let before = std::mem::replace(&mut seen.order, order.unwrap_or_default());
        ensure(seen.order >= before, CHECK, || {
            format!("a stale holder wrote with fence {fence} after a newer one had written")
        })?;
        Ok(true)
    }
}
