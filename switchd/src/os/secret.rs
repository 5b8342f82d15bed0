//! Secrets that are read again when their files change.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::reader::{self, Stamp};

pub use super::reader::{read_public, read_secret};
pub use weir_config::files::SecretError;

/// A value derived from files and derived again when one of them changes, so that a certificate can be renewed without a
/// restart. If the new files are invalid, the old value stays, and the log states the reason.
pub struct Renewed<T> {
    files: Vec<PathBuf>,
    load: Box<dyn Fn() -> Result<T, SecretError> + Send + Sync>,
    /// No stamp for a missing file.
    state: Mutex<(Vec<Option<Stamp>>, Arc<T>)>,
}

impl<T> Renewed<T> {
    /// Derives the value by calling `load` on `files`.
    ///
    /// # Errors
    ///
    /// Those of `load`.
    pub fn new(
        files: Vec<PathBuf>,
        load: impl Fn() -> Result<T, SecretError> + Send + Sync + 'static,
    ) -> Result<Self, SecretError> {
        let stamps = stamps(&files);
        let value = Arc::new(load()?);
        Ok(Self {
            files,
            load: Box::new(load),
            state: Mutex::new((stamps, value)),
        })
    }

    /// Returns the current value.
    pub fn get(&self) -> Arc<T> {
        let now = stamps(&self.files);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0 != now {
            state.0 = now;
            match (self.load)() {
                Ok(value) => {
                    tracing::info!(file = %self.files[0].display(), "file changed; reloaded");
                    state.1 = Arc::new(value);
                }
                Err(error) => {
                    tracing::warn!(%error, "reload failed; keeping the previous value");
                }
            }
        }
        Arc::clone(&state.1)
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Option<Stamp>> {
    files.iter().map(|path| reader::stamp(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_counts_and_a_wrong_one_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("number");
        std::fs::write(&path, "1").unwrap();
        let from = path.clone();
        let number = Renewed::new(vec![path.clone()], move || {
            let text = String::from_utf8(read_public(&from)?).unwrap();
            text.parse::<u32>().map_err(|error| SecretError::Malformed {
                path: from.clone(),
                reason: error.to_string(),
            })
        })
        .unwrap();
        assert_eq!(*number.get(), 1);
        std::fs::write(&path, "22").unwrap();
        assert_eq!(*number.get(), 22);
        std::fs::write(&path, "not").unwrap();
        assert_eq!(*number.get(), 22);
        std::fs::write(&path, "4444").unwrap();
        assert_eq!(*number.get(), 4444);
    }
}
