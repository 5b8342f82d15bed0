//! Files of root that a switch reads again while it runs as another user: its configuration, keys, tokens and certificates.
//!
//! A second process of the same program remains root and reads them, and only them, with the checks of [`files`]. It has no
//! capabilities and takes two bytes from the switch for each file: the kind of file and its place on the command line.
//! CAP_DAC_READ_SEARCH in the switch would do without that process, but would let it read every file where the kernel has no
//! Landlock.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use weir_config::daemon::DaemonConfig;
use weir_config::files::{self, SecretError};
use weir_config::FileError;

/// Maximum length of an answer in bytes, beyond any configuration.
const ANSWER_BYTES_MAX: u32 = 64 << 20;
/// Files may be on a slow file system.
const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// Name of the process.
const NAME: &std::ffi::CStr = c"weir-reader";

/// Kinds of files, as the first byte of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    Configuration = b'c',
    Secret = b's',
    Public = b'p',
    Stamp = b'm',
}

/// Identity of a file's version: device, number, time in seconds and nanoseconds, length.
pub type Stamp = [u64; 5];

/// Outcomes, as the first byte of an answer.
const READ: u8 = 0;
/// The operating system refused; the number of its error and a text follow.
const FAILED: u8 = 1;
/// Others could have read or written it; the reason follows.
const EXPOSED: u8 = 2;

static READER: OnceLock<Reader> = OnceLock::new();

/// The process, as seen by the switch.
#[derive(Debug)]
pub struct Reader {
    files: Vec<PathBuf>,
    /// `None` after an answer that is late or invalid, since the next one could belong to an earlier request.
    stream: Mutex<Option<UnixStream>>,
    _process: Option<Child>,
}

impl Reader {
    /// Starts the process for these files.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn begin(files: Vec<PathBuf>) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        // The file of this program, even if another one has replaced it.
        let process = Command::new("/proc/self/exe")
            .arg("--read")
            .args(&files)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()?;
        Self::over(ours, files, Some(process))
    }

    fn over(stream: UnixStream, files: Vec<PathBuf>, process: Option<Child>) -> io::Result<Self> {
        stream.set_read_timeout(Some(ANSWER_WAIT))?;
        Ok(Self {
            files,
            stream: Mutex::new(Some(stream)),
            _process: process,
        })
    }

    /// Uses it for all files from now on.
    pub fn install(self) {
        // There is one for each process.
        let _ = READER.set(self);
    }

    /// Returns the file's contents.
    fn read(&self, kind: Kind, path: &Path) -> Result<Vec<u8>, SecretError> {
        let failed = |source| SecretError::Io {
            path: path.to_owned(),
            source,
        };
        let place = self.files.iter().position(|known| known == path);
        let Some(place) = place.and_then(|place| u8::try_from(place).ok()) else {
            return Err(failed(io::Error::other(
                "the switch was not started with this file; restart it",
            )));
        };
        let (outcome, bytes) = self.ask([kind as u8, place]).map_err(failed)?;
        match outcome {
            READ => Ok(bytes),
            EXPOSED => Err(SecretError::Exposed {
                path: path.to_owned(),
                reason: String::from_utf8_lossy(&bytes).into_owned(),
            }),
            _ => Err(failed(unpack(&bytes))),
        }
    }

    fn ask(&self, request: [u8; 2]) -> io::Result<(u8, Vec<u8>)> {
        let gone = || {
            io::Error::other("the process that reads root's files has ended; restart the switch")
        };
        let mut slot = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stream = slot.take().ok_or_else(gone)?;
        stream.write_all(&request).map_err(|_| gone())?;
        let mut outcome = [0];
        let mut length = [0; 4];
        stream
            .read_exact(&mut outcome)
            .and_then(|()| stream.read_exact(&mut length))
            .map_err(|_| gone())?;
        let length = u32::from_be_bytes(length);
        if length > ANSWER_BYTES_MAX {
            return Err(gone());
        }
        let mut bytes = vec![0; length as usize];
        stream.read_exact(&mut bytes).map_err(|_| gone())?;
        *slot = Some(stream);
        Ok((outcome[0], bytes))
    }
}

