//! Programs attached to a device, and the maps that they share with this program. They are found through the device's
//! ingress; nothing is stored elsewhere.

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{MapCore, MapFlags, MapHandle, Program};
use weir_abi::host::{weir_host_priority, weir_host_settings, weir_host_totals};

use super::edge::{self, End};
use crate::error::Error;
use crate::settings::{Words, PRIORITIES};
use crate::state::{Counts, InForce, PriorityState, Totals};

/// Program at each end.
pub(crate) const PROGRAMS: [(End, &str); 2] =
    [(End::Ingress, "wh_ingress"), (End::Egress, "wh_egress")];
const SETTINGS: &str = "wh_settings";
const PRIORITIES_MAP: &str = "wh_priorities";
const TOTALS: &str = "wh_totals";

/// One of this program's BPF programs at a device.
#[derive(Debug)]
pub struct Found {
    /// Its end of the device.
    pub end: End,
    fd: OwnedFd,
    maps: Vec<u32>,
}

/// Returns all of this program's BPF programs at a device: none, both, or the remains of a killed attach.
///
/// # Errors
///
/// The kernel's error.
pub fn programs(device: &str, ifindex: u32) -> Result<Vec<Found>, Error> {
    let mut found = Vec::new();
    for (end, name) in PROGRAMS {
        let ids = edge::programs(ifindex, end)
            .map_err(|error| Error::system(device, "asking for its programs", error))?;
        if ids.is_empty() {
            continue;
        }
        let options = ProgInfoQueryOptions::default().include_map_ids(true);
        for info in ProgInfoIter::with_query_opts(options) {
            if !ids.contains(&info.id) || info.name.to_bytes() != name.as_bytes() {
                continue;
            }
            // Detached by another process in the meantime.
            if let Ok(fd) = Program::fd_from_id(info.id) {
                found.push(Found {
                    end,
                    fd,
                    maps: info.map_ids,
                });
            }
        }
    }
    Ok(found)
}

