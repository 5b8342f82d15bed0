//! Readings of a recording from the parts of the answer that carries it.

use weir_api::record::RecordLine;

/// Reads the lines of an answer that arrives in parts.
#[derive(Debug, Default)]
pub struct RecordLines {
    /// Beginning of an incomplete line.
    rest: Vec<u8>,
}

impl RecordLines {
    /// Adds a part and returns the lines that it completes.
    ///
    /// # Errors
    ///
    /// If a line is no reading.
    pub fn read(&mut self, part: &[u8]) -> Result<Vec<RecordLine>, serde_json::Error> {
        self.rest.extend_from_slice(part);
        let rest = std::mem::take(&mut self.rest);
        let mut lines = rest.split_inclusive(|byte| *byte == b'\n').peekable();
        let mut read = Vec::new();
        while let Some(line) = lines.next_if(|line| line.ends_with(b"\n")) {
            read.push(serde_json::from_slice(line)?);
        }
        self.rest = lines.next().unwrap_or_default().to_vec();
        Ok(read)
    }
}
