//! What kind of world a seed stands for.

use leasehold::host::HostConfig;
use leasehold::time::{ClockBounds, Span};

use crate::fault::Odds;
use crate::rng::Rng;

/// Terms from the shortest to the longest that there are.
const STEADY_TERMS: [(Span, Span); 8] = [
    (Span::from_millis(100), Span::from_millis(100)),
    (Span::from_millis(100), Span::from_millis(200)),
    (Span::from_millis(250), Span::from_millis(500)),
    (Span::from_secs(1), Span::from_secs(2)),
    (Span::from_secs(5), Span::from_secs(6)),
    (Span::from_secs(30), Span::from_secs(30)),
    (Span::from_secs(600), Span::from_secs(1_200)),
    (Span::from_secs(86_400), Span::from_secs(86_400)),
];

/// Whether the run stays within the assumptions that guarantee A rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// It does: A and B must hold.
    Within,
    /// Clocks are worse than the bounds: B must hold, A need not.
    Outside,
}

/// Which host is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostKind {
    /// Away on a machine of its own, with storage, over a bad network.
    DurableObject,
    /// In the holders' process, on their clock, without storage.
    Embedded,
}

/// Everything that a seed decides beforehand.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The seed.
    pub seed: u64,
    /// Whether the clocks keep to the bounds.
    pub regime: Regime,
    /// Which host.
    pub host: HostKind,
    /// Its settings.
    pub host_config: HostConfig,
    /// How many holders at a time.
    pub clients: usize,
    /// How many keys.
    pub keys: usize,
    /// The range of terms.
    pub ttl: (Span, Span),
    /// The longest ordinary flight of a message, in µs.
    pub flight: u64,
    /// Where messages take a time that is always the same, or changes slowly.
    pub steady: Option<Steady>,
    /// Whether holders put up with others, each with as many as it likes.
    pub is_shared: bool,
    /// Whether holders set entries and finish works, and somebody watches.
    pub is_watched: bool,
    /// Whether the host may come back with an older copy of its storage.
    pub has_backups: bool,
    /// How likely faults are.
    pub odds: Odds,
    /// How far the host's clock may step in all, in µs.
    pub host_band: u64,
    /// The most that a clock's rate is wrong, in parts per million.
    pub rate_error: i64,
    /// How many disturbances before the faults stop.
    pub disturbances: u64,
}

/// Round trips that a lease is promised to outlive: 2·L < 0.99·told − 10 ms − lead − 0.01·w.
#[derive(Clone, Copy, Debug)]
pub struct Steady {
    /// The round trip at first, in µs, and at the end of each period.
    pub trips: (u64, u64),
    /// How much of it is the way there, in thousandths.
    pub there: u64,
    /// How long it takes to change from the one to the other, in µs.
    pub period: u64,
    /// Whether messages get lost, refused or spoilt as well.
    pub is_lossy: bool,
}

impl Steady {
    fn draw(rng: &mut Rng, ttl: (Span, Span), config: &HostConfig) -> Self {
        // Worked out here, with 4 % for clocks that are wrong and 8 ms for their steps: a holder's clock
        // that follows two of them makes up for their difference in steps of 5 ms.
        let first = ttl.0.min(config.offer).as_micros();
        let told = first - (first / 20).min(1_000_000);
        let waited = (ttl.1.as_micros() * 2).clamp(1_000_000, 20_000_000);
        let usable = told * 99 / 100 - 10_000 - (told / 20).min(500_000) - waited / 100;
        let longest = (usable / 2 * 96 / 100).saturating_sub(8_000).max(1_000);
        let mut trip = || match rng.below(3) {
            0 => rng.range(longest * 4 / 5, longest),
            1 => rng.range(longest / 50, longest),
            _ => rng.magnitude(100, longest),
        };
        let (from, to) = (trip(), trip());
        Self {
            trips: (from, if rng.per_mille(500) { from } else { to }),
            there: rng.range(0, 1_000),
            period: ttl.1.as_micros() * 100,
            is_lossy: rng.per_mille(400),
        }
    }

    /// The longest round trip.
    pub fn longest(&self) -> u64 {
        self.trips.0.max(self.trips.1)
    }

    /// How long a message takes that is sent at this time.
    pub fn flight(&self, now: u64, to_host: bool) -> u64 {
        let (from, to) = self.trips;
        // There and back again, evenly.
        let phase = now % (2 * self.period);
        let done = phase.min(2 * self.period - phase) as f64 / self.period as f64;
        let trip = from as f64 + (to as f64 - from as f64) * done;
        let part = if to_host {
            self.there
        } else {
            1_000 - self.there
        };
        (trip * part as f64 / 1_000.0) as u64
    }
}

