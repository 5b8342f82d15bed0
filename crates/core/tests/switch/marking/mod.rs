//! Congestion marks by the backlog of the egress (RED): for any mode of the class, by that egress and priority only,
//! with the paper's probabilities, and reproducible from the seed.

mod changes;

use weir_core::config::{LevelRules, RouteConfig};
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::ControlFrame;
use weir_core::{
    BitRate, Budgets, Bytes, ClassConfig, ClassMode, Command, CommandError, ConfigError, Duration,
    Frame, FrameHandle, Instant, MacAddress, MarkAt, PartsPerMillion, PfcThresholds, Police,
    PortConfig, PortId, PortRole, Priority, Quanta, RedConfig, RedError, Switch, SwitchConfig,
    Transmission,
};

const P3: Priority = Priority::ALL[3];
const P5: Priority = Priority::ALL[5];
const LENGTH: u64 = 1_000;
const PORTS: u8 = 4;
const BUFFER: Bytes = Bytes::new(256 * 1024);
const RED: RedConfig = RedConfig {
    kmin: Bytes::new(5 * LENGTH),
    kmax: Bytes::new(25 * LENGTH),
    pmax: PartsPerMillion::from_percent(40),
    at: MarkAt::Arrival,
};

fn modes() -> [ClassMode; 3] {
    let (xoff, xon, headroom) = (BUFFER, Bytes::new(200 * 1024), BUFFER);
    [
        ClassMode::Lossy { buffer: BUFFER },
        ClassMode::Pfc(PfcThresholds::new(xoff, xon, headroom).unwrap()),
        ClassMode::Level {
            budgets: Budgets::new(&[BUFFER; 3]).unwrap(),
            rules: LevelRules::default(),
            edge: PfcThresholds::new(xoff, xon, headroom).unwrap(),
        },
    ]
}

fn host(port: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 1, port])
}

fn config(mode: ClassMode, ecn: Option<RedConfig>, seed: u64) -> SwitchConfig {
    let mut classes = [ClassConfig::new(mode); 8];
    classes[P3.index()].ecn = ecn;
    let port = |_| {
        let mut port = PortConfig::new(PortRole::Fabric, BitRate::from_mbit(1_000), host(99));
        port.round_trip = Duration::from_micros(10);
        port
    };
    let route = |index| RouteConfig::new(host(index), vec![PortId::new(index)]);
    let routes = (0..PORTS).map(route).collect();
    SwitchConfig {
        feedback_refresh: Duration::from_secs(1),
        seed,
        ..SwitchConfig::new((0..PORTS).map(port).collect(), classes, routes)
    }
}

struct Node {
    switch: Switch,
    free: Vec<u32>,
    now: Instant,
    /// By handle: the ingress port of its frame, and the number of earlier frames there.
    came: Vec<(u8, u64)>,
    count: [u64; PORTS as usize],
}

impl Node {
    fn new(config: SwitchConfig) -> Self {
        Self {
            free: (0..config.frame_count as u32).rev().collect(),
            came: vec![(0, 0); config.frame_count],
            count: [0; PORTS as usize],
            switch: Switch::new(config).unwrap(),
            now: Instant::from_nanos(1),
        }
    }

    /// Returns true if a frame received on `ingress` must be marked.
    fn receive(&mut self, ingress: u8, destination: MacAddress, priority: Priority) -> bool {
        let handle = self.free.pop().unwrap();
        let count = &mut self.count[usize::from(ingress)];
        self.came[handle as usize] = (ingress, *count);
        *count += 1;
        let frame = Frame {
            handle: FrameHandle(handle),
            length: Bytes::new(LENGTH),
            priority,
            destination,
            source: host(50),
            flow_hash: 0,
        };
        let admitted = self.switch.receive(self.now, PortId::new(ingress), frame);
        admitted.unwrap().mark
    }

    fn hold(&mut self, port: u8, priority: Priority, quanta: Quanta) {
        let mut times = [None; 8];
        times[priority.index()] = Some(quanta);
        let mut bytes = [0; 64];
        let frame = ControlFrame::Mac(MacControl::Pfc { times });
        let length = frame.emit(host(98), &mut bytes).unwrap();
        self.switch
            .receive_mac_control(self.now, PortId::new(port), &bytes[..length])
            .unwrap();
    }

