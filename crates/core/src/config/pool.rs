//! Pools: memory shared by the ingress buffers of several (port, priority), and the limit of each.
//!
//! The model is that of switch chips and of SONiC. A buffer has its own reserve, and takes memory from the pool up to a
//! threshold. If its class is lossless, it also has room in the pool's headroom for frames that arrive after the pause.
//! A dynamic threshold is a multiple α of the free memory of the pool (A. K. Choudhury, E. L. Hahne: Dynamic queue
//! length thresholds for shared-memory packet switches, IEEE/ACM Transactions on Networking 6 (2), 1998).

use super::{ClassConfig, ClassMode, ConfigError, PfcThresholds, PortConfig, SwitchConfig};
use crate::units::{Bytes, Priority};

/// Maximum number of pools of a switch.
pub const POOLS_MAX: usize = 4;

/// A pool of packet memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Memory that its buffers share above their reserves.
    pub size: Bytes,
    /// Additional memory that lossless buffers share for frames that arrive after their pauses.
    pub headroom: Bytes,
    /// Factor by which the headrooms of all lossless buffers together may exceed `headroom`; at least 1. Above 1,
    /// lossless frames can be lost if too many buffers use their headroom at the same time.
    pub oversubscription: u16,
}

impl PoolConfig {
    /// Creates a pool without oversubscription.
    pub const fn new(size: Bytes, headroom: Bytes) -> Self {
        Self {
            size,
            headroom,
            oversubscription: 1,
        }
    }

    /// Returns the memory available to a buffer with this share, in addition to its headroom, while all
    /// others are empty: its reserve, and α·S/(1+α) of the pool or its static threshold.
    pub fn alone(&self, share: &PoolShare) -> Bytes {
        share.reserved + share.threshold.with_buffers(self.size, 1)
    }

    /// Returns the threshold at which such a buffer pauses its neighbour while all others are empty (the latest
    /// possible), and its headroom: for calculations with fixed thresholds.
    pub fn thresholds_alone(&self, share: &PoolShare, headroom: Bytes) -> PfcThresholds {
        let xoff = self.alone(share);
        let gap = share.xon_offset.min(xoff);
        PfcThresholds::above_xon(xoff.saturating_sub(gap.max(Bytes::new(1))), gap, headroom)
    }
}

/// Share of each ingress buffer of a class in a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolShare {
    /// An index into [`SwitchConfig::pools`].
    pub pool: u8,
    /// Reserve of the buffer, not part of the pool's size.
    pub reserved: Bytes,
    /// Limit on its use of the pool.
    pub threshold: Threshold,
    /// A paused neighbour resumes when the buffer is this far below its threshold.
    pub xon_offset: Bytes,
}

impl PoolShare {
    /// Returns this share with the port's own threshold, if it has one.
    #[must_use]
    pub fn with_own_threshold(self, own: Option<Threshold>) -> Self {
        Self {
            threshold: own.unwrap_or(self.threshold),
            ..self
        }
    }

    /// Returns true if a running switch may replace this share with `other`: the reserve and the pool are the same.
    pub fn differs_by_threshold(&self, other: &Self) -> bool {
        self.pool == other.pool && self.reserved == other.reserved
    }
}

/// Limit on the part of a pool that one buffer may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// A fixed amount.
    Static(Bytes),
    /// A multiple of the free part of the pool.
    Dynamic(Alpha),
}

impl Threshold {
    /// The threshold while `free` bytes of the pool are free.
    pub const fn at(self, free: Bytes) -> Bytes {
        match self {
            Self::Static(threshold) => threshold,
            Self::Dynamic(alpha) => alpha.of(free),
        }
    }

    /// Returns the part of a pool of `size` that each of `count` buffers gets when all of them want more: α·S/(1+α·N),
    /// or the static threshold, at most an equal part.
    pub fn with_buffers(self, size: Bytes, count: usize) -> Bytes {
        let (size, count) = (u128::from(size.get()), count.max(1) as u128);
        let each = match self {
            Self::Static(threshold) => u128::from(threshold.get()).min(size / count),
            Self::Dynamic(alpha) => {
                let (over, under) = alpha.ratio();
                size * over / (under + over * count)
            }
        };
        Bytes::new(each as u64)
    }
}

