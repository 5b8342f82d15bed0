//! One port's instance of the XDP program.

use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use libbpf_rs::libbpf_sys;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{MapCore, MapFlags, MapHandle, OpenObject};
use nix::errno::Errno;

use crate::bpffs::remove_stale;
use crate::counters::{ClassCounters, VerdictCounters};
use crate::error::{map_error, EbpfError};
use crate::express::ExpressMaps;
use crate::kernel::device::attached_mode;
use crate::kernel::refusal::VerifierLog;
use crate::maps::{Counted, PortMaps};
use crate::settings::PortSettings;
use crate::slots::SlotWords;
use crate::twin::{self, Identity};

#[allow(missing_docs, clippy::all, clippy::undocumented_unsafe_blocks)]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/weir_xdp.skel.rs"));
}

const NAME: &str = "the XDP program";

/// Time for the kernel to release a link, which takes an RCU grace period. It starts after its last pin was removed, or
/// after its process was killed and its pins were removed with their mount.
const RELEASE_WAIT: Duration = Duration::from_secs(5);

/// Requested mode of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachMode {
    /// Native, or generic if the driver has no XDP.
    Auto,
    /// In the driver, or not at all.
    Native,
    /// In the network stack, after the driver: slower, but works with every device.
    Generic,
}

/// Actual mode of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachedMode {
    /// In the driver.
    Native,
    /// In the network stack.
    Generic,
}

impl AttachedMode {
    /// Returns the name in JSON and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Generic => "generic",
        }
    }

    /// `XDP_FLAGS_DRV_MODE` or `XDP_FLAGS_SKB_MODE` of linux/if_link.h.
    const fn flags(self) -> u32 {
        match self {
            Self::Native => 1 << 2,
            Self::Generic => 1 << 1,
        }
    }
}

/// Optional parts of a port's program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras<'a> {
    /// The express path, over maps shared with the programs of other ports.
    pub express: Option<&'a ExpressMaps>,
    /// Reads the arrival time of each frame from this device ([`HardwareTime`](crate::HardwareTime)). The program then works
    /// with this device only, and not in generic mode.
    pub hardware_time_of: Option<u32>,
    /// Reserves slots of the RX rings for frames with a credit, controlled by [`SlotWords`].
    pub keeps_slots: bool,
}

/// A loaded program with its maps. It stays attached as long as this value lives or its link is pinned.
#[derive(Debug)]
pub struct PortProgram {
    pub(crate) program: OwnedFd,
    maps: PortMaps,
    /// Counts from before this value owned the maps, or before a reset. Running programs keep counting, so counters cannot
    /// be zeroed.
    before: Counted,
    shares_maps: bool,
    link: Option<OwnedFd>,
    pin_dir: Option<PathBuf>,
}

impl PortProgram {
    /// Loads the program and its maps into the kernel.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Refused`] by the verifier; [`EbpfError::Load`] for other errors of the kernel.
    pub fn load(settings: &PortSettings) -> Result<Self, EbpfError> {
        Self::load_with(settings, &Extras::default())
    }

