//! The dataplane on real devices: two veth pairs in a network namespace that lives as long as its test's
//! thread. Needs root, and fails without.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration as StdDuration, Instant as StdInstant};

use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sched::{unshare, CloneFlags};
use nix::sys::socket::{
    recv, send, socket, AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType,
};
use weir_config::daemon::DaemonConfig;
use weir_core::wire::mac_control::MacControl;
use weir_core::{DropReason, MacAddress, Quanta};
use weir_ebpf::{ensure_bpffs, unmount_bpffs};
use weir_switchd::daemon::RunningDataplane;
use weir_switchd::dataplane::messages::{Request, Snapshot};
use weir_switchd::dataplane::{Dataplane, DataplaneError};

/// No test waits longer than this for what must happen.
const LIMIT: StdDuration = StdDuration::from_secs(60);
const LOSSLESS: usize = 3;
const FRAME_LENGTH: usize = 1000;

/// The hosts' devices are `h0` and `h1`, the switch's `p0` and `p1`; every frame is lossless.
const CONFIG: &str = r#"
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

const SOURCE: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
const DESTINATION: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

/// Devices, and a bpffs for the pins.
struct Network {
    pins: PathBuf,
}

impl Network {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        match unshare(CloneFlags::CLONE_NEWNET) {
            Ok(()) => {}
            Err(Errno::EPERM) => panic!("this test makes a network namespace: it needs root"),
            Err(error) => panic!("{error}"),
        }
        // Frames of the kernel's own would be among those that are counted.
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

    fn start(&self) -> Result<Dataplane, DataplaneError> {
        Dataplane::start(&config(CONFIG), &self.pins)
    }