/// α of a dynamic threshold: a power of two, so that a threshold is a shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alpha(i8);

impl Alpha {
    /// The lowest exponent.
    pub const EXPONENT_MIN: i8 = -8;
    /// The highest exponent.
    pub const EXPONENT_MAX: i8 = 8;

    /// α = 1.
    pub const ONE: Self = Self(0);

    /// 2 to the power of `exponent`; `None` beyond [`EXPONENT_MIN`](Self::EXPONENT_MIN) and
    /// [`EXPONENT_MAX`](Self::EXPONENT_MAX).
    pub const fn new(exponent: i8) -> Option<Self> {
        if exponent < Self::EXPONENT_MIN || exponent > Self::EXPONENT_MAX {
            return None;
        }
        Some(Self(exponent))
    }

    /// n in α = 2^n, like SONiC's `dynamic_th`.
    pub const fn exponent(self) -> i8 {
        self.0
    }

    /// α as a fraction, (numerator, denominator).
    pub const fn ratio(self) -> (u128, u128) {
        match self.0 {
            0.. => (1 << self.0, 1),
            _ => (1, 1 << -self.0),
        }
    }

    /// α · `free`.
    pub const fn of(self, free: Bytes) -> Bytes {
        Bytes::new(match self.0 {
            // No pool is as large as 2^56 bytes.
            0.. => free.get() << self.0,
            _ => free.get() >> -self.0,
        })
    }
}

impl core::fmt::Display for Alpha {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.ratio() {
            (over, 1) => write!(f, "{over}"),
            (over, under) => write!(f, "{over}/{under}"),
        }
    }
}

/// Bound that keeps the arithmetic of thresholds from overflowing.
const SIZE_MAX: Bytes = Bytes::new(1 << 48);

impl ClassConfig {
    /// The share of a pool used by the class's buffer of `priority` at `port`.
    pub fn share_at(&self, port: &PortConfig, priority: Priority) -> Option<PoolShare> {
        let own = port.pool_thresholds[priority.index()];
        Some(self.pool?.with_own_threshold(own))
    }

    /// Headroom of the class's ingress buffer at `port` within its pool; zero for a lossy class.
    pub fn pool_headroom(&self, port: &PortConfig) -> Bytes {
        match self.mode_at(port) {
            ClassMode::Pfc(thresholds) => thresholds.headroom(),
            ClassMode::Lossy { .. } | ClassMode::Level { .. } => Bytes::ZERO,
        }
    }
}

impl SwitchConfig {
    /// The pool used by a class.
    pub fn pool_of(&self, class: &ClassConfig) -> Option<&PoolConfig> {
        self.pools.get(usize::from(class.pool?.pool))
    }

    /// Sum of the headrooms of all lossless buffers of a pool.
    pub fn headroom_wanted(&self, pool: usize) -> Bytes {
        let classes = self.classes.iter();
        let of_pool = classes.filter(|class| {
            class
                .pool
                .is_some_and(|share| usize::from(share.pool) == pool)
        });
        let of_class = |class: &ClassConfig| {
            let ports = self.ports.iter().map(|port| class.pool_headroom(port));
            ports.fold(0u64, |sum, headroom| sum.saturating_add(headroom.get()))
        };
        let sum = of_pool.fold(0u64, |sum, class| sum.saturating_add(of_class(class)));
        Bytes::new(sum)
    }

    /// Returns the maximum charge of all buffers in pools: reserves, pools, and headroom twice, since a release lends a
    /// buffer as much as its headroom.
    pub(super) fn pools_bound(&self) -> Bytes {
        let shares = self.classes.iter().filter_map(|class| class.pool);
        let up = |bytes: Bytes| bytes.min(SIZE_MAX).round_up_to(self.cell);
        let reserved: Bytes = shares.map(|share| up(share.reserved)).sum();
        let reserved = Bytes::new(reserved.get().saturating_mul(self.ports.len() as u64));
        let of_pool = |pool: &PoolConfig| pool.size + pool.headroom + pool.headroom;
        let pools: Bytes = self.pools.iter().map(of_pool).sum();
        reserved + up(pools)
    }