    fn set_marking(
        &mut self,
        priority: Priority,
        marking: Option<RedConfig>,
    ) -> Result<(), CommandError> {
        let command = Command::SetMarking { priority, marking };
        self.switch.apply(self.now, command)
    }

    /// Sends one data frame by `port`, after its control frames; returns true if it must be marked.
    fn send_one(&mut self, port: u8) -> bool {
        self.send(port).1
    }

    /// Like [`send_one`](Self::send_one); returns the frame and the time.
    fn send_handle(&mut self, port: u8) -> (u32, Instant) {
        (self.send(port).0, self.now)
    }

    /// Like [`send_one`](Self::send_one); returns the ingress port, the frame's number there, and true if it must be
    /// marked.
    fn send_numbered(&mut self, port: u8) -> (u8, u64, bool) {
        let (handle, mark) = self.send(port);
        let (ingress, number) = self.came[handle as usize];
        (ingress, number, mark)
    }

    fn send(&mut self, port: u8) -> (u32, bool) {
        self.now = self.now + Duration::from_micros(20);
        loop {
            match self.switch.transmit(self.now, PortId::new(port)) {
                Some(Transmission::Control(_)) => {}
                Some(Transmission::Data { handle, mark, .. }) => {
                    let freed = self.switch.complete(handle);
                    self.free.extend(freed.map(|handle| handle.0));
                    return (handle.0, mark);
                }
                None => panic!("nothing leaves by {port}"),
            }
        }
    }
}

#[test]
fn no_mark_up_to_kmin_and_every_one_from_kmax() {
    for mode in modes() {
        let mut node = Node::new(config(mode, Some(RED), 7));
        node.hold(1, P3, Quanta::MAX);
        let marks: Vec<bool> = (0..60).map(|_| node.receive(0, host(1), P3)).collect();
        // The sixth frame finds five others, exactly K_min.
        assert_eq!(marks[..=5], [false; 6], "{mode:?}");
        let between = marks[6..25].iter().filter(|mark| **mark).count();
        assert!((1..19).contains(&between), "{mode:?}: {marks:?}");
        assert_eq!(marks[25..], [true; 35], "{mode:?}");
    }
}

#[test]
fn only_the_backlog_of_that_egress_and_priority_counts() {
    for mode in modes() {
        let mut node = Node::new(config(mode, Some(RED), 7));
        for priority in [P3, P5] {
            node.hold(1, priority, Quanta::MAX);
        }
        for _ in 0..50 {
            assert!(!node.receive(0, host(1), P5), "no thresholds there");
        }
        for _ in 0..6 {
            assert!(!node.receive(0, host(1), P3), "another priority's backlog");
        }
        for _ in 0..40 {
            node.receive(0, host(1), P3);
        }
        assert!(!node.receive(0, host(2), P3), "another egress's backlog");
        assert!(node.receive(2, host(1), P3), "from wherever it comes");
    }
}

#[test]
fn nothing_is_marked_without_thresholds() {
    for mode in modes() {
        let mut node = Node::new(config(mode, None, 7));
        node.hold(1, P3, Quanta::MAX);
        assert!((0..100).all(|_| !node.receive(0, host(1), P3)));
    }
}

/// Marks of `count` frames that each find `waiting` others.
fn marks_at(waiting: u64, count: usize, seed: u64) -> Vec<bool> {
    let mut node = Node::new(config(modes()[1], Some(RED), seed));
    for _ in 0..waiting {
        node.receive(0, host(1), P3);
    }
    let mark = |_| {
        let mark = node.receive(0, host(1), P3);
        node.send_one(1);
        mark
    };
    (0..count).map(mark).collect()
}

/// p = P_max · (x − K_min) / (K_max − K_min), within four standard deviations for this many frames.
#[test]
fn between_the_thresholds_marks_are_as_frequent_as_the_paper_says() {
    const FRAMES: usize = 20_000;
    for (waiting, p) in [
        (5, 0.0),
        (6, 0.02),
        (10, 0.1),
        (15, 0.2),
        (24, 0.38),
        (25, 1.0),
    ] {
        let marked = marks_at(waiting, FRAMES, 3)
            .iter()
            .filter(|mark| **mark)
            .count();
        let share = marked as f64 / FRAMES as f64;
        let deviation = f64::sqrt(p * (1.0 - p) / FRAMES as f64);
        assert!(
            (share - p).abs() <= 4.0 * deviation,
            "{waiting}: {share} for {p}"
        );
    }
}

