//! The user as whom a switch runs once it has started.
//!
//! The process starts as root, and changes to this user before its first other thread. It keeps the capabilities of a switch,
//! so kernels without Landlock also deny it access to root's files.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use caps::{CapSet, Capability};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, AT_FDCWD};
use nix::unistd::{self, AccessFlags, Gid, Uid};
use weir_config::files::directory_of;
use weir_doctor::FOR_ANOTHER_USER;

use crate::cli::Kept;

/// Name of the user by default.
pub const NAME: &str = "weir";
/// Number in place of a missing user [`NAME`], for labs and containers. systemd leaves 65520 to 65533 unused, and the range of
/// a container's users contains it.
const NUMBER: u32 = 65_523;
const ROOT: &str = "root";

/// User and group of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// Number of the user.
    pub uid: Uid,
    /// Number of the group, which is the group of the API's socket.
    pub gid: Gid,
}

/// Reason for which a switch keeps running as root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stays {
    /// The command line requires it.
    Asked,
    /// The process may not change its user, for lack of these capabilities.
    Lacks(Vec<Capability>),
    /// The switch before it ran as root, and its files are root's.
    Before,
    /// This user namespace has no user of that number.
    Unmapped(Uid),
    /// This directory would be out of reach.
    Unreachable(PathBuf),
}

impl fmt::Display for Stays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => write!(f, "the command line requires it"),
            Self::Lacks(missing) => {
                let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
                write!(f, "give the unit or the container {}", missing.join(" "))
            }
            Self::Before => write!(
                f,
                "the switch before it did; stop the service and start it again"
            ),
            Self::Unmapped(uid) => write!(f, "there is no user {uid} in this user namespace"),
            Self::Unreachable(directory) => write!(
                f,
                "another user cannot use {}; choose a `run-dir` below /run, and leave `api.socket` in it",
                directory.display()
            ),
        }
    }
}

/// Reason for which a switch must not start.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    /// The user of the command line does not exist.
    #[error("--user {0}: no such user; create it with `useradd --system {0}`, or name another")]
    Unknown(String),
    /// The database of users cannot be read.
    #[error("cannot look up user {0}: {1}")]
    Lookup(String, Errno),
    /// The file of a previous configuration does not belong to the switch that starts from it.
    #[error("{0}: the file does not belong to the run directory that it names")]
    Foreign(PathBuf),
    /// The user cannot be used, in most cases because the namespace has no such number.
    #[error("cannot act as user {0}")]
    Acting(Uid),
    /// The operating system refused.
    #[error("cannot stat {0}: {1}")]
    Stat(PathBuf, io::Error),
}

/// Returns the user of the name or number `name`; `None` for root. [`NAME`] need not exist.
///
/// # Errors
///
/// [`UserError::Unknown`] for any other missing name.
pub fn find(name: &str) -> Result<Option<User>, UserError> {
    let lookup = |error| UserError::Lookup(name.to_owned(), error);
    let known = match name.parse() {
        Ok(number) => unistd::User::from_uid(Uid::from_raw(number)),
        Err(_) => unistd::User::from_name(name),
    };
    let known = or_none(known)
        .map_err(lookup)?
        .map(|user| (user.uid, user.gid));
    let (uid, gid) = match (known, name.parse()) {
        (Some(known), _) => known,
        (None, Ok(number)) => (Uid::from_raw(number), Gid::from_raw(number)),
        (None, Err(_)) if name == NAME => (Uid::from_raw(NUMBER), Gid::from_raw(NUMBER)),
        (None, Err(_)) if name == ROOT => return Ok(None),
        (None, Err(_)) => return Err(UserError::Unknown(name.to_owned())),
    };
    // A unit's group is the group for the API's socket. Root's group may read files that others may not.
    let own = unistd::getegid();
    let gid = if own.as_raw() == 0 { gid } else { own };
    Ok((!uid.is_root()).then_some(User { uid, gid }))
}

