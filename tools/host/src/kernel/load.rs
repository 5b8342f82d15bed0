//! Loads the programs and creates a queueing discipline from them.

use std::io;
use std::os::fd::AsFd as _;

use libbpf_rs::btf::types::Struct;
use libbpf_rs::btf::Btf;
use libbpf_rs::{Link, MapCore as _, MapFlags, MapType, Object, ObjectBuilder};

use super::{edge, maps};
use crate::error::Error;
use crate::settings::SIZE_BYTES;

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/weir_host.bpf.o"));
/// Size of a queueing discipline's name, with a NUL (linux/if.h: IFNAMSIZ).
const NAME_BYTES: usize = 16;
/// Prefix of this program's names.
pub const NAME_BEGINS: &str = "wh";

/// Loaded programs. The kernel frees them when this is dropped, unless a device refers to them by then.
#[derive(Debug)]
pub struct Loaded {
    object: Object,
    /// Registers the queueing discipline under its name while it lives.
    _link: Link,
    /// Name of the queueing discipline.
    pub kind: String,
}

/// Checks that this kernel supports queueing disciplines in BPF.
///
/// # Errors
///
/// Names the missing feature.
pub fn check(device: &str) -> Result<(), Error> {
    if OBJECT.is_empty() {
        return Err(Error::BuiltWithout);
    }
    let lacks = |missing| Error::Kernel {
        device: device.to_owned(),
        release: release(),
        missing,
    };
    let btf = Btf::from_vmlinux().map_err(|_| lacks("there is no /sys/kernel/btf/vmlinux"))?;
    let operations: Option<Struct<'_>> = btf.type_by_name("bpf_struct_ops_Qdisc_ops");
    match operations {
        Some(_) => Ok(()),
        None => Err(lacks("its BTF has no bpf_struct_ops_Qdisc_ops")),
    }
}

/// Returns the release of the running kernel.
fn release() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease");
    text.map_or_else(|_| "?".to_owned(), |text| text.trim().to_owned())
}

/// Returns the name of a device's queueing discipline, which must be unique across all network namespaces.
fn kind(device: &str, ifindex: u32) -> Result<String, Error> {
    use std::os::unix::fs::MetadataExt as _;
    let namespace = std::fs::metadata("/proc/thread-self/ns/net")
        .map_err(|error| Error::system(device, "its namespace", error))?;
    let kind = format!("{NAME_BEGINS}{:x}.{ifindex:x}", namespace.ino() as u32);
    if kind.len() >= NAME_BYTES {
        let error = io::Error::other(format!("{kind} is longer than {} bytes", NAME_BYTES - 1));
        return Err(Error::system(device, "naming its queue", error));
    }
    Ok(kind)
}

/// Loads the programs with these settings.
///
/// # Errors
///
/// When the kernel does not support them, or refuses.
pub fn load(device: &str, ifindex: u32, settings: &[u8; SIZE_BYTES]) -> Result<Loaded, Error> {
    check(device)?;
    let failed = |source: libbpf_rs::Error| match source.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => Error::system(
            device,
            "loading the programs",
            io::Error::from_raw_os_error(libc::EPERM),
        ),
        _ => Error::Load {
            device: device.to_owned(),
            source,
        },
    };
    let kind = kind(device, ifindex)?;
    let mut open = ObjectBuilder::default()
        .open_memory(OBJECT)
        .map_err(failed)?;
    for mut map in open.maps_mut() {
        if map.map_type() != MapType::StructOps {
            continue;
        }
        // The structure begins with the name.
        let value = map.initial_value_mut().unwrap_or_default();
        let name = kind.bytes().chain(std::iter::repeat(0));
        for (place, byte) in value.iter_mut().take(NAME_BYTES).zip(name) {
            *place = byte;
        }
    }
    let mut object = open.load().map_err(failed)?;
    let mut link = None;
    for mut map in object.maps_mut() {
        if maps::is_settings(&map) {
            map.update(&0u32.to_ne_bytes(), settings, MapFlags::ANY)
                .map_err(failed)?;
        }
        if map.map_type() == MapType::StructOps {
            link = Some(map.attach_struct_ops().map_err(failed)?);
        }
    }
    let link = link.ok_or(Error::BuiltWithout)?;
    Ok(Loaded {
        object,
        _link: link,
        kind,
    })
}

impl Loaded {
    /// Attaches the programs to both ends of a device.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn attach(&self, device: &str, ifindex: u32) -> Result<(), Error> {
        for (end, name) in maps::PROGRAMS {
            let mut programs = self.object.progs();
            let program = programs
                .find(|program| program.name() == name)
                .ok_or(Error::BuiltWithout)?;
            edge::attach(program.as_fd(), ifindex, end)
                .map_err(|error| Error::system(device, "attaching a program", error))?;
        }
        Ok(())
    }
}
