//! The run directory: its lock, and the BPF file system mounted in it.
//!
//! A killed daemon leaves its directory, lock file, socket and mount behind, while the kernel releases its lock. The next
//! daemon takes all of them over.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{lchown, DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, Flock, FlockArg};
use nix::sys::statfs::{fstatfs, BPF_FS_MAGIC};
use nix::unistd::{fchownat, Uid};
use weir_dataplane::{BPF_NAME, LOCK_NAME};
use weir_ebpf::{ensure_bpffs, is_bpffs, remove_stale, unmount_bpffs, EbpfError};

use super::user::{self, User, UserError};

/// Permission to write for the group or for all.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Makes the run directory `path` with its BPF file system, unless they exist, and gives both to `user`. Without a user, they
/// stay this process's. A daemon that will start in a separate mount namespace has this done before, so that its pins
/// outlive it.
///
/// # Errors
///
/// [`RunDirError::InUse`] while another process holds a directory that is to be given away. Without CAP_SYS_ADMIN, or on a
/// kernel without BPF.
pub fn prepare(path: &Path, user: Option<User>) -> Result<(), RunDirError> {
    let owner = make(path, user)?;
    let bpf = path.join(BPF_NAME);
    let Some(user) = user else {
        return Ok(ensure_bpffs(&bpf)?);
    };
    if owner == user.uid {
        // The user could have placed links there.
        user::acting_as(owner, || ensure_bpffs(&bpf))??;
        return give_mount(&bpf, user).map_err(failed("chown", &bpf));
    }
    // A switch that runs as root may not be able to write in the directory of another user.
    let lock = lock_file(path, &path.join(LOCK_NAME))?;
    ensure_bpffs(&bpf)?;
    let given = give(path, user).map_err(failed("chown", path));
    drop(lock);
    given
}

/// Gives the directory `path` of root, and everything in it, to `user`. The directory is last, so that its new owner cannot
/// exchange files meanwhile, and an interrupted change is completed by the next.
///
/// # Errors
///
/// The file system's error.
pub fn give(path: &Path, user: User) -> io::Result<()> {
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => give(&entry.path(), user)?,
            false => give_one(&entry.path(), user)?,
        }
    }
    give_one(path, user)
}

fn give_one(path: &Path, User { uid, gid }: User) -> io::Result<()> {
    match lchown(path, Some(uid.as_raw()), Some(gid.as_raw())) {
        // A mount's files of the kernel (progs.debug, maps.debug) may come and go.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

/// Gives the mounted BPF file system to `user`. Before Linux 6.10 root owns it, regardless of the user who
/// mounted it.
fn give_mount(path: &Path, user: User) -> io::Result<()> {
    // The directory itself, and not the target of a link.
    let mounted = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW)
        .open(path)?;
    let is_mount = fstatfs(&mounted)?.filesystem_type() == BPF_FS_MAGIC;
    if mounted.metadata()?.uid() == user.uid.as_raw() || !is_mount {
        return Ok(());
    }
    let itself = AtFlags::AT_EMPTY_PATH;
    Ok(fchownat(
        &mounted,
        "",
        Some(user.uid),
        Some(user.gid),
        itself,
    )?)
}

/// A run directory that this process owns until [`release`](Self::release).
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    lock: Flock<File>,
}

