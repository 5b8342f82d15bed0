//! Pinned links and maps of one daemon: `DIR/PORT/{link,xsks,settings,traffic,verdicts}`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::mem::{offset_of, size_of};
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};
use aya::maps::{Array, Map, MapData, PerCpuArray};
use nix::sys::statfs::{statfs, BPF_FS_MAGIC};
use serde::Serialize;
use weir_abi::{self as abi, FrameClass, Verdict};
use weir_doctor::link as device;

use super::link::{OpenLink, Process, Program};

/// Names of the pins in a port's directory. The link is removed first, which stops frames.
pub const PIN_NAMES: [&str; 5] = ["link", "xsks", "settings", "traffic", "verdicts"];

/// Pins of one port. Unreadable ones are absent and listed in `problems`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PinnedPort {
    pub name: String,
    /// Device; absent if it is in another network namespace than this process.
    pub device: Option<String>,
    /// Index of the device in its network namespace; zero once the device is gone.
    pub ifindex: Option<u32>,
    /// `native`, `generic` or `offloaded`; absent without a device.
    pub mode: Option<&'static str>,
    /// The link's id (`bpftool link show id`).
    pub link_id: Option<u32>,
    pub program: Option<Program>,
    /// Processes that have the link open; empty if a daemon left it behind.
    pub held_by: Vec<Process>,
    /// Treatment of frames whose queue has no socket: `pass` or `drop`.
    pub fallback: Option<&'static str>,
    /// Frames by verdict, summed over CPUs.
    pub verdicts: BTreeMap<&'static str, u64>,
    /// Frames by class and priority, summed over CPUs; only values above zero.
    pub traffic: Vec<Traffic>,
    /// Unreadable pins.
    pub problems: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Traffic {
    pub class: &'static str,
    pub priority: u32,
    pub frames: u64,
    /// Length in bytes, without FCS.
    pub bytes: u64,
}

/// Returns the ports with pins in `pins`, by name. Ignores directories of others.
///
/// # Errors
///
/// When the directory cannot be read or is not in a BPF file system. A missing directory is no error.
pub fn names(pins: &Path) -> Result<Vec<String>> {
    let named = || pins.display().to_string();
    let entries = match fs::read_dir(pins) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(named),
    };
    if statfs(pins).with_context(named)?.filesystem_type() != BPF_FS_MAGIC {
        bail!(
            "{}: not on a BPF file system, so it has no pins; check --run-dir and --bpf-dir",
            pins.display()
        );
    }
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| is_port(&entry.path()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

pub fn read(pins: &Path, name: &str) -> PinnedPort {
    let directory = pins.join(name);
    let mut port = PinnedPort {
        name: name.to_owned(),
        ..PinnedPort::default()
    };
    let mut problems = Vec::new();
    let mut note = |result: Result<()>| {
        problems.extend(result.err().map(|error| weir_config::told(error.as_ref())));
    };
    note(read_link(&directory, &mut port));
    note(read_fallback(&directory).map(|fallback| port.fallback = Some(fallback)));
    note(read_verdicts(&directory).map(|verdicts| port.verdicts = verdicts));
    note(read_traffic(&directory).map(|traffic| port.traffic = traffic));
    port.problems = problems;
    port
}

/// Removes a port's pins and its directory. Returns files that are not Weir's pins, which are kept with the directory.
///
/// # Errors
///
/// When a pin cannot be removed.
pub fn remove(directory: &Path) -> Result<Vec<PathBuf>> {
    let named = |path: &Path| path.display().to_string();
    for name in PIN_NAMES {
        let path = directory.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| named(&path));
            }
            _ => {}
        }
    }
    let left: Vec<PathBuf> = fs::read_dir(directory)
        .with_context(|| named(directory))?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    if left.is_empty() {
        fs::remove_dir(directory).with_context(|| named(directory))?;
    }
    Ok(left)
}

/// Returns true for a directory with one of Weir's pins, and for an empty one, as left by a daemon killed while it pinned.
fn is_port(path: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(path) else {
        return false;
    };
    PIN_NAMES.iter().any(|name| path.join(name).exists()) || entries.next().is_none()
}

fn read_link(directory: &Path, port: &mut PinnedPort) -> Result<()> {
    let link = OpenLink::from_pin(&directory.join("link"))?;
    port.link_id = Some(link.id);
    port.ifindex = link.ifindex;
    port.program = link.program();
    port.held_by = link.holders();
    let device = link.ifindex.filter(|index| *index > 0).map(device::find);
    if let Some(device) = device.transpose().context("querying the device")? {
        let device = device.unwrap_or_default();
        port.mode = device.mode_of(link.program_id);
        // The same index in this namespace can be another device; the right one runs the program.
        port.device = port.mode.is_some().then_some(device.name);
    }
    Ok(())
}

fn read_fallback(directory: &Path) -> Result<&'static str> {
    let path = directory.join("settings");
    let named = || path.display().to_string();
    let settings: Array<_, [u8; size_of::<abi::weir_settings>()]> =
        Array::try_from(Map::Array(open_map(&path)?)).with_context(named)?;
    let value = settings.get(&0, 0).with_context(named)?;
    match u32::from(value[offset_of!(abi::weir_settings, fallback)]) {
        abi::WEIR_FALLBACK_PASS => Ok("pass"),
        abi::WEIR_FALLBACK_DROP => Ok("drop"),
        other => bail!(
            "{}: unknown fallback {other}; was it pinned by another version?",
            path.display()
        ),
    }
}

fn read_verdicts(directory: &Path) -> Result<BTreeMap<&'static str, u64>> {
    let path = directory.join("verdicts");
    let named = || path.display().to_string();
    let map: PerCpuArray<_, u64> =
        PerCpuArray::try_from(Map::PerCpuArray(open_map(&path)?)).with_context(named)?;
    let mut verdicts = BTreeMap::new();
    for verdict in Verdict::ALL {
        let per_cpu = map.get(&(verdict as u32), 0).with_context(named)?;
        verdicts.insert(verdict.name(), per_cpu.iter().sum());
    }
    Ok(verdicts)
}

fn read_traffic(directory: &Path) -> Result<Vec<Traffic>> {
    let path = directory.join("traffic");
    let named = || path.display().to_string();
    // The two words of struct weir_traffic.
    let map: PerCpuArray<_, [u64; 2]> =
        PerCpuArray::try_from(Map::PerCpuArray(open_map(&path)?)).with_context(named)?;
    let mut seen = Vec::new();
    for class in FrameClass::ALL {
        for priority in 0..abi::WEIR_PRIORITIES {
            let index = class as u32 * abi::WEIR_PRIORITIES + priority;
            let per_cpu = map.get(&index, 0).with_context(named)?;
            let entry = Traffic {
                class: class.name(),
                priority,
                frames: per_cpu.iter().map(|[frames, _]| frames).sum(),
                bytes: per_cpu.iter().map(|[_, bytes]| bytes).sum(),
            };
            if entry.frames > 0 {
                seen.push(entry);
            }
        }
    }
    Ok(seen)
}

fn open_map(path: &Path) -> Result<MapData> {
    MapData::from_pin(path).with_context(|| path.display().to_string())
}

const _: () = assert!(
    offset_of!(abi::weir_traffic, frames) == 0
        && offset_of!(abi::weir_traffic, bytes) == 8
        && size_of::<abi::weir_traffic>() == 16,
    "counters are read as two words"
);
