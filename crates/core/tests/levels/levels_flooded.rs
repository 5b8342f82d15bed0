//! Floods under Levels: broadcasts in a chain of switches cross each link in both directions, and do not raise any
//! Level to D.

use weir_core::config::LevelRules;
use weir_core::event::EventKind;
use weir_core::wire::ControlFrame;
use weir_core::{
    BitRate, Budgets, Bytes, ClassConfig, ClassMode, DropReason, Duration, Frame, FrameHandle,
    Instant, MacAddress, PfcThresholds, PortConfig, PortId, PortRole, Priority, Switch,
    SwitchConfig, Transmission,
};

const P3: Priority = Priority::ALL[3];
const GAMMA: Bytes = Bytes::new(1536);
const LENGTH: Bytes = Bytes::new(1522);
const SWITCHES: usize = 5;
/// D: the longest path through the chain, in links.
const DEPTH: usize = SWITCHES - 1;
const LEFT: PortId = PortId::new(0);
const RIGHT: PortId = PortId::new(1);
const HOST: PortId = PortId::new(2);
const BROADCAST: MacAddress = MacAddress([0xff; 6]);

fn host(of: usize) -> MacAddress {
    MacAddress([2, 0, 0, 0, 1, of as u8])
}

fn switch(index: usize) -> Switch {
    let lossy = ClassConfig {
        headroom_by_cable: false,
        mode: ClassMode::Lossy { buffer: GAMMA },
        weight: 1,
        scheduler: Default::default(),
        age_limit: None,
        ecn: None,
        pool: None,
        credits: None,
    };
    let mut classes = [lossy; 8];
    classes[P3.index()].mode = ClassMode::Level {
        rules: LevelRules::default(),
        // The legal minimum without a round trip time.
        budgets: Budgets::new(&[GAMMA; DEPTH]).unwrap(),
        edge: PfcThresholds::new(
            Bytes::new(8 * 1024),
            Bytes::new(4 * 1024),
            Bytes::new(8 * 1024),
        )
        .unwrap(),
    };
    let ports = [PortRole::Fabric, PortRole::Fabric, PortRole::Edge]
        .into_iter()
        .zip(0..)
        .map(|(role, port)| {
            let address = MacAddress([2, 0, 0, 1, index as u8, port]);
            PortConfig::new(role, BitRate::from_mbit(1000), address)
        })
        .collect();
    Switch::new(SwitchConfig {
        frame_length_max: LENGTH,
        learning_capacity: 64,
        ..SwitchConfig::new(ports, classes, Vec::new())
    })
    .unwrap()
}

/// Switches in a row, links without delay, a host at each.
struct Chain {
    switches: Vec<Switch>,
    /// By switch and handle: source, destination and number of each frame.
    frames: Vec<Vec<Option<(usize, MacAddress, u64)>>>,
    now: Instant,
    sent: [u64; SWITCHES],
    /// By receiver and sender: number of copies, and the number of the last one.
    received: [[(u64, u64); SWITCHES]; SWITCHES],
    too_long: u64,
}

impl Chain {
    fn new() -> Self {
        let switches: Vec<Switch> = (0..SWITCHES).map(switch).collect();
        Self {
            frames: vec![vec![None; 4096]; SWITCHES],
            switches,
            now: Instant::from_nanos(1_000_000_000),
            sent: [0; SWITCHES],
            received: [[(0, 0); SWITCHES]; SWITCHES],
            too_long: 0,
        }
    }

    /// Returns the other end of a link, if there is one.
    fn peer(at: usize, port: PortId) -> Option<(usize, PortId)> {
        match port {
            LEFT => Some((at.checked_sub(1)?, RIGHT)),
            RIGHT => (at + 1 < SWITCHES).then_some((at + 1, LEFT)),
            _ => None,
        }
    }

    fn receive(&mut self, at: usize, port: PortId, what: (usize, MacAddress, u64)) {
        let free = self.frames[at].iter().position(Option::is_none).unwrap();
        let frame = Frame {
            handle: FrameHandle(free as u32),
            length: LENGTH,
            priority: P3,
            destination: what.1,
            source: host(what.0),
            flow_hash: 0,
        };
        match self.switches[at].receive(self.now, port, frame) {
            Ok(_) => self.frames[at][free] = Some(what),
            // A frame for the host that it came from, or flooded towards it.
            Err(reason) => assert_eq!(reason, DropReason::Hairpin, "a frame is lost"),
        }
    }

