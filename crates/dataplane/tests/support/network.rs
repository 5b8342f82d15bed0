//! Two veth pairs in a network namespace that lives as long as its test's thread. Needs root, and fails without it.
#![allow(dead_code)] // each test file uses its own part

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration as StdDuration;

use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sched::{unshare, CloneFlags};
use nix::sys::socket::{recv, send, socket, AddressFamily, MsgFlags, SockFlag, SockType};
use weir_config::daemon::DaemonConfig;
use weir_core::wire::mac_control::MacControl;
use weir_core::{MacAddress, Quanta};
use weir_dataplane::{Dataplane, DataplaneError};
use weir_ebpf::{ensure_bpffs, unmount_bpffs};

/// Time limit of all waits in tests.
pub const LIMIT: StdDuration = StdDuration::from_secs(60);
pub const LOSSLESS: usize = 3;
pub const FRAME_LENGTH: usize = 1000;

/// The hosts' devices are `h0` and `h1`, the switch's `p0` and `p1`; every frame is lossless.
pub const CONFIG: &str = r#"
name = "veth"
[dataplane]
rx-ring = 256
tx-ring = 256
[[class]]
name = "lossless"
priority = 3
mode = "pfc"
xoff = "16KiB"
xon = "8KiB"
headroom = "64KiB"
[[port]]
device = "p0"
role = "edge"
rate = "1Gbit"
default-priority = 3
address = "02:00:00:00:00:a0"
[[port]]
device = "p1"
role = "edge"
rate = "100Mbit"
default-priority = 3
[[route]]
destination = "02:00:00:00:00:01"
ports = ["p1"]
"#;

pub const SOURCE: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
pub const DESTINATION: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

/// Devices, and a bpffs for the pins.
pub struct Network {
    pub pins: PathBuf,
}

impl Network {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        match unshare(CloneFlags::CLONE_NEWNET) {
            Ok(()) => {}
            Err(Errno::EPERM) => panic!("this test makes a network namespace: it needs root"),
            Err(error) => panic!("{error}"),
        }
        // The kernel's own frames would be counted too.
        for name in ["all", "default"] {
            let path = format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6");
            match std::fs::write(&path, "1") {
                Err(error) if error.kind() != io::ErrorKind::NotFound => panic!("{path}: {error}"),
                _ => {}
            }
        }
        for port in ["0", "1"] {
            ip(&format!("link add p{port} type veth peer name h{port}"));
            ip(&format!("link set p{port} up"));
            ip(&format!("link set h{port} up"));
        }
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("wtd{}-{number}", std::process::id());
        let pins = std::env::temp_dir().join(name);
        ensure_bpffs(&pins).unwrap();
        Self { pins }
    }

    pub fn start(&self) -> Result<Dataplane, DataplaneError> {
        Dataplane::start(&config(CONFIG), &self.pins)
    }

    pub fn assert_nothing_attached(&self) {
        for device in ["p0", "p1"] {
            let output = Process::new("ip").args(["link", "show", device]).output();
            let text = String::from_utf8(output.unwrap().stdout).unwrap();
            assert!(text.contains(device) && !text.contains("xdp"), "{text}");
            // Some kernels put files into every bpffs.
            assert!(!self.pins.join(device).exists(), "{device} is pinned");
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // Only a failed test leaves pins.
        for port in ["p0", "p1"] {
            let _ = weir_ebpf::remove_stale(&self.pins.join(port));
        }
        let _ = unmount_bpffs(&self.pins);
    }
}

/// A host that uses a device.
pub struct Host {
    socket: OwnedFd,
}

impl Host {
    pub fn new(device: &str) -> Self {
        // Without a protocol it receives nothing yet; with one it would receive frames of all devices until it is bound.
        let socket = socket(
            AddressFamily::Packet,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            None,
        )
        .unwrap();
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
            sll_ifindex: if_nametoindex(device).unwrap() as i32,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        let only_incoming: libc::c_int = 1;
        // SAFETY: address and value are valid for the calls and of the given sizes.
        let results = unsafe {
            [
                libc::bind(
                    socket.as_raw_fd(),
                    std::ptr::from_ref(&address).cast(),
                    size_of_val(&address) as libc::socklen_t,
                ),
                libc::setsockopt(
                    socket.as_raw_fd(),
                    libc::SOL_PACKET,
                    libc::PACKET_IGNORE_OUTGOING,
                    std::ptr::from_ref(&only_incoming).cast(),
                    size_of_val(&only_incoming) as libc::socklen_t,
                ),
            ]
        };
        assert_eq!(results, [0, 0], "{}", Errno::last());
        Self { socket }
    }

    pub fn send(&self, frame: &[u8]) {
        let sent = send(self.socket.as_raw_fd(), frame, MsgFlags::empty());
        assert_eq!(sent, Ok(frame.len()));
    }

    pub fn pause(&self, quanta: Quanta) {
        let mut times = [None; 8];
        times[LOSSLESS] = Some(quanta);
        let mut buffer = [0; 64];
        let length = MacControl::Pfc { times }.emit(DESTINATION, &mut buffer);
        self.send(&buffer[..length.unwrap()]);
    }

    /// Returns the next frame, if one arrives in time.
    pub fn receive_within(&self, limit: StdDuration) -> Option<Vec<u8>> {
        let mut descriptors = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        let timeout = PollTimeout::try_from(limit).unwrap();
        if poll(&mut descriptors, timeout).unwrap() == 0 {
            return None;
        }
        let mut buffer = [0; 4096];
        let length = recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::empty()).unwrap();
        Some(buffer[..length].to_vec())
    }

    pub fn receive(&self) -> Vec<u8> {
        self.receive_within(LIMIT).expect("a frame in time")
    }
}

pub fn config(text: &str) -> DaemonConfig {
    DaemonConfig::parse(text, Path::new("veth.toml")).unwrap_or_else(|error| panic!("{error}"))
}

pub fn ip(arguments: &str) {
    let status = Process::new("ip").args(arguments.split(' ')).status();
    assert!(status.unwrap().success(), "ip {arguments}");
}

/// Returns a frame of `length` bytes that is unique for its `number`.
pub fn frame(number: u32, length: usize) -> Vec<u8> {
    let mut bytes = [DESTINATION.0, SOURCE.0].concat();
    bytes.extend_from_slice(&[0x88, 0xb6]);
    bytes.extend_from_slice(&number.to_be_bytes());
    bytes.extend((bytes.len()..length).map(|at| ((at as u32 * 31) ^ number) as u8));
    bytes
}

/// Returns the pause time of the lossless priority in a frame, which must be PFC.
pub fn pause_of(frame: &[u8]) -> Quanta {
    match MacControl::parse(frame) {
        Ok(MacControl::Pfc { times }) => times[LOSSLESS].expect("the lossless priority"),
        other => panic!("{other:?}"),
    }
}
