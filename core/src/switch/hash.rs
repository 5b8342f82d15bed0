//! A fixed mixing function for tables that are looked up and never iterated.

/// Spreads the bits of `value` (the finaliser of SplitMix64, Steele et al., OOPSLA 2014).
pub(super) const fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The same, less well and in half the time: both halves folded into one, and the middle of a product (Knuth,
/// The Art of Computer Programming, volume 3, section 6.4). 32 bits.
pub(super) const fn spread(value: u64) -> u64 {
    let folded = value ^ (value >> 32);
    folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}
