//! CLCM and echo messages between two switches that share a key, over a line controlled by an attacker.

use std::collections::VecDeque;

use proptest::prelude::*;
use weir_core::config::{AuthenticationConfig, ControlLimits, FabricKey};
use weir_core::event::EventKind;
use weir_core::wire::clcm::{Clcm, Hop};
use weir_core::wire::{ControlFrame, CONTROL_FRAME_LENGTH_MAX};
use weir_core::{
    BitRate, Bytes, ClassConfig, ClassMode, Command, DropReason, Duration, Instant, MacAddress,
    PortConfig, PortId, PortRole, Priority, Spuid, Switch, SwitchConfig, Transmission,
};

const KEY: [u8; 32] = [7; 32];
/// Enough time to exchange nonces even if every message is lost once.
const SETTLED: Duration = Duration::from_secs(3);

struct Node {
    switch: Switch,
    address: MacAddress,
}

impl Node {
    fn new(number: u8, key: Option<[u8; 32]>, seed: u64, sequence: u64) -> Self {
        Self::with_limits(number, key, seed, sequence, ControlLimits::default())
    }

    fn with_limits(
        number: u8,
        key: Option<[u8; 32]>,
        seed: u64,
        sequence: u64,
        control_limits: ControlLimits,
    ) -> Self {
        let address = MacAddress([2, 0, 0, 0, 0, number]);
        let port = PortConfig::new(PortRole::Fabric, BitRate::from_mbit(100), address);
        let lossy = ClassConfig::new(ClassMode::Lossy {
            buffer: Bytes::new(65_536),
        });
        let mut config = SwitchConfig::new(vec![port, port], [lossy; 8], Vec::new());
        config.authentication = key.map(|key| AuthenticationConfig {
            key: FabricKey::new(key),
            seed,
            sequence,
        });
        config.control_limits = control_limits;
        Self {
            switch: Switch::new(config).unwrap(),
            address,
        }
    }

    fn sent(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        while let Some(Transmission::Control(frame)) = self.switch.transmit(now, port(0)) {
            frames.push(bytes_of(&frame, self.address));
            assert!(frames.len() < 1000, "it never stops");
        }
        frames
    }

    fn say(&mut self, now: Instant, spuid: u32) {
        let command = Command::SendClcm {
            port: port(0),
            message: message(spuid),
        };
        self.switch.apply(now, command).unwrap();
    }

    fn heard(&mut self) -> Vec<u32> {
        let mut heard = Vec::new();
        while let Some(event) = self.switch.poll_event() {
            if let EventKind::ClcmReceived { message, .. } = event.kind {
                heard.push(message.origin().0);
            }
        }
        heard
    }

    fn drops(&self, reason: DropReason) -> u64 {
        self.switch.counters(port(0)).drops[reason.index()]
    }
}

fn port(index: usize) -> PortId {
    PortId::from_index(index).unwrap()
}

fn message(spuid: u32) -> Clcm {
    let hop = Hop {
        spuid: Spuid(spuid),
        egress: port(0),
    };
    Clcm::begin(Priority::new(3).unwrap(), hop)
}

fn bytes_of(frame: &ControlFrame, source: MacAddress) -> Vec<u8> {
    let mut buffer = [0xa5; CONTROL_FRAME_LENGTH_MAX];
    let length = frame.emit(source, &mut buffer).unwrap();
    buffer[..length].to_vec()
}

/// Two switches, and the frames recorded by an attacker on the line.
struct Line {
    now: Instant,
    nodes: [Node; 2],
    recorded: Vec<Vec<u8>>,
}

impl Line {
    fn new(nodes: [Node; 2]) -> Self {
        Self {
            now: Instant::ZERO + Duration::from_secs(1),
            nodes,
            recorded: Vec::new(),
        }
    }

    /// Carries frames for `span`, except those whose number `lost` selects.
    fn run(&mut self, span: Duration, mut lost: impl FnMut(usize) -> bool) {
        let end = self.now + span;
        let mut number = 0;
        let mut under_way: VecDeque<(usize, Vec<u8>)> = VecDeque::new();
        while self.now < end {
            for from in 0..2 {
                let node = &mut self.nodes[from];
                node.switch.handle_timeout(self.now);
                for frame in node.sent(self.now) {
                    self.recorded.push(frame.clone());
                    if !lost(number) {
                        under_way.push_back((1 - from, frame));
                    }
                    number += 1;
                }
            }
            while let Some((to, frame)) = under_way.pop_front() {
                let node = &mut self.nodes[to];
                let _ = node.switch.receive_clcm(self.now, port(0), &frame);
            }
            self.now = self.now + Duration::from_millis(1);
        }
        assert!(
            number < 10_000,
            "{number} frames: they keep each other busy"
        );
    }

    fn settle(&mut self) {
        self.run(SETTLED, |_| false);
    }

    fn expect_talk(&mut self) {
        for from in 0..2 {
            let spuid = 1000 + from as u32;
            self.nodes[1 - from].heard();
            self.nodes[from].say(self.now, spuid);
            self.run(Duration::from_millis(5), |_| false);
            assert_eq!(self.nodes[1 - from].heard(), [spuid], "from {from}");
        }
    }