#[test]
fn marks_are_reproducible_by_seed() {
    assert_eq!(marks_at(15, 200, 3), marks_at(15, 200, 3));
    assert_ne!(marks_at(15, 200, 3), marks_at(15, 200, 4));
}

#[test]
fn a_flooded_frame_is_marked_for_any_of_its_copies() {
    let mut config = config(modes()[0], Some(RED), 7);
    config.learning_capacity = 16;
    config.frame_count *= 2;
    let mut node = Node::new(config);
    assert!(!node.receive(0, MacAddress::BROADCAST, P3));
    node.hold(PORTS - 1, P3, Quanta::MAX);
    for _ in 0..30 {
        node.receive(0, host(PORTS - 1), P3);
    }
    assert!(node.receive(0, MacAddress::BROADCAST, P3));
    assert!(!node.receive(0, host(1), P3), "one egress alone is long");
}

/// A policed host's frames are also marked by its ingress buffer.
#[test]
fn marks_of_policing_are_kept() {
    let mut config = config(modes()[1], Some(RED), 7);
    let edge = &mut config.ports[0];
    (edge.role, edge.police) = (PortRole::Edge, Police::Mark);
    let thresholds =
        PfcThresholds::new(Bytes::new(3 * 1024), Bytes::new(2 * 1024), BUFFER).unwrap();
    config.classes[P3.index()].mode = ClassMode::Pfc(thresholds);
    let mut node = Node::new(config);
    node.hold(1, P3, Quanta::MAX);
    let marks: Vec<bool> = (0..5).map(|_| node.receive(0, host(1), P3)).collect();
    assert_eq!(marks, [false, false, false, true, true]);
}

const AT_DEPARTURE: RedConfig = RedConfig {
    at: MarkAt::Departure,
    ..RED
};

#[test]
fn at_departure_the_backlog_behind_the_frame_counts() {
    for mode in modes() {
        let mut node = Node::new(config(mode, Some(AT_DEPARTURE), 7));
        node.hold(1, P3, Quanta::MAX);
        let on_arrival = (0..40).any(|_| node.receive(0, host(1), P3));
        assert!(!on_arrival);
        node.hold(1, P3, Quanta(0));
        let marks: Vec<bool> = (0..40).map(|_| node.send_one(1)).collect();
        // 39 − i frames wait behind frame i: 25 and more behind the first fifteen, 5 and fewer behind the last six.
        assert!(marks[..15].iter().all(|mark| *mark), "{marks:?}");
        assert!(!marks[34..].iter().any(|mark| *mark), "{marks:?}");
    }
}

/// The copies share their bytes, which a transmitter may be reading.
#[test]
fn at_departure_a_flooded_frame_is_marked_with_its_last_copy_alone() {
    let mut config = config(modes()[0], Some(AT_DEPARTURE), 7);
    config.learning_capacity = 16;
    config.frame_count *= 2;
    let mut node = Node::new(config);
    node.hold(1, P3, Quanta::MAX);
    node.hold(2, P3, Quanta::MAX);
    node.receive(0, MacAddress::BROADCAST, P3);
    for _ in 0..30 {
        node.receive(0, host(1), P3);
        node.receive(0, host(2), P3);
    }
    node.hold(1, P3, Quanta(0));
    node.hold(2, P3, Quanta(0));
    assert!(!node.send_one(PORTS - 1));
    assert!(!node.send_one(1), "another copy waits");
    assert!(node.send_one(2));
}

#[test]
fn impossible_thresholds_are_refused() {
    let refused = |red| Switch::new(config(modes()[0], Some(red), 1)).unwrap_err();
    let (kmin, kmax) = (RED.kmax, RED.kmin);
    let turned = RedConfig { kmin, kmax, ..RED };
    let priority = P3;
    let error = RedError::KminAboveKmax { kmin, kmax };
    assert_eq!(refused(turned), ConfigError::Marking { priority, error });
    let never = RedConfig {
        pmax: PartsPerMillion::ZERO,
        ..RED
    };
    let error = RedError::ZeroPmax;
    assert_eq!(refused(never), ConfigError::Marking { priority, error });
}
