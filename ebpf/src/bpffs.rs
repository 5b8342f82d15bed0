//! The BPF file system: where links and maps outlive a process.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use nix::fcntl::{open, OFlag};
use nix::mount::{mount, umount2, MntFlags, MsFlags};
use nix::sys::stat::Mode;
use nix::sys::statfs::{statfs, FsType, BPF_FS_MAGIC};

use crate::error::EbpfError;

/// Returns true if `path` is in a bpffs.
pub fn is_bpffs(path: &Path) -> bool {
    statfs(path).is_ok_and(|stat| stat.filesystem_type() == FsType(BPF_FS_MAGIC.0))
}

/// Mounts a bpffs at `path`, creating the directory if necessary; does nothing if one is mounted.
///
/// # Errors
///
/// When the directory cannot be created or the kernel refuses the mount, which requires CAP_SYS_ADMIN.
pub fn ensure_bpffs(path: &Path) -> Result<(), EbpfError> {
    let failed = |source| EbpfError::Mount {
        path: path.to_owned(),
        source,
    };
    fs::create_dir_all(path).map_err(failed)?;
    if is_bpffs(path) {
        return Ok(());
    }
    // Root mounts in a directory of the switch's user, whose links it must not follow.
    let only_here = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let place = open(path, only_here, Mode::empty()).map_err(|errno| failed(errno.into()))?;
    mount(
        Some("bpffs"),
        &*format!("/proc/self/fd/{}", place.as_raw_fd()),
        Some("bpf"),
        MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC,
        Some("mode=0700"),
    )
    .map_err(|errno| failed(errno.into()))
}

/// Unmounts the bpffs at `path` and removes the directory; does nothing if none is mounted.
///
/// # Errors
///
/// The kernel's error.
pub fn unmount_bpffs(path: &Path) -> Result<(), EbpfError> {
    if !is_bpffs(path) {
        return Ok(());
    }
    umount2(path, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW)
        .map_err(io::Error::from)
        .and_then(|()| fs::remove_dir(path))
        .map_err(|source| EbpfError::Mount {
            path: path.to_owned(),
            source,
        })
}

/// Removes the pins of a killed daemon in `pin_dir`, which detaches the program with its last reference. Returns true if
/// there were any.
///
/// # Errors
///
/// When a pin cannot be removed.
pub fn remove_stale(pin_dir: &Path) -> Result<bool, EbpfError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| EbpfError::Pin { path, source }
    };
    let entries = match fs::read_dir(pin_dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(failed(pin_dir)(error)),
    };
    let mut found = false;
    for entry in entries {
        let path = entry.map_err(failed(pin_dir))?.path();
        fs::remove_file(&path).map_err(failed(&path))?;
        found = true;
    }
    fs::remove_dir(pin_dir).map_err(failed(pin_dir))?;
    Ok(found)
}
