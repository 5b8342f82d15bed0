//! Powers of a dataplane thread that an attacker has compromised. A process drops its privileges as the daemon does, by
//! the same calls and in the same order, and its thread tries what an attacker would. This is a separate executable,
//! because dropped privileges do not return, and because `cargo xtask vm-test --kernel` also runs it on other kernels,
//! there directly and in the place of the daemon in its unit.

use std::ffi::CString;
use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{chown, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;

use weir_switchd::os::privileges::{self, Files};
use weir_switchd::os::user::{self, User};

/// User of the thread, who need not exist.
const USER: &str = "65523";
const USER_NUMBER: u32 = 65_523;

type Outcome = io::Result<libc::c_long>;

fn call(number: libc::c_long, arguments: &[usize]) -> Outcome {
    let mut six = [0; 6];
    six[..arguments.len()].copy_from_slice(arguments);
    let [a, b, c, d, e, f] = six;
    // SAFETY: pointers among the arguments are null, or point to values that outlive the call.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

fn path(path: &Path) -> CString {
    CString::new(path.to_str().unwrap()).unwrap()
}

/// Connects to a port of this machine by sending, which is not connect(2).
fn fast_open(port: u16) -> Outcome {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    let socket = call(
        libc::SYS_socket,
        &[libc::AF_INET as usize, kind as usize, 0],
    )?;
    let [high, low] = port.to_be_bytes();
    let [family, _] = (libc::AF_INET as u16).to_ne_bytes();
    let address = [family, 0, high, low, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    call(
        libc::SYS_sendto,
        &[
            socket as usize,
            c"x".as_ptr() as usize,
            1,
            libc::MSG_FASTOPEN as usize,
            address.as_ptr() as usize,
            address.len(),
        ],
    )
}

/// All that is there to be attacked.
struct Targets {
    /// The switch's directory, which it may write.
    own: tempfile::TempDir,
    /// A directory of others.
    foreign: tempfile::TempDir,
    victim: u32,
    tcp: u16,
}

impl Targets {
    /// Returns a file of root, whose only protection is that the thread is another user's.
    fn of_root(&self) -> PathBuf {
        self.own.path().join("of-root")
    }

    /// Returns each attempt with its name. A successful attempt returns `Ok`.
    fn attempts(&self) -> Vec<(&'static str, Outcome)> {
        let secret = self.foreign.path().join("secret");
        let [secret_c, own_c, new_c] = [
            secret.clone(),
            self.own.path().to_owned(),
            self.own.path().join("new"),
        ]
        .map(|it| path(&it));
        let [secret_p, own_p, new_p] = [&secret_c, &own_c, &new_c].map(|it| it.as_ptr() as usize);
        let here = libc::AT_FDCWD as usize;
        let victim = self.victim as usize;
        let done = |outcome: io::Result<()>| outcome.map(|()| 0);
        let opened = |outcome: io::Result<fs::File>| outcome.map(|_| 0);
        let append = |path: &Path| opened(fs::OpenOptions::new().append(true).open(path));
        let socket = |family: libc::c_int, kind: libc::c_int| {
            call(libc::SYS_socket, &[family as usize, kind as usize, 0])
        };
        let bpf = |command: usize| {
            let attributes = [1u64; 16];
            call(libc::SYS_bpf, &[command, attributes.as_ptr() as usize, 64])
        };
        let clone = |flags: libc::c_int| {
            let outcome = call(libc::SYS_clone, &[flags as usize]);
            if let Ok(0) = outcome {
                // The child has nothing to do.
                std::process::exit(0);
            }
            outcome
        };
        let limits = [0u64; 2];
        let cpus = [1u64; 16];
        let event = [0u64; 16];
        let text = c"x".as_ptr() as usize;
        let tmpfs = c"tmpfs".as_ptr() as usize;
        let memory = |protection: libc::c_int| {
            let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize;
            call(
                libc::SYS_mmap,
                &[0, 4096, protection as usize, flags, usize::MAX, 0],
            )
        };
        let terminate = libc::SIGTERM as usize;
        vec![
            ("read passwords", opened(fs::File::open("/etc/shadow"))),
            ("write users", append(Path::new("/etc/passwd"))),
            ("read a foreign file", opened(fs::File::open(&secret))),
            (
                // Landlock permits everything there.
                "read root's file in its own directory",
                opened(fs::File::open(self.of_root())),
            ),
            ("write a foreign file", append(&secret)),
            (
                "list a foreign directory",
                fs::read_dir(self.foreign.path()).map(|_| 0),
            ),
            (
                "make a foreign file",
                opened(fs::File::create(self.foreign.path().join("new"))),
            ),
            ("remove a foreign file", done(fs::remove_file(&secret))),
            (
                "take a foreign file",
                done(fs::rename(&secret, self.own.path().join("taken"))),
            ),
            (
                "link to a foreign file",
                done(fs::hard_link(&secret, self.own.path().join("link"))),
            ),
            (
                "truncate a foreign file",
                call(libc::SYS_truncate, &[secret_p, 0]),
            ),
            (
                "chmod a foreign file",
                call(libc::SYS_fchmodat, &[here, secret_p, 0o777]),
            ),
            (
                "chown a foreign file",
                call(libc::SYS_fchownat, &[here, secret_p, 65_534, 65_534, 0]),
            ),
            (
                "make a device",
                call(libc::SYS_mknodat, &[here, new_p, libc::S_IFBLK as usize, 0]),
            ),
            ("read the kernel's log", opened(fs::File::open("/dev/kmsg"))),
            (
                "write a kernel's setting",
                append(Path::new("/proc/sys/kernel/core_pattern")),
            ),
            (
                "start a program",
                Command::new("/bin/true").status().map(|_| 0),
            ),
            ("mount", call(libc::SYS_mount, &[tmpfs, own_p, tmpfs, 0, 0])),
            (
                "mount once more",
                call(
                    libc::SYS_mount,
                    &[own_p, own_p, 0, libc::MS_BIND as usize, 0],
                ),
            ),
            (
                "make a mount writable",
                call(
                    libc::SYS_mount,
                    &[0, own_p, 0, (libc::MS_REMOUNT | libc::MS_BIND) as usize, 0],
                ),
            ),
            (
                "unmount",
                call(
                    libc::SYS_umount2,
                    &[c"/proc".as_ptr() as usize, libc::MNT_DETACH as usize],
                ),
            ),
            ("open a mount", call(libc::SYS_open_tree, &[here, own_p, 1])),
            ("open a file system", call(libc::SYS_fsopen, &[tmpfs, 0])),
            ("change the root", call(libc::SYS_chroot, &[own_p])),
            ("find programs of others", bpf(13)),
            ("find maps of others", bpf(14)),
            ("trace the kernel", bpf(17)),
            ("attach to a control group", bpf(8)),
            (
                "count events of the kernel",
                call(
                    libc::SYS_perf_event_open,
                    &[event.as_ptr() as usize, 0, usize::MAX, usize::MAX, 0],
                ),
            ),
            (
                "ptrace",
                call(libc::SYS_ptrace, &[libc::PTRACE_ATTACH as usize, victim]),
            ),
            ("kill", call(libc::SYS_kill, &[victim, terminate])),
            ("kill a thread", call(libc::SYS_tkill, &[victim, terminate])),
            (
                "kill by group",
                call(libc::SYS_tgkill, &[victim, victim, terminate]),
            ),
            (
                "read another's memory",
                call(libc::SYS_process_vm_readv, &[victim, 0, 0, 0, 0, 0]),
            ),
            (
                "hold another process",
                call(libc::SYS_pidfd_open, &[victim, 0]),
            ),
            (
                "limit another process",
                call(
                    libc::SYS_prlimit64,
                    &[
                        victim,
                        libc::RLIMIT_CPU as usize,
                        limits.as_ptr() as usize,
                        0,
                    ],
                ),
            ),
            (
                "move another process",
                call(
                    libc::SYS_sched_setaffinity,
                    &[victim, 128, cpus.as_ptr() as usize],
                ),
            ),
            (
                "stream to a local service",
                socket(libc::AF_UNIX, libc::SOCK_STREAM),
            ),
            (
                "connect by TCP",
                std::net::TcpStream::connect(("127.0.0.1", self.tcp)).map(|_| 0),
            ),
            ("raw IP", socket(libc::AF_INET, libc::SOCK_RAW)),
            ("connect by sending", fast_open(self.tcp)),
            (
                "another protocol that connects",
                // SCTP connects by its first message as well.
                call(
                    libc::SYS_socket,
                    &[libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_SCTP].map(|it| it as usize),
                ),
            ),
            (
                "reach the hypervisor",
                socket(libc::AF_VSOCK, libc::SOCK_STREAM),
            ),
            (
                "the kernel's cryptography",
                socket(libc::AF_ALG, libc::SOCK_SEQPACKET),
            ),
            (
                "new namespaces",
                call(libc::SYS_unshare, &[libc::CLONE_NEWUSER as usize]),
            ),
            ("another namespace", call(libc::SYS_setns, &[0, 0])),
            ("a process", clone(libc::SIGCHLD)),
            (
                "a process in new namespaces",
                clone(libc::CLONE_NEWUSER | libc::SIGCHLD),
            ),
            (
                "a thread in new namespaces",
                clone(libc::CLONE_THREAD | libc::CLONE_NEWNET),
            ),
            (
                "io_uring",
                call(libc::SYS_io_uring_setup, &[1, event.as_ptr() as usize]),
            ),
            ("load a module", call(libc::SYS_finit_module, &[0, text, 0])),
            ("another kernel", call(libc::SYS_kexec_load, &[0, 0, 0, 0])),
            ("reboot", call(libc::SYS_reboot, &[0, 0, 0, 0])),
            (
                "set the clock",
                call(libc::SYS_clock_settime, &[0, limits.as_ptr() as usize]),
            ),
            (
                "set the host's name",
                call(libc::SYS_sethostname, &[text, 1]),
            ),
            (
                "another user",
                call(libc::SYS_setresuid, &[65_534, 65_534, 65_534]),
            ),
            ("keys", call(libc::SYS_keyctl, &[0, 0, 0, 0, 0])),
            (
                "memory that runs",
                memory(libc::PROT_READ | libc::PROT_EXEC),
            ),
            ("handle faults", call(libc::SYS_userfaultfd, &[0])),
            ("swap", call(libc::SYS_swapoff, &[own_p])),
        ]
    }

    /// Makes the calls that the thread needs, which must succeed.
    fn needs(&self) {
        let file = self.own.path().join("frames");
        fs::write(&file, "kept").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
        fs::rename(&file, self.own.path().join("other")).unwrap();
        fs::remove_file(self.own.path().join("other")).unwrap();
        fs::read_to_string("/proc/self/status").unwrap();
        let wildcard = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(wildcard.as_raw_fd() > 0);
        let started = std::thread::spawn(|| vec![1u8; 1 << 22].len());
        assert_eq!(started.join().unwrap(), 1 << 22);
        for (family, kind) in [
            (libc::AF_XDP, libc::SOCK_RAW),
            (libc::AF_PACKET, libc::SOCK_RAW),
            (libc::AF_NETLINK, libc::SOCK_RAW),
        ] {
            let arguments = [family as usize, (kind | libc::SOCK_CLOEXEC) as usize, 0];
            call(libc::SYS_socket, &arguments).unwrap();
        }
    }
}

#[test]
#[ignore = "needs root"]
fn a_thread_of_the_dataplane_that_was_taken_over_is_refused_everything_else() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // Under the unit, the run directory is what the daemon may write.
    let run_dir = std::env::var_os("RUNTIME_DIRECTORY").map_or_else(std::env::temp_dir, Into::into);
    let own = tempfile::tempdir_in(run_dir).unwrap();
    let foreign = tempfile::tempdir().unwrap();
    // It remains root, and removes the directories in the end.
    let mut victim = Command::new("sh")
        // In the unit, root may not write in the directory of another user.
        .args(["-c", "cat && chown 0 \"$1\" && rm -r -- \"$@\"", "victim"])
        .args([own.path(), foreign.path()])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let targets = Targets {
        own,
        foreign,
        victim: victim.id(),
        tcp: listener.local_addr().unwrap().port(),
    };
    fs::write(targets.foreign.path().join("secret"), "secret").unwrap();
    fs::write(targets.of_root(), "secret").unwrap();
    fs::set_permissions(targets.of_root(), fs::Permissions::from_mode(0o600)).unwrap();
    let user = user::find(USER).unwrap().unwrap();
    chown(targets.own.path(), Some(USER_NUMBER), None).unwrap();
    let _service = UnixListener::bind(targets.foreign.path().join("socket")).unwrap();
    // With all privileges most attempts succeed, so they are valid attempts.
    opens_before(&targets);

    let confined = std::thread::spawn(move || confined(user, targets));
    let (attempts, targets) = confined.join().unwrap();

    assert!(attempts.len() >= 30, "{}", attempts.len());
    let mut failed = Vec::new();
    for (what, outcome) in &attempts {
        let code = outcome.as_ref().err().and_then(io::Error::raw_os_error);
        // Refused, and not for a mistake in the attempt. EROFS: the unit's file system takes no writes.
        if ![libc::EPERM, libc::EACCES, libc::EXDEV, libc::EROFS]
            .map(Some)
            .contains(&code)
        {
            failed.push(format!("{what}: {outcome:?}"));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    println!("{} attempts, all refused", attempts.len());

    // The victim is unchanged.
    let mut word = victim.stdin.take().unwrap();
    word.write_all(b"alive").unwrap();
    drop(word);
    assert!(victim.wait().unwrap().success());
    assert!(!targets.own.path().exists());
}

/// Gives up the daemon's privileges, and makes all attempts in a dataplane thread.
fn confined(user: User, targets: Targets) -> (Vec<(&'static str, Outcome)>, Targets) {
    let files = Files {
        write: vec![targets.own.path().to_owned()],
        ..Files::default()
    };
    let starter = privileges::restrict(Some(user), false, &files).unwrap();
    let (go, wait) = mpsc::channel::<()>();
    let dataplane = starter
        .run(move || {
            privileges::end_start(&files).unwrap();
            std::thread::Builder::new()
                .name("weir-dataplane".into())
                .spawn(move || {
                    wait.recv().unwrap();
                    targets.needs();
                    (targets.attempts(), targets)
                })
                .unwrap()
        })
        .unwrap();
    privileges::keep_running_calls().unwrap();
    go.send(()).unwrap();
    dataplane.join().unwrap()
}

fn opens_before(targets: &Targets) {
    let mut text = String::new();
    let secret = targets.foreign.path().join("secret");
    fs::File::open(secret)
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, "secret");
    fs::File::open("/etc/shadow").unwrap();
    fs::File::open(targets.of_root()).unwrap();
    assert!(Command::new("/bin/true").status().unwrap().success());
    fast_open(targets.tcp).unwrap();
}
