//! The express path over real devices: two veth pairs in a network namespace of the test's own. Needs root.

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;
use std::time::Duration;

use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sched::{unshare, CloneFlags};
use nix::time::{clock_gettime, ClockId};
use weir_ebpf::{
    grace_period, takes_redirected, AttachMode, ExpressMaps, ExpressWords, Extras, Fallback, Line,
    PortProgram, PortSettings, RedirectLosses, Verdict,
};

const HOST: [u8; 6] = [2, 0, 0, 0, 1, 1];
const SOURCE: [u8; 6] = [2, 0, 0, 0, 1, 0];
const PRIORITY: u8 = 3;
const EVERY: u8 = 0xff;
const FAST: Line = Line {
    rate: 100_000_000_000,
    burst_nanos: 10_000_000,
    overhead_bytes: 24,
};
/// 60 B take 67 ms.
const SLOW: Line = Line {
    rate: 10_000,
    burst_nanos: 0,
    overhead_bytes: 24,
};

fn run(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    assert!(status.unwrap().success(), "ip {arguments}: needs root");
}

fn now_nanos() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap();
    Duration::from(now).as_nanos() as u64
}

/// A packet socket on a device.
struct Wire(OwnedFd);

impl Wire {
    fn new(device: &str) -> Self {
        let protocol = (libc::ETH_P_ALL as u16).to_be();
        // SAFETY: a plain system call; the descriptor is nobody else's.
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
        // SAFETY: the values live through the calls, and the lengths are theirs.
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

    fn send(&self, frame: &[u8]) {
        let sent = nix::sys::socket::send(
            self.0.as_raw_fd(),
            frame,
            nix::sys::socket::MsgFlags::empty(),
        );
        assert_eq!(sent, Ok(frame.len()));
    }

    /// The next frame from [`SOURCE`].
    fn receive(&self) -> Vec<u8> {
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

/// h0 ═ p0 (port 0) and p1 (port 1) ═ h1, with the express path between the ports, and no core: a socket takes what is for it
/// and loses it.
struct Bench {
    maps: ExpressMaps,
    words: ExpressWords,
    ports: Vec<PortProgram>,
    h0: Wire,
    h1: Wire,
    host: Option<PortProgram>,
    _socket: OwnedFd,
}

impl Bench {
    fn new() -> Self {
        unshare(CloneFlags::CLONE_NEWNET).expect("needs root");
        for pair in [0, 1] {
            run(&format!("link add h{pair} type veth peer name p{pair}"));
            for device in ["h", "p"] {
                let device = format!("{device}{pair}");
                let file = format!("/proc/sys/net/ipv6/conf/{device}/disable_ipv6");
                let _ = std::fs::write(file, "1");
                run(&format!("link set {device} up"));
            }
        }
        let maps = ExpressMaps::new().unwrap();
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
                words.set_line(port, FAST);
                program
            })
            .collect();
        // A veth takes redirected frames where its peer has a program.
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

    fn express_frames(&self) -> u64 {
        let (came, went) = (
            self.words.came_in(0, PRIORITY),
            self.words.went_out(1, PRIORITY),
        );
        assert_eq!(came, went);
        came.frames
    }

    fn entered(&self) -> u64 {
        self.words.entered(0, PRIORITY)
    }

    /// A frame takes the express path.
    fn assert_passes(&self, what: &str) {
        let before = (self.express_frames(), self.entered());
        let sent = frame(7, HOST, 60);
        self.h0.send(&sent);
        assert_eq!(self.h1.receive(), sent, "{what}");
        let after = (self.express_frames(), self.entered());
        assert_eq!(after, (before.0 + 1, before.1), "{what}");
    }

    /// A frame is handed to the core; then the core has finished it.
    fn assert_is_for_the_core(&self, what: &str, frame: &[u8]) {
        let (express, entered) = (self.express_frames(), self.entered());
        self.h0.send(frame);
        // The veth's other end runs soon, and not always before `send` returns.
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
    // SAFETY: plain system calls with values that live through them; the descriptor is nobody else's.
    unsafe {
        let fd = libc::socket(AF_XDP, libc::SOCK_RAW, 0);
        assert!(fd >= 0, "{}", std::io::Error::last_os_error());
        let value = (&raw const entries).cast();
        assert_eq!(libc::setsockopt(fd, SOL_XDP, XDP_RX_RING, value, 4), 0);
        OwnedFd::from_raw_fd(fd)
    }
}

fn frame(number: u32, destination: [u8; 6], length: usize) -> Vec<u8> {
    let mut frame = destination.to_vec();
    frame.extend(SOURCE);
    frame.extend([0x88, 0xb6]);
    frame.extend(number.to_be_bytes());
    frame.extend((frame.len()..length).map(|at| at as u8 ^ number as u8));
    frame
}

/// PFC from h1, whatever it says.
fn pause() -> Vec<u8> {
    let mut frame = vec![0x01, 0x80, 0xc2, 0, 0, 1];
    frame.extend(HOST);
    frame.extend([0x88, 0x08, 0x01, 0x01]);
    frame.resize(60, 0);
    frame
}

#[test]
#[ignore = "needs root"]
fn frames_come_out_as_they_went_in_and_in_order() {
    let bench = Bench::new();
    let lengths = [60, 61, 64, 577, 1024, 1513, 1514].into_iter().cycle();
    for (number, length) in (0..500).zip(lengths) {
        let sent = frame(number, HOST, length);
        bench.h0.send(&sent);
        assert_eq!(bench.h1.receive(), sent, "frame {number}");
    }
    // Several at a time, so that bulk queues have more than one.
    for batch in 0..50 {
        let numbers = batch * 20..(batch + 1) * 20;
        numbers
            .clone()
            .for_each(|number| bench.h0.send(&frame(number, HOST, 60)));
        for number in numbers {
            assert_eq!(bench.h1.receive(), frame(number, HOST, 60));
        }
    }
    assert_eq!(bench.express_frames(), 1_500);
    assert_eq!(bench.entered(), 0);
    let verdicts = bench.ports[0].verdict_counters().unwrap();
    assert_eq!(verdicts.get(Verdict::Express), 1_500);
    assert_eq!(verdicts.get(Verdict::Redirected), 0);
}

#[test]
#[ignore = "needs root"]
fn each_condition_alone_sends_frames_to_the_core() {
    let bench = Bench::new();
    let (words, maps) = (&bench.words, &bench.maps);
    let ordinary = frame(1, HOST, 60);
    bench.assert_passes("at first");

    assert!(words.close(1));
    bench.assert_is_for_the_core("the egress is shut", &ordinary);
    assert!(words.open(1, words.gate(1), EVERY & !(1 << PRIORITY)));
    bench.assert_is_for_the_core("it is open for others", &ordinary);
    words.close(1);
    assert!(words.open(1, words.gate(1), 1 << PRIORITY));
    bench.assert_passes("it is open");

    words.enter(0, PRIORITY);
    bench.assert_is_for_the_core("an earlier one is inside", &ordinary);
    words.finish(0, PRIORITY, 1);
    bench.assert_passes("it has left");
    words.enter(0, PRIORITY + 1);
    bench.assert_passes("one of another priority is inside");

    words.switch_off();
    bench.assert_is_for_the_core("there is no path", &ordinary);
    words.switch_on(999);
    bench.assert_is_for_the_core("it is too long", &frame(1, HOST, 1000));
    let mut group = frame(1, HOST, 60);
    group[6] |= 1;
    bench.assert_is_for_the_core("its source is a group", &group);
    bench.assert_is_for_the_core("it is for a group", &frame(1, [0xff; 6], 60));
    bench.assert_is_for_the_core("nobody knows the way", &frame(1, SOURCE, 60));

    maps.set_route(SOURCE, 0).unwrap();
    bench.assert_is_for_the_core("it came from there", &frame(1, SOURCE, 60));
    maps.clear_route(HOST).unwrap();
    bench.assert_is_for_the_core("its route is gone", &ordinary);
    maps.clear_route(HOST).unwrap();
    maps.set_route(HOST, 1).unwrap();
    maps.clear_device(1).unwrap();
    bench.assert_is_for_the_core("its device is gone", &ordinary);
    maps.clear_device(1).unwrap();
    maps.set_device(1, if_nametoindex("p1").unwrap()).unwrap();

    words.beat(now_nanos() - 60_000_000);
    bench.assert_is_for_the_core("the core stands still", &ordinary);
    words.beat(now_nanos() + 3_600_000_000_000);
    bench.assert_passes("all is as at first");
}

#[test]
#[ignore = "needs root"]
fn a_pause_shuts_the_egress_and_is_not_overlooked() {
    let bench = Bench::new();
    bench.assert_passes("at first");
    let before = bench.words.gate(1);
    bench.h1.send(&pause());
    let began = std::time::Instant::now();
    while ExpressWords::is_open(bench.words.gate(1)) {
        assert!(began.elapsed() < Duration::from_secs(10), "it stays open");
        std::thread::yield_now();
    }
    let gate = bench.words.gate(1);
    assert_eq!(ExpressWords::seen(gate), ExpressWords::seen(before) + 1);
    bench.assert_is_for_the_core("paused", &frame(1, HOST, 60));
    assert!(
        !bench.words.open(1, before, EVERY),
        "the core has not heard of the pause"
    );
    assert!(
        !ExpressWords::is_open(bench.words.gate(0)),
        "port 0 has not opened by it"
    );
    assert!(bench.words.open(1, gate, EVERY));
    bench.assert_passes("the core has");
}

#[test]
#[ignore = "needs root"]
fn the_line_of_the_egress_is_shared_with_the_core() {
    let bench = Bench::new();
    bench.words.set_line(1, SLOW);
    bench.assert_passes("the line is free");
    let free_at = bench.words.free_at(1);
    assert!(free_at > now_nanos() + 20_000_000, "84 B at 10 kbit/s");
    bench.assert_is_for_the_core("the line is busy", &frame(1, HOST, 60));
    assert_eq!(bench.words.free_at(1), free_at);
    // What the core sends counts, too.
    bench.words.set_line(1, FAST);
    bench.words.occupy(1, now_nanos() + 3_600_000_000_000);
    bench.assert_is_for_the_core("the core has the line", &frame(1, HOST, 60));
}

/// What the kernel says of a device changes a moment after it was told to.
fn assert_soon(what: &str, is_so: impl Fn() -> bool) {
    let began = std::time::Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(10), "{what}");
        std::thread::yield_now();
    }
}

#[test]
#[ignore = "needs root"]
fn what_the_kernel_loses_on_the_way_is_counted_and_shuts_the_egress() {
    let mut bench = Bench::new();
    let losses = RedirectLosses::new(&bench.maps).unwrap();
    let egress = if_nametoindex("p1").unwrap();
    losses.watch(egress, 1).unwrap();
    bench.assert_passes("before");
    assert_eq!(bench.words.lost(1), 0);
    assert!(takes_redirected(egress));
    let lose = |bench: &Bench, lost: u64| {
        let passed = bench.express_frames();
        assert!(bench.words.open(1, bench.words.gate(1), EVERY));
        bench.h0.send(&frame(9, HOST, 60));
        assert_soon("it is counted", || bench.words.lost(1) == lost);
        assert_eq!(bench.express_frames(), passed + 1);
        assert!(!ExpressWords::is_open(bench.words.gate(1)));
        assert_eq!(bench.words.lost(0), 0);
    };
    // The other end is down, and so has no NAPI: its device refuses what it is given in bulk.
    run("link set h1 down");
    lose(&bench, 1);
    run("link set h1 up");
    bench.h1 = Wire::new("h1");
    assert!(bench.words.open(1, bench.words.gate(1), EVERY));
    bench.assert_passes("it is up again");
    // Without a program it has none either, and the kernel knows before it queues a frame.
    bench.host = None;
    assert_soon("the other end has no NAPI", || !takes_redirected(egress));
    lose(&bench, 2);
    bench.assert_is_for_the_core("shut", &frame(1, HOST, 60));
}

#[test]
#[ignore = "needs root"]
fn a_grace_period_ends() {
    grace_period().unwrap();
}
