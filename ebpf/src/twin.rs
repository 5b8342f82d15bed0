//! Compares two loaded programs: if they are equal, the attached one can stay when its switch is replaced. Replacing it
//! would cost a grace period of the kernel.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libbpf_rs::libbpf_sys;
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapInfo, MapType};

/// Maximum number of maps of a program, including all those of the express path.
const MAPS_MAX: usize = 32;

#[derive(Debug)]
pub(crate) struct Identity {
    /// Hash of its instructions, independent of map IDs.
    tag: [u8; 8],
    kind: u32,
    map_ids: Vec<u32>,
}

impl Identity {
    /// Returns `None` if the kernel has no information.
    pub(crate) fn of(program: BorrowedFd<'_>) -> Option<Self> {
        let mut map_ids = vec![0u32; MAPS_MAX];
        let mut info = libbpf_sys::bpf_prog_info {
            nr_map_ids: MAPS_MAX as u32,
            map_ids: map_ids.as_mut_ptr() as u64,
            ..Default::default()
        };
        let mut length = size_of_val(&info) as u32;
        // SAFETY: the descriptor is open, and the buffers have `length` bytes and `nr_map_ids` entries.
        let result = unsafe {
            libbpf_sys::bpf_prog_get_info_by_fd(program.as_raw_fd(), &raw mut info, &raw mut length)
        };
        let count = info.nr_map_ids as usize;
        if result != 0 || count > MAPS_MAX {
            return None;
        }
        map_ids.truncate(count);
        Some(Self {
            tag: info.tag,
            kind: info.type_,
            map_ids,
        })
    }

    pub(crate) fn has(&self, maps: &[u32]) -> bool {
        maps.iter().all(|map| self.map_ids.contains(map))
    }

    /// Returns true if the other program has the same instructions, constants and kinds of maps, but different maps.
    pub(crate) fn is_twin_of(&self, other: &Self) -> bool {
        if (self.tag, self.kind) != (other.tag, other.kind) {
            return false;
        }
        let (ours, theirs) = (self.shapes(), other.shapes());
        ours.is_some() && ours == theirs
    }

    fn shapes(&self) -> Option<BTreeMap<String, Shape>> {
        let ids = self.map_ids.iter();
        ids.map(|id| Shape::of(*id)).collect()
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Shape {
    kind: MapType,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    flags: u32,
    /// Contents of a read-only map, fixed when the program was loaded.
    constants: Option<Vec<u8>>,
}

impl Shape {
    /// Returns the map and its name.
    fn of(id: u32) -> Option<(String, Self)> {
        let map = MapHandle::from_map_id(id).ok()?;
        let MapInfo { info } = map.info().ok()?;
        // The kernel also sets the flag for device maps.
        let is_constant =
            map.map_type() == MapType::Array && info.map_flags & libbpf_sys::BPF_F_RDONLY_PROG != 0;
        let constants = match is_constant {
            true => Some(map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok()??),
            false => None,
        };
        let shape = Self {
            kind: map.map_type(),
            key_size: info.key_size,
            value_size: info.value_size,
            max_entries: info.max_entries,
            flags: info.map_flags,
            constants,
        };
        Some((map.name().to_str()?.to_owned(), shape))
    }
}

pub(crate) fn by_number(id: u32) -> Option<OwnedFd> {
    // SAFETY: a system call without pointers.
    let fd = unsafe { libbpf_sys::bpf_prog_get_fd_by_id(id) };
    // SAFETY: the kernel has just returned this descriptor, which has no other owner.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}
