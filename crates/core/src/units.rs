//! Units as types: a byte count, a rate and a point in time cannot be mixed up.

use core::fmt;
use core::ops::{Add, AddAssign, Sub, SubAssign};

/// Nanoseconds in one second.
pub const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// A point in time on the caller's monotonic clock, in nanoseconds since an epoch.
///
/// The epoch is the caller's choice; only differences are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The epoch.
    pub const ZERO: Self = Self(0);
    /// Later than any time that is reached.
    pub const FAR_FUTURE: Self = Self(u64::MAX);

    /// The time `nanos` nanoseconds after the epoch.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Time from `earlier` to `self`; zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

/// A span of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Duration {
    /// The empty span.
    pub const ZERO: Self = Self(0);

    /// `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// `seconds` seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * NANOS_PER_SECOND)
    }

    /// The span in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The span in seconds, for display.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }

    /// Returns true for an empty span.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// `self × factor`, saturating.
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// `self − other`; zero if `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self ÷ divisor`; a divisor of zero counts as one.
    pub const fn divided_by(self, divisor: u64) -> Self {
        Self(self.0 / if divisor == 0 { 1 } else { divisor })
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// `count` bytes.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// `self - rhs`; zero if `rhs` is larger.
    pub const fn saturating_sub(self, rhs: Self) -> Self {
        Self(self.0.saturating_sub(rhs.0))
    }

    /// Rounds up to a multiple of `cell`.
    ///
    /// If `cell` is zero, returns the count unchanged.
    #[inline(always)]
    pub const fn round_up_to(self, cell: Self) -> Self {
        if cell.0 == 0 {
            self
        } else if cell.0 & (cell.0 - 1) == 0 {
            // The usual cell is a power of two: no division.
            let below = cell.0 - 1;
            Self((self.0 + below) & !below)
        } else {
            Self(self.0.div_ceil(cell.0) * cell.0)
        }
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl Sub for Bytes {
    type Output = Self;
    /// Debug builds assert that the result is not negative.
    fn sub(self, rhs: Self) -> Self {
        debug_assert!(self.0 >= rhs.0, "byte count below zero");
        self.saturating_sub(rhs)
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, rhs: Self) {
        *self = *self - rhs;
    }
}

impl core::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

/// Preamble and start delimiter (8 B), FCS (4 B) and interpacket gap (12 B): time on the line that a frame
/// takes in addition to its bytes (IEEE 802.3 clauses 3 and 4.4.2).
pub const LINE_OVERHEAD: Bytes = Bytes::new(24);

/// A line rate in bits per second; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

impl BitRate {
    /// Creates a rate; `None` for zero.
    pub const fn new(bits_per_second: u64) -> Option<Self> {
        if bits_per_second == 0 {
            None
        } else {
            Some(Self(bits_per_second))
        }
    }

    /// `mbit` megabits (10⁶ bits) per second; zero counts as one.
    pub const fn from_mbit(mbit: u64) -> Self {
        Self(if mbit == 0 { 1 } else { mbit } * 1_000_000)
    }

    /// Bits per second.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Time that `bytes` bytes occupy a line of this rate, rounded up.
    pub const fn time_for(self, bytes: Bytes) -> Duration {
        // A frame's time fits 64 bits: 128-bit division takes several times as long.
        if bytes.0 < 1 << 31 {
            return Duration((bytes.0 * 8 * NANOS_PER_SECOND).div_ceil(self.0));
        }
        let nanos = (bytes.0 as u128 * 8 * NANOS_PER_SECOND as u128).div_ceil(self.0 as u128);
        Duration(if nanos > u64::MAX as u128 {
            u64::MAX
        } else {
            nanos as u64
        })
    }

    /// Bytes that a line of this rate carries in `span`, rounded down.
    pub const fn bytes_in(self, span: Duration) -> Bytes {
        let bytes = span.0 as u128 * self.0 as u128 / (8 * NANOS_PER_SECOND as u128);
        Bytes(if bytes > u64::MAX as u128 {
            u64::MAX
        } else {
            bytes as u64
        })
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bit/s", self.0)
    }
}

/// Pause time in quanta of 512 bit times (IEEE 802.3 Annex 31B.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quanta(pub u16);

impl Quanta {
    /// Zero quanta: resume at once.
    pub const ZERO: Self = Self(0);
    /// The longest pause that one frame can request.
    pub const MAX: Self = Self(u16::MAX);

    /// Returns how long this pause lasts on a line of `rate`.
    pub const fn at(self, rate: BitRate) -> Duration {
        rate.time_for(Bytes(self.0 as u64 * 64))
    }
}

/// One of the eight 802.1Q priorities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u8);

/// Number of priorities (IEEE 802.1Q).
pub const PRIORITY_COUNT: usize = 8;

impl Priority {
    /// All priorities, lowest first.
    pub const ALL: [Self; PRIORITY_COUNT] = [
        Self(0),
        Self(1),
        Self(2),
        Self(3),
        Self(4),
        Self(5),
        Self(6),
        Self(7),
    ];

    /// The priority `value`, `None` above 7.
    pub const fn new(value: u8) -> Option<Self> {
        if value < PRIORITY_COUNT as u8 {
            Some(Self(value))
        } else {
            None
        }
    }

    /// The priority in the low three bits of `value`.
    pub const fn from_low_bits(value: u8) -> Self {
        Self(value & 7)
    }

    /// 0 to 7.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Index into an array of [`PRIORITY_COUNT`].
    pub const fn index(self) -> usize {
        // Always below 8; the mask lets the compiler omit the bounds check.
        (self.0 & 7) as usize
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A port of one switch: the index of its entry in the switch's configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(u8);

/// Maximum number of ports of one switch.
pub const PORT_COUNT_MAX: usize = 256;

impl PortId {
    /// The port with this index; `None` from [`PORT_COUNT_MAX`] on.
    pub const fn from_index(index: usize) -> Option<Self> {
        if index < PORT_COUNT_MAX {
            Some(Self(index as u8))
        } else {
            None
        }
    }

    /// The port with this number; every `u8` is one.
    pub const fn new(number: u8) -> Self {
        Self(number)
    }

    /// The port's number.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Index into per-port arrays.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for PortId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// {Switch, Port} unique identifier of the CLCM paper (section 3.2.1): 32 random bits that identify one egress port
/// while it is suspected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spuid(pub u32);

impl fmt::Display for Spuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// A 48-bit MAC address in transmission order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// ff:ff:ff:ff:ff:ff.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Returns true for group addresses, including broadcast.
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// The address as a number below 2⁴⁸, most significant byte first.
    pub const fn to_u64(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        // Two loads and two swaps; from eight bytes the compiler makes twenty shifts.
        (u16::from_be_bytes([a, b]) as u64) << 32 | u32::from_be_bytes([c, d, e, f]) as u64
    }

    /// The inverse of [`to_u64`](Self::to_u64); higher bits are ignored.
    pub const fn from_u64(number: u64) -> Self {
        let [_, _, a, b, c, d, e, f] = number.to_be_bytes();
        Self([a, b, c, d, e, f])
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let b = self.0;
        write!(
            f,
            "{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}",
            b[0], b[1], b[2], b[3], b[4], b[5]
        )
    }
}

/// Error: a text that is not six colon-separated hexadecimal bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a MAC address; write six hexadecimal bytes such as 02:00:00:00:00:01")]
pub struct ParseMacError(pub String);

impl core::str::FromStr for MacAddress {
    type Err = ParseMacError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = [0u8; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            *byte = parts
                .next()
                .filter(|part| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit()))
                .and_then(|part| u8::from_str_radix(part, 16).ok())
                .ok_or_else(|| ParseMacError(text.to_owned()))?;
        }
        match parts.next() {
            None => Ok(Self(bytes)),
            Some(_) => Err(ParseMacError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantum_is_512_bit_times() {
        assert_eq!(
            Quanta(1).at(BitRate::from_mbit(100)),
            Duration::from_nanos(5_120)
        );
        assert_eq!(
            Quanta::MAX.at(BitRate::from_mbit(100)),
            Duration::from_nanos(335_539_200)
        );
    }

    #[test]
    fn cells_round_up() {
        let cell = Bytes::new(256);
        assert_eq!(Bytes::new(1).round_up_to(cell), Bytes::new(256));
        assert_eq!(Bytes::new(256).round_up_to(cell), Bytes::new(256));
        assert_eq!(Bytes::new(257).round_up_to(cell), Bytes::new(512));
        assert_eq!(Bytes::ZERO.round_up_to(cell), Bytes::ZERO);
    }

    #[test]
    fn mac_addresses_parse_and_print() {
        let mac: MacAddress = "02:00:5e:10:00:ff".parse().unwrap();
        assert_eq!(mac.to_string(), "02:00:5e:10:00:ff");
        for bad in [
            "",
            "02:00",
            "02:00:5e:10:00:ff:00",
            "0g:00:00:00:00:00",
            "+2:00:00:00:00:00",
        ] {
            assert!(bad.parse::<MacAddress>().is_err(), "{bad}");
        }
    }

    #[test]
    fn rate_and_time_are_inverse() {
        let rate = BitRate::from_mbit(100);
        assert_eq!(rate.time_for(Bytes::new(1500)), Duration::from_micros(120));
        assert_eq!(rate.bytes_in(Duration::from_micros(120)), Bytes::new(1500));
    }
}
