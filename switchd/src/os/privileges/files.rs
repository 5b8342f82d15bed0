//! Restricts access to files with Landlock.

use std::path::{Path, PathBuf};

use landlock::{
    path_beneath_rules, Access, AccessFs, AccessNet, BitFlags, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope, ABI,
};

use super::PrivilegesError;

/// Newest version of Landlock supported here. An older kernel applies the restrictions that it supports; without
/// Landlock, nothing is restricted.
const NEWEST: ABI = ABI::V6;
/// The kernel's own files, users and groups, time zones and random numbers.
const SYSTEM: [&str; 13] = [
    "/proc",
    "/sys",
    "/dev/null",
    "/dev/urandom",
    "/etc/group",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/share/zoneinfo",
];
/// Variable set by systemd for sd_notify(3).
const NOTIFY_SOCKET: &str = "NOTIFY_SOCKET";

/// Files that a running daemon needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// Directories that may be read.
    pub read: Vec<PathBuf>,
    /// Directories that may be changed.
    pub write: Vec<PathBuf>,
    /// Directories in which sockets may be created and removed.
    pub sockets: Vec<PathBuf>,
}

impl Files {
    /// Refuses all other files to this thread and to threads that it starts, and also TCP connections, and signals and
    /// abstract sockets to other processes.
    pub(super) fn restrict(&self) -> Result<(), PrivilegesError> {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let sockets = AccessFs::MakeSock | AccessFs::RemoveFile | AccessFs::ReadDir;
        let all = AccessFs::from_all(NEWEST) & !BitFlags::from(AccessFs::Execute);
        let mut scope: BitFlags<Scope> = Scope::Signal.into();
        if !std::env::var(NOTIFY_SOCKET).is_ok_and(|name| name.starts_with('@')) {
            scope |= Scope::AbstractUnixSocket;
        }
        let system = SYSTEM.map(Path::new);
        Ruleset::default()
            .handle_access(AccessFs::from_all(NEWEST))?
            .handle_access(AccessNet::ConnectTcp)?
            .scope(scope)?
            .create()?
            .add_rules(path_beneath_rules(system, read))?
            .add_rules(path_beneath_rules(&self.read, read))?
            .add_rules(path_beneath_rules(&self.write, all))?
            .add_rules(path_beneath_rules(&self.sockets, sockets))?
            .restrict_self()?;
        Ok(())
    }
}