    /// Like [`load`](Self::load), with optional parts.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load), and [`EbpfError::HardwareTime`] when the kernel or the device's driver does not
    /// support it.
    pub fn load_with(settings: &PortSettings, extras: &Extras<'_>) -> Result<Self, EbpfError> {
        let failed = |error| EbpfError::load(NAME, &error);
        let shared = extras.express;
        let mut storage = MaybeUninit::<OpenObject>::uninit();
        let mut open = skeleton::WeirXdpSkelBuilder::default()
            .open(&mut storage)
            .map_err(failed)?;
        if let (Some(shared), Some(constants)) = (shared, &mut open.maps.rodata_data) {
            constants.weir_has_express = 1;
            if let Some(spare) = shared.spare {
                constants.weir_has_room = 1;
                constants.weir_room_spare = spare;
            }
        }
        if let (true, Some(constants)) = (extras.keeps_slots, &mut open.maps.rodata_data) {
            constants.weir_has_slots = 1;
        }
        let maps = &mut open.maps;
        maps.weir_slots
            .set_autocreate(extras.keeps_slots)
            .map_err(failed)?;
        ExpressMaps::prepare(
            shared,
            [
                &mut maps.weir_mode,
                &mut maps.weir_lines,
                &mut maps.weir_flows,
                &mut maps.weir_paths,
                &mut maps.weir_routes,
                &mut maps.weir_devices,
            ],
        )
        .map_err(failed)?;
        let bound = extras.hardware_time_of;
        open.progs.weir_xdp.set_autoload(bound.is_none());
        open.progs.weir_xdp_bound.set_autoload(bound.is_some());
        if let Some(ifindex) = bound {
            open.progs.weir_xdp_bound.set_ifindex(ifindex);
            open.progs
                .weir_xdp_bound
                .set_flags(libbpf_sys::BPF_F_XDP_DEV_BOUND_ONLY | libbpf_sys::BPF_F_XDP_HAS_FRAGS);
        }
        let log = VerifierLog::of(
            NAME,
            match bound {
                Some(_) => &open.progs.weir_xdp_bound,
                None => &open.progs.weir_xdp,
            },
        );
        let loaded = open.load().map_err(|error| {
            let refused = log.explain(&error);
            match bound {
                Some(_) => EbpfError::HardwareTime(Box::new(refused)),
                None => refused,
            }
        })?;
        let duplicate = |map: &libbpf_rs::Map<'_>| MapHandle::try_from(map).map_err(failed);
        let program = match bound {
            Some(_) => &loaded.progs.weir_xdp_bound,
            None => &loaded.progs.weir_xdp,
        };
        let program = program
            .as_fd()
            .try_clone_to_owned()
            .map_err(|error| failed(error.into()))?;
        let port = Self {
            program,
            maps: PortMaps {
                xsks: duplicate(&loaded.maps.weir_xsks)?,
                settings: duplicate(&loaded.maps.weir_settings)?,
                traffic: duplicate(&loaded.maps.weir_traffic)?,
                verdicts: duplicate(&loaded.maps.weir_verdicts)?,
                slots: match extras.keeps_slots {
                    true => Some(duplicate(&loaded.maps.weir_slots)?),
                    false => None,
                },
            },
            before: Counted::default(),
            shares_maps: shared.is_some(),
            link: None,
            pin_dir: None,
        };
        port.update_settings(settings)?;
        Ok(port)
    }

    /// Changes the settings; they apply to later frames.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`].
    pub fn update_settings(&self, settings: &PortSettings) -> Result<(), EbpfError> {
        self.maps.set_settings(&settings.to_map_value())
    }

    /// Sends frames of receive queue `queue` to this AF_XDP socket. The kernel removes it when the socket is closed.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`], also for a queue from [`QUEUES_MAX`](crate::QUEUES_MAX) on.
    pub fn set_socket(&self, queue: u32, socket: BorrowedFd<'_>) -> Result<(), EbpfError> {
        self.maps
            .xsks
            .update(
                &queue.to_ne_bytes(),
                &socket.as_raw_fd().to_ne_bytes(),
                MapFlags::ANY,
            )
            .map_err(map_error("weir_xsks"))
    }

