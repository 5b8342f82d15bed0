//! Files that hold secrets: read only where nobody else can, and read again when they have changed.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Nothing that is read here is longer.
const LENGTH_MAX: u64 = 1 << 20;
/// Permissions that a secret's file may not give: to write for its group, and anything for others.
const PERMISSIONS_REFUSED: u32 = 0o037;

/// Why a secret cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The operating system refuses.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Others could have written or read it.
    #[error("{}: {reason}", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// It holds something else than it should.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// The bytes of a file that belongs to root or to this process's user, that its group may read at most, and
/// others not at all.
///
/// # Errors
///
/// See [`SecretError`].
pub fn read(path: &Path) -> Result<Vec<u8>, SecretError> {
    let failed = |source| SecretError::Io {
        path: path.to_owned(),
        source,
    };
    let exposed = |reason| SecretError::Exposed {
        path: path.to_owned(),
        reason,
    };
    // A FIFO would have us wait for its writer.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)
        .map_err(failed)?;
    // Of what was opened, not of what the path names by now.
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(exposed("is not a regular file".to_owned()));
    }
    let own = nix::unistd::geteuid().as_raw();
    if metadata.uid() != 0 && metadata.uid() != own {
        return Err(exposed(format!(
            "is owned by user {}; it must be owned by root or user {own}",
            metadata.uid()
        )));
    }
    if metadata.mode() & PERMISSIONS_REFUSED != 0 {
        return Err(exposed(format!(
            "others can read or write it (mode {:04o}); run chmod 0600 {}",
            metadata.mode() & 0o7777,
            path.display()
        )));
    }
    contents(file).map_err(failed)
}

/// The bytes of a file that is no secret.
///
/// # Errors
///
/// [`SecretError::Io`].
pub fn read_public(path: &Path) -> Result<Vec<u8>, SecretError> {
    File::open(path)
        .and_then(contents)
        .map_err(|source| SecretError::Io {
            path: path.to_owned(),
            source,
        })
}

fn contents(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = file.take(LENGTH_MAX + 1).read_to_end(&mut bytes)?;
    if length as u64 > LENGTH_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "too long for a secret",
        ));
    }
    Ok(bytes)
}

/// What some files say, made anew when one of them has changed, so that a certificate can be renewed without a
/// restart. When the new files are wrong, what the old ones said stays, and the log says why.
pub struct Renewed<T> {
    files: Vec<PathBuf>,
    load: Box<dyn Fn() -> Result<T, SecretError> + Send + Sync>,
    state: Mutex<(Vec<Stamp>, Arc<T>)>,
}

/// What tells two versions of a file apart; `None` for a file that is not there.
type Stamp = Option<(u64, u64, i64, i64, u64)>;

impl<T> Renewed<T> {
    /// What `load` makes of `files`.
    ///
    /// # Errors
    ///
    /// What `load` says.
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

    /// What the files say now.
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

fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    let stamp = |of: Metadata| (of.dev(), of.ino(), of.mtime(), of.mtime_nsec(), of.len());
    files
        .iter()
        .map(|path| std::fs::metadata(path).ok().map(stamp))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    fn file(directory: &Path, mode: u32) -> PathBuf {
        let path = directory.join(format!("secret-{mode:o}"));
        std::fs::write(&path, "s").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn a_secret_that_others_can_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        for good in [0o600, 0o400, 0o640, 0o440] {
            let path = file(directory.path(), good);
            assert_eq!(read(&path).unwrap(), b"s", "{good:o}");
        }
        for bad in [0o644, 0o604, 0o660, 0o602, 0o601, 0o777] {
            let path = file(directory.path(), bad);
            let error = read(&path).unwrap_err();
            assert!(matches!(error, SecretError::Exposed { .. }), "{bad:o}");
            assert!(error.to_string().contains("chmod 0600"), "{error}");
        }
    }

    #[test]
    fn a_directory_a_fifo_and_nothing_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let fifo = directory.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRUSR).unwrap();
        for path in [directory.path(), &fifo] {
            let error = read(path).unwrap_err();
            assert!(matches!(error, SecretError::Exposed { .. }), "{error}");
        }
        let missing = read(&directory.path().join("missing")).unwrap_err();
        assert!(matches!(missing, SecretError::Io { .. }), "{missing}");
    }

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
