//! The express path on real devices: two veth pairs in a network namespace. Needs root, and fails without it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::network::{config, frame, Host, Network, DESTINATION, LIMIT};
use nix::net::if_::if_nametoindex;
use weir_api::words::Express;
use weir_config::files::read_secret;
use weir_core::wire::mac_control::MacControl;
use weir_core::{Command, PortId, PortSet, Quanta};
use weir_dataplane::audit::audit;
use weir_dataplane::clock;
use weir_dataplane::link::{DataplaneLink, Programs, RunningDataplane};
use weir_dataplane::messages::{LeftFrame, Request, Snapshot};
use weir_dataplane::tables::Tables;
use weir_dataplane::Dataplane;
use weir_ebpf::{AttachMode, PortProgram, PortSettings};

/// Every frame is lossy, and ports obey PAUSE.
const CONFIG: &str = r#"
name = "express"
[dataplane]
rx-ring = 256
tx-ring = 256
workers = 1
express = "on"
[[port]]
device = "p0"
role = "edge"
rate = "10Gbit"
pause = "obey"
[[port]]
device = "p1"
role = "edge"
rate = "10Gbit"
pause = "obey"
[[route]]
destination = "02:00:00:00:00:01"
ports = ["p1"]
"#;
/// Added for a switch with lossless frames only.
const LOSSLESS: &str = r#"
[[class]]
name = "lossless"
priority = 0
mode = "pfc"
xoff = "256KiB"
xon = "128KiB"
headroom = "512KiB"
express = "on"
"#;
const PRIORITY: usize = 0;

/// The network with hosts that accept redirected frames, and a switch.
struct Stage {
    network: Network,
    dataplane: Option<Dataplane>,
    link: DataplaneLink,
    h0: Host,
    h1: Host,
    program: Option<PortProgram>,
}

/// Attaches a program that passes all frames to the kernel, which enables NAPI on a veth.
fn attach_host() -> PortProgram {
    let mut host = PortProgram::load(&PortSettings::default()).unwrap();
    let device = if_nametoindex("h1").unwrap();
    host.attach(device, AttachMode::Native, None).unwrap();
    host
}

impl Stage {
    fn new(text: &str) -> Self {
        Self::with(|network| Dataplane::start(&config(text), &network.pins).unwrap())
    }

    fn with(start: impl FnOnce(&Network) -> Dataplane) -> Self {
        let network = Network::new();
        let program = Some(attach_host());
        let dataplane = start(&network);
        Self {
            link: dataplane.link().unwrap(),
            dataplane: Some(dataplane),
            h0: Host::new("h0"),
            h1: Host::new("h1"),
            program,
            network,
        }
    }

    fn open() -> Self {
        Self::open_with("")
    }

    fn open_with(classes: &str) -> Self {
        let mut stage = Self::new(&format!("{CONFIG}{classes}"));
        stage.wait_for(Express::Open);
        stage
    }

    fn request(&self, request: Request) {
        self.link.requests.try_send(request).unwrap();
    }

    fn snapshot(&mut self) -> Box<Snapshot> {
        let mut snapshot = Box::<Snapshot>::default();
        snapshot.tables = Tables {
            accounts: true,
            ..Tables::NONE
        };
        snapshot.accounts.make_room(2);
        self.request(Request::Snapshot(snapshot));
        self.link.snapshots.recv_timeout(LIMIT).unwrap()
    }