/// Returns the configuration in `path`, and its text.
///
/// # Errors
///
/// Those of [`DaemonConfig::load_with_text`], and when the reader has ended.
pub fn configuration(path: &Path) -> Result<(DaemonConfig, String), FileError> {
    let Some(reader) = READER.get() else {
        return DaemonConfig::load_with_text(path);
    };
    let text = reader
        .read(Kind::Configuration, path)
        .map_err(|error| match error {
            SecretError::Io { source, .. } => source,
            other => io::Error::other(other),
        });
    let text = text.and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    let text = text.map_err(|error| FileError::unreadable(path, &error))?;
    Ok((DaemonConfig::parse(&text, path)?, text))
}

/// Like [`files::read_secret`].
///
/// # Errors
///
/// Also when the reader has ended.
pub fn read_secret(path: &Path) -> Result<Vec<u8>, SecretError> {
    match READER.get() {
        Some(reader) => reader.read(Kind::Secret, path),
        None => files::read_secret(path),
    }
}

/// Like [`files::read_public`].
///
/// # Errors
///
/// Also when the reader has ended.
pub fn read_public(path: &Path) -> Result<Vec<u8>, SecretError> {
    match READER.get() {
        Some(reader) => reader.read(Kind::Public, path),
        None => files::read_public(path),
    }
}

/// Returns the file's version; `None` for a missing file.
pub fn stamp(path: &Path) -> Option<Stamp> {
    match (stamp_of(path), READER.get()) {
        (Err(error), Some(reader)) if error.kind() == io::ErrorKind::PermissionDenied => {
            let bytes = reader.read(Kind::Stamp, path).ok()?;
            unstamp(&bytes)
        }
        (found, _) => found.ok(),
    }
}

fn stamp_of(path: &Path) -> io::Result<Stamp> {
    let of = std::fs::metadata(path)?;
    let [seconds, nanos] = [of.mtime(), of.mtime_nsec()].map(i64::cast_unsigned);
    Ok([of.dev(), of.ino(), seconds, nanos, of.len()])
}

fn unstamp(bytes: &[u8]) -> Option<Stamp> {
    let mut stamp = Stamp::default();
    let (words, _) = bytes.as_chunks();
    if words.len() != stamp.len() {
        return None;
    }
    for (value, word) in stamp.iter_mut().zip(words) {
        *value = u64::from_be_bytes(*word);
    }
    Some(stamp)
}

/// Answers the requests on standard input until the switch ends. The caller gives up its privileges before.
///
/// # Errors
///
/// When standard input is no socket.
pub fn serve(files: &[PathBuf]) -> io::Result<()> {
    // A terminal's Ctrl-C is meant for the switch.
    let _ = nix::unistd::setsid();
    let _ = nix::sys::prctl::set_name(NAME);
    let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    stream.peer_addr()?;
    serve_on(stream, files);
    Ok(())
}

fn serve_on(mut stream: UnixStream, files: &[PathBuf]) {
    let mut request = [0; 2];
    while stream.read_exact(&mut request).is_ok() {
        let (outcome, bytes) = answer(request, files);
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let mut whole = vec![outcome];
        whole.extend(length.to_be_bytes());
        whole.extend(bytes);
        if stream.write_all(&whole).is_err() {
            return;
        }
    }
}

