//! Frames that a switch stores for the next one, in a file of the run directory.
//!
//! After eight bytes that identify the format: for each frame the length of its ingress port's name (1 B), its priority (1
//! B), its flow hash (4 B), its own length (4 B), the name, and the frame; numbers big-endian. Ports are identified by name,
//! since the next configuration may number them differently.

use std::io;
use std::path::{Path, PathBuf};

use weir_core::{PortId, Priority};
use weir_dataplane::messages::LeftFrame;

use crate::os::run_dir;

const NAME: &str = "left-frames";
/// File with the process ID of the keeper whose next switch is to take over.
const KEEPER_NAME: &str = "left-to";
const MAGIC: &[u8; 8] = b"WEIRLF1\n";
const HEADER_LENGTH: usize = 10;

/// Returns the path of the frames.
pub fn path(run_dir: &Path) -> PathBuf {
    run_dir.join(NAME)
}

/// Writes the frames for the next switch in `run_dir`; `names` are those of the ports.
///
/// # Errors
///
/// When there is no room, or a name or frame exceeds its maximum length.
pub fn write(run_dir: &Path, frames: &[LeftFrame], names: &[&str]) -> io::Result<()> {
    let too_long = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let mut bytes = MAGIC.to_vec();
    for frame in frames {
        let name = names.get(frame.ingress.index()).copied().unwrap_or("");
        bytes.push(u8::try_from(name.len()).map_err(too_long)?);
        bytes.push(frame.priority.get());
        bytes.extend(frame.flow_hash.to_be_bytes());
        let length = u32::try_from(frame.bytes.len()).map_err(too_long)?;
        bytes.extend(length.to_be_bytes());
        bytes.extend(name.as_bytes());
        bytes.extend(&frame.bytes);
    }
    // No other user may read the hosts' frames.
    run_dir::replace_file(&path(run_dir), &bytes).map(drop)
}

/// Hands the run directory over to the next switch of `keeper`, and to no other.
///
/// # Errors
///
/// When the file cannot be written.
pub fn leave_to(run_dir: &Path, keeper: u32) -> io::Result<()> {
    run_dir::replace_file(&keeper_path(run_dir), keeper.to_string().as_bytes()).map(drop)
}

/// Returns true if a switch has handed over to the next one of `keeper`, which has not taken over yet.
pub fn are_left_to(run_dir: &Path, keeper: u32) -> bool {
    let text = std::fs::read_to_string(keeper_path(run_dir));
    text.is_ok_and(|text| text.parse() == Ok(keeper))
}

/// Returns the path of that file.
pub fn keeper_path(run_dir: &Path) -> PathBuf {
    run_dir.join(KEEPER_NAME)
}

/// Removes the file after a switch has read the frames.
pub fn forget(run_dir: &Path) {
    for path in [path(run_dir), keeper_path(run_dir)] {
        if let Err(error) = run_dir::remove_file(&path) {
            tracing::warn!(%error, path = %path.display(), "cannot remove the file");
        }
    }
}

/// Reads the frames. Frames of ports that no longer exist are lost, and so are all frames after an unreadable one; the log
/// reports it.
pub fn read(run_dir: &Path, names: &[&str]) -> Vec<LeftFrame> {
    let path = path(run_dir);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) => {
            tracing::error!(%error, path = %path.display(), "cannot read saved frames: they are lost");
            return Vec::new();
        }
    };
    let Some(mut rest) = bytes.strip_prefix(MAGIC) else {
        tracing::error!(path = %path.display(), "discarding saved frames: incompatible format");
        return Vec::new();
    };
    let mut frames = Vec::new();
    let mut lost = 0u64;
    while let Some((name, frame)) = next(&mut rest) {
        let known = names.iter().position(|known| known.as_bytes() == name);
        match known.and_then(PortId::from_index) {
            Some(ingress) => frames.push(LeftFrame { ingress, ..frame }),
            None => lost += 1,
        }
    }
    if lost > 0 || !rest.is_empty() {
        tracing::error!(
            frames = lost,
            bytes = rest.len(),
            "saved frames lost: truncated file or removed port"
        );
    }
    frames
}

/// Returns the ingress port's name, and the frame with any ingress port.
fn next<'a>(rest: &mut &'a [u8]) -> Option<(&'a [u8], LeftFrame)> {
    let (header, behind) = rest.split_first_chunk::<HEADER_LENGTH>()?;
    let [name, priority, h0, h1, h2, h3, l0, l1, l2, l3] = *header;
    let length = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
    let (name, behind) = behind.split_at_checked(name.into())?;
    let (bytes, behind) = behind.split_at_checked(length)?;
    *rest = behind;
    let frame = LeftFrame {
        ingress: PortId::new(0),
        priority: Priority::from_low_bits(priority),
        flow_hash: u32::from_be_bytes([h0, h1, h2, h3]),
        bytes: bytes.to_vec(),
    };
    Some((name, frame))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame() -> impl Strategy<Value = LeftFrame> {
        let bytes = prop::collection::vec(any::<u8>(), 0..200);
        (0..3u8, 0..8u8, any::<u32>(), bytes).prop_map(|(port, priority, flow_hash, bytes)| {
            LeftFrame {
                ingress: PortId::new(port),
                priority: Priority::from_low_bits(priority),
                flow_hash,
                bytes,
            }
        })
    }

    proptest! {
        /// Each frame is assigned to the port of its name, once; frames of missing ports are dropped.
        #[test]
        fn what_is_written_is_taken(frames in prop::collection::vec(frame(), 0..20)) {
            let directory = tempfile::tempdir().unwrap();
            write(directory.path(), &frames, &["a", "second", "c"]).unwrap();
            let taken = read(directory.path(), &["c", "a"]);
            let expected: Vec<_> = frames
                .into_iter()
                .filter(|frame| frame.ingress != PortId::new(1))
                .map(|frame| LeftFrame {
                    ingress: PortId::new(u8::from(frame.ingress == PortId::new(0))),
                    ..frame
                })
                .collect();
            prop_assert_eq!(taken, expected);
            leave_to(directory.path(), 7).unwrap();
            prop_assert!(are_left_to(directory.path(), 7) && !are_left_to(directory.path(), 8));
            forget(directory.path());
            prop_assert!(!are_left_to(directory.path(), 7));
            prop_assert_eq!(read(directory.path(), &["c", "a"]), []);
        }

        /// A truncated or modified file does no harm.
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..300), is_ours: bool) {
            let directory = tempfile::tempdir().unwrap();
            let mut file = if is_ours { MAGIC.to_vec() } else { Vec::new() };
            file.extend(bytes);
            std::fs::write(path(directory.path()), file).unwrap();
            read(directory.path(), &["a", ""]);
        }
    }
}
