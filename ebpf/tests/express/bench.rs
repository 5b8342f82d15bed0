//! Two veth pairs in the test's own network namespace, and the programs between them.

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;
use std::time::Duration;

use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sched::{unshare, CloneFlags};
use nix::time::{clock_gettime, ClockId};
use weir_ebpf::{
    AttachMode, ExpressMaps, ExpressWords, Extras, Fallback, Line, PortProgram, PortSettings,
};

pub(super) const HOST: [u8; 6] = [2, 0, 0, 0, 1, 1];
pub(super) const SOURCE: [u8; 6] = [2, 0, 0, 0, 1, 0];
pub(super) const PRIORITY: u8 = 3;
pub(super) const EVERY: u8 = 0xff;
pub(super) const FAST: Line = Line {
    rate: 100_000_000_000,
    burst_nanos: 10_000_000,
    overhead_bytes: 24,
    is_sure: false,
};
/// 60 B take 67 ms.
pub(super) const SLOW: Line = Line {
    rate: 10_000,
    burst_nanos: 0,
    overhead_bytes: 24,
    is_sure: false,
};

pub(super) fn run(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    assert!(status.unwrap().success(), "ip {arguments}: needs root");
}

/// Adds a veth pair without IPv6, whose kernel would send by itself.
pub(crate) fn add_pair(ends: [&str; 2]) {
    run(&format!(
        "link add {} type veth peer name {}",
        ends[0], ends[1]
    ));
    for end in ends {
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{end}/disable_ipv6"), "1");
        run(&format!("link set {end} up"));
    }
}

pub(super) fn now_nanos() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap();
    Duration::from(now).as_nanos() as u64
}

pub(crate) struct Wire(OwnedFd);

impl Wire {
    pub(crate) fn new(device: &str) -> Self {
        let protocol = (libc::ETH_P_ALL as u16).to_be();
        // SAFETY: a plain system call; the descriptor has no other owner.
        let fd = unsafe {
            let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, i32::from(protocol));
            assert!(fd >= 0, "{}", std::io::Error::last_os_error());
            OwnedFd::from_raw_fd(fd)
        };
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: protocol,
            sll_ifindex: if_nametoindex(device).unwrap() as i32,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        let limit = libc::timeval {
            tv_sec: 10,
            tv_usec: 0,
        };
        // SAFETY: the values outlive the calls, and the lengths are theirs.
        unsafe {
            let length = size_of_val(&address) as u32;
            let bound = libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length);
            assert_eq!(bound, 0);
            let length = size_of_val(&limit) as u32;
            let (level, option) = (libc::SOL_SOCKET, libc::SO_RCVTIMEO);
            let value = (&raw const limit).cast();
            assert_eq!(
                libc::setsockopt(fd.as_raw_fd(), level, option, value, length),
                0
            );
        }
        Self(fd)
    }

    pub(crate) fn send(&self, frame: &[u8]) {
        let sent = nix::sys::socket::send(
            self.0.as_raw_fd(),
            frame,
            nix::sys::socket::MsgFlags::empty(),
        );
        assert_eq!(sent, Ok(frame.len()));
    }

    /// Returns the next frame from [`SOURCE`].
    pub(super) fn receive(&self) -> Vec<u8> {
        let mut buffer = [0; 2048];
        loop {
            let length = nix::unistd::read(self.0.as_fd(), &mut buffer).expect("a frame in time");
            let frame = &buffer[..length];
            if frame.get(6..12) == Some(&SOURCE) {
                return frame.to_vec();
            }
        }
    }
}

