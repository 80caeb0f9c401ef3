//! What kind of world a seed stands for.

use leasehold::host::HostConfig;
use leasehold::time::{ClockBounds, Span};

use crate::fault::Odds;
use crate::rng::Rng;

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
    /// How likely faults are.
    pub odds: Odds,
    /// How far the host's clock may step in all, in µs.
    pub host_band: u64,
    /// The most that a clock's rate is wrong, in parts per million.
    pub rate_error: i64,
    /// How many disturbances before the faults stop.
    pub disturbances: u64,
}

impl Scenario {
    /// The world of this seed.
    pub fn draw(seed: u64, rng: &mut Rng) -> Self {
        // The last digit decides, so that every range of seeds has a share of each kind.
        let (regime, host) = match seed % 10 {
            0..=5 => (Regime::Within, HostKind::DurableObject),
            6 | 7 => (Regime::Within, HostKind::Embedded),
            _ => (Regime::Outside, HostKind::DurableObject),
        };
        let ttl = rng.pick(&[
            (Span::from_millis(100), Span::from_millis(1_000)),
            (Span::from_millis(500), Span::from_secs(10)),
            (Span::from_secs(5), Span::from_secs(60)),
            // Terms at which the host's margin is longer than the holder's lead.
            (Span::from_secs(20), Span::from_secs(22)),
            // Long terms, where the bound on the rate outweighs the lead and the margin.
            (Span::from_secs(120), Span::from_secs(600)),
        ]);
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
            flight: rng.magnitude(1_000, ttl.0.as_micros().min(2_000_000)),
            odds: match host {
                // What tells a host without a margin: its clock steps while renewals get lost.
                HostKind::DurableObject if margin_matters => Odds {
                    host_step: 700,
                    partition: 500,
                    ..Odds::draw(rng)
                },
                HostKind::DurableObject => Odds::draw(rng),
                HostKind::Embedded => Odds {
                    lost: 0,
                    duplicated: 0,
                    very_late: 0,
                    refused: 0,
                    garbled: 0,
                    crash: 0,
                    partition: 0,
                    host_step: 0,
                    ..Odds::draw(rng)
                },
            },
            host_band: if within {
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