    /// The attacker sends `frame` to both; it has no effect.
    fn expect_nothing_of(&mut self, frame: &[u8]) {
        for node in &mut self.nodes {
            let _ = node.switch.receive_clcm(self.now, port(0), frame);
            assert_eq!(node.heard(), [] as [u32; 0]);
        }
    }
}

fn pair() -> Line {
    let nodes = [
        Node::new(1, Some(KEY), 11, 1_000_000),
        Node::new(2, Some(KEY), 22, 2_000_000),
    ];
    let mut line = Line::new(nodes);
    line.settle();
    line
}

#[test]
fn neighbours_with_the_key_hear_each_other() {
    let mut line = pair();
    line.expect_talk();
    for node in &line.nodes {
        assert_eq!(node.switch.counters(port(0)).drops_total(), 0);
    }
}

#[test]
fn without_a_key_frames_are_as_they_were() {
    let mut node = Node::new(1, None, 0, 0);
    let now = Instant::ZERO + Duration::from_secs(1);
    node.switch.handle_timeout(now);
    node.say(now, 5);
    let plain = bytes_of(&ControlFrame::Clcm(message(5)), node.address);
    assert_eq!(node.sent(now), [plain]);
}

/// While keys are distributed switch by switch, switches without a key understand those with one.
#[test]
fn a_switch_without_the_key_reads_sealed_messages_and_is_not_believed() {
    let mut line = Line::new([Node::new(1, Some(KEY), 11, 0), Node::new(2, None, 0, 0)]);
    line.settle();
    line.nodes[1].say(line.now, 5);
    line.run(Duration::from_millis(5), |_| false);
    assert_eq!(line.nodes[0].heard(), [] as [u32; 0]);
    assert_eq!(line.nodes[0].drops(DropReason::Unauthentic), 1);
    let sealed = pair_message();
    let now = line.now;
    line.nodes[1]
        .switch
        .receive_clcm(now, port(0), &sealed)
        .unwrap();
    assert_eq!(line.nodes[1].heard(), [77]);
}

/// Returns a CLCM of 77 as sent over a line with a key.
fn pair_message() -> Vec<u8> {
    let mut line = pair();
    line.nodes[0].say(line.now, 77);
    line.nodes[0].sent(line.now).pop().unwrap()
}

#[test]
fn a_different_key_is_not_accepted() {
    let mut other = KEY;
    other[31] ^= 1;
    let mut line = Line::new([
        Node::new(1, Some(KEY), 11, 0),
        Node::new(2, Some(other), 22, 0),
    ]);
    line.settle();
    line.nodes[0].say(line.now, 5);
    line.run(Duration::from_millis(50), |_| false);
    for node in &mut line.nodes {
        assert_eq!(node.heard(), [] as [u32; 0]);
        assert!(node.drops(DropReason::Unauthentic) > 0);
    }
}

#[test]
fn replayed_messages_count_at_no_link_and_no_time() {
    let mut line = pair();
    line.expect_talk();
    let recorded = line.recorded.clone();
    assert!(recorded.len() > 10);
    let replay = |line: &mut Line| {
        for frame in &recorded {
            line.expect_nothing_of(frame);
        }
        // The disturbance ends.
        line.settle();
        for node in &mut line.nodes {
            node.heard();
        }
        line.expect_talk();
    };
    // To the same two switches, in both directions.
    replay(&mut line);
    // After a restart, with its clock continued, and with its clock set back.
    let now = line.now;
    line.nodes[0] = Node::new(1, Some(KEY), 111, 9_000_000);
    replay(&mut line);
    line.nodes[1] = Node::new(2, Some(KEY), 222, 5);
    replay(&mut line);
    assert!(line.now > now);
    // To other switches of the fabric.
    let mut elsewhere = Line::new([
        Node::new(3, Some(KEY), 33, 0),
        Node::new(4, Some(KEY), 44, 0),
    ]);
    elsewhere.settle();
    replay(&mut elsewhere);
    // To another port of the same switch.
    let now = line.now;
    let node = &mut line.nodes[0];
    for frame in &recorded {
        let _ = node.switch.receive_clcm(now, port(1), frame);
        assert_eq!(node.heard(), [] as [u32; 0]);
    }
}

#[test]
fn a_restarted_neighbour_is_heard_within_a_greeting() {
    for sequence in [9_000_000, 0] {
        let mut line = pair();
        line.expect_talk();
        line.nodes[0] = Node::new(1, Some(KEY), 1111, sequence);
        line.run(Duration::from_millis(50), |_| false);
        line.expect_talk();
    }
}

#[test]
fn each_message_counts_once() {
    let mut line = pair();
    line.nodes[0].say(line.now, 5);
    let frame = line.nodes[0].sent(line.now).pop().unwrap();
    let now = line.now;
    let to = &mut line.nodes[1];
    assert_eq!(to.switch.receive_clcm(now, port(0), &frame), Ok(()));
    assert_eq!(
        to.switch.receive_clcm(now, port(0), &frame),
        Err(DropReason::Replayed)
    );
    assert_eq!((to.heard(), to.drops(DropReason::Replayed)), (vec![5], 1));
}

