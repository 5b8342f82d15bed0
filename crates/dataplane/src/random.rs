//! Random numbers.

use std::io::Read;

/// Returns a seed from the operating system.
///
/// # Errors
///
/// When `/dev/urandom` cannot be read.
pub fn seed() -> std::io::Result<u64> {
    let mut bytes = [0u8; 8];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}
