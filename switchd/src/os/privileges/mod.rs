//! Limits of the daemon's process: a bug that an attacker makes use of gives no more than this. Under systemd the unit's
//! sandbox comes on top of it.
//!
//! | from | limit |
//! |---|---|
//! | before the first other thread | [`restrict`]: six capabilities, no new privileges, a list of refused system calls |
//! | the same, but for the [`Starter`] | five capabilities, without SYS_ADMIN; files by Landlock, where the kernel has it |
//! | before the dataplane's threads | [`end_start`]: the same for the starter's thread |
//! | once frames are forwarded | [`keep_running_calls`]: only the system calls of a running switch, in every thread |

mod calls;
mod files;
mod starter;

use std::collections::BTreeMap;

use caps::{CapSet, Capability, CapsHashSet};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use weir_doctor::NEEDED;

pub use calls::keep_running_calls;
pub use files::Files;
pub use starter::Starter;

/// System calls that no part of the daemon makes, and that help whoever has taken it over: to start programs, to
/// reach into other processes, to leave its namespaces and its root, to change the kernel, the clock, users or keys.
const REFUSED: [libc::c_long; 36] = [
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_open_by_handle_at,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    libc::SYS_userfaultfd,
];

/// Finds programs by their numbers and mounts the BPF file system: both only at the start.
const OF_THE_START: Capability = Capability::CAP_SYS_ADMIN;

/// Why privileges could not be given up.
#[derive(Debug, thiserror::Error)]
pub enum PrivilegesError {
    /// The kernel refuses.
    #[error("cannot drop capabilities: {0}")]
    Capabilities(#[from] caps::errors::CapsError),
    /// The kernel knows no such thing.
    #[error("cannot set no_new_privs: {0}")]
    NoNewPrivileges(#[from] nix::errno::Errno),
    /// The filter cannot be made or is not taken.
    #[error("cannot install the system call filter: {0}")]
    Filter(String),
    /// Landlock is there and takes no rules.
    #[error("cannot restrict access to files: {0}")]
    Files(#[from] landlock::RulesetError),
    /// There can be no thread, or it has ended.
    #[error("cannot use the thread that starts the dataplane: {0}")]
    Starter(std::io::Error),
}

/// Gives up what is not needed, for this thread and all that it starts, and SYS_ADMIN and most files beside that for all but
/// the [`Starter`]. `changes_groups` keeps CAP_CHOWN, with which a socket is given to a group.
///
/// # Errors
///
/// See [`PrivilegesError`]. What was given up before stays given up.
pub fn restrict(changes_groups: bool, files: &Files) -> Result<Starter, PrivilegesError> {
    let mut kept: CapsHashSet = NEEDED.into_iter().collect();
    if changes_groups {
        kept.insert(Capability::CAP_CHOWN);
    }
    // The bounding set first: to change it takes a capability that is dropped with the others.
    if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP)? {
        for capability in caps::read(None, CapSet::Bounding)? {
            if capability == OF_THE_START || !kept.contains(&capability) {
                caps::drop(None, CapSet::Bounding, capability)?;
            }
        }
    }
    caps::clear(None, CapSet::Inheritable)?;
    keep(&kept)?;
    nix::sys::prctl::set_no_new_privs()?;
    let failed = |error: &dyn std::fmt::Display| PrivilegesError::Filter(error.to_string());
    seccompiler::apply_filter(&filter().map_err(|error| failed(&error))?)
        .map_err(|error| failed(&error))?;
    let starter = Starter::begin()?;
    end_start(files)?;
    Ok(starter)
}

/// Gives up SYS_ADMIN, and all files but these, for this thread and those that it starts from now on. The thread of the
/// [`Starter`] calls this before it starts any other.
///
/// # Errors
///
/// See [`PrivilegesError`].
pub fn end_start(files: &Files) -> Result<(), PrivilegesError> {
    let mut kept = caps::read(None, CapSet::Permitted)?;
    kept.remove(&OF_THE_START);
    keep(&kept)?;
    files.restrict()
}

fn keep(kept: &CapsHashSet) -> Result<(), PrivilegesError> {
    for set in [CapSet::Effective, CapSet::Permitted] {
        let left = caps::read(None, set)?.intersection(kept).copied().collect();
        caps::set(None, set, &left)?;
    }
    Ok(())
}

/// EPERM for [`REFUSED`]; a daemon that is asked for one of them by mistake goes on.
fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let rules: BTreeMap<_, _> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture)?.try_into()
}

#[cfg(test)]
mod tests {
    /// @system-service does not have seccomp(2), and without it the daemon does not start.
    #[test]
    fn the_units_let_the_filter_be_installed() {
        for unit in [
            include_str!("../../../../packaging/systemd/weir-switchd.service"),
            include_str!("../../../../packaging/systemd/weir-switchd@.service"),
        ] {
            let allowed = unit
                .lines()
                .find_map(|line| line.strip_prefix("SystemCallFilter="));
            assert!(allowed.unwrap().split(' ').any(|call| call == "seccomp"));
        }
    }
}
