//! Pinned links and maps of one daemon: `RUN-DIR/bpf/PORT/{link,xsks,settings,traffic,verdicts}`.

use std::collections::BTreeMap;
use std::fs;
use std::mem::{offset_of, size_of};
use std::path::Path;

use anyhow::{Context, Result};
use aya::maps::{Array, Map, MapData, PerCpuArray};
use aya::programs::links::PinnedLink;
use aya::programs::loaded_links;
use serde::Serialize;

use super::abi;

const CLASS_NAMES: [&str; abi::WEIR_CLASSES as usize] = ["data", "mac_control", "lldp", "clcm"];
const VERDICT_NAMES: [&str; abi::WEIR_VERDICTS as usize] =
    ["redirected", "passed", "dropped", "too_short", "no_meta"];

/// What is pinned for one port.
#[derive(Clone, Debug, Serialize)]
pub struct PinnedPort {
    /// The port.
    pub name: String,
    /// Index of the device in its own network namespace (`ip link` shows it).
    pub ifindex: Option<u32>,
    /// The program's id (`bpftool prog show id`).
    pub program_id: u32,
    /// The link's id (`bpftool link show id`).
    pub link_id: u32,
    /// What happens to frames whose queue has no socket.
    pub fallback: &'static str,
    /// Frames by what became of them.
    pub verdicts: BTreeMap<&'static str, u64>,
    /// Frames seen, by class and priority; only what was seen.
    pub traffic: Vec<Traffic>,
}

/// Frames of one class and priority.
#[derive(Clone, Debug, Serialize)]
pub struct Traffic {
    /// The class.
    pub class: &'static str,
    /// The priority.
    pub priority: u32,
    /// Frames.
    pub frames: u64,
    /// Their bytes, without FCS.
    pub bytes: u64,
}

/// Ports with pins, by name.
///
/// # Errors
///
/// When the directory cannot be read.
pub fn names(pins: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(pins) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| pins.display().to_string()),
    };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

/// All that is pinned.
///
/// # Errors
///
/// When a pin cannot be read: it takes root.
pub fn read_all(pins: &Path) -> Result<Vec<PinnedPort>> {
    names(pins)?
        .into_iter()
        .map(|name| read(&pins.join(&name), name))
        .collect()
}

/// Removes a port's pins. True when the program is detached now; false when another process holds the
/// link still.
///
/// # Errors
///
/// When a pin cannot be removed.
pub fn detach(directory: &Path) -> Result<bool> {
    let link_path = directory.join("link");
    let link_id = if link_path.exists() {
        let link = open_link(&link_path)?;
        Some(link.1)
    } else {
        None
    };
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        fs::remove_file(&path).with_context(|| path.display().to_string())?;
    }
    fs::remove_dir(directory).with_context(|| directory.display().to_string())?;
    Ok(link_id.is_none_or(|id| !loaded_links().flatten().any(|info| info.id() == id)))
}

fn read(directory: &Path, name: String) -> Result<PinnedPort> {
    let (program_id, link_id, ifindex) = open_link(&directory.join("link"))?;
    let settings: Array<_, [u8; size_of::<abi::weir_settings>()]> =
        Array::try_from(Map::Array(map(&directory.join("settings"))?))?;
    let fallback = settings.get(&0, 0)?[offset_of!(abi::weir_settings, fallback)];
    let verdict_map: PerCpuArray<_, u64> =
        PerCpuArray::try_from(Map::PerCpuArray(map(&directory.join("verdicts"))?))?;
    let mut verdicts = BTreeMap::new();
    for (index, verdict) in VERDICT_NAMES.into_iter().enumerate() {
        let values = verdict_map.get(&(index as u32), 0)?;
        verdicts.insert(verdict, values.iter().sum());
    }
    let traffic_map: PerCpuArray<_, [u64; 2]> =
        PerCpuArray::try_from(Map::PerCpuArray(map(&directory.join("traffic"))?))?;
    let mut traffic = Vec::new();
    for (class, class_name) in CLASS_NAMES.into_iter().enumerate() {
        for priority in 0..abi::WEIR_PRIORITIES {
            let index = class as u32 * abi::WEIR_PRIORITIES + priority;
            let values = traffic_map.get(&index, 0)?;
            let (frames, bytes) = values
                .iter()
                .fold((0, 0), |(frames, bytes), [f, b]| (frames + f, bytes + b));
            if frames > 0 {
                traffic.push(Traffic {
                    class: class_name,
                    priority,
                    frames,
                    bytes,
                });
            }
        }
    }
    Ok(PinnedPort {
        name,
        ifindex,
        program_id,
        link_id,
        fallback: if u32::from(fallback) == abi::WEIR_FALLBACK_PASS {
            "pass"
        } else {
            "drop"
        },
        verdicts,
        traffic,
    })
}

fn map(path: &Path) -> Result<MapData> {
    MapData::from_pin(path).with_context(|| path.display().to_string())
}

/// Program id, link id and the index of the device. The link is closed again at once.
fn open_link(path: &Path) -> Result<(u32, u32, Option<u32>)> {
    let pinned = PinnedLink::from_pin(path).with_context(|| path.display().to_string())?;
    let link = aya::programs::links::FdLink::from(pinned);
    let info = link.info().with_context(|| path.display().to_string())?;
    Ok((info.program_id(), info.id(), ifindex(info.id())))
}

/// The device that a link of this process is attached to, from the link's entry in /proc.
fn ifindex(link_id: u32) -> Option<u32> {
    let wanted = link_id.to_string();
    let field = |text: &str, name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .map(|value| value.trim().to_owned())
    };
    fs::read_dir("/proc/self/fdinfo")
        .ok()?
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path()).ok())
        .find(|text| field(text, "link_id").as_deref() == Some(&wanted))
        .and_then(|text| field(&text, "ifindex")?.parse().ok())
}
