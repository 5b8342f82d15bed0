//! A small seeded generator, and the mixing functions of tables that are looked up and never iterated. The caller's
//! seeds are the only randomness of the core.

/// The golden ratio's fraction of 2⁶⁴, odd.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Creates a generator; each `seed` gives another stream.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let drawn = mix(self.0);
        self.0 = self.0.wrapping_add(GAMMA);
        drawn
    }

    pub(crate) fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// Returns a number below `bound`. `bound` must be small: the bias of the remainder is then negligible.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.next_u32() as usize % bound.max(1)
    }
}

/// Spreads the bits of `value` (the finaliser of SplitMix64, Steele et al., OOPSLA 2014).
#[inline]
pub(crate) const fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(GAMMA);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Like [`mix`](Self::mix), less thorough and in half the time: both halves folded into one, and the middle of a
/// product (Knuth, The Art of Computer Programming, volume 3, section 6.4). 32 bits.
#[inline]
pub(crate) const fn spread(value: u64) -> u64 {
    let folded = value ^ (value >> 32);
    folded.wrapping_mul(GAMMA) >> 32
}