/// Messages wait, in bounded number, until the neighbour has sent its nonce, and do not delay data.
#[test]
fn messages_wait_for_the_neighbours_nonce() {
    let mut alone = Node::new(1, Some(KEY), 11, 0);
    let now = Instant::ZERO + Duration::from_secs(1);
    alone.say(now, 5);
    assert_eq!(alone.sent(now), [] as [Vec<u8>; 0], "not greeted yet");
    let mut line = Line::new([alone, Node::new(2, Some(KEY), 22, 0)]);
    line.settle();
    assert_eq!(line.nodes[1].heard(), [5]);
}

#[test]
fn a_flood_of_messages_and_pauses_is_cut_off_and_counted() {
    let limits = ControlLimits {
        pause_rate: Some(1000),
        message_rate: Some(1000),
    };
    let mut node = Node::with_limits(1, None, 0, 0, limits);
    let frame = bytes_of(&ControlFrame::Clcm(message(5)), MacAddress([2; 6]));
    let pause = weir_core::wire::mac_control::MacControl::Pause {
        quanta: weir_core::Quanta(1),
    };
    let pause = bytes_of(&ControlFrame::Mac(pause), MacAddress([2; 6]));
    let (mut clcm, mut pauses) = (0, 0);
    let mut now = Instant::ZERO + Duration::from_secs(1);
    // A million frames a second for a second.
    for _ in 0..1_000_000 {
        clcm += u64::from(node.switch.receive_clcm(now, port(0), &frame).is_ok());
        let taken = node.switch.receive_mac_control(now, port(0), &pause);
        pauses += u64::from(taken.is_ok());
        now = now + Duration::from_micros(1);
        while node.switch.poll_event().is_some() {}
    }
    // The rate, and a bucket of 50 ms.
    assert!((1000..=1051).contains(&clcm), "{clcm}");
    assert!((1000..=1051).contains(&pauses), "{pauses}");
    assert_eq!(
        node.drops(DropReason::ControlRate),
        2_000_000 - clcm - pauses
    );
    // The other port has its own limit.
    assert_eq!(node.switch.receive_clcm(now, port(1), &frame), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any changed bit, truncation or extension of a sealed frame makes it invalid.
    #[test]
    fn a_sealed_frame_that_is_changed_anywhere_does_not_count(
        bit in 0usize..8 * 120,
        length in 0usize..120,
        tail in prop::collection::vec(any::<u8>(), 1..64),
    ) {
        let mut line = pair();
        line.nodes[0].say(line.now, 5);
        let frame = line.nodes[0].sent(line.now).pop().unwrap();
        let mut changed = frame.clone();
        changed[bit / 8 % frame.len()] ^= 1 << (bit % 8);
        let cut = &frame[..length % frame.len()];
        let longer = [&frame[..], &tail].concat();
        let now = line.now;
        for bad in [&changed[..], cut, &longer] {
            let outcome = line.nodes[1].switch.receive_clcm(now, port(0), bad);
            // A greeting is recognised by its subtype: an invalid sealed message may not be a valid greeting either.
            prop_assert_eq!(outcome, Err(DropReason::Unauthentic));
        }
        prop_assert_eq!(line.nodes[1].switch.receive_clcm(now, port(0), &frame), Ok(()));
        prop_assert_eq!(line.nodes[1].heard(), [5]);
    }

    /// Whatever is lost of the neighbours' first messages, they finally hear each other; and no bytes from an attacker
    /// who knows all messages change that.
    #[test]
    fn neighbours_authenticate_despite_losses_and_forgeries(
        lost in prop::collection::vec(any::<bool>(), 40),
        seeds in any::<[u64; 2]>(),
        sequences in any::<[u32; 2]>(),
        forged in prop::collection::vec((any::<prop::sample::Index>(), any::<u16>(), any::<u8>()), 0..40),
    ) {
        let [one, two] = [0, 1].map(|at| {
            Node::new(at as u8 + 1, Some(KEY), seeds[at] ^ at as u64, u64::from(sequences[at]))
        });
        let mut line = Line::new([one, two]);
        line.run(SETTLED, |number| lost.get(number).copied().unwrap_or(false));
        let recorded = line.recorded.clone();
        for (which, at, mask) in forged {
            let mut frame = which.get(&recorded).clone();
            let at = usize::from(at) % frame.len();
            frame[at] ^= mask;
            line.expect_nothing_of(&frame);
        }
        line.settle();
        line.expect_talk();
    }
}

#[test]
fn the_next_greeting_is_due_after_the_one_that_was_sent() {
    let mut node = Node::new(1, Some(KEY), 1, 0);
    let now = Instant::ZERO + SETTLED;
    node.switch.handle_timeout(now);
    assert!(!node.sent(now).is_empty());
    let next = node.switch.next_timer().unwrap();
    assert!(next > now, "{next:?}");
    node.switch.handle_timeout(next);
    assert!(!node.sent(next).is_empty());
}
