//! Pauses between attempts that came to nothing.

use crate::time::Span;

use super::context::Context;

/// The first pause; it doubles from there.
const FIRST: Span = Span::from_millis(100);

/// The longest pause that nobody asked for.
const LONGEST: Span = Span::from_secs(2);

/// The pause after so many failures, or longer if the host asks for it: however it asks, it is not
/// asked in a storm.
pub(super) fn pause_after(ctx: &mut Context, failures: u32, asked: Option<Span>) -> Span {
    let doublings = failures.saturating_sub(1).min(16);
    let own = ctx.fuzz(FIRST.scale(1 << doublings, 1).min(LONGEST));
    asked.map_or(own, |asked| ctx.fuzz_up(asked).max(own))
}
