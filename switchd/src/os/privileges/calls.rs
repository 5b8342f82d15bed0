//! System calls permitted to a running switch.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use super::PrivilegesError;

type Rules = BTreeMap<libc::c_long, Vec<SeccompRule>>;

/// Calls permitted with any arguments: memory, time, threads, descriptors, files, and existing sockets.
const ANY: &[libc::c_long] = &[
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_mlock,
    libc::SYS_munlock,
    libc::SYS_membarrier,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_restart_syscall,
    libc::SYS_getrusage,
    libc::SYS_getcpu,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_close,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_fcntl,
    libc::SYS_lseek,
    libc::SYS_pipe2,
    libc::SYS_eventfd2,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_ppoll,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_ftruncate,
    libc::SYS_flock,
    libc::SYS_memfd_create,
    libc::SYS_openat,
    libc::SYS_newfstatat,
    libc::SYS_fstat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_getdents64,
    libc::SYS_readlinkat,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_mkdirat,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_getcwd,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept4,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_setsockopt,
    libc::SYS_getsockopt,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_shutdown,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getrandom,
    libc::SYS_uname,
    libc::SYS_sysinfo,
];

/// Older equivalents, which other architectures lack.
#[cfg(target_arch = "x86_64")]
const OLD: &[libc::c_long] = &[
    libc::SYS_access,
    libc::SYS_dup2,
    libc::SYS_epoll_wait,
    libc::SYS_lstat,
    libc::SYS_mkdir,
    libc::SYS_open,
    libc::SYS_poll,
    libc::SYS_readlink,
    libc::SYS_rename,
    libc::SYS_rmdir,
    libc::SYS_stat,
    libc::SYS_unlink,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[libc::c_long] = &[];

/// Families and types of sockets that a running switch creates: for returning devices, netlink, the service manager, the
/// log, and listening addresses that become free. None is a stream to another local process.
const SOCKETS: [(libc::c_int, &[libc::c_int]); 6] = [
    (libc::AF_UNIX, &[libc::SOCK_DGRAM]),
    (libc::AF_INET, &[libc::SOCK_STREAM, libc::SOCK_DGRAM]),
    (libc::AF_INET6, &[libc::SOCK_STREAM, libc::SOCK_DGRAM]),
    (libc::AF_NETLINK, &[libc::SOCK_RAW, libc::SOCK_DGRAM]),
    (libc::AF_PACKET, &[libc::SOCK_RAW, libc::SOCK_DGRAM]),
    (libc::AF_XDP, &[libc::SOCK_RAW]),
];
/// Mask of the type without its flags.
const TYPE: u64 = 0xf;
/// Protocols of sockets of the Internet's families. SCTP would connect by its first message, and MPTCP is not TCP to Landlock.
const PROTOCOLS: [libc::c_int; 3] = [libc::IPPROTO_IP, libc::IPPROTO_TCP, libc::IPPROTO_UDP];

/// Calls that send, and their argument with flags. [`MSG_FASTOPEN`](libc::MSG_FASTOPEN) would connect without connect(2).
const SENDING: [(libc::c_long, u8); 3] = [
    (libc::SYS_sendto, 3),
    (libc::SYS_sendmsg, 2),
    (libc::SYS_sendmmsg, 3),
];

/// Commands of bpf(2) (linux/bpf.h): for maps, and for attaching a returning device.
const BPF_COMMANDS: [u32; 17] = [
    0,  // MAP_CREATE
    1,  // MAP_LOOKUP_ELEM
    2,  // MAP_UPDATE_ELEM
    3,  // MAP_DELETE_ELEM
    4,  // MAP_GET_NEXT_KEY
    5,  // PROG_LOAD
    6,  // OBJ_PIN
    7,  // OBJ_GET
    15, // OBJ_GET_INFO_BY_FD
    18, // BTF_LOAD
    22, // MAP_FREEZE
    24, // MAP_LOOKUP_BATCH
    25, // MAP_LOOKUP_AND_DELETE_BATCH
    28, // LINK_CREATE
    29, // LINK_UPDATE
    34, // LINK_DETACH
    35, // PROG_BIND_MAP
];

/// Requests of ioctl(2) for network devices, and for any descriptor.
const REQUESTS: [u32; 9] = [
    0x5401, // TCGETS, used by isatty(3)
    0x5413, // TIOCGWINSZ
    0x5421, // FIONBIO
    0x5451, // FIOCLEX
    0x8946, // SIOCETHTOOL
    0x8913, // SIOCGIFFLAGS
    0x8914, // SIOCSIFFLAGS
    0x8921, // SIOCGIFMTU
    0x8933, // SIOCGIFINDEX
];

/// Options of prctl(2): a thread's name and its timers, and names of memory.
const PRCTL: [u64; 4] = [
    libc::PR_SET_NAME as u64,
    libc::PR_GET_NAME as u64,
    libc::PR_SET_TIMERSLACK as u64,
    libc::PR_SET_VMA as u64,
];

/// Flag for threads of this process (linux/sched.h); a process or a namespace is not permitted.
const THREAD: u64 = 0x0001_0000;
const NAMESPACES: u64 = 0x7e02_0080;

/// Refuses all other system calls with EPERM, in every thread of this process.
///
/// # Errors
///
/// See [`PrivilegesError`].
pub fn keep_running_calls() -> Result<(), PrivilegesError> {
    let failed = |error: &dyn std::fmt::Display| PrivilegesError::Filter(error.to_string());
    // Its arguments are in memory, where no filter sees them; without it, the C library falls back to clone(2).
    let no_clone3 = no_clone3().map_err(|error| failed(&error))?;
    seccompiler::apply_filter_all_threads(&no_clone3).map_err(|error| failed(&error))?;
    let filter = filter(std::process::id()).map_err(|error| failed(&error))?;
    seccompiler::apply_filter_all_threads(&filter).map_err(|error| failed(&error))
}

fn no_clone3() -> Result<BpfProgram, seccompiler::BackendError> {
    let rules = [(libc::SYS_clone3, Vec::new())].into();
    program(rules, SeccompAction::Allow, errno(libc::ENOSYS))
}

fn filter(process: u32) -> Result<BpfProgram, seccompiler::BackendError> {
    let calls = ANY.iter().chain(OLD);
    let mut rules: Rules = calls.map(|call| (*call, Vec::new())).collect();
    let is = |argument, values: &[u64]| -> Result<Vec<SeccompRule>, _> {
        let rule = |value: &u64| SeccompRule::new(vec![equal(argument, *value)?]);
        values.iter().map(rule).collect()
    };
    let mut sockets = Vec::new();
    for (family, types) in SOCKETS {
        for kind in types {
            let kind = masked(1, SeccompCmpArgLen::Dword, TYPE, *kind as u64)?;
            let socket = vec![equal(0, family as u64)?, kind];
            if ![libc::AF_INET, libc::AF_INET6].contains(&family) {
                sockets.push(SeccompRule::new(socket)?);
                continue;
            }
            for protocol in PROTOCOLS {
                let protocol = equal(2, protocol as u64)?;
                sockets.push(SeccompRule::new([&socket[..], &[protocol]].concat())?);
            }
        }
    }
    rules.insert(libc::SYS_socket, sockets);
    for (call, flags) in SENDING {
        let connects = libc::MSG_FASTOPEN as u64;
        let stays = masked(flags, SeccompCmpArgLen::Dword, connects, 0)?;
        rules.insert(call, vec![SeccompRule::new(vec![stays])?]);
    }
    rules.insert(libc::SYS_bpf, is(0, &BPF_COMMANDS.map(u64::from))?);
    rules.insert(libc::SYS_ioctl, is(1, &REQUESTS.map(u64::from))?);
    rules.insert(libc::SYS_prctl, is(0, &PRCTL)?);
    // For the calling thread only, not for other processes of this user.
    for call in [libc::SYS_sched_setaffinity, libc::SYS_prlimit64] {
        rules.insert(call, is(0, &[0])?);
    }
    // For a panic of this process, and signals between its own threads.
    rules.insert(libc::SYS_tgkill, is(0, &[process.into()])?);
    let thread = SeccompRule::new(vec![masked(
        0,
        SeccompCmpArgLen::Qword,
        THREAD | NAMESPACES,
        THREAD,
    )?])?;
    rules.insert(libc::SYS_clone, vec![thread]);
    // Handled by clone3's own filter.
    rules.insert(libc::SYS_clone3, Vec::new());
    // Memory must not be both writable and executable, at once or in sequence.
    let executable = u64::from(libc::PROT_EXEC as u32);
    let not_executable = masked(2, SeccompCmpArgLen::Dword, executable, 0)?;
    let not_executable = SeccompRule::new(vec![not_executable])?;
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        rules.insert(call, vec![not_executable.clone()]);
    }
    program(rules, errno(libc::EPERM), SeccompAction::Allow)
}

fn errno(code: libc::c_int) -> SeccompAction {
    SeccompAction::Errno(code as u32)
}

fn masked(
    argument: u8,
    length: SeccompCmpArgLen,
    mask: u64,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, length, SeccompCmpOp::MaskedEq(mask), value)
}

fn equal(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn program(
    rules: Rules,
    otherwise: SeccompAction,
    matched: SeccompAction,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, otherwise, matched, architecture)?.try_into()
}
