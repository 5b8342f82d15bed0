//! Disturbances of control frames between switches.

use weir_core::Duration;

const LATE: Duration = Duration::from_micros(300);

/// Share of control frames, in parts of 1000, for each disturbance.
#[derive(Clone, Copy, Default)]
pub struct Disturbance {
    pub lost: u64,
    pub doubled: u64,
    pub late: u64,
    /// One bit of the frame is flipped. The FCS of a cable would drop the frame; a software link need not have one.
    pub damaged: u64,
}

impl Disturbance {
    /// Lost, duplicated and late, with the same share each.
    pub fn of_timing(per_mille: u64) -> Self {
        Self {
            lost: per_mille,
            doubled: per_mille,
            late: per_mille,
            damaged: 0,
        }
    }

    pub fn of_content(per_mille: u64) -> Self {
        Self {
            damaged: per_mille,
            ..Self::default()
        }
    }
}

pub struct Fate {
    pub copies: usize,
    pub late_by: Duration,
}

impl Fate {
    pub const ORDINARY: Self = Self {
        copies: 1,
        late_by: Duration::ZERO,
    };
}

pub struct Disturber {
    rates: Disturbance,
    random: Random,
}

impl Disturber {
    pub fn new(rates: Disturbance, seed: u64) -> Self {
        Self {
            rates,
            random: Random(seed),
        }
    }

    /// Decides on a control frame, and damages its bytes if required.
    pub fn meet(&mut self, bytes: &mut [u8]) -> Fate {
        let rates = self.rates;
        let mut fate = Fate::ORDINARY;
        if self.hits(rates.lost) {
            fate.copies = 0;
        } else if self.hits(rates.doubled) {
            fate.copies = 2;
        } else if self.hits(rates.late) {
            fate.late_by = LATE;
        } else if self.hits(rates.damaged) {
            let bit = self.random.next() as usize % (8 * bytes.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        fate
    }

    fn hits(&mut self, per_mille: u64) -> bool {
        per_mille > 0 && self.random.next() % 1000 < per_mille
    }
}

/// xorshift64; the seed is not zero.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