    /// Waits for a state of the express path at `p1`.
    fn wait_for(&mut self, state: Express) {
        let began = Instant::now();
        loop {
            let now = self.snapshot().ports[1].express;
            if now == state {
                return;
            }
            assert!(
                began.elapsed() < LIMIT,
                "{} instead of {}",
                now.name(),
                state.name()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a PAUSE from the host behind `p1`.
    fn pause(&self, quanta: Quanta) {
        let mut buffer = [0; 64];
        let length = MacControl::Pause { quanta }.emit(DESTINATION, &mut buffer);
        self.h1.send(&buffer[..length.unwrap()]);
    }

    fn passed(&mut self) -> u64 {
        self.snapshot().ports[1].counters.priority[PRIORITY].express_tx_frames
    }

    /// Carries the frames `numbers`, and checks that they arrive unchanged and in order. At most as many as the hosts'
    /// sockets hold are in flight.
    fn carry(&mut self, numbers: std::ops::Range<u32>) {
        const WINDOW: usize = 64;
        let lengths = [60, 61, 64, 577, 1024, 1513, 1514].into_iter().cycle();
        let mut on_their_way = VecDeque::new();
        for (number, length) in numbers.zip(lengths) {
            let frame = frame(number, length);
            self.h0.send(&frame);
            on_their_way.push_back((number, frame));
            if on_their_way.len() == WINDOW {
                self.take(&mut on_their_way);
            }
        }
        while !on_their_way.is_empty() {
            self.take(&mut on_their_way);
        }
    }

    fn take(&self, on_their_way: &mut VecDeque<(u32, Vec<u8>)>) {
        let (number, sent) = on_their_way.pop_front().unwrap();
        assert_eq!(self.h1.receive(), sent, "frame {number}");
    }

    fn assert_balanced(&mut self, carried: u64) {
        let began = Instant::now();
        while self.snapshot().held_frames > 0 {
            assert!(began.elapsed() < LIMIT);
        }
        let snapshot = self.snapshot();
        let audit = audit(["p0", "p1"].into_iter(), &snapshot);
        assert_eq!(audit.differences(), []);
        let [came, went] =
            [0, 1].map(|port: usize| &snapshot.ports[port].counters.priority[PRIORITY]);
        assert_eq!(came.rx_frames, carried);
        assert_eq!(went.tx_frames, carried);
        assert_eq!(came.rx_bytes, went.tx_bytes);
        assert_eq!(came.express_rx_frames, went.express_tx_frames);
        assert_eq!(snapshot.ports[0].counters.drops_total(), 0);
        let lost: u64 = snapshot.ports.iter().map(|port| port.kernel.total()).sum();
        assert_eq!(lost, 0);
    }

    /// Carries one frame that certainly takes the path, since no other is in flight, after `passed` earlier ones.
    fn carry_one_by_the_path(&mut self, passed: u64) {
        self.carry(0..1);
        assert_eq!(self.passed(), passed + 1);
    }

    /// Sends `count` frames that the core drops.
    fn assert_dropped(&mut self, count: u32) {
        for number in 0..count {
            self.h0.send(&frame(number, 100));
        }
        let began = Instant::now();
        while self.snapshot().ports[0].counters.drops_total() < u64::from(count) {
            assert!(began.elapsed() < LIMIT, "{:?}", self.snapshot().ports[0]);
        }
    }

    /// Starts the next switch, which takes over the previous one's stored frames, carries a hundred frames, and ends.
    fn succeed(mut self, left: Vec<LeftFrame>) {
        let next = Dataplane::start_anew(
            &config(CONFIG),
            &self.network.pins,
            left,
            None,
            read_secret,
            || Ok(()),
        )
        .unwrap();
        self.link = next.link().unwrap();
        self.dataplane = Some(next);
        self.wait_for(Express::Open);
        self.carry(0..100);
        assert!(self.passed() > 0);
        self.assert_balanced(100);
        self.stop();
    }

    fn stop(mut self) {
        let stopped = self.dataplane.take().unwrap().stop(LIMIT, Programs::Detach);
        assert_eq!(stopped.unwrap().held_frames(), 0);
        self.network.assert_nothing_attached();
    }
}

#[test]
#[ignore = "needs root"]
fn frames_pass_as_they_came_and_are_counted() {
    for classes in ["", LOSSLESS] {
        frames_of(classes);
    }
}

fn frames_of(classes: &str) {
    let mut stage = Stage::open_with(classes);
    stage.carry(0..3_000);
    let passed = stage.passed();
    assert!(passed > 0, "the path was used");
    stage.assert_balanced(3_000);
    let verdicts = stage
        .dataplane
        .as_ref()
        .unwrap()
        .xdp_verdicts(PortId::new(0));
    assert!(verdicts.contains(&("express", passed)), "{verdicts:?}");
    stage.carry_one_by_the_path(passed);
    stage.stop();
}

/// Frames change between the paths continually, and none overtakes another.
#[test]
#[ignore = "needs root"]
fn frames_keep_their_order_while_the_path_opens_and_shuts() {
    for classes in ["", LOSSLESS] {
        open_and_shut(classes);
    }
}

fn open_and_shut(classes: &str) {
    let mut stage = Stage::open_with(classes);
    let quanta = [Quanta(1_000), Quanta::ZERO];
    for turn in 0..300u32 {
        if turn % 3 == 0 {
            // Frames wait for 51 µs, or until the next pause changes the time.
            stage.pause(quanta[turn as usize % 2]);
        }
        stage.carry(turn * 40..turn * 40 + turn % 40);
    }
    let carried = (0..300u64).map(|turn| turn % 40).sum();
    let passed = stage.passed();
    assert!(
        passed > 0 && passed < carried,
        "both paths were used: {passed} of {carried}"
    );
    stage.assert_balanced(carried);
    stage.stop();
}

#[test]
#[ignore = "needs root"]
fn a_pause_holds_what_comes_after_it() {
    for classes in ["", LOSSLESS] {
        pause_and_resume(classes);
    }
}

fn pause_and_resume(classes: &str) {
    // The longest pause takes 3.4 s.
    let text = CONFIG.replace("rate = \"10Gbit\"", "rate = \"10Mbit\"") + classes;
    let mut stage = Stage::new(&text);
    stage.wait_for(Express::Open);
    stage.carry(0..1);
    let passed = stage.passed();
    stage.pause(Quanta::MAX);
    let began = Instant::now();
    while !stage.snapshot().ports[1].gauges[PRIORITY].paused {
        assert!(began.elapsed() < LIMIT);
    }
    for number in 1..20 {
        stage.h0.send(&frame(number, 100));
    }
    while stage.snapshot().held_frames < 19 {
        assert!(began.elapsed() < LIMIT);
    }
    stage.pause(Quanta::ZERO);
    for number in 1..20 {
        assert_eq!(stage.h1.receive(), frame(number, 100));
    }
    assert_eq!(stage.passed(), passed, "the core had them all");
    stage.wait_for(Express::Open);
    stage.carry_one_by_the_path(passed);
    stage.stop();
}

#[test]
#[ignore = "needs root"]
fn without_napi_at_the_other_end_nothing_passes_and_nothing_is_lost() {
    let mut stage = Stage::open();
    stage.carry(0..100);
    let passed = stage.passed();
    stage.program = None;
    stage.wait_for(Express::Peer);
    stage.carry(0..100);
    assert_eq!(stage.passed(), passed);
    stage.assert_balanced(200);
    stage.program = Some(attach_host());
    stage.wait_for(Express::Open);
    stage.carry(0..1);
    assert!(stage.passed() > passed);
    stage.stop();
}

/// After a route change no frame takes the old route.
#[test]
#[ignore = "needs root"]
fn routes_change_while_frames_pass() {
    let mut stage = Stage::open();
    stage.carry(0..10);
    stage.request(Request::Command(Command::RemoveRoute {
        destination: DESTINATION,
    }));
    // Requests are handled before frames.
    stage.snapshot();
    stage.assert_dropped(10);
    assert!(stage.h1.receive_within(Duration::from_millis(10)).is_none());
    stage.request(Request::Command(Command::SetRoute {
        destination: DESTINATION,
        members: PortSet::from_iter([PortId::new(1)]),
        buckets: 1,
    }));
    stage.wait_for(Express::Open);
    let passed = stage.passed();
    stage.carry_one_by_the_path(passed);
    stage.stop();
}

/// The device disappears and returns; frames that cannot be sent are counted.
#[test]
#[ignore = "needs root"]
fn a_port_that_is_given_up_takes_no_frames() {
    let mut stage = Stage::open();
    stage.carry(0..10);
    let port = PortId::new(1);
    stage.dataplane.as_mut().unwrap().release(port).unwrap();
    stage.wait_for(Express::NoDevice);
    stage.assert_dropped(10);
    assert!(stage
        .dataplane
        .as_mut()
        .unwrap()
        .take(port)
        .unwrap()
        .is_some());
    // As the link monitor does.
    stage.request(Request::Command(Command::SetLink { port, up: true }));
    stage.wait_for(Express::Open);
    let passed = stage.passed();
    stage.carry_one_by_the_path(passed);
    stage.stop();
}

/// The programs of the previous switch stay until those of the next replace them.
#[test]
#[ignore = "needs root"]
fn a_switch_that_takes_over_opens_it_again() {
    let mut stage = Stage::open();
    stage.carry(0..100);
    let dataplane = stage.dataplane.take().unwrap();
    let stopped = dataplane.stop(LIMIT, Programs::Leave).unwrap();
    assert_eq!(stopped.held_frames(), 0);
    // Its programs forward no frame.
    stage.h0.send(&frame(1, 100));
    assert!(stage
        .h1
        .receive_within(Duration::from_millis(100))
        .is_none());
    stage.succeed(stopped.left);
}

static IS_DEAD: AtomicBool = AtomicBool::new(false);

fn mortal_clock() -> weir_core::Instant {
    assert!(!IS_DEAD.load(Ordering::Relaxed), "the core dies");
    clock::now()
}

/// State after a killed process: programs are attached, and nothing closes an egress any more.
#[test]
#[ignore = "needs root"]
fn programs_forward_nothing_for_a_core_that_is_dead() {
    let mut stage = Stage::with(|network| {
        Dataplane::start_by(mortal_clock, &config(CONFIG), &network.pins).unwrap()
    });
    stage.wait_for(Express::Open);
    stage.carry(0..100);
    assert!(stage.passed() > 0);
    IS_DEAD.store(true, Ordering::Relaxed);
    let began = Instant::now();
    let is_received = |stage: &Stage| {
        stage.h0.send(&frame(7, 100));
        stage.h1.receive_within(Duration::from_millis(20)).is_some()
    };
    while is_received(&stage) {
        assert!(began.elapsed() < LIMIT, "50 ms after the last sign of life");
    }
    assert!(!(0..10).any(|_| is_received(&stage)));
    let dataplane = stage.dataplane.take().unwrap();
    assert!(dataplane.stop(LIMIT, Programs::Leave).is_err());
    stage.succeed(Vec::new());
}

#[test]
#[ignore = "needs root"]
fn what_the_settings_ask_for_keeps_frames_off_it() {
    let of = |from: &str, to: &str| CONFIG.replace(from, to);
    let class = "[[class]]\nname = \"all\"\npriorities = [0, 1, 2, 3, 4, 5, 6, 7]\n";
    let cases = [
        (of("express = \"on\"\n", ""), Express::Off),
        (
            of("express = \"on\"", "express = \"auto\""),
            Express::FlowMonitor,
        ),
        (of("workers = 1", "workers = 2"), Express::Threads),
        (
            format!("{CONFIG}{class}mode = \"lossy\"\nexpress = \"off\"\n"),
            Express::Class,
        ),
        (
            format!("{CONFIG}{class}mode = \"lossy\"\nage-limit = \"1s\"\n"),
            Express::Class,
        ),
        (
            format!("{CONFIG}[forwarding]\nlearning = true\nloop-detection = false\n"),
            Express::Learning,
        ),
    ];
    for (text, why) in cases {
        let mut stage = Stage::new(&text);
        stage.wait_for(why);
        stage.carry(0..20);
        stage.assert_balanced(20);
        assert_eq!(stage.passed(), 0, "{}", why.name());
        stage.stop();
    }
}