/// h0 ═ p0 (port 0) and p1 (port 1) ═ h1, with the express path between the ports, and no core: a socket receives its frames
/// and discards them.
pub(super) struct Bench {
    pub(super) maps: ExpressMaps,
    pub(super) words: ExpressWords,
    pub(super) ports: Vec<PortProgram>,
    pub(super) h0: Wire,
    pub(super) h1: Wire,
    pub(super) host: Option<PortProgram>,
    _socket: OwnedFd,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::with(None)
    }

    /// Creates a bench whose programs check for room and leave this many entries of the ring free.
    pub(super) fn with(spare: Option<u32>) -> Self {
        unshare(CloneFlags::CLONE_NEWNET).expect("needs root");
        for pair in [0, 1] {
            add_pair([&format!("h{pair}"), &format!("p{pair}")]);
        }
        let mut maps = ExpressMaps::new().unwrap();
        if let Some(spare) = spare {
            maps.look_for_room(spare);
        }
        let line = Line {
            is_sure: spare.is_some(),
            ..FAST
        };
        let words = maps.words().unwrap();
        let socket = socket_with_rx_ring();
        let ports = (0..2)
            .map(|port| {
                let settings = PortSettings {
                    port,
                    default_priority: PRIORITY,
                    fallback: Fallback::Drop,
                    ..PortSettings::default()
                };
                let mut program = {
                    let extras = Extras {
                        express: Some(&maps),
                        ..Extras::default()
                    };
                    PortProgram::load_with(&settings, &extras).unwrap()
                };
                program.set_socket(0, socket.as_fd()).unwrap();
                let device = if_nametoindex(format!("p{port}").as_str()).unwrap();
                program.attach(device, AttachMode::Native, None).unwrap();
                maps.set_device(port, device).unwrap();
                words.set_line(port, line);
                program
            })
            .collect();
        // A veth accepts redirected frames if its peer has a program.
        let mut host = PortProgram::load(&PortSettings::default()).unwrap();
        let device = if_nametoindex("h1").unwrap();
        host.attach(device, AttachMode::Native, None).unwrap();
        maps.set_route(HOST, 1).unwrap();
        words.switch_on(1514);
        words.beat(now_nanos() + 3_600_000_000_000);
        assert!(words.open(1, words.gate(1), EVERY));
        Self {
            maps,
            words,
            ports,
            h0: Wire::new("h0"),
            h1: Wire::new("h1"),
            host: Some(host),
            _socket: socket,
        }
    }

    pub(super) fn express_frames(&self) -> u64 {
        let (came, went) = (
            self.words.came_in(0, PRIORITY),
            self.words.went_out(1, PRIORITY),
        );
        assert_eq!(came, went);
        came.frames
    }

    pub(super) fn entered(&self) -> u64 {
        self.words.entered(0, PRIORITY)
    }

    pub(super) fn assert_passes(&self, what: &str) {
        let before = (self.express_frames(), self.entered());
        let sent = frame(7, HOST, 60);
        self.h0.send(&sent);
        assert_eq!(self.h1.receive(), sent, "{what}");
        let after = (self.express_frames(), self.entered());
        assert_eq!(after, (before.0 + 1, before.1), "{what}");
    }

    pub(super) fn assert_is_for_the_core(&self, what: &str, frame: &[u8]) {
        let (express, entered) = (self.express_frames(), self.entered());
        self.h0.send(frame);
        // The veth's peer runs soon, but not always before `send` returns.
        let began = std::time::Instant::now();
        while self.entered() == entered {
            assert!(began.elapsed() < Duration::from_secs(10), "{what}");
            std::thread::yield_now();
        }
        assert_eq!(self.entered(), entered + 1, "{what}");
        assert_eq!(self.express_frames(), express, "{what}");
        self.words.finish(0, PRIORITY, 1);
    }
}

fn socket_with_rx_ring() -> OwnedFd {
    const AF_XDP: i32 = 44;
    const SOL_XDP: i32 = 283;
    const XDP_RX_RING: i32 = 2;
    let entries = 8u32;
    // SAFETY: plain system calls with values that outlive them; the descriptor has no other owner.
    unsafe {
        let fd = libc::socket(AF_XDP, libc::SOCK_RAW, 0);
        assert!(fd >= 0, "{}", std::io::Error::last_os_error());
        let value = (&raw const entries).cast();
        assert_eq!(libc::setsockopt(fd, SOL_XDP, XDP_RX_RING, value, 4), 0);
        OwnedFd::from_raw_fd(fd)
    }
}

pub(super) fn frame(number: u32, destination: [u8; 6], length: usize) -> Vec<u8> {
    let mut frame = destination.to_vec();
    frame.extend(SOURCE);
    frame.extend([0x88, 0xb6]);
    frame.extend(number.to_be_bytes());
    frame.extend((frame.len()..length).map(|at| at as u8 ^ number as u8));
    frame
}

/// Returns a PFC frame from h1; its content does not matter.
pub(super) fn pause() -> Vec<u8> {
    let mut frame = vec![0x01, 0x80, 0xc2, 0, 0, 1];
    frame.extend(HOST);
    frame.extend([0x88, 0x08, 0x01, 0x01]);
    frame.resize(60, 0);
    frame
}

/// Polls, since the kernel's state of a device changes shortly after a request.
pub(super) fn assert_soon(what: &str, is_so: impl Fn() -> bool) {
    let began = std::time::Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(10), "{what}");
        std::thread::yield_now();
    }
}
