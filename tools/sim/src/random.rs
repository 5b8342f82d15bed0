//! Random numbers from a seed, the same on any machine and in any version.

use weir_core::random::SplitMix64;

/// Random numbers from the core's generator.
#[derive(Clone, Debug)]
pub struct Random(SplitMix64);

impl Random {
    /// Creates a separate stream for each `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// Returns a stream for `purpose`, distinct from others with the same seed.
    pub fn for_purpose(seed: u64, purpose: u64) -> Self {
        let mut seeds = Self::new(seed ^ purpose.wrapping_mul(0xd134_2543_de82_ef95));
        Self::new(seeds.next_u64())
    }

    /// Returns 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number below `bound`; zero for a bound of zero. The bias is below bound ÷ 2⁶⁴.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below((high - low).saturating_add(1))
    }

    /// True with probability `parts_per_million` ÷ 10⁶.
    pub fn happens(&mut self, parts_per_million: u32) -> bool {
        parts_per_million > 0 && self.below(1_000_000) < u64::from(parts_per_million)
    }

    /// Shuffles `items`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_that_of_the_paper() {
        // The reference implementation's first numbers for seed 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn chances_match_their_probabilities() {
        let mut random = Random::new(1);
        let hits = (0..100_000).filter(|_| random.happens(250_000)).count();
        assert!((24_000..26_000).contains(&hits), "{hits}");
        assert!(!(0..1000).any(|_| random.happens(0)));
        assert!((0..1000).all(|_| random.happens(1_000_000)));
    }
}