/// Reason for which the run directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RunDirError {
    /// Another daemon uses it.
    #[error(
        "{path} is in use by another weir-switchd, process {pid}: stop it, or configure a different run directory"
    )]
    InUse {
        /// The directory.
        path: PathBuf,
        /// Process ID of the other daemon, or `unknown`.
        pid: String,
    },
    /// Another user could place files in it.
    #[error("run directory {path}: {reason}; remove it, or configure a different one")]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// The BPF file system cannot be mounted or unmounted.
    #[error(transparent)]
    Bpf(#[from] EbpfError),
    /// The switch's user cannot be used.
    #[error(transparent)]
    User(#[from] UserError),
    /// The operating system refused an operation.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// The operation.
        action: &'static str,
        /// Its object.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
}

impl RunDir {
    /// Creates the directory (mode 0755) and locks it for this process.
    ///
    /// # Errors
    ///
    /// [`RunDirError::InUse`] while another process holds the lock.
    pub fn take(path: &Path) -> Result<Self, RunDirError> {
        make(path, None)?;
        let lock_path = path.join(LOCK_NAME);
        let mut lock = lock_file(path, &lock_path)?;
        let write = failed("write", &lock_path);
        let mut text = String::new();
        // A lock file that is not text was not written by a switch.
        if lock.read_to_string(&mut text).is_ok() && !text.trim().is_empty() {
            tracing::warn!(
                run_dir = %path.display(),
                pid = text.trim(),
                "taking over the run directory of a daemon that ended without cleaning up"
            );
        }
        lock.rewind()
            .and_then(|()| lock.set_len(0))
            .and_then(|()| writeln!(*lock, "{}", std::process::id()))
            .map_err(write)?;
        Ok(Self {
            path: path.to_owned(),
            lock,
        })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the mount point of the BPF file system.
    pub fn bpf_path(&self) -> PathBuf {
        self.path.join(BPF_NAME)
    }

    /// Mounts the BPF file system, unless it is mounted. A service manager may have done so, outside this process's mount
    /// namespace.
    ///
    /// # Errors
    ///
    /// Without CAP_SYS_ADMIN, or on a kernel without BPF.
    pub fn mount_bpf(&self) -> Result<(), RunDirError> {
        Ok(ensure_bpffs(&self.bpf_path())?)
    }

    /// Detaches programs left by a killed daemon or by one that handed over.
    fn remove_pins(&self) -> Result<(), RunDirError> {
        let target = self.bpf_path();
        if !is_bpffs(&target) {
            return Ok(());
        }
        let read = failed("read", &target);
        for entry in std::fs::read_dir(&target).map_err(&read)? {
            let entry = entry.map_err(&read)?;
            // Files there belong to the kernel (progs.debug, maps.debug); ports have directories.
            if entry.file_type().map_err(&read)?.is_dir() {
                remove_stale(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Releases the lock and leaves everything else for the next daemon.
    pub fn leave(mut self) {
        if let Err(error) = self.lock.set_len(0).and_then(|()| self.lock.rewind()) {
            tracing::debug!(%error, "cannot mark the run directory as cleanly released");
        }
    }

    /// Removes everything that belongs to this daemon: the BPF file system, `leftovers` with their contents, the lock, and
    /// the directory if it is empty. Failures are logged.
    pub fn release(self, leftovers: &[&Path]) {
        let log = |error: RunDirError| tracing::warn!(%error, "cannot clean up the run directory");
        let _ = self.remove_pins().map_err(log);
        // A switch may not unmount it; `finish` does.
        if unmount_bpffs(&self.bpf_path()).is_ok() {
            let _ = removed(std::fs::remove_dir(self.bpf_path()))
                .map_err(failed("remove", &self.bpf_path()))
                .map_err(log);
        }
        for path in leftovers {
            let gone = match path.is_dir() {
                true => std::fs::remove_dir_all(path),
                false => std::fs::remove_file(path),
            };
            let _ = removed(gone).map_err(failed("remove", path)).map_err(log);
        }
        let lock_path = self.path.join(LOCK_NAME);
        let _ = removed(std::fs::remove_file(&lock_path))
            .map_err(failed("remove", &lock_path))
            .map_err(log);
        // It may contain files of others.
        let _ = std::fs::remove_dir(&self.path);
        drop(self.lock);
    }
}

/// Removes the BPF file system and the directory of a switch that ended normally, since the switch may not unmount. Keeps
/// the programs of a killed switch, and the directory of a running one.
pub fn finish(path: &Path) {
    let Ok(owner) = user::owner(path) else {
        return;
    };
    if !nix::unistd::geteuid().is_root() || owner.is_root() {
        return finish_in(path);
    }
    // With the rights of the switch's user only: its links lead nowhere else.
    if let Err(error) = user::acting_as(owner, || finish_in(path)) {
        tracing::warn!(%error, path = %path.display(), "cannot clean up the run directory");
    }
    // The directory above is root's; one with contents stays.
    let _ = std::fs::remove_dir(path);
}

fn finish_in(path: &Path) {
    let target = path.join(BPF_NAME);
    let has_pins = || {
        let mut entries = std::fs::read_dir(&target).into_iter().flatten().flatten();
        entries.any(|entry| entry.file_type().is_ok_and(|it| it.is_dir()))
    };
    if !is_bpffs(&target) {
        // After a failed start, only empty directories.
        let _ = std::fs::remove_dir(&target).and_then(|()| std::fs::remove_dir(path));
        let _ = std::fs::remove_dir(path);
        return;
    }
    if has_pins() {
        return;
    }
    if let Ok(lock) = lock_file(path, &path.join(LOCK_NAME)) {
        let path = path.to_owned();
        RunDir { path, lock }.release(&[]);
    }
}

/// Calls [`finish`] once a byte arrives on standard input, but not when it is closed without one.
pub fn finish_when_told(path: &Path) {
    // A terminal's Ctrl-C is meant for the switch.
    let _ = nix::unistd::setsid();
    if io::stdin().read_exact(&mut [0]).is_ok() {
        finish(path);
    }
}

/// A process of the same program that keeps the privileges that its switch gives up, for [`finish`].
#[derive(Debug)]
pub struct Finisher(Child);

impl Finisher {
    /// Starts the process.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let process = Command::new(std::env::current_exe()?)
            .arg("--finish")
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Self(process))
    }

    /// Lets it do its work, and waits for its end.
    pub fn finish(mut self) {
        if let Some(mut word) = self.0.stdin.take() {
            let _ = word.write_all(&[0]);
        }
        let _ = self.0.wait();
    }
}

/// Writes a new file, readable by this user only, in place of an existing one; returns it, open.
///
/// # Errors
///
/// The file system's error.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<File> {
    remove_file(path)?;
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    Ok(file)
}

/// Creates a directory for this user only, unless it exists. Its parents get the mode of a run directory, since every user
/// reaches the sockets through `/run/weir`.
///
/// # Errors
///
/// The file system's error.
pub fn create_directory(path: &Path) -> io::Result<()> {
    if let Some(above) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(above)?;
    }
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Removes a file; a missing one is no error.
///
/// # Errors
///
/// The file system's error.
pub fn remove_file(path: &Path) -> io::Result<()> {
    removed(std::fs::remove_file(path))
}

/// Creates the run directory `path`, unless it exists; returns its owner.
///
/// # Errors
///
/// Also when a user other than root, this process's and `user` could place files in it.
pub fn make(path: &Path, user: Option<User>) -> Result<Uid, RunDirError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(path)
        .map_err(failed("create the directory", path))?;
    let found = std::fs::symlink_metadata(path).map_err(failed("stat", path))?;
    match foreign(&found, user) {
        None => Ok(Uid::from_raw(found.uid())),
        Some(reason) => Err(RunDirError::Foreign {
            path: path.to_owned(),
            reason,
        }),
    }
}

/// Returns the reason for which other users could modify a run directory.
fn foreign(found: &Metadata, user: Option<User>) -> Option<String> {
    let own = [
        Some(nix::unistd::geteuid()),
        Some(Uid::from_raw(0)),
        user.map(|it| it.uid),
    ];
    let mode = found.mode() & 0o7777;
    if found.is_symlink() {
        return Some("is a symbolic link".to_owned());
    }
    if !own.contains(&Some(Uid::from_raw(found.uid()))) {
        return Some(format!("is owned by user {}", found.uid()));
    }
    (mode & WRITABLE_BY_OTHERS != 0).then(|| format!("others can write it (mode {mode:04o})"))
}

/// Opens and locks the lock file; retries if another daemon removed it in between.
fn lock_file(directory: &Path, path: &Path) -> Result<Flock<File>, RunDirError> {
    loop {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o644)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)
            .map_err(failed("open", path))?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => {
                let ours = lock.metadata().map_err(failed("stat", path))?;
                if std::fs::metadata(path).is_ok_and(|there| there.ino() == ours.ino()) {
                    return Ok(lock);
                }
            }
            Err((mut file, Errno::EWOULDBLOCK)) => {
                let mut pid = String::new();
                let known = file.read_to_string(&mut pid).is_ok() && !pid.trim().is_empty();
                return Err(RunDirError::InUse {
                    path: directory.to_owned(),
                    pid: if known { pid.trim() } else { "unknown" }.to_owned(),
                });
            }
            Err((_, error)) => return Err(failed("lock", path)(error.into())),
        }
    }
}

