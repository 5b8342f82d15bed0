//! Attaching and detaching.

use std::io;
use std::time::{Duration, Instant};

use weir_core::wire::ethernet::MAC_CONTROL_ADDRESS;
use weir_netlink::queueing::{self, Root};

use crate::device::Device;
use crate::error::Error;
use crate::kernel::maps::{self, Found, Maps};
use crate::kernel::{edge, link, load};
use crate::settings::Settings;
use crate::state::PriorityState;

/// Destination address of PFC and PAUSE frames. Some NICs deliver only requested addresses.
const PAUSE_ADDRESS: [u8; 6] = MAC_CONTROL_ADDRESS.0;
/// Queueing disciplines of these kinds do not queue.
const NONE: [&str; 2] = ["noqueue", "noop"];
/// Polling interval of a drain.
const LOOK: Duration = Duration::from_millis(2);
/// Added to the time for which the queue refuses frames, for the final steps.
const LAST_STEPS: Duration = Duration::from_secs(1);

/// Result of attaching.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Attachment {
    /// The device.
    pub device: String,
    /// Name of its queueing discipline, as shown by `tc qdisc`.
    pub qdisc: String,
    /// Previous root queueing discipline.
    pub before: String,
    /// True if it was attached already and has been attached again with new settings.
    pub again: bool,
    /// Frames refused while an already attached queue drained.
    pub refused: u64,
}

/// Result of detaching.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Detachment {
    /// The device.
    pub device: String,
    /// True if the device was attached, at least partly.
    pub was_attached: bool,
    /// Frames sent while the queue drained.
    pub drained: u64,
    /// Frames refused during that time; TCP retransmits them.
    pub refused: u64,
    /// Frames freed unsent because of `--force`.
    pub freed: u64,
    /// Duration of the drain in seconds.
    pub drain_seconds: f64,
}

/// Settings of a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drain {
    /// Maximum time for the queue to become empty.
    pub limit: Duration,
    /// True to free the remaining frames after that time.
    pub force: bool,
}

/// Everything attached to a device by this program.
#[derive(Debug)]
pub struct Present {
    /// Programs at its ends.
    pub programs: Vec<Found>,
    /// Queueing discipline at its root.
    pub root: Option<Root>,
    /// Its maps; `None` if a part is missing.
    pub maps: Option<Maps>,
}

impl Present {
    /// Finds the attached parts.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn at(device: &Device) -> Result<Self, Error> {
        let programs = maps::programs(&device.name, device.ifindex)?;
        let root = queueing::root(device.ifindex)
            .map_err(|error| Error::system(&device.name, "asking for its queue", error))?;
        let maps = Maps::of(&programs);
        Ok(Self {
            programs,
            root,
            maps,
        })
    }

    /// Returns true if the root queueing discipline is this program's.
    pub fn has_queue(&self) -> bool {
        self.root.as_ref().is_some_and(is_ours)
    }

    /// Returns true if both programs and the queue are attached.
    pub fn is_whole(&self) -> bool {
        self.programs.len() == maps::PROGRAMS.len() && self.maps.is_some() && self.has_queue()
    }

    /// Returns true if no part is attached.
    pub fn is_nothing(&self) -> bool {
        self.programs.is_empty() && !self.has_queue()
    }
}

fn is_ours(root: &Root) -> bool {
    let rest = root.kind.strip_prefix(load::NAME_BEGINS);
    let parts = rest.and_then(|rest| rest.split_once('.'));
    let hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts.is_some_and(|(namespace, ifindex)| hex(namespace) && hex(ifindex))
}

/// Refuses a device with a configured queueing discipline.
pub(crate) fn refuse_occupied(device: &Device, root: &Root) -> Result<(), Error> {
    if root.handle == 0 || NONE.contains(&&*root.kind) {
        return Ok(());
    }
    Err(Error::Occupied {
        device: device.name.clone(),
        kind: root.kind.clone(),
        handle: root.handle,
    })
}

/// Makes a device obey pauses. Drains and replaces parts attached earlier, complete or not.
///
/// # Errors
///
/// When the kernel lacks support or refuses, or another queueing discipline is configured.
pub fn attach(device: &Device, settings: &Settings, drain: Drain) -> Result<Attachment, Error> {
    load::check(&device.name)?;
    let present = Present::at(device)?;
    let before = present.root.clone();
    if let Some(root) = &before {
        if !is_ours(root) && !settings.replace {
            refuse_occupied(device, root)?;
        }
    }
    let again = !present.is_nothing();
    let refused = match again {
        true => remove(device, present, drain)?.refused,
        false => 0,
    };
    let gso_before = match settings.gso_segments {
        Some(_) => link::gso_segments(device.ifindex)
            .map_err(|error| Error::system(&device.name, "asking for gso_max_segs", error))?,
        None => None,
    };
    // Another program may have requested the address already; then it must not be removed later.
    let multicast = !is_received(device);
    let abi = maps::with_undo(settings.to_abi(), multicast, gso_before);
    let loaded = load::load(&device.name, device.ifindex, &abi)?;
    let attached = put(device, settings, &loaded, multicast);
    if attached.is_err() {
        // A partial attachment is removed. Errors of the removal would hide the first error.
        let _ = Present::at(device).and_then(|present| remove(device, present, drain));
    }
    attached?;
    Ok(Attachment {
        device: device.name.clone(),
        qdisc: loaded.kind.clone(),
        before: before.map_or_else(|| "none".to_owned(), |root| root.kind),
        again,
        refused,
    })
}

