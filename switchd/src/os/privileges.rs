//! What the daemon's process may do at most, from before its first thread on: a bug that is made use of gives
//! no more than this. Under systemd the unit's sandbox comes on top of it.

use std::collections::BTreeMap;

use caps::{CapSet, Capability, CapsHashSet};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use weir_doctor::NEEDED;

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
}

/// Gives up what is not needed, for this thread and all that it starts. `changes_groups` keeps CAP_CHOWN, with which a
/// socket is given to a group.
///
/// # Errors
///
/// See [`PrivilegesError`]. What was given up before stays given up.
pub fn restrict(changes_groups: bool) -> Result<(), PrivilegesError> {
    let mut kept: CapsHashSet = NEEDED.into_iter().collect();
    if changes_groups {
        kept.insert(Capability::CAP_CHOWN);
    }
    // The bounding set first: to change it takes a capability that goes with the others.
    if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP)? {
        for capability in caps::read(None, CapSet::Bounding)?.difference(&kept) {
            caps::drop(None, CapSet::Bounding, *capability)?;
        }
    }
    caps::clear(None, CapSet::Inheritable)?;
    for set in [CapSet::Effective, CapSet::Permitted] {
        let had = caps::read(None, set)?;
        let left = had.intersection(&kept).copied().collect();
        caps::set(None, set, &left)?;
    }
    nix::sys::prctl::set_no_new_privs()?;
    let failed = |error: &dyn std::fmt::Display| PrivilegesError::Filter(error.to_string());
    seccompiler::apply_filter(&filter().map_err(|error| failed(&error))?)
        .map_err(|error| failed(&error))
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
    use super::*;
    use std::process::Command;

    /// @system-service does not have seccomp(2), and without it the daemon does not start.
    #[test]
    fn the_units_let_the_filter_be_installed() {
        for unit in [
            include_str!("../../../packaging/systemd/weir-switchd.service"),
            include_str!("../../../packaging/systemd/weir-switchd@.service"),
        ] {
            let allowed = unit
                .lines()
                .find_map(|line| line.strip_prefix("SystemCallFilter="));
            assert!(allowed.unwrap().split(' ').any(|call| call == "seccomp"));
        }
    }

    /// In a thread of its own: what is given up does not come back.
    #[test]
    #[ignore = "needs root"]
    fn what_is_given_up_is_gone_and_the_rest_works() {
        let before = Command::new("true").status().unwrap();
        assert!(before.success());
        std::thread::spawn(|| {
            restrict(false).unwrap();
            for set in [CapSet::Effective, CapSet::Permitted, CapSet::Bounding] {
                let left = caps::read(None, set).unwrap();
                let more: Vec<_> = left.iter().filter(|cap| !NEEDED.contains(cap)).collect();
                assert!(more.is_empty(), "{set:?}: {more:?}");
            }
            assert!(nix::sys::prctl::get_no_new_privs().unwrap());
            let refused = Command::new("true").status().unwrap_err();
            assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
            // A thread that is started later has no more.
            let inherited = std::thread::spawn(|| Command::new("true").status().is_err());
            assert!(inherited.join().unwrap());
            assert!(std::fs::read("/proc/self/status").is_ok());
        })
        .join()
        .unwrap();
    }
}