fn failed(action: &'static str, path: &Path) -> impl Fn(io::Error) -> RunDirError {
    let path = path.to_owned();
    move |source| RunDirError::Io {
        action,
        path: path.clone(),
        source,
    }
}

/// Treats a missing file as removed.
fn removed(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_live_daemon_keeps_others_out_and_is_named() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a/b");
        let ours = RunDir::take(&path).unwrap();
        match RunDir::take(&path) {
            Err(RunDirError::InUse { pid, .. }) => {
                assert_eq!(pid, std::process::id().to_string());
            }
            other => panic!("{other:?}"),
        }
        ours.release(&[]);
        assert!(!path.exists());
        RunDir::take(&path).unwrap().release(&[]);
    }

    #[test]
    fn what_a_killed_daemon_left_is_taken_over() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("run");
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join(LOCK_NAME), "999999999999\n").unwrap();
        let ours = RunDir::take(&path).unwrap();
        let text = std::fs::read_to_string(path.join(LOCK_NAME)).unwrap();
        assert_eq!(text, format!("{}\n", std::process::id()));
        ours.release(&[]);
    }

    #[test]
    fn a_directory_for_this_user_hides_nothing_beside_it() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("weir/s1/history");
        create_directory(&path).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o700);
        for above in path.ancestors().skip(1).take(2) {
            assert_eq!(mode(above), 0o755, "{}", above.display());
        }
        create_directory(&path).unwrap();
    }

    #[test]
    fn a_directory_of_another_user_and_a_link_are_refused() {
        use std::os::unix::fs::{chown, symlink, PermissionsExt};
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("run");
        let refused = |told: &str| {
            for error in [RunDir::take(&path).err(), prepare(&path, None).err()] {
                let error = error.expect(told).to_string();
                assert!(
                    error.contains(told) && error.contains("remove it"),
                    "{error}"
                );
            }
        };
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o775)).unwrap();
        refused("others can write it");
        if nix::unistd::geteuid().is_root() {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            chown(&path, Some(65_534), None).unwrap();
            refused("owned by user 65534");
        }
        std::fs::remove_dir(&path).unwrap();
        let target = parent.path().join("target");
        std::fs::create_dir(&target).unwrap();
        symlink(&target, &path).unwrap();
        refused("symbolic link");
        if nix::unistd::geteuid().is_root() {
            std::fs::remove_file(&path).unwrap();
            std::fs::create_dir(&path).unwrap();
            chown(&path, Some(65_534), None).unwrap();
            let owner = user::find("65534").unwrap();
            assert_eq!(make(&path, owner).unwrap().as_raw(), 65_534);
            make(&path, user::find("65533").unwrap()).unwrap_err();
        }
        // A link in place of the lock is not followed.
        let victim = parent.path().join("victim");
        std::fs::write(&victim, "kept").unwrap();
        symlink(&victim, target.join(LOCK_NAME)).unwrap();
        RunDir::take(&target).unwrap_err();
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "kept");
    }

    /// A directory that this user can reach, and the user, who need not exist; `None` without root.
    fn of_another_user() -> Option<(tempfile::TempDir, User)> {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().unwrap();
        let reachable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(parent.path(), reachable).unwrap();
        let user = user::find("65523").unwrap()?;
        nix::unistd::geteuid().is_root().then_some((parent, user))
    }

    #[test]
    fn root_follows_no_link_of_the_directorys_owner() {
        use std::os::unix::fs::{chown, symlink};
        let Some((parent, user)) = of_another_user() else {
            return;
        };
        let [path, victim] = ["run", "victim"].map(|name| parent.path().join(name));
        let kept = victim.join("kept");
        std::fs::create_dir(&path).unwrap();
        std::fs::create_dir(&victim).unwrap();
        std::fs::write(&kept, "kept").unwrap();
        symlink(&victim, path.join(BPF_NAME)).unwrap();
        symlink(&kept, path.join(LOCK_NAME)).unwrap();
        chown(&path, Some(user.uid.as_raw()), None).unwrap();
        prepare(&path, Some(user)).unwrap_err();
        finish(&path);
        assert!(!is_bpffs(&victim));
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), "kept");
        assert!(user::owner(&victim).unwrap().is_root());
        // A directory of root is given away with its links, and not with their targets.
        chown(&path, Some(0), None).unwrap();
        give(&path, user).unwrap();
        assert_eq!(user::owner(&path.join(BPF_NAME)).unwrap(), user.uid);
        assert!(user::owner(&victim).unwrap().is_root());
    }

    #[test]
    fn what_a_switch_of_root_left_is_given_to_the_user() {
        let Some((parent, user)) = of_another_user() else {
            return;
        };
        let path = parent.path().join("run");
        let ours = RunDir::take(&path).unwrap();
        // A switch that runs as root keeps its directory.
        let error = prepare(&path, Some(user)).unwrap_err();
        assert!(matches!(error, RunDirError::InUse { .. }), "{error}");
        assert!(user::owner(&path).unwrap().is_root());
        ours.leave();
        // The second time everything is the user's already.
        for _ in 0..2 {
            prepare(&path, Some(user)).unwrap();
            for name in ["", LOCK_NAME, BPF_NAME] {
                assert_eq!(user::owner(&path.join(name)).unwrap(), user.uid, "{name}");
            }
        }
        assert!(is_bpffs(&path.join(BPF_NAME)));
        finish(&path);
        assert!(!path.exists());
    }

    #[test]
    fn foreign_files_stay() {
        let parent = tempfile::tempdir().unwrap();
        let ours = RunDir::take(parent.path()).unwrap();
        let foreign = parent.path().join("foreign");
        let leftover = parent.path().join("api.sock");
        std::fs::write(&foreign, "").unwrap();
        std::fs::write(&leftover, "").unwrap();
        ours.release(&[&leftover, &parent.path().join("never-made")]);
        assert!(foreign.exists() && !leftover.exists());
        assert!(!parent.path().join(LOCK_NAME).exists());
    }

    /// Needs CAP_SYS_ADMIN; without it only the error is checked.
    #[test]
    fn a_bpf_file_system_comes_and_goes() {
        let parent = tempfile::tempdir().unwrap();
        let ours = RunDir::take(parent.path()).unwrap();
        let target = ours.bpf_path();
        match ours.mount_bpf() {
            Ok(()) => {
                assert!(is_bpffs(&target));
                std::fs::create_dir(target.join("stale")).unwrap();
                ours.mount_bpf().unwrap();
                assert!(target.join("stale").exists(), "the next switch may want it");
            }
            Err(error) => assert!(error.to_string().contains("mount"), "{error}"),
        }
        ours.release(&[]);
        assert!(!target.exists());
    }
}