/// The programs first: without the queue they are harmless, and they identify a killed attach.
fn put(
    device: &Device,
    settings: &Settings,
    loaded: &load::Loaded,
    multicast: bool,
) -> Result<(), Error> {
    let failed = |what| move |error| Error::system(&device.name, what, error);
    loaded.attach(&device.name, device.ifindex)?;
    if multicast {
        edge::receive_multicast(&device.name, PAUSE_ADDRESS, true)
            .map_err(failed("having it receive pauses"))?;
    }
    if let Some(segments) = settings.gso_segments {
        link::set_gso_segments(device.ifindex, segments).map_err(failed("setting gso_max_segs"))?;
    }
    queueing::replace(device.ifindex, &loaded.kind).map_err(failed("making its queue"))
}

/// Returns true if a device already receives PFC frames.
fn is_received(device: &Device) -> bool {
    let digits: String = PAUSE_ADDRESS
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let text = std::fs::read_to_string("/proc/thread-self/net/dev_mcast").unwrap_or_default();
    text.lines().any(|line| {
        // Fields: number, name, users, users for the whole device, address.
        let words: Vec<&str> = line.split_whitespace().collect();
        matches!(words[..], [_, name, _, global, address] if name == device.name && global != "0" && address == digits)
    })
}

/// Drains a device's queue and removes all attached parts; missing parts are no error.
///
/// # Errors
///
/// When the kernel refuses, or the queue does not drain without `force`.
pub fn detach(device: &Device, drain: Drain) -> Result<Detachment, Error> {
    let present = Present::at(device)?;
    remove(device, present, drain)
}

fn remove(device: &Device, present: Present, drain: Drain) -> Result<Detachment, Error> {
    let name = &device.name;
    let mut done = Detachment {
        device: name.clone(),
        was_attached: !present.is_nothing(),
        drained: 0,
        refused: 0,
        freed: 0,
        drain_seconds: 0.0,
    };
    let in_force = match &present.maps {
        Some(maps) => {
            if present.has_queue() {
                empty(name, maps, drain, &mut done)?;
            }
            // Settings of another version do not state what to restore.
            maps.in_force(name).ok()
        }
        None => None,
    };
    if present.has_queue() {
        match queueing::remove(device.ifindex, 0) {
            // It was removed by another program in the meantime.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::system(name, "taking its queue away", error));
            }
            _ => {}
        }
    }
    if let Some(in_force) = in_force {
        if in_force.multicast_added {
            // May be missing if the attach that recorded it was killed before requesting it.
            let _ = edge::receive_multicast(name, PAUSE_ADDRESS, false);
        }
        if let Some(before) = in_force.gso_segments_before {
            link::set_gso_segments(device.ifindex, before)
                .map_err(|error| Error::system(name, "setting gso_max_segs back", error))?;
        }
    }
    // Last, since the programs identify the remaining parts.
    maps::remove(name, device.ifindex, &present.programs)?;
    Ok(done)
}

/// Waits until nothing is queued; refuses new frames in the meantime.
fn empty(device: &str, maps: &Maps, drain: Drain, done: &mut Detachment) -> Result<(), Error> {
    let sum = |of: fn(&PriorityState) -> u64| -> Result<u64, Error> {
        Ok(maps.priorities(device)?.iter().map(of).sum())
    };
    let refused_before = sum(|one| one.dropped_draining)?;
    done.drained = sum(|one| one.queued_frames)?;
    maps.refuse_for(device, drain.limit + LAST_STEPS)?;
    let began = Instant::now();
    let left = loop {
        let left = sum(|one| one.queued_frames)?;
        if left == 0 || began.elapsed() >= drain.limit {
            break left;
        }
        std::thread::sleep(LOOK);
    };
    done.drain_seconds = began.elapsed().as_secs_f64();
    done.refused = sum(|one| one.dropped_draining)? - refused_before;
    if left > 0 {
        if !drain.force {
            maps.refuse_for(device, Duration::ZERO)?;
            return Err(Error::DoesNotDrain {
                device: device.to_owned(),
                seconds: done.drain_seconds,
                frames: left,
            });
        }
        done.freed = left;
        done.drained = done.drained.saturating_sub(left);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_we_give_are_ours() {
        let root = |kind: &str| Root {
            kind: kind.to_owned(),
            handle: 0x8001,
        };
        for kind in ["whf0000098.2", "wh1.ffff"] {
            assert!(is_ours(&root(kind)), "{kind}");
        }
        for kind in ["wh", "whatever", "wh.", "fq_codel", "whx.2", "xwh1.2", ""] {
            assert!(!is_ours(&root(kind)), "{kind}");
        }
    }
}
