//! The faults that a run may suffer, and how often each one came about.

use crate::rng::Rng;

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A kind of fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault {
            $($(#[$doc])* $name,)*
        }

        impl Fault {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$name,)*];
        }
    };
}

faults! {
    /// An alarm of the host went off twice.
    AlarmDoubled,
    /// An alarm of the host went off late.
    AlarmLate,
    /// An alarm of the host never went off.
    AlarmLost,
    /// An acquire was cancelled.
    Cancelled,
    /// The host went down before anything of a step was stored.
    CrashBeforePersist,
    /// The host went down with everything stored and no answer sent.
    CrashAfterPersist,
    /// The host went down with a part of the answers sent.
    CrashAmidReplies,
    /// The host went down between two steps.
    CrashIdle,
    /// A machine slept and neither of its clocks shows it.
    DeepSleep,
    /// A message arrived twice.
    Duplicated,
    /// A process stood still for a while.
    Frozen,
    /// A process stood still for an hour or more.
    FrozenForHours,
    /// An answer was made unreadable on the way.
    Garbled,
    /// An answer was made one about another grant, or one that no host gives.
    Foreign,
    /// The host came back with an older copy of its storage.
    HostRestored,
    /// The host came back on a machine whose clock is ahead.
    HostAhead,
    /// The host came back on a machine whose clock is behind.
    HostBehind,
    /// The host's clock stepped.
    HostStepped,
    /// A process died.
    Killed,
    /// A message was lost in silence.
    Lost,
    /// A machine slept and its wall clock shows it.
    LightSleep,
    /// Messages in both directions were lost for a while.
    Partition,
    /// Messages in one direction were lost for a while.
    OneWayPartition,
    /// A clock's rate was wrong by more than the bound.
    RateBeyondBound,
    /// Something in front of the host refused a request for good.
    Refused,
    /// Something in front of the host refused a request for now.
    RefusedForNow,
    /// An attempt was refused as a whole, and sent again.
    Resent,
    /// A message was overtaken by a later one.
    Reordered,
    /// A timer went off early, for nothing.
    TimerEarly,
    /// A timer went off late.
    TimerLate,
    /// A message arrived after ten seconds or more.
    VeryLate,
    /// A wall clock stepped back.
    WallBack,
    /// A wall clock stepped forward.
    WallForward,
}

/// How often each kind came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally([u64; Fault::ALL.len()]);

impl Default for Tally {
    fn default() -> Self {
        Self([0; Fault::ALL.len()])
    }
}

impl Tally {
    /// One more.
    pub fn count(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }

    /// Adds another run's.
    pub fn add(&mut self, other: &Self) {
        for (sum, count) in self.0.iter_mut().zip(other.0) {
            *sum += count;
        }
    }

    /// How often this kind came about.
    pub fn of(&self, fault: Fault) -> u64 {
        self.0[fault as usize]
    }

    /// The kinds that never came about.
    pub fn missing(&self) -> Vec<Fault> {
        let unseen = |fault: &Fault| self.of(*fault) == 0;
        Fault::ALL.iter().copied().filter(unseen).collect()
    }
}

/// How likely each kind is, in thousandths, each time it could come about.
#[derive(Clone, Copy, Debug)]
pub struct Odds {
    /// Of a message being lost.
    pub lost: u32,
    /// Of a message arriving twice.
    pub duplicated: u32,
    /// Of a message taking from ten seconds to a minute.
    pub very_late: u32,
    /// Of a request being refused in front of the host.
    pub refused: u32,
    /// Of an attempt being refused as a whole and sent again.
    pub resent: u32,
    /// Of an answer becoming unreadable.
    pub garbled: u32,
    /// Of the host going down in or after a step.
    pub crash: u32,
    /// Of something happening to an alarm.
    pub alarm: u32,
    /// Of something happening to a timer.
    pub timer: u32,
    /// Of a process standing still, per disturbance.
    pub frozen: u32,
    /// Of a process dying, per disturbance.
    pub killed: u32,
    /// Of a partition, per disturbance.
    pub partition: u32,
    /// Of a machine sleeping, per disturbance.
    pub sleep: u32,
    /// Of a wall clock stepping, per disturbance.
    pub step: u32,
    /// Of the host's clock stepping, per disturbance.
    pub host_step: u32,
}

impl Odds {
    /// No faults.
    pub const NONE: Self = Self {
        lost: 0,
        duplicated: 0,
        very_late: 0,
        refused: 0,
        resent: 0,
        garbled: 0,
        crash: 0,
        alarm: 0,
        timer: 0,
        frozen: 0,
        killed: 0,
        partition: 0,
        sleep: 0,
        step: 0,
        host_step: 0,
    };

    /// Each kind is left out of about half of the runs, so that none hides behind another.
    pub fn draw(rng: &mut Rng) -> Self {
        let mut odds = |most: u64| {
            if rng.per_mille(500) {
                0
            } else {
                rng.range(1, most) as u32
            }
        };
        Self {
            lost: odds(200),
            duplicated: odds(300),
            very_late: odds(60),
            refused: odds(250),
            resent: odds(100),
            garbled: odds(60),
            crash: odds(60),
            alarm: odds(400),
            timer: odds(300),
            frozen: odds(250),
            killed: odds(200),
            partition: odds(250),
            sleep: odds(200),
            step: odds(300),
            host_step: odds(300),
        }
    }
}