    fn assert_nothing_attached(&self) {
        for device in ["p0", "p1"] {
            let output = Process::new("ip").args(["link", "show", device]).output();
            let text = String::from_utf8(output.unwrap().stdout).unwrap();
            assert!(text.contains(device) && !text.contains("xdp"), "{text}");
            // Some kernels put files of their own into every bpffs.
            assert!(!self.pins.join(device).exists(), "{device} is pinned");
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // Only a test that has failed leaves pins.
        for port in ["p0", "p1"] {
            let _ = weir_ebpf::remove_stale(&self.pins.join(port));
        }
        let _ = unmount_bpffs(&self.pins);
    }
}

/// What a host does with its device.
struct Host {
    socket: OwnedFd,
}

impl Host {
    fn new(device: &str) -> Self {
        let socket = socket(
            AddressFamily::Packet,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            SockProtocol::EthAll,
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
        // SAFETY: address and value are valid for the calls and of the sizes that are given.
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

    fn send(&self, frame: &[u8]) {
        let sent = send(self.socket.as_raw_fd(), frame, MsgFlags::empty());
        assert_eq!(sent, Ok(frame.len()));
    }

    fn pause(&self, quanta: Quanta) {
        let mut times = [None; 8];
        times[LOSSLESS] = Some(quanta);
        let mut buffer = [0; 64];
        let length = MacControl::Pfc { times }.emit(DESTINATION, &mut buffer);
        self.send(&buffer[..length.unwrap()]);
    }

    /// The next frame, if one comes in time.
    fn receive_within(&self, limit: StdDuration) -> Option<Vec<u8>> {
        let mut descriptors = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        let timeout = PollTimeout::try_from(limit).unwrap();
        if poll(&mut descriptors, timeout).unwrap() == 0 {
            return None;
        }
        let mut buffer = [0; 4096];
        let length = recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::empty()).unwrap();
        Some(buffer[..length].to_vec())
    }

    fn receive(&self) -> Vec<u8> {
        self.receive_within(LIMIT).expect("a frame in time")
    }
}

fn config(text: &str) -> DaemonConfig {
    DaemonConfig::parse(text, Path::new("veth.toml")).unwrap_or_else(|error| panic!("{error}"))
}

fn ip(arguments: &str) {
    let status = Process::new("ip").args(arguments.split(' ')).status();
    assert!(status.unwrap().success(), "ip {arguments}");
}

/// A frame of `length` bytes that no other `number` has.
fn frame(number: u32, length: usize) -> Vec<u8> {
    let mut bytes = [DESTINATION.0, SOURCE.0].concat();
    bytes.extend_from_slice(&[0x88, 0xb6]);
    bytes.extend_from_slice(&number.to_be_bytes());
    bytes.extend((bytes.len()..length).map(|at| ((at as u32 * 31) ^ number) as u8));
    bytes
}

/// The pause time of the lossless priority in a frame; it must be PFC.
fn pause_of(frame: &[u8]) -> Quanta {
    match MacControl::parse(frame) {
        Ok(MacControl::Pfc { times }) => times[LOSSLESS].expect("the lossless priority"),
        other => panic!("{other:?}"),
    }
}

fn snapshot(dataplane: &Dataplane) -> Box<Snapshot> {
    let link = dataplane.link().unwrap();
    link.requests
        .try_send(Request::Snapshot(Box::default()))
        .unwrap();
    link.snapshots.recv_timeout(LIMIT).unwrap()
}

/// Waits until the switch holds `count` frames.
fn wait_for_held(dataplane: &Dataplane, count: u64) {
    let began = StdInstant::now();
    while snapshot(dataplane).held_frames != count {
        assert!(began.elapsed() < LIMIT, "{:?}", snapshot(dataplane));
        std::thread::yield_now();
    }
}

#[test]
fn frames_come_out_as_they_went_in() {
    let network = Network::new();
    let dataplane = network.start().unwrap();
    let attached = dataplane.attached();
    assert_eq!(attached.len(), 2);
    assert_eq!(attached[0].address, MacAddress([2, 0, 0, 0, 0, 0xa0]));
    assert!(attached[1].ifindex == if_nametoindex("p1").unwrap());
    for port in &attached {
        assert_eq!((port.xdp_mode, port.zero_copy), ("native", false));
    }
    let (h0, h1) = (Host::new("h0"), Host::new("h1"));
    // More than all rings hold, so that every chunk is used again.
    let lengths = [60, 61, 64, 577, 1024, 1513, 1514].into_iter().cycle();
    for (number, length) in (0..2_000).zip(lengths) {
        let frame = frame(number, length);
        h0.send(&frame);
        assert_eq!(h1.receive(), frame, "frame {number}");
    }
    wait_for_held(&dataplane, 0);
    let seen = snapshot(&dataplane);
    assert_eq!(seen.ports[0].counters.priority[LOSSLESS].rx_frames, 2_000);
    assert_eq!(seen.ports[1].counters.priority[LOSSLESS].tx_frames, 2_000);
    assert_eq!(seen.ports[0].counters.drops_total(), 0);
    let frames = dataplane.xdp_frames(weir_core::PortId::new(0));
    assert!(frames.contains(&("data", 2_000)), "{frames:?}");

    let stopped = dataplane.stop(LIMIT).unwrap();
    assert!(stopped.drained, "{stopped:?}");
    network.assert_nothing_attached();
}

#[test]
fn a_blocked_egress_pauses_the_sender_and_loses_nothing() {
    let network = Network::new();
    let dataplane = network.start().unwrap();
    let (h0, h1) = (Host::new("h0"), Host::new("h1"));
    let mut sent = 0;
    let told = loop {
        // Often enough that it never expires: 335 ms at this rate.
        h1.pause(Quanta::MAX);
        h0.send(&frame(sent, FRAME_LENGTH));
        sent += 1;
        if let Some(told) = h0.receive_within(StdDuration::from_millis(1)) {
            break told;
        }
        assert!(sent < 80, "there is no more headroom");
    };
    assert_eq!(pause_of(&told), Quanta::MAX);
    assert_eq!(told[6..12], dataplane.attached()[0].address.0);
    assert_eq!(told.len(), 60);
    // 1 KiB each in whole cells.
    assert!(sent >= 16, "xoff is 16 KiB: {sent}");

    h1.pause(Quanta::ZERO);
    for number in 0..sent {
        assert_eq!(h1.receive(), frame(number, FRAME_LENGTH), "frame {number}");
    }
    while pause_of(&h0.receive()) != Quanta::ZERO {}
    wait_for_held(&dataplane, 0);
    let counters = snapshot(&dataplane).ports[0].counters;
    assert_eq!(counters.drops, [0; DropReason::COUNT]);
    dataplane.stop(LIMIT).unwrap();
    network.assert_nothing_attached();
}

#[test]
fn stopping_waits_for_what_is_buffered() {
    let network = Network::new();
    let dataplane = network.start().unwrap();
    let (h0, h1) = (Host::new("h0"), Host::new("h1"));
    // Runs out by itself, while the switch drains or, on a slow machine, before.
    h1.pause(Quanta(20_000));
    for number in 0..10 {
        h0.send(&frame(number, FRAME_LENGTH));
    }
    let began = StdInstant::now();
    while snapshot(&dataplane).ports[0].counters.priority[LOSSLESS].rx_frames < 10 {
        assert!(began.elapsed() < LIMIT);
        std::thread::yield_now();
    }
    let stopped = dataplane.stop(LIMIT).unwrap();
    assert_eq!((stopped.drained, stopped.held_frames), (true, 0));
    let frames: Vec<_> = std::iter::from_fn(|| h1.receive_within(StdDuration::ZERO))
        .filter(|frame| MacControl::parse(frame).is_err())
        .collect();
    let expected: Vec<_> = (0..10).map(|number| frame(number, FRAME_LENGTH)).collect();
    assert_eq!(frames, expected);
    assert_eq!(pause_of(&h0.receive()), Quanta::MAX, "the sender is held");
    network.assert_nothing_attached();
}

#[test]
fn what_cannot_start_says_why_and_leaves_nothing() {
    let network = Network::new();
    let missing = config(&CONFIG.replacen("\"p1\"\nrole", "\"p9\"\nname = \"p1\"\nrole", 1));
    let error = Dataplane::start(&missing, &network.pins).unwrap_err();
    assert!(
        matches!(&error, DataplaneError::NoDevice { device, .. } if device == "p9"),
        "{error}"
    );
    network.assert_nothing_attached();

    let long = CONFIG.replacen("[dataplane]\n", "[dataplane]\nmtu = \"9000B\"\n", 1);
    let error = Dataplane::start(&config(&long), &network.pins).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("`p0` has an MTU of 1500 B") && text.contains("ip link set dev p0 mtu 9000"),
        "{text}"
    );
    network.assert_nothing_attached();