/// Detaches these programs from a device.
///
/// # Errors
///
/// The kernel's error.
pub fn remove(device: &str, ifindex: u32, programs: &[Found]) -> Result<(), Error> {
    for program in programs {
        match edge::detach(program.fd.as_fd(), ifindex, program.end) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::system(device, "detaching a program", error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The maps of an attached device.
#[derive(Debug)]
pub struct Maps {
    settings: MapHandle,
    priorities: MapHandle,
    totals: MapHandle,
}

fn priority_of(words: &Words<{ size_of::<weir_host_priority>() }>, now_ns: u64) -> PriorityState {
    macro_rules! get {
        ($field:ident) => {
            words.get(offset_of!(weir_host_priority, $field))
        };
    }
    PriorityState {
        paused_for_ns: get!(paused_until_ns)
            .checked_sub(now_ns)
            .filter(|left| *left > 0),
        queued_frames: get!(queued_frames),
        queued_bytes: get!(queued_bytes),
        peak_bytes: Some(get!(peak_bytes)),
        sent_frames: get!(sent_frames),
        sent_bytes: get!(sent_bytes),
        dropped_limit: get!(dropped_limit),
        dropped_memory: get!(dropped_memory),
        dropped_draining: get!(dropped_draining),
        counts: Counts {
            pauses: get!(pauses),
            refreshes: get!(refreshes),
            resumes: get!(resumes),
            expiries: get!(expiries),
            paused_ns: get!(paused_ns),
            ignored: get!(ignored),
        },
    }
}

type SettingsWords = Words<{ size_of::<weir_host_settings>() }>;

impl Maps {
    /// Returns the maps that a program refers to; `None` unless they are complete.
    pub fn of(programs: &[Found]) -> Option<Self> {
        let ids = &programs.iter().find(|one| one.end == End::Ingress)?.maps;
        let handles = ids.iter().filter_map(|id| MapHandle::from_map_id(*id).ok());
        let (mut settings, mut priorities, mut totals) = (None, None, None);
        for handle in handles {
            match handle.name().to_str() {
                Some(SETTINGS) => settings = Some(handle),
                Some(PRIORITIES_MAP) => priorities = Some(handle),
                Some(TOTALS) => totals = Some(handle),
                _ => {}
            }
        }
        Some(Self {
            settings: settings?,
            priorities: priorities?,
            totals: totals?,
        })
    }

    fn settings_words(&self, device: &str) -> Result<SettingsWords, Error> {
        let words = read(device, &self.settings, 0)?;
        let version = words.get(offset_of!(weir_host_settings, version));
        let expected = u64::from(weir_abi::host::WEIR_HOST_ABI_VERSION);
        if version != expected {
            return Err(Error::Version {
                device: device.to_owned(),
                found: version,
                expected,
            });
        }
        Ok(words)
    }

    /// Returns the settings.
    ///
    /// # Errors
    ///
    /// When they belong to another version, or cannot be read.
    pub fn in_force(&self, device: &str) -> Result<InForce, Error> {
        let words = self.settings_words(device)?;
        let get = |at| words.get(at);
        let obeyed = get(offset_of!(weir_host_settings, obeyed));
        let source = crate::settings::Source::from_abi(get(offset_of!(weir_host_settings, source)));
        let before = get(offset_of!(weir_host_settings, gso_segments_before));
        let share = offset_of!(weir_host_settings, share);
        let max_rate = get(offset_of!(weir_host_settings, max_rate_bits_per_second));
        Ok(InForce {
            rate_bits_per_second: get(offset_of!(weir_host_settings, rate_bits_per_second)),
            max_rate_bits_per_second: Some(max_rate).filter(|rate| *rate > 0),
            source: source.map_or("?", |source| source.name()).to_owned(),
            obeyed: (0..PRIORITIES as u8)
                .filter(|bit| obeyed >> bit & 1 == 1)
                .collect(),
            obeys_global_pause: get(offset_of!(weir_host_settings, obeys_global)) != 0,
            limit_bytes: get(offset_of!(weir_host_settings, limit_bytes)),
            shares: (0..PRIORITIES)
                .map(|number| get(share + 8 * number))
                .collect(),
            multicast_added: get(offset_of!(weir_host_settings, multicast_added)) != 0,
            gso_segments_before: u32::try_from(before).ok().filter(|before| *before > 0),
        })
    }

    /// Makes the queue refuse frames for `span`, or no longer if it is zero. Ends by itself, even if this process is killed.
    ///
    /// # Errors
    ///
    /// When the map cannot be read or written.
    pub fn refuse_for(&self, device: &str, span: Duration) -> Result<(), Error> {
        let mut words = self.settings_words(device)?;
        let until = match span.is_zero() {
            true => 0,
            false => now_ns(device)?.saturating_add(span.as_nanos() as u64),
        };
        words.set(offset_of!(weir_host_settings, refuse_until_ns), until);
        self.settings
            .update(&0u32.to_ne_bytes(), &words.0, MapFlags::ANY)
            .map_err(|error| of_map(device, &error))
    }

    /// Returns the state of every priority.
    ///
    /// # Errors
    ///
    /// When the map cannot be read.
    pub fn priorities(&self, device: &str) -> Result<[PriorityState; PRIORITIES], Error> {
        let now = now_ns(device)?;
        let mut all = [PriorityState::default(); PRIORITIES];
        for (number, state) in (0u32..).zip(&mut all) {
            *state = priority_of(&read(device, &self.priorities, number)?, now);
        }
        Ok(all)
    }

    /// Returns the device's counters.
    ///
    /// # Errors
    ///
    /// When the map cannot be read.
    pub fn totals(&self, device: &str) -> Result<Totals, Error> {
        let words: Words<{ size_of::<weir_host_totals>() }> = read(device, &self.totals, 0)?;
        Ok(Totals {
            pfc_frames: words.get(offset_of!(weir_host_totals, pfc_frames)),
            pause_frames: words.get(offset_of!(weir_host_totals, pause_frames)),
            bad_frames: words.get(offset_of!(weir_host_totals, bad_frames)),
            wakes: words.get(offset_of!(weir_host_totals, wakes)),
            freed: words.get(offset_of!(weir_host_totals, freed)),
            rate_waits: words.get(offset_of!(weir_host_totals, rate_waits)),
        })
    }
}

/// Returns the settings together with the state to restore on detaching.
pub(crate) fn with_undo(
    settings: [u8; crate::settings::SIZE_BYTES],
    multicast_added: bool,
    gso_segments_before: Option<u32>,
) -> [u8; crate::settings::SIZE_BYTES] {
    let mut words = Words(settings);
    let added = u64::from(multicast_added);
    words.set(offset_of!(weir_host_settings, multicast_added), added);
    let before = u64::from(gso_segments_before.unwrap_or(0));
    words.set(offset_of!(weir_host_settings, gso_segments_before), before);
    words.0
}

/// Returns true for the map that receives the settings on loading.
pub(crate) fn is_settings(map: &impl MapCore) -> bool {
    map.name() == SETTINGS
}

fn read<const N: usize>(device: &str, map: &MapHandle, key: u32) -> Result<Words<N>, Error> {
    let value = map.lookup(&key.to_ne_bytes(), MapFlags::ANY);
    let value = value.map_err(|error| of_map(device, &error))?;
    value
        .and_then(|value| Words::from_value(&value))
        .ok_or_else(|| {
            let error = io::Error::new(io::ErrorKind::InvalidData, "a value of another size");
            Error::system(device, "reading its state", error)
        })
}

fn of_map(device: &str, error: &libbpf_rs::Error) -> Error {
    let source = io::Error::new(error.kind_of(), error.to_string());
    Error::system(device, "its state in the kernel", source)
}

/// Converts libbpf's error kind to std's.
trait KindOf {
    fn kind_of(&self) -> io::ErrorKind;
}

impl KindOf for libbpf_rs::Error {
    fn kind_of(&self) -> io::ErrorKind {
        match self.kind() {
            libbpf_rs::ErrorKind::PermissionDenied => io::ErrorKind::PermissionDenied,
            libbpf_rs::ErrorKind::NotFound => io::ErrorKind::NotFound,
            _ => io::ErrorKind::Other,
        }
    }
}

/// Returns the time of the kernel side's clock.
fn now_ns(device: &str) -> Result<u64, Error> {
    super::now_ns().map_err(|error| Error::system(device, "reading the clock", error))
}
