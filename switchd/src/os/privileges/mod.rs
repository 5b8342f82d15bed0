//! Limits of the daemon's process, and thus of an attacker who exploits a bug in it. Under systemd the unit's sandbox is
//! added.
//!
//! Only [`restrict`] changes the user, since the kernel keeps users and capabilities for each thread: all threads inherit them
//! from the first one. No program is started later, so the capabilities need not be ambient.
//!
//! | from | limit |
//! |---|---|
//! | before the first other thread | [`restrict`]: another user, six capabilities, no new privileges, a list of refused system calls |
//! | the same, but for the [`Starter`] | five capabilities, without SYS_ADMIN; files by Landlock, where the kernel has it |
//! | before the dataplane's threads | [`end_start`]: the same for the starter's thread |
//! | once frames are forwarded | [`keep_running_calls`]: only the system calls of a running switch, in every thread |

mod calls;
mod files;
mod starter;

use std::collections::BTreeMap;

use caps::{CapSet, Capability, CapsHashSet};
use nix::sys::prctl;
use nix::unistd::{self, Uid};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use weir_doctor::NEEDED;

use super::user::User;

pub use calls::keep_running_calls;
pub use files::Files;
pub use starter::Starter;

/// System calls that the daemon never makes and that help an attacker: to start programs, access other processes, leave
/// namespaces or the root, or change the kernel, the clock, users or keys.
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

/// Needed to find programs by ID and to mount the BPF file system, both only at the start.
const OF_THE_START: Capability = Capability::CAP_SYS_ADMIN;

/// Reason for which privileges could not be given up.
#[derive(Debug, thiserror::Error)]
pub enum PrivilegesError {
    /// The kernel refused.
    #[error("cannot drop capabilities: {0}")]
    Capabilities(#[from] caps::errors::CapsError),
    /// The kernel lacks support.
    #[error("cannot set no_new_privs: {0}")]
    NoNewPrivileges(nix::errno::Errno),
    /// The kernel refused the user.
    #[error("cannot change to user {0}: {1}")]
    User(Uid, nix::errno::Errno),
    /// The filter cannot be created or installed.
    #[error("cannot install the system call filter: {0}")]
    Filter(String),
    /// Landlock exists but refuses the rules.
    #[error("cannot restrict access to files: {0}")]
    Files(#[from] landlock::RulesetError),
    /// The thread cannot be started, or has ended.
    #[error("cannot use the thread that starts the dataplane: {0}")]
    Starter(std::io::Error),
}

/// Changes to `user`, if any, and gives up unneeded privileges for this thread and all threads that it starts, and also
/// SYS_ADMIN and most files for all but the [`Starter`]. `changes_groups` keeps CAP_CHOWN, which is needed to change
/// the group of a socket.
///
/// # Errors
///
/// See [`PrivilegesError`]. Privileges given up before an error stay given up.
pub fn restrict(
    user: Option<User>,
    changes_groups: bool,
    files: &Files,
) -> Result<Starter, PrivilegesError> {
    let mut kept: CapsHashSet = NEEDED.into_iter().collect();
    if changes_groups {
        kept.insert(Capability::CAP_CHOWN);
    }
    bound(&kept)?;
    if let Some(user) = user {
        change_to(user).map_err(|error| PrivilegesError::User(user.uid, error))?;
    }
    keep(&kept)?;
    refuse_calls()?;
    let starter = Starter::begin()?;
    end_start(files)?;
    Ok(starter)
}

/// Gives up all capabilities, and all files but those that `files` permits: for the [reader](super::reader).
///
/// # Errors
///
/// See [`PrivilegesError`].
pub fn restrict_reader(files: &Files) -> Result<(), PrivilegesError> {
    let none = CapsHashSet::new();
    bound(&none)?;
    keep(&none)?;
    refuse_calls()?;
    files.restrict()
}

/// Limits the bounding set, as far as this process may. Before the other sets: changing it needs a capability that is
/// dropped with the others.
fn bound(kept: &CapsHashSet) -> Result<(), PrivilegesError> {
    if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP)? {
        for capability in caps::read(None, CapSet::Bounding)? {
            if capability == OF_THE_START || !kept.contains(&capability) {
                caps::drop(None, CapSet::Bounding, capability)?;
            }
        }
    }
    Ok(caps::clear(None, CapSet::Inheritable)?)
}

/// Changes user and group of this thread, which is the only one; the capabilities that it may have stay.
fn change_to(User { uid, gid }: User) -> nix::Result<()> {
    prctl::set_keepcaps(true)?;
    unistd::setgroups(&[])?;
    unistd::setresgid(gid, gid, gid)?;
    unistd::setresuid(uid, uid, uid)?;
    prctl::set_keepcaps(false)?;
    // Other processes of the user can neither trace it nor read its memory, and no file of its memory is left.
    prctl::set_dumpable(false)
}

fn refuse_calls() -> Result<(), PrivilegesError> {
    prctl::set_no_new_privs().map_err(PrivilegesError::NoNewPrivileges)?;
    let failed = |error: &dyn std::fmt::Display| PrivilegesError::Filter(error.to_string());
    let filter = filter().map_err(|error| failed(&error))?;
    seccompiler::apply_filter(&filter).map_err(|error| failed(&error))
}

/// Gives up SYS_ADMIN and all other files, for this thread and threads that it starts later. The thread of the [`Starter`]
/// calls this before it starts any other.
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

/// Keeps these capabilities as far as this thread may have them. A change of the user has cleared the effective ones.
fn keep(kept: &CapsHashSet) -> Result<(), PrivilegesError> {
    let permitted = caps::read(None, CapSet::Permitted)?;
    let left = permitted.intersection(kept).copied().collect();
    for set in [CapSet::Effective, CapSet::Permitted] {
        caps::set(None, set, &left)?;
    }
    Ok(())
}

/// Builds a filter that returns EPERM for [`REFUSED`], so that the daemon survives an accidental call.
fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let rules: BTreeMap<_, _> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture)?.try_into()
}

#[cfg(test)]
mod tests {
    /// @system-service lacks seccomp(2), without which the daemon does not start.
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