impl Scenario {
    /// The world of this seed.
    pub fn draw(seed: u64, rng: &mut Rng) -> Self {
        // The last digit decides, so that every range of seeds has a share of each kind.
        let (regime, host) = match seed % 10 {
            0..=5 => (Regime::Within, HostKind::DurableObject),
            6 => (Regime::Within, HostKind::Embedded),
            7 => (Regime::Within, HostKind::DurableObject),
            _ => (Regime::Outside, HostKind::DurableObject),
        };
        let is_steady = seed % 10 == 7;
        let ttl = if is_steady {
            rng.pick(&STEADY_TERMS)
        } else {
            rng.pick(&[
                (Span::from_millis(100), Span::from_millis(1_000)),
                (Span::from_millis(500), Span::from_secs(10)),
                (Span::from_secs(5), Span::from_secs(60)),
                // Terms at which the host's margin is longer than the holder's lead.
                (Span::from_secs(20), Span::from_secs(22)),
                // Long terms, where the bound on the rate outweighs the lead and the margin.
                (Span::from_secs(120), Span::from_secs(600)),
            ])
        };
        let few_keys = rng.per_mille(700);
        let mut host_config = match host {
            HostKind::DurableObject => HostConfig::DURABLE_OBJECT,
            HostKind::Embedded => HostConfig::EMBEDDED,
        };
        let margin_matters = ttl.0 == Span::from_secs(20);
        if margin_matters {
            host_config.offer = ttl.0;
        }
        if rng.per_mille(300) {
            host_config.max_waiters = rng.range(1, 3) as usize;
        }
        if !few_keys {
            host_config.max_keys = rng.range(1, 4) as usize;
            host_config.spare_keys = 1;
        }
        let shortest = ttl.0.min(host_config.offer);
        if rng.per_mille(500) {
            // Longer than a clock is wrong; keys vanish while some still have handles to them.
            host_config.retention = Span::from_secs(rng.range(20, 120));
        }
        let has_backups = seed % 10 == 9 && rng.per_mille(500);
        let steady = is_steady.then(|| Steady::draw(rng, ttl, &host_config));
        let within = regime == Regime::Within;
        let bound = i64::from(ClockBounds::DEFAULT.rate_error_ppm);
        Self {
            seed,
            regime,
            host,
            clients: rng.range(2, 6) as usize,
            keys: if few_keys {
                rng.range(1, 2) as usize
            } else {
                rng.range(3, 6) as usize
            },
            ttl,
            flight: if rng.per_mille(200) {
                // Answers that take a good part of a term, or more than it.
                let longest = ttl.0.as_micros().min(20_000_000);
                rng.range(longest / 8, longest)
            } else {
                rng.magnitude(1_000, ttl.0.as_micros().min(2_000_000))
            },
            steady,
            is_shared: rng.per_mille(300),
            is_watched: rng.per_mille(500),
            has_backups,
            odds: match host {
                // Fences outlive a copy as long as the clock doesn't step back as well.
                HostKind::DurableObject if has_backups => {
                    let odds = Odds::draw(rng);
                    Odds {
                        crash: odds.crash.max(30),
                        host_step: 0,
                        ..odds
                    }
                }
                HostKind::DurableObject if is_steady => match steady {
                    Some(Steady { is_lossy: true, .. }) => Odds {
                        lost: rng.range(1, 150) as u32,
                        duplicated: rng.range(0, 150) as u32,
                        refused: rng.range(0, 100) as u32,
                        resent: rng.range(0, 100) as u32,
                        garbled: rng.range(0, 100) as u32,
                        ..Odds::NONE
                    },
                    _ => Odds {
                        resent: rng.range(0, 200) as u32,
                        ..Odds::NONE
                    },
                },
                // What tells a host without a margin: its clock steps while renewals get lost.
                HostKind::DurableObject if margin_matters => Odds {
                    host_step: 700,
                    partition: 500,
                    ..Odds::draw(rng)
                },
                HostKind::DurableObject if few_keys => Odds::draw(rng),
                // What a host has forgotten for want of room comes again, or the host goes down.
                HostKind::DurableObject => {
                    let odds = Odds::draw(rng);
                    Odds {
                        crash: odds.crash.max(30),
                        duplicated: odds.duplicated.max(150),
                        very_late: odds.very_late.max(30),
                        ..odds
                    }
                }
                HostKind::Embedded => Odds {
                    lost: 0,
                    duplicated: 0,
                    very_late: 0,
                    refused: 0,
                    resent: 0,
                    garbled: 0,
                    crash: 0,
                    partition: 0,
                    host_step: 0,
                    ..Odds::draw(rng)
                },
            },
            host_band: if is_steady || has_backups {
                0
            } else if within {
                // Worked out here, so that a host that keeps no margin is found out.
                (shortest.as_micros() / 20).min(1_000_000)
            } else {
                10_000_000
            },
            rate_error: if within || rng.per_mille(500) {
                bound
            } else {
                200_000
            },
            host_config,
            disturbances: rng.range(1, 8),
        }
    }

    /// Whether the clocks keep to the bounds.
    pub fn is_within(&self) -> bool {
        self.regime == Regime::Within
    }

    /// Whether host and holders share a process.
    pub fn is_embedded(&self) -> bool {
        self.host == HostKind::Embedded
    }
}