    /// Returns the words of a receive queue, if the program [keeps slots](Extras::keeps_slots).
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`].
    pub fn slot_words(&self, queue: u32) -> Result<Option<SlotWords>, EbpfError> {
        let slots = self.maps.slots.as_ref();
        slots.map(|map| SlotWords::map(map, queue)).transpose()
    }

    /// Stops sending frames to sockets: the fallback applies, and is counted. The kernel itself would remove a socket only
    /// when it is closed, which is slow.
    pub fn forget_sockets(&self) {
        for queue in 0..crate::QUEUES_MAX {
            // Most queues have no socket.
            let _ = self.maps.xsks.delete(&queue.to_ne_bytes());
        }
    }

    /// Attaches the program to a device by a link. With `pin_dir` (in a bpffs; its contents are removed), the link and the
    /// maps are pinned as `link`, `xsks`, `settings`, `traffic` and `verdicts`.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Busy`] when another program is attached, [`EbpfError::Attach`] when the device refuses,
    /// [`EbpfError::Pin`].
    pub fn attach(
        &mut self,
        ifindex: u32,
        mode: AttachMode,
        pin_dir: Option<&Path>,
    ) -> Result<AttachedMode, EbpfError> {
        // The previous switch may have left its program attached. The same program stays; another one is replaced through
        // its link. Both save the device two resets.
        if let Some(attached) = pin_dir.and_then(|dir| self.stay(dir, ifindex, mode)) {
            return Ok(attached);
        }
        let taken = pin_dir.and_then(|dir| self.take_over(dir, ifindex, mode));
        if let Some(dir) = pin_dir {
            remove_stale(dir)?;
        }
        let link = |mode| self.link_within(ifindex, mode);
        let (link, attached) = match (taken, mode) {
            (Some(taken), _) => taken,
            (None, AttachMode::Native) => (link(AttachedMode::Native)?, AttachedMode::Native),
            (None, AttachMode::Generic) => (link(AttachedMode::Generic)?, AttachedMode::Generic),
            (None, AttachMode::Auto) => match link(AttachedMode::Native) {
                Ok(link) => (link, AttachedMode::Native),
                Err(EbpfError::Attach { .. }) => {
                    (link(AttachedMode::Generic)?, AttachedMode::Generic)
                }
                Err(error) => return Err(error),
            },
        };
        if let Some(dir) = pin_dir {
            self.pin(dir, &link)?;
            self.pin_dir = Some(dir.to_owned());
        }
        self.link = Some(link);
        Ok(attached)
    }

    /// Detaches the program and attaches it in another mode. Keeps sockets and counters.
    ///
    /// # Errors
    ///
    /// Those of [`attach`](Self::attach); the program may then be detached.
    pub fn attach_again(&mut self, ifindex: u32, mode: AttachedMode) -> Result<(), EbpfError> {
        self.unlink();
        let link = self.link_within(ifindex, mode)?;
        if let Some(dir) = self.pin_dir.clone() {
            remove_stale(&dir)?;
            self.pin(&dir, &link)?;
        }
        self.link = Some(link);
        Ok(())
    }

    /// Unlinks at once; otherwise a link is removed some time after its pin. A failure, for example because the device is
    /// gone, leaves it to that.
    fn unlink(&mut self) {
        if let Some(link) = self.link.take() {
            // SAFETY: a system call on a descriptor that lives until the end of this block.
            let _ = unsafe { libbpf_sys::bpf_link_detach(link.as_raw_fd()) };
        }
    }

    /// Removes the pins and detaches the program.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Pin`]; the program may then stay attached.
    pub fn detach(mut self) -> Result<(), EbpfError> {
        self.unlink();
        if let Some(dir) = self.pin_dir.take() {
            remove_stale(&dir)?;
        }
        Ok(())
    }

    /// Returns the frames and bytes that the program saw, by class and priority.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`].
    pub fn class_counters(&self) -> Result<ClassCounters, EbpfError> {
        Ok(self.maps.class_counters()?.since(&self.before.traffic))
    }

    /// Returns the frames by verdict.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`].
    pub fn verdict_counters(&self) -> Result<VerdictCounters, EbpfError> {
        Ok(self.maps.verdict_counters()?.since(&self.before.verdicts))
    }

    /// Resets the counts of verdicts.
    ///
    /// # Errors
    ///
    /// [`EbpfError::Map`].
    pub fn forget_counters(&mut self) -> Result<(), EbpfError> {
        self.before.verdicts = self.maps.verdict_counters()?;
        Ok(())
    }

    fn link_within(&self, ifindex: u32, mode: AttachedMode) -> Result<OwnedFd, EbpfError> {
        let began = Instant::now();
        loop {
            match self.link(ifindex, mode) {
                Err(EbpfError::Busy { .. }) if began.elapsed() < RELEASE_WAIT => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                outcome => return outcome,
            }
        }
    }

    /// Adopts the attached program and its maps, if a pinned link has attached the same program to this device in `mode`;
    /// the device is then unchanged. Only if the maps belong to one port and are all pinned.
    fn stay(&mut self, dir: &Path, ifindex: u32, mode: AttachMode) -> Option<AttachedMode> {
        let (link, attached) = pinned_link(dir, ifindex, mode)?;
        let program = twin::by_number(link_info(link.as_fd())?.prog_id)?;
        let (there, ours) = (
            Identity::of(program.as_fd())?,
            Identity::of(self.program.as_fd())?,
        );
        let maps = PortMaps::pinned(dir)?;
        let is_own = !self.shares_maps && self.maps.slots.is_none();
        if !is_own || !there.has(&maps.ids()?) || !there.is_twin_of(&ours) {
            return None;
        }
        let before = maps.counted().ok()?;
        maps.set_settings(&self.maps.get_settings()?).ok()?;
        (self.program, self.maps, self.before) = (program, maps, before);
        (self.link, self.pin_dir) = (Some(link), Some(dir.to_owned()));
        Some(attached)
    }

    /// Replaces the program that a pinned link has attached to this device in `mode`. Returns `None` if there is none, or
    /// the kernel refuses; then the program is attached as usual.
    fn take_over(
        &self,
        dir: &Path,
        ifindex: u32,
        mode: AttachMode,
    ) -> Option<(OwnedFd, AttachedMode)> {
        let (link, attached) = pinned_link(dir, ifindex, mode)?;
        let (link_fd, program) = (link.as_raw_fd(), self.program.as_raw_fd());
        // SAFETY: both descriptors outlive the call, and there are no options.
        let result = unsafe { libbpf_sys::bpf_link_update(link_fd, program, std::ptr::null()) };
        (result == 0).then_some((link, attached))
    }

    fn link(&self, ifindex: u32, mode: AttachedMode) -> Result<OwnedFd, EbpfError> {
        let options = libbpf_sys::bpf_link_create_opts {
            sz: size_of::<libbpf_sys::bpf_link_create_opts>() as _,
            flags: mode.flags(),
            ..Default::default()
        };
        // SAFETY: the program's descriptor is open, and the options outlive the call and contain their own size.
        let fd = unsafe {
            libbpf_sys::bpf_link_create(
                self.program.as_raw_fd(),
                ifindex as i32,
                libbpf_sys::BPF_XDP,
                &options,
            )
        };
        if fd >= 0 {
            // SAFETY: the kernel has just returned this descriptor, which has no other owner.
            return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
        }
        let source = io::Error::from_raw_os_error(-fd);
        Err(match source.raw_os_error() {
            // EEXIST: attached in another mode.
            Some(code) if [Errno::EBUSY as i32, Errno::EEXIST as i32].contains(&code) => {
                EbpfError::Busy { ifindex }
            }
            _ => EbpfError::Attach {
                ifindex,
                mode: mode.name(),
                source,
            },
        })
    }

    fn pin(&self, dir: &Path, link: &OwnedFd) -> Result<(), EbpfError> {
        fs::create_dir_all(dir).map_err(|source| EbpfError::Pin {
            path: dir.to_owned(),
            source,
        })?;
        pin_one(&dir.join("link"), link.as_fd())?;
        for (name, map) in self.maps.by_pin() {
            pin_one(&dir.join(name), map)?;
        }
        Ok(())
    }
}

