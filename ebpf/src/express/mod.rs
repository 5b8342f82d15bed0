//! The maps and words of the express path, which the programs of all ports share with the switch core.
//! `docs/src/internals/express.md` explains who writes each word, in which order, and why.

mod grace;
mod losses;
mod room;
mod words;

use std::os::fd::AsFd;

use libbpf_rs::libbpf_sys::{self, bpf_map_create_opts};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, OpenMapMut};
use weir_abi as abi;

use crate::error::{map_error, EbpfError};

pub use grace::grace_period;
pub use losses::RedirectLosses;
pub use room::can_look_for_room;
pub use words::ExpressWords;
pub(crate) use words::Region;

/// The maps. They live as long as a program or this value.
#[derive(Debug)]
pub struct ExpressMaps {
    mode: MapHandle,
    lines: MapHandle,
    flows: MapHandle,
    paths: MapHandle,
    routes: MapHandle,
    devices: MapHandle,
    /// If set, programs check for room in the device's ring, and leave this many of its entries free.
    pub(crate) spare: Option<u32>,
}

/// Shaper settings of an egress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Rate in bits per second, above zero.
    pub rate: u64,
    /// Burst after an idle time, in nanoseconds at the rate.
    pub burst_nanos: u64,
    /// Bytes between two frames.
    pub overhead_bytes: u64,
    /// True if a frame passes only when its device certainly has room, which requires a veth with one receive queue at its
    /// peer.
    pub is_sure: bool,
}

/// Entries of a device's ring left free for frames that the host itself sends between a program's check and the kernel's
/// redirect.
pub const SPARE: u32 = 48;

impl ExpressMaps {
    /// Creates the maps: the path is off, every egress closed, and there is no route.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`].
    pub fn new() -> Result<Self, EbpfError> {
        let words = |name, size: usize, count| {
            create(
                MapType::Array,
                name,
                [4, size as u32, count],
                libbpf_sys::BPF_F_MMAPABLE,
            )
        };
        let cpus = libbpf_rs::num_possible_cpus().map_err(map_error("weir_paths"))? as u32;
        let (routes, ports) = (abi::WEIR_ROUTES_MAX, abi::WEIR_PORTS_MAX);
        Ok(Self {
            mode: words("weir_mode", size_of::<abi::weir_mode>(), 1)?,
            lines: words("weir_lines", size_of::<abi::weir_line>(), ports)?,
            flows: words("weir_flows", size_of::<abi::weir_flow>(), abi::WEIR_FLOWS)?,
            paths: words(
                "weir_paths",
                size_of::<abi::weir_traffic>(),
                abi::WEIR_PATHS * cpus,
            )?,
            routes: create(
                MapType::Hash,
                "weir_routes",
                [8, 4, routes],
                libbpf_sys::BPF_F_NO_PREALLOC,
            )?,
            devices: create(MapType::Devmap, "weir_devices", [4, 4, ports], 0)?,
            spare: None,
        })
    }

    /// Makes programs loaded after this call check for room in a device's ring, for egresses that are [sure](Line::is_sure),
    /// and leave `spare` of its entries free; [`SPARE`] except in tests. Programs loaded without it pass all frames for such
    /// egresses to the core. For native mode only: the kernel does not report the fate of frames redirected in generic mode.
    pub fn look_for_room(&mut self, spare: u32) {
        self.spare = Some(spare);
    }

    /// Makes a program that is about to be loaded use the `shared` maps, or work without them.
    pub(crate) fn prepare(
        shared: Option<&Self>,
        words: [&mut OpenMapMut<'_>; 6],
    ) -> libbpf_rs::Result<()> {
        let Some(shared) = shared else {
            return words
                .into_iter()
                .try_for_each(|map| map.set_autocreate(false));
        };
        let own = [
            &shared.mode,
            &shared.lines,
            &shared.flows,
            &shared.paths,
            &shared.routes,
            &shared.devices,
        ];
        let mut both = words.into_iter().zip(own);
        both.try_for_each(|(map, shared)| map.reuse_fd(shared.as_fd()))
    }

    /// Sets the device that sends frames for `port`.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`], also for a device that does not accept redirected frames.
    pub fn set_device(&self, port: u8, ifindex: u32) -> Result<(), EbpfError> {
        let key = u32::from(port).to_ne_bytes();
        self.devices
            .update(&key, &ifindex.to_ne_bytes(), MapFlags::ANY)
            .map_err(map_error("weir_devices"))
    }

    /// Stops sending frames to `port`'s device.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`].
    pub fn clear_device(&self, port: u8) -> Result<(), EbpfError> {
        forget(
            &self.devices,
            "weir_devices",
            &u32::from(port).to_ne_bytes(),
        )
    }

    /// Sets the egress of all frames for `destination`.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`], also when there are too many routes.
    pub fn set_route(&self, destination: [u8; 6], egress: u8) -> Result<(), EbpfError> {
        let value = u32::from(egress).to_ne_bytes();
        self.routes
            .update(&route_key(destination), &value, MapFlags::ANY)
            .map_err(map_error("weir_routes"))
    }

    /// Leaves frames for `destination` to the core.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`].
    pub fn clear_route(&self, destination: [u8; 6]) -> Result<(), EbpfError> {
        forget(&self.routes, "weir_routes", &route_key(destination))
    }

    /// Maps the words into this process's memory.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`].
    pub fn words(&self) -> Result<ExpressWords, EbpfError> {
        Ok(ExpressWords {
            mode: Region::map(&self.mode, "weir_mode")?,
            lines: Region::map(&self.lines, "weir_lines")?,
            flows: Region::map(&self.flows, "weir_flows")?,
            paths: Region::map(&self.paths, "weir_paths")?,
        })
    }
}

fn route_key(destination: [u8; 6]) -> [u8; 8] {
    let mut key = [0; 8];
    key[..6].copy_from_slice(&destination);
    key
}

fn create(
    kind: MapType,
    name: &'static str,
    [key, value, count]: [u32; 3],
    flags: u32,
) -> Result<MapHandle, EbpfError> {
    let options = bpf_map_create_opts {
        sz: size_of::<bpf_map_create_opts>() as _,
        map_flags: flags,
        ..Default::default()
    };
    MapHandle::create(kind, Some(name), key, value, count, &options).map_err(map_error(name))
}

fn forget(map: &MapHandle, name: &'static str, key: &[u8]) -> Result<(), EbpfError> {
    match map.delete(key) {
        Err(error) if error.kind() != libbpf_rs::ErrorKind::NotFound => Err(map_error(name)(error)),
        _ => Ok(()),
    }
}
