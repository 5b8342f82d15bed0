//! Hash tables whose keys are numbers that the program made itself.

use std::hash::{BuildHasherDefault, Hasher};

/// One multiplication for each number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Multiplying(u64);

impl Hasher for Multiplying {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(26) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    /// A digest is mixed already.
    fn write_u128(&mut self, number: u128) {
        self.write_u64(number as u64);
    }
}

/// A table that is only looked into, never gone through.
pub type Table<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<Multiplying>>;
