//! The random generator of scenarios: the same numbers on every machine and in every version.

/// xoshiro256** (Blackman and Vigna: Scrambled Linear Pseudorandom Number Generators, 2021), seeded by SplitMix64
/// (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Random([u64; 4]);

impl Random {
    /// Creates a generator. Streams of one seed are independent of each other.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut state = seed ^ mixed(stream.wrapping_add(GOLDEN));
        Self(std::array::from_fn(|_| {
            state = state.wrapping_add(GOLDEN);
            mixed(state)
        }))
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number below `bound`, uniformly distributed (Lemire: Fast Random Integer Generation in an Interval, 2019). 0
    /// for a bound of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            // Rejects the remainder if 2⁶⁴ is not a multiple of the bound.
            if product as u64 >= bound.wrapping_neg().checked_rem(bound).unwrap_or(0) {
                return (product >> 64) as u64;
            }
        }
    }

    /// An index into a non-empty list of `count` elements.
    pub fn index(&mut self, count: usize) -> usize {
        self.below(count as u64) as usize
    }

    /// Shuffles a list uniformly (Fisher and Yates).
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.index(last + 1));
        }
    }

    /// From the exponential distribution with mean 1.
    pub fn exponential(&mut self) -> f64 {
        /// Uniform over 2⁵³ numbers in (0, 1].
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        let uniform = ((self.next_u64() >> 11) + 1) as f64 * STEP;
        -ln(uniform)
    }
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The natural logarithm of a positive normal number, using only additions, multiplications and divisions: IEEE 754
/// rounds these equally everywhere, unlike mathematical libraries. Accurate to a few units in the last place.
fn ln(x: f64) -> f64 {
    const MANTISSA_BITS: u32 = 52;
    const BIAS: i64 = 1023;
    let bits = x.to_bits();
    let mut exponent = ((bits >> MANTISSA_BITS) as i64) - BIAS;
    let one = (BIAS as u64) << MANTISSA_BITS;
    let mut mantissa = f64::from_bits(bits & ((1 << MANTISSA_BITS) - 1) | one);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    // ln m = 2 artanh s with |s| < 0.172: the thirteenth term is below 10⁻²⁰.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let series = (0..13).rev().fold(0.0, |sum, term| {
        sum * square + 1.0 / f64::from(2 * term + 1)
    });
    exponent as f64 * std::f64::consts::LN_2 + 2.0 * s * series
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_the_same_everywhere() {
        // The reference implementation's first outputs for the state 1, 2, 3, 4.
        let mut random = Random([1, 2, 3, 4]);
        let first: Vec<u64> = (0..4).map(|_| random.next_u64()).collect();
        assert_eq!(first, [11520, 0, 1_509_978_240, 1_215_971_899_390_074_240]);
        let mut random = Random::new(1, 0);
        let again = Random::new(1, 0).next_u64();
        assert_eq!(random.next_u64(), again);
        assert_ne!(Random::new(1, 1).next_u64(), again);
        assert_ne!(Random::new(2, 0).next_u64(), again);
    }

    #[test]
    fn exponential_numbers_have_mean_and_variance_one() {
        const COUNT: u32 = 100_000;
        let mut random = Random::new(7, 0);
        let numbers: Vec<f64> = (0..COUNT).map(|_| random.exponential()).collect();
        let mean = numbers.iter().sum::<f64>() / f64::from(COUNT);
        let squares = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        assert!((squares / f64::from(COUNT) - 1.0).abs() < 0.05);
        assert!(numbers.iter().all(|x| *x >= 0.0));
    }

    proptest! {
        #[test]
        fn the_logarithm_equals_the_library_function(x in 1e-16f64..1e16) {
            prop_assert!((ln(x) - x.ln()).abs() <= 4e-16 * x.ln().abs().max(1.0), "{}", x);
        }

        #[test]
        fn numbers_are_below_their_bound(seed: u64, bound in 1u64..) {
            prop_assert!(Random::new(seed, 0).below(bound) < bound);
        }

        #[test]
        fn a_shuffled_list_has_the_same_elements(seed: u64, count in 0usize..50) {
            let mut list: Vec<usize> = (0..count).collect();
            Random::new(seed, 0).shuffle(&mut list);
            list.sort_unstable();
            prop_assert_eq!(list, (0..count).collect::<Vec<_>>());
        }
    }
}