fn answer([kind, place]: [u8; 2], files: &[PathBuf]) -> (u8, Vec<u8>) {
    let Some(path) = files.get(usize::from(place)) else {
        return (FAILED, pack(&io::ErrorKind::NotFound.into()));
    };
    let outcome = match kind {
        kind if kind == Kind::Configuration as u8 => match files::read_configuration(path) {
            Ok(text) => Ok(text.into_bytes()),
            Err(error) => return (FAILED, pack(&error)),
        },
        kind if kind == Kind::Secret as u8 => files::read_secret(path),
        kind if kind == Kind::Public as u8 => files::read_public(path),
        kind if kind == Kind::Stamp as u8 => match stamp_of(path) {
            Ok(stamp) => Ok(stamp.iter().flat_map(|it| it.to_be_bytes()).collect()),
            Err(error) => return (FAILED, pack(&error)),
        },
        _ => return (FAILED, pack(&io::ErrorKind::InvalidInput.into())),
    };
    match outcome {
        Ok(bytes) => (READ, bytes),
        Err(SecretError::Io { source, .. }) => (FAILED, pack(&source)),
        Err(SecretError::Exposed { reason, .. } | SecretError::Malformed { reason, .. }) => {
            (EXPOSED, reason.into_bytes())
        }
    }
}

/// Writes an error as its number, or zero, and its text.
fn pack(error: &io::Error) -> Vec<u8> {
    let code = error.raw_os_error().unwrap_or(0);
    let mut bytes = code.to_be_bytes().to_vec();
    bytes.extend(error.to_string().into_bytes());
    bytes
}

fn unpack(bytes: &[u8]) -> io::Error {
    match bytes.split_first_chunk() {
        Some((code, text)) => match i32::from_be_bytes(*code) {
            0 => io::Error::other(String::from_utf8_lossy(text).into_owned()),
            code => io::Error::from_raw_os_error(code),
        },
        None => io::ErrorKind::InvalidData.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    fn reader(files: Vec<PathBuf>) -> Reader {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let served = files.clone();
        std::thread::spawn(move || serve_on(theirs, &served));
        Reader::over(ours, files, None).unwrap()
    }

    #[test]
    fn its_files_are_read_with_their_checks_and_no_others() {
        let directory = tempfile::tempdir().unwrap();
        let [secret, missing, other] =
            ["secret", "missing", "other"].map(|name| directory.path().join(name));
        for path in [&secret, &other] {
            std::fs::write(path, "s").unwrap();
            std::fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
        }
        let reader = reader(vec![secret.clone(), missing.clone()]);
        for kind in [Kind::Secret, Kind::Public, Kind::Configuration] {
            assert_eq!(reader.read(kind, &secret).unwrap(), b"s", "{kind:?}");
        }
        let stamp = reader.read(Kind::Stamp, &secret).unwrap();
        assert_eq!(unstamp(&stamp), Some(stamp_of(&secret).unwrap()));
        let error = reader.read(Kind::Secret, &missing).unwrap_err();
        assert!(
            matches!(&error, SecretError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound),
            "{error}"
        );
        let error = reader.read(Kind::Secret, &other).unwrap_err().to_string();
        assert!(error.contains("not started with this file"), "{error}");
        // The switch's own list is not what keeps it from other files.
        assert_eq!(reader.ask([Kind::Secret as u8, 2]).unwrap().0, FAILED);
        assert_eq!(reader.ask([b'?', 0]).unwrap().0, FAILED);
        std::fs::set_permissions(&secret, Permissions::from_mode(0o644)).unwrap();
        let error = reader.read(Kind::Secret, &secret).unwrap_err();
        assert!(matches!(error, SecretError::Exposed { .. }), "{error}");
        assert_eq!(reader.read(Kind::Public, &secret).unwrap(), b"s");
    }

    #[test]
    fn an_answer_that_does_not_come_is_an_error_and_so_is_the_next() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let path = PathBuf::from("x");
        let reader = Reader::over(ours, vec![path.clone()], None).unwrap();
        drop(theirs);
        for _ in 0..2 {
            let error = reader.read(Kind::Public, &path).unwrap_err().to_string();
            assert!(error.contains("has ended"), "{error}");
        }
    }
}
