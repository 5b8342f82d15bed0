//! Big-endian numbers in a bounded buffer.

use crate::PAYLOAD_MAX;

/// A message under construction. Its memory is allocated once.
#[derive(Clone, Debug)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn new() -> Self {
        Self(Vec::with_capacity(PAYLOAD_MAX))
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn room(&self) -> usize {
        PAYLOAD_MAX.saturating_sub(self.0.len())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn put_u16(&mut self, value: u16) {
        self.put(&value.to_be_bytes());
    }

    pub(crate) fn put_u32(&mut self, value: u32) {
        self.put(&value.to_be_bytes());
    }

    pub(crate) fn put_u64(&mut self, value: u64) {
        self.put(&value.to_be_bytes());
    }

    /// Opaque data of variable length (RFC 4506, 4.10): the length, the bytes, and zeros to a multiple of four.
    pub(crate) fn put_opaque(&mut self, bytes: &[u8]) {
        self.put_u32(bytes.len() as u32);
        self.put(bytes);
        self.put(&[0; 3][..padding(bytes.len())]);
    }

    /// Writes a length that is known only later; [`Self::close`] fills it in.
    pub(crate) fn open(&mut self) -> usize {
        self.put_u32(0);
        self.len()
    }

    /// Fills in the length written by [`Self::open`], which returned `start`, with the number of bytes since.
    pub(crate) fn close(&mut self, start: usize) {
        let length = self.len().saturating_sub(start) as u32;
        self.set_u32(start.saturating_sub(4), length);
    }

    pub(crate) fn set_u32(&mut self, at: usize, value: u32) {
        self.set(at, &value.to_be_bytes());
    }

    pub(crate) fn set_u16(&mut self, at: usize, value: u16) {
        self.set(at, &value.to_be_bytes());
    }

    fn set(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.0.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }
}

/// Number of zeros after opaque data of `length` bytes.
pub(crate) const fn padding(length: usize) -> usize {
    length.next_multiple_of(4) - length
}
