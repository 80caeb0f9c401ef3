//! The clocks of a machine, and how they go wrong.

use leasehold::time::Span;

/// Microseconds of true time since the run began.
pub type TrueTime = u64;

/// A machine's monotonic and wall clock as functions of true time.
#[derive(Clone, Debug)]
pub struct Machine {
    since: TrueTime,
    monotonic: u64,
    wall: u64,
    /// Rate errors in parts per million.
    monotonic_rate: i64,
    wall_rate: i64,
    sleep: Sleep,
    /// The clocks show whole multiples of this.
    quantum: u64,
}

/// Whether, and how deeply, a machine is suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// It runs.
    Awake,
    /// The monotonic clock stands still, the wall clock goes on.
    Light,
    /// Both clocks stand still: nothing on the machine can tell afterwards.
    Deep,
}

impl Machine {
    /// A machine whose clocks run wrong by so many parts per million.
    pub fn new(wall: u64, monotonic_rate: i64, wall_rate: i64, quantum: u64) -> Self {
        Self {
            since: 0,
            monotonic: 0,
            wall,
            monotonic_rate,
            wall_rate,
            sleep: Sleep::Awake,
            quantum,
        }
    }

    /// What the monotonic and the wall clock show.
    pub fn sample(&self, now: TrueTime) -> (Span, Span) {
        let shown = |clock: u64| Span::from_micros(clock - clock % self.quantum);
        let (monotonic, wall) = self.exact(now);
        (shown(monotonic), shown(wall))
    }

    /// How much true time passes until the monotonic clock surely shows `micros` more.
    pub fn true_time_for(&self, micros: u64) -> u64 {
        let parts = (1_000_000 + self.monotonic_rate) as u64;
        ((micros + self.quantum) * 1_000_000).div_ceil(parts)
    }

    /// Whether it is suspended.
    pub fn is_asleep(&self) -> bool {
        self.sleep != Sleep::Awake
    }

    /// Suspends or wakes the machine.
    pub fn set_sleep(&mut self, now: TrueTime, sleep: Sleep) {
        self.settle(now);
        self.sleep = sleep;
    }

    /// Steps the wall clock.
    pub fn step_wall(&mut self, now: TrueTime, micros: i64) {
        self.settle(now);
        self.wall = self.wall.saturating_add_signed(micros);
    }

    fn settle(&mut self, now: TrueTime) {
        (self.monotonic, self.wall) = self.exact(now);
        self.since = now;
    }

    fn exact(&self, now: TrueTime) -> (u64, u64) {
        let passed = now - self.since;
        match self.sleep {
            Sleep::Awake => (
                self.monotonic + at_rate(passed, self.monotonic_rate),
                self.wall + at_rate(passed, self.wall_rate),
            ),
            Sleep::Light => (self.monotonic, self.wall + at_rate(passed, self.wall_rate)),
            Sleep::Deep => (self.monotonic, self.wall),
        }
    }
}

fn at_rate(passed: u64, rate: i64) -> u64 {
    // Runs last hours: no overflow.
    passed * (1_000_000 + rate) as u64 / 1_000_000
}