/// Returns `None` for a system without a database of users or groups, such as a small container (getpwnam(3), Errors).
///
/// # Errors
///
/// Any other error.
pub fn or_none<T>(answer: nix::Result<Option<T>>) -> nix::Result<Option<T>> {
    match answer {
        Err(Errno::ENOENT | Errno::ESRCH | Errno::EBADF | Errno::EPERM) => Ok(None),
        answer => answer,
    }
}

/// Checks that this process can change to `user`.
fn may_change(user: User, has_keeper: bool) -> Result<User, Stays> {
    let has = caps::read(None, CapSet::Effective).unwrap_or_default();
    let missing = missing(&has, has_keeper);
    if !missing.is_empty() {
        return Err(Stays::Lacks(missing));
    }
    match acting_as(user.uid, || ()) {
        Ok(()) => Ok(user),
        Err(_) => Err(Stays::Unmapped(user.uid)),
    }
}

fn missing(has: &HashSet<Capability>, has_keeper: bool) -> Vec<Capability> {
    // Only a keeper signals a switch of another user.
    let is_needed = |it: &Capability| *it != Capability::CAP_KILL || has_keeper;
    let needed = FOR_ANOTHER_USER.into_iter().filter(is_needed);
    needed.filter(|it| !has.contains(it)).collect()
}

/// Returns the owner of `path`, which may be a link.
///
/// # Errors
///
/// The file system's error.
pub fn owner(path: &Path) -> io::Result<Uid> {
    std::fs::symlink_metadata(path).map(|found| Uid::from_raw(found.uid()))
}

/// Calls `work` with the rights of `uid` to files, so that links made by this user cannot redirect root. Other threads
/// are unaffected.
///
/// # Errors
///
/// [`UserError::Acting`].
pub fn acting_as<T>(uid: Uid, work: impl FnOnce() -> T) -> Result<T, UserError> {
    // Fails silently; an invalid number changes nothing and returns the one in force.
    let now = || unistd::setfsuid(Uid::from_raw(u32::MAX));
    let before = now();
    unistd::setfsuid(uid);
    let is_acting = now() == uid;
    let outcome = is_acting.then(work);
    unistd::setfsuid(before);
    outcome.ok_or(UserError::Acting(uid))
}

/// Checks that `user` can use the run directory, which will be its own, and the directory of the API's socket.
///
/// # Errors
///
/// [`Stays::Unreachable`].
pub fn reaches(user: User, run_dir: &Path, socket: &Path) -> Result<(), Stays> {
    let group = unistd::setfsgid(user.gid);
    let out_of_reach = acting_as(user.uid, || out_of_reach(run_dir, socket));
    unistd::setfsgid(group);
    match out_of_reach {
        Ok(None) => Ok(()),
        Ok(Some(directory)) => Err(Stays::Unreachable(directory)),
        Err(_) => Err(Stays::Unmapped(user.uid)),
    }
}

fn out_of_reach(run_dir: &Path, socket: &Path) -> Option<PathBuf> {
    let all = AccessFlags::R_OK | AccessFlags::W_OK | AccessFlags::X_OK;
    let of_socket = directory_of(socket);
    if std::fs::metadata(run_dir).is_err() {
        return Some(run_dir.to_owned());
    }
    // eaccess(3) asks for the real user instead, unless the program is set-user-ID.
    let may_use = || unistd::faccessat(AT_FDCWD, of_socket, all, AtFlags::AT_EACCESS).is_ok();
    let is_usable = of_socket == run_dir || may_use();
    (!is_usable).then(|| of_socket.to_owned())
}

/// Checks that `in_force`, from which a previous switch is started again, is a file of the run directory that it names.
/// A compromised switch could otherwise make root start from any file.
///
/// # Errors
///
/// [`UserError::Foreign`].
pub fn check_in_force(in_force: &Path, run_dir: &Path) -> Result<(), UserError> {
    let stat = |path: &Path| owner(path).map_err(|error| UserError::Stat(path.to_owned(), error));
    let is_of_it = in_force.parent() == Some(run_dir) && stat(in_force)? == stat(run_dir)?;
    match is_of_it {
        true => Ok(()),
        false => Err(UserError::Foreign(in_force.to_owned())),
    }
}

