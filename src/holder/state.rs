//! Where a lease stands.

/// Where a lease stands, for its holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is not held yet.
    Acquiring,
    /// It is held.
    Held,
    /// It is left to whoever carries on with it until its term ends: not held here.
    Detached,
    /// It is on its way back to the host, to a successor, or to its result.
    Releasing,
    /// It was given back.
    Released,
    /// It has ended with a result.
    Finished,
    /// It is a successor's.
    Transferred,
    /// It can no longer be trusted.
    Lost,
    /// It never was held, and will not be.
    Failed,
}

impl State {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Acquiring => "acquiring",
            Self::Held => "held",
            Self::Detached => "detached",
            Self::Releasing => "releasing",
            Self::Released => "released",
            Self::Finished => "finished",
            Self::Transferred => "transferred",
            Self::Lost => "lost",
            Self::Failed => "failed",
        }
    }
}