    let no_queue = config(&CONFIG.replacen("\"p1\"\nrole", "\"p1\"\nqueue = 7\nrole", 1));
    let error = Dataplane::start(&no_queue, &network.pins).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("p1 queue 7"), "{text}");
    network.assert_nothing_attached();

    let first = network.start().unwrap();
    let error = network.start().unwrap_err();
    assert!(
        matches!(&error, DataplaneError::Socket { device, queue: 0, .. } if device == "p0"),
        "{error}"
    );
    // The first one is none the worse for it.
    let (h0, h1) = (Host::new("h0"), Host::new("h1"));
    h0.send(&frame(1, FRAME_LENGTH));
    assert_eq!(h1.receive(), frame(1, FRAME_LENGTH));
    first.stop(LIMIT).unwrap();
    network.assert_nothing_attached();
}

#[test]
fn a_device_that_is_gone_does_not_end_the_thread() {
    let network = Network::new();
    let dataplane = network.start().unwrap();
    let h0 = Host::new("h0");
    ip("link del p1");
    for number in 0..10 {
        h0.send(&frame(number, FRAME_LENGTH));
    }
    let began = StdInstant::now();
    while snapshot(&dataplane).ports[0].counters.priority[LOSSLESS].rx_frames < 10 {
        assert!(began.elapsed() < LIMIT, "{:?}", snapshot(&dataplane));
        std::thread::yield_now();
    }
    // Nothing can leave, and the switch says so.
    let stopped = dataplane.stop(StdDuration::from_millis(50)).unwrap();
    assert!(!stopped.drained);
    assert_eq!(stopped.held_frames, 10);
}