    pub(super) fn validate_pools(&self) -> Result<(), ConfigError> {
        if self.pools.len() > POOLS_MAX {
            return Err(ConfigError::PoolCount(self.pools.len()));
        }
        for (index, pool) in self.pools.iter().enumerate() {
            let shares = self.classes.iter().filter_map(|class| class.pool);
            let of_pool = shares.filter(|share| usize::from(share.pool) == index);
            let reserved = of_pool.map(|share| share.reserved).max();
            let sizes = [pool.size, pool.headroom, reserved.unwrap_or_default()];
            if sizes.into_iter().any(|bytes| bytes > SIZE_MAX) {
                return Err(ConfigError::PoolTooLarge { pool: index });
            }
            let wanted = self.headroom_wanted(index);
            let backed = pool
                .headroom
                .get()
                .saturating_mul(pool.oversubscription.max(1).into());
            if wanted.get() > backed {
                return Err(ConfigError::PoolHeadroom {
                    pool: index,
                    ports: self.ports.len(),
                    wanted,
                    headroom: pool.headroom,
                    oversubscription: pool.oversubscription.max(1),
                });
            }
        }
        Ok(())
    }

    fn validate_threshold(
        &self,
        priority: Priority,
        pool: &PoolConfig,
        share: &PoolShare,
    ) -> Result<(), ConfigError> {
        if matches!(share.threshold, Threshold::Static(threshold) if threshold > pool.size) {
            return Err(ConfigError::ThresholdAbovePool {
                priority,
                size: pool.size,
            });
        }
        let (alone, frame) = (pool.alone(share), self.gamma_max());
        if alone < frame {
            return Err(ConfigError::ShareBelowFrame {
                priority,
                alone,
                frame,
            });
        }
        Ok(())
    }

    /// Checks a class's share of a pool, and the values that its ports override.
    pub(super) fn validate_share(
        &self,
        priority: Priority,
        class: &ClassConfig,
    ) -> Result<(), ConfigError> {
        let Some(share) = class.pool else {
            return Ok(());
        };
        if matches!(class.mode, ClassMode::Level { .. }) {
            return Err(ConfigError::PoolOfLevels(priority));
        }
        let Some(pool) = self.pool_of(class) else {
            return Err(ConfigError::NoPool {
                priority,
                pool: share.pool,
            });
        };
        let everywhere = self
            .ports
            .iter()
            .filter_map(|port| class.share_at(port, priority));
        for share in everywhere.chain([share]) {
            self.validate_threshold(priority, pool, &share)?;
        }
        let polices = |port: &PortConfig| {
            port.role == super::PortRole::Edge && port.police != super::Police::Off
        };
        if class.mode.is_lossless() {
            if let Some(port) = self.ports.iter().position(polices) {
                return Err(ConfigError::PolicedPool { priority, port });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_is_a_shift_and_a_fraction() {
        let of = |exponent, free| Alpha::new(exponent).unwrap().of(Bytes::new(free)).get();
        assert_eq!([of(-3, 800), of(0, 800), of(2, 800)], [100, 800, 3200]);
        assert_eq!(Alpha::new(9), None);
        assert_eq!(Alpha::new(-9), None);
        assert_eq!(Alpha::new(-3).unwrap().to_string(), "1/8");
        assert_eq!(Alpha::new(3).unwrap().to_string(), "8");
    }

    #[test]
    fn buffers_that_want_more_share_as_published() {
        let size = Bytes::new(1_000_000);
        for (exponent, alpha) in [(-3, 0.125), (-1, 0.5), (0, 1.0), (1, 2.0), (3, 8.0)] {
            let threshold = Threshold::Dynamic(Alpha::new(exponent).unwrap());
            for count in [1, 2, 7, 64] {
                let each = threshold.with_buffers(size, count).get() as f64;
                let published = alpha * 1e6 / (1.0 + alpha * count as f64);
                assert!((each - published).abs() <= 1.0, "{alpha} {count}: {each}");
                // The threshold at which every buffer has this much.
                let free = size.saturating_sub(Bytes::new(each as u64 * count as u64));
                let gap = threshold.at(free).get() as f64 - each;
                assert!(gap.abs() <= 8.0 * count as f64 + 8.0, "{gap}");
            }
        }
        let of_static = Threshold::Static(Bytes::new(300_000));
        assert_eq!(of_static.with_buffers(size, 2), Bytes::new(300_000));
        assert_eq!(of_static.with_buffers(size, 5), Bytes::new(200_000));
    }
}