/// Returns the user to change to, or the reason to keep running as root; `None` if this process is not root.
///
/// A next switch takes the user of the previous one, to which the run directory belongs, so that each can start again
/// if the other fails.
///
/// # Errors
///
/// See [`UserError`].
pub fn choose(
    name: &str,
    run_dir: &Path,
    kept: Option<Kept>,
) -> Result<Option<Result<User, Stays>>, UserError> {
    if !unistd::geteuid().is_root() {
        return Ok(None);
    }
    let Some(user) = find(name)? else {
        return Ok(Some(Err(Stays::Asked)));
    };
    let replaces = matches!(kept, Some(Kept::Again | Kept::Next));
    if replaces && owner(run_dir).is_ok_and(Uid::is_root) {
        return Ok(Some(Err(Stays::Before)));
    }
    Ok(Some(may_change(user, kept.is_some())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_missing_user_is_refused_unless_it_is_the_default() {
        assert_eq!(find("root").unwrap(), None);
        assert_eq!(find("0").unwrap(), None);
        assert!(find(NAME).unwrap().is_some());
        let number = find("65529").unwrap().unwrap();
        assert_eq!(number.uid.as_raw(), 65_529);
        let refused = find("nobody-of-this-name").unwrap_err().to_string();
        assert!(refused.contains("useradd --system"), "{refused}");
    }

    #[test]
    fn a_system_without_a_database_has_no_such_user() {
        assert_eq!(or_none::<()>(Err(Errno::ENOENT)), Ok(None));
        assert_eq!(or_none::<()>(Err(Errno::EIO)), Err(Errno::EIO));
        assert_eq!(or_none(Ok(Some(7))), Ok(Some(7)));
    }

    #[test]
    fn missing_capabilities_are_named() {
        let mut has: HashSet<_> = FOR_ANOTHER_USER.into();
        assert_eq!(missing(&has, true), []);
        has.remove(&Capability::CAP_KILL);
        assert_eq!(missing(&has, false), []);
        assert_eq!(missing(&has, true), [Capability::CAP_KILL]);
        has.remove(&Capability::CAP_SETUID);
        let told = Stays::Lacks(missing(&has, true)).to_string();
        assert!(told.ends_with("CAP_SETUID CAP_KILL"), "{told}");
    }

    #[test]
    fn a_file_of_another_directory_is_not_started_from() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("in-force.toml");
        std::fs::write(&file, "").unwrap();
        check_in_force(&file, directory.path()).unwrap();
        let error = check_in_force(&file, Path::new("/")).unwrap_err();
        assert!(matches!(error, UserError::Foreign(_)), "{error}");
    }

    /// Needs root; without it, only this process's own user can be acted as.
    #[test]
    fn another_user_has_no_rights_of_root() {
        let own = unistd::geteuid();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("secret");
        std::fs::write(&file, "").unwrap();
        for (path, mode) in [(file.as_path(), 0o600), (directory.path(), 0o700)] {
            std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
        assert!(acting_as(own, || File::open(&file).is_ok()).unwrap());
        let other = User {
            uid: Uid::from_raw(NUMBER),
            gid: Gid::from_raw(NUMBER),
        };
        if !own.is_root() {
            assert!(acting_as(other.uid, || ()).is_err());
            return;
        }
        // It and its directory are root's alone.
        let opened = acting_as(other.uid, || File::open(&file).is_ok());
        assert!(!opened.unwrap());
        let socket = directory.path().join("api.sock");
        let refused = reaches(other, &directory.path().join("run"), &socket);
        assert!(matches!(refused, Err(Stays::Unreachable(_))), "{refused:?}");
        let refused = reaches(other, Path::new("/run"), &socket);
        assert_eq!(
            refused,
            Err(Stays::Unreachable(directory.path().to_owned()))
        );
        assert!(File::open(&file).is_ok(), "root's rights are back");
    }
}