    /// Lets `senders` broadcast, or send to `to`, while they may; host `at` accepts a frame if `takes(at)`.
    fn step(&mut self, senders: &[(usize, MacAddress)], takes: impl Fn(usize) -> bool) {
        self.now = self.now + Duration::from_micros(13);
        for at in 0..SWITCHES {
            self.switches[at].handle_timeout(self.now);
            for (sender, to) in senders {
                let gauges = self.switches[at].gauges(self.now, HOST, P3);
                if *sender == at && !gauges.pausing {
                    self.sent[at] += 1;
                    self.receive(at, HOST, (at, *to, self.sent[at]));
                }
            }
            for port in [LEFT, RIGHT, HOST] {
                self.send(at, port, takes(at));
            }
            while let Some(event) = self.switches[at].poll_event() {
                self.too_long += u64::from(matches!(event.kind, EventKind::RouteTooLong { .. }));
            }
        }
    }

    /// Sends at most one data frame, after the due control frames.
    fn send(&mut self, at: usize, port: PortId, takes: bool) {
        if port == HOST && !takes {
            return;
        }
        while let Some(sent) = self.switches[at].transmit(self.now, port) {
            match sent {
                Transmission::Control(frame) => self.tell(at, port, &frame),
                Transmission::Data { handle, .. } => {
                    let what = self.frames[at][handle.index()].expect("a frame that is held");
                    if self.switches[at].complete(handle).is_some() {
                        self.frames[at][handle.index()] = None;
                    }
                    match Self::peer(at, port) {
                        Some((to, by)) => self.receive(to, by, what),
                        None if port == HOST => self.note(at, what),
                        None => {}
                    }
                    return;
                }
            }
        }
    }

    fn tell(&mut self, at: usize, port: PortId, frame: &ControlFrame) {
        let Some((to, by)) = Self::peer(at, port) else {
            return;
        };
        let mut buffer = [0; 256];
        let length = frame.emit(host(0x70), &mut buffer).unwrap();
        let (switch, bytes) = (&mut self.switches[to], &buffer[..length]);
        let taken = match frame {
            ControlFrame::Mac(_) => switch.receive_mac_control(self.now, by, bytes),
            _ => switch.receive_clcm(self.now, by, bytes),
        };
        taken.unwrap();
    }

    fn note(&mut self, at: usize, (from, _, number): (usize, MacAddress, u64)) {
        let (count, last) = &mut self.received[at][from];
        assert!(number > *last, "{number} of {from} after {last} at {at}");
        (*count, *last) = (*count + 1, number);
    }

    fn held(&self) -> usize {
        self.switches.iter().map(Switch::held_frames).sum()
    }

    fn drain(&mut self) {
        let mut steps = 0;
        while self.held() > 0 {
            self.step(&[], |_| true);
            steps += 1;
            assert!(steps < 100_000, "{} frames stay", self.held());
        }
    }
}

/// Both ends broadcast at line rate to hosts that accept every third frame, so that all buffers are full. With one
/// entry for both directions, frames in one direction would lift those in the other.
#[test]
fn broadcasts_from_both_ends_meet_below_level_d_and_all_arrive() {
    let mut chain = Chain::new();
    let ends = [(0, BROADCAST), (SWITCHES - 1, BROADCAST)];
    for step in 0..20_000usize {
        chain.step(&ends, |at| (step + at) % 3 == 0);
    }
    assert_eq!(chain.too_long, 0, "Level D in the middle of the chain");
    chain.drain();
    for (at, from) in chain.received.iter().enumerate() {
        for sender in [0, SWITCHES - 1].into_iter().filter(|end| *end != at) {
            assert_eq!(from[sender].0, chain.sent[sender], "{sender} at {at}");
            assert!(chain.sent[sender] > 1_000, "{}", chain.sent[sender]);
        }
    }
}

/// Frames to an unknown destination are flooded, and take one path once it is learned: both kinds of frames of a flow
/// keep their order, with broadcasts between them.
#[test]
fn a_flow_keeps_its_order_when_its_destination_is_learnt() {
    let mut chain = Chain::new();
    let last = SWITCHES - 1;
    let senders = [
        (0, host(last)),
        (1, host(last)),
        (2, BROADCAST),
        (last, host(9)),
    ];
    for step in 0..20_000usize {
        // The destination is silent at first.
        let silent = step < 5_000;
        let count = senders.len() - usize::from(silent);
        chain.step(&senders[..count], |at| (step + at) % 4 == 0);
    }
    assert_eq!(chain.too_long, 0);
    chain.drain();
    for sender in [0, 1, 2] {
        let (count, _) = chain.received[last][sender];
        assert_eq!(count, chain.sent[sender], "{sender}");
        assert!(count > 1_000, "{sender}: {count}");
    }
}
