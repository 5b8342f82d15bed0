//! A number with which two results can be compared.

use std::io::{self, Write};

use sha2::{Digest, Sha256};
use weir_api::run::RunResult;

/// Returns SHA-256, in hexadecimal digits, of the file that `weir-sim run --json FILE` writes.
pub fn digest(result: &RunResult) -> String {
    let mut hash = Hash(Sha256::new());
    // Results have only names as keys, and the hash takes whatever is written.
    let written = serde_json::to_writer_pretty(&mut hash, result);
    debug_assert!(written.is_ok());
    let bytes = hash.0.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Nothing of the file is kept.
struct Hash(Sha256);

impl Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
