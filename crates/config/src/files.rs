//! Files that only their owner may write: secrets, which others may not read either, and configurations.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Maximum length of a secret.
const LENGTH_MAX: u64 = 1 << 20;
/// Permission for all users to write.
const WRITABLE_BY_ALL: u32 = 0o002;
/// In a directory with this bit, only owners can replace files.
const STICKY: u32 = 0o1000;
/// Permissions that a secret's file must not give: writing for its group, and anything for others.
const PERMISSIONS_REFUSED: u32 = 0o037;

/// Reason why a secret cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The operating system refused.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Others could have written or read it.
    #[error("{}: {reason}", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// The fault and its remedy.
        reason: String,
    },
    /// Its contents are invalid.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
}

/// Reads a file that belongs to root or to this process's user, and that its group may at most read and others not at
/// all.
///
/// # Errors
///
/// See [`SecretError`].
pub fn read_secret(path: &Path) -> Result<Vec<u8>, SecretError> {
    let failed = |source| SecretError::Io {
        path: path.to_owned(),
        source,
    };
    let exposed = |reason| SecretError::Exposed {
        path: path.to_owned(),
        reason,
    };
    // Opening a FIFO would wait for its writer.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)
        .map_err(failed)?;
    // Checks the opened file, not whatever the path names by now.
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

/// Reads a file that is not secret.
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

/// Reads the text of a configuration that not every user of the machine can write or replace.
///
/// # Errors
///
/// Also if the file or its directory is writable by all users.
pub fn read_configuration(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    let exposed = |what: &str, mode: u32, path: &Path| {
        let mode = mode & 0o7777;
        io::Error::other(format!(
            "every user can write {what} (mode {mode:04o}); run chmod o-w {}",
            path.display()
        ))
    };
    if metadata.is_file() && metadata.mode() & WRITABLE_BY_ALL != 0 {
        return Err(exposed("the file", metadata.mode(), path));
    }
    // For a link, the directory of its target counts as well. A pipe has no path.
    let target = metadata
        .is_file()
        .then(|| path.canonicalize())
        .transpose()?;
    for file in [Some(path.to_owned()), target].into_iter().flatten() {
        let directory = directory_of(&file);
        let mode = std::fs::metadata(directory)?.mode();
        if mode & (WRITABLE_BY_ALL | STICKY) == WRITABLE_BY_ALL {
            return Err(exposed("its directory", mode, directory));
        }
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Returns the directory that contains `path`; the root for the root.
pub fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::fd::AsRawFd;
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
            assert_eq!(read_secret(&path).unwrap(), b"s", "{good:o}");
        }
        for bad in [0o644, 0o604, 0o660, 0o602, 0o601, 0o777] {
            let path = file(directory.path(), bad);
            let error = read_secret(&path).unwrap_err();
            assert!(matches!(error, SecretError::Exposed { .. }), "{bad:o}");
            assert!(error.to_string().contains("chmod 0600"), "{error}");
        }
    }

    #[test]
    fn a_directory_a_fifo_and_a_missing_file_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let fifo = directory.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRUSR).unwrap();
        for path in [directory.path(), &fifo] {
            let error = read_secret(path).unwrap_err();
            assert!(matches!(error, SecretError::Exposed { .. }), "{error}");
        }
        let missing = read_secret(&directory.path().join("missing")).unwrap_err();
        assert!(matches!(missing, SecretError::Io { .. }), "{missing}");
    }

    #[test]
    fn a_configuration_can_come_through_a_pipe() {
        let (reader, writer) = std::io::pipe().unwrap();
        std::io::Write::write_all(&mut { writer }, b"name = \"s1\"").unwrap();
        let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
        let text = read_configuration(Path::new(&path)).unwrap();
        assert_eq!(text, "name = \"s1\"");
    }

    #[test]
    fn a_configuration_that_every_user_can_write_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("etc");
        std::fs::create_dir(&place).unwrap();
        let path = file(&place, 0o664);
        let set = |path: &Path, mode| {
            std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        };
        assert_eq!(read_configuration(&path).unwrap(), "s");
        for (mode, of, told) in [
            (0o666, &path, "chmod o-w"),
            (0o777, &place, "its directory"),
        ] {
            let before = std::fs::metadata(of).unwrap().mode();
            set(of, mode);
            let error = read_configuration(&path).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
            let link = directory.path().join("link");
            std::os::unix::fs::symlink(&path, &link).unwrap();
            read_configuration(&link).unwrap_err();
            std::fs::remove_file(&link).unwrap();
            set(of, before);
        }
        // Like /tmp.
        set(&place, 0o1777);
        assert_eq!(read_configuration(&path).unwrap(), "s");
    }
}