fn pin_one(path: &Path, fd: BorrowedFd<'_>) -> Result<(), EbpfError> {
    let failed = |source| EbpfError::Pin {
        path: path.to_owned(),
        source,
    };
    let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes())
        .map_err(|_| failed(io::ErrorKind::InvalidInput.into()))?;
    // SAFETY: the descriptor is open and the path is a C string; the kernel keeps neither.
    let result = unsafe { libbpf_sys::bpf_obj_pin(fd.as_raw_fd(), name.as_ptr()) };
    if result < 0 {
        return Err(failed(io::Error::from_raw_os_error(-result)));
    }
    Ok(())
}

fn pinned(path: &Path) -> Option<OwnedFd> {
    let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).ok()?;
    // SAFETY: the path is a C string that outlives the call.
    let fd = unsafe { libbpf_sys::bpf_obj_get(name.as_ptr()) };
    // SAFETY: the kernel has just returned this descriptor, which has no other owner.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Returns the index of the device to which the link pinned in `pin_dir` has attached a program.
pub fn pinned_device(pin_dir: &Path) -> Option<u32> {
    link_device(pinned(&pin_dir.join("link"))?.as_fd())
}

/// Returns the number of the program whose link is pinned in `pin_dir`. Unlike an index of a device, no other network namespace
/// has it.
pub fn pinned_program(pin_dir: &Path) -> Option<u32> {
    let link = pinned(&pin_dir.join("link"))?;
    Some(link_info(link.as_fd())?.prog_id)
}

/// Returns the link pinned in `pin_dir`, if it has attached a program to this device in `mode`.
fn pinned_link(pin_dir: &Path, ifindex: u32, mode: AttachMode) -> Option<(OwnedFd, AttachedMode)> {
    let link = pinned(&pin_dir.join("link"))?;
    let attached = attached_mode(ifindex)?;
    let is_wanted = match mode {
        AttachMode::Auto | AttachMode::Native => attached == AttachedMode::Native,
        AttachMode::Generic => attached == AttachedMode::Generic,
    };
    (is_wanted && link_device(link.as_fd())? == ifindex).then_some((link, attached))
}

/// Returns the device that an XDP link is attached to; zero when it is gone.
fn link_device(link: BorrowedFd<'_>) -> Option<u32> {
    // SAFETY: the kernel has filled in the fields of this type; any bytes are a valid integer.
    Some(unsafe { link_info(link)?.__bindgen_anon_1.xdp.ifindex })
}

fn link_info(link: BorrowedFd<'_>) -> Option<libbpf_sys::bpf_link_info> {
    let mut info = libbpf_sys::bpf_link_info::default();
    let mut length = size_of_val(&info) as u32;
    // SAFETY: the descriptor is open, and the buffer has `length` bytes.
    let result = unsafe {
        libbpf_sys::bpf_link_get_info_by_fd(link.as_raw_fd(), &raw mut info, &raw mut length)
    };
    let is_xdp = result == 0 && info.type_ == libbpf_sys::BPF_LINK_TYPE_XDP;
    is_xdp.then_some(info)
}
