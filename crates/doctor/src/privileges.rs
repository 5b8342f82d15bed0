//! The capabilities of a switch.

use caps::Capability;

/// NET_ADMIN, NET_RAW: links and AF_XDP. BPF, PERFMON: the XDP program. SYS_ADMIN: the BPF file system. IPC_LOCK:
/// packet memory.
pub const NEEDED: [Capability; 6] = [
    Capability::CAP_NET_ADMIN,
    Capability::CAP_NET_RAW,
    Capability::CAP_BPF,
    Capability::CAP_PERFMON,
    Capability::CAP_SYS_ADMIN,
    Capability::CAP_IPC_LOCK,
];

/// SETUID, SETGID: a switch changes to its own user. CHOWN: that user gets the run directory. KILL: the
/// keeper signals the switch. Without them, a switch keeps running as root.
pub const FOR_ANOTHER_USER: [Capability; 4] = [
    Capability::CAP_SETUID,
    Capability::CAP_SETGID,
    Capability::CAP_CHOWN,
    Capability::CAP_KILL,
];
