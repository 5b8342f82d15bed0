//! Pauses that a port obeys, and the effects on others of hosts that pause without end.

mod sonic_cases;
mod sonic_storms;

use weir_core::config::{PauseRule, RouteConfig, StormAction, WatchdogConfig};
use weir_core::event::EventKind;
use weir_core::switch::PriorityGauges;
use weir_core::wire::mac_control::MacControl;
use weir_core::{
    BitRate, Bytes, ClassMode, Command, DropReason, Duration, Frame, FrameHandle, Instant,
    MacAddress, PfcThresholds, PortConfig, PortId, PortRole, Priority, Quanta, Switch,
    SwitchConfig, Transmission,
};

use crate::support;

const SENDER: PortId = PortId::new(0);
/// The host that pauses without end.
const PAUSING: PortId = PortId::new(1);
const OTHER: PortId = PortId::new(2);
const ALL_PORTS: [PortId; 3] = [SENDER, PAUSING, OTHER];
const LOSSY: Priority = Priority::ALL[0];
const LOSSLESS: [Priority; 2] = [support::PRIORITY, Priority::ALL[4]];
/// One pause of 65535 quanta lasts 33.5 ms.
const RATE: BitRate = BitRate::from_mbit(1000);
const LENGTH: Bytes = Bytes::new(1000);
const TICK: Duration = Duration::from_micros(100);
const WATCHDOG: WatchdogConfig = WatchdogConfig {
    detection: Duration::from_millis(20),
    restoration: Duration::from_millis(20),
    action: StormAction::Drop,
};

struct Node {
    switch: Switch,
    now: Instant,
    free: Vec<FrameHandle>,
    /// By egress and priority.
    left: [[u64; 8]; 3],
    /// Ports whose stalls are expected.
    pausing: Vec<PortId>,
    stalled: Vec<Priority>,
    restored: Vec<Priority>,
    /// Storms with the times of their start and end.
    called: Vec<(PortId, Priority, Instant)>,
    ended: Vec<(PortId, Priority, Instant)>,
}

fn config() -> SwitchConfig {
    let address = |number| MacAddress([2, 0, 0, 0, 0, number]);
    let ports = (0..3).map(|number| PortConfig {
        watchdog: Some(WATCHDOG),
        ..PortConfig::new(PortRole::Edge, RATE, address(0x80 + number))
    });
    let routes = (0..3).map(|number| RouteConfig::new(address(number), vec![PortId::new(number)]));
    let mut config =
        support::switch_config(ports.collect(), routes.collect(), Duration::from_millis(10));
    // Two lossless classes and six lossy ones.
    config.classes[4] = config.classes[support::PRIORITY.index()];
    config.frame_count = config.frames_needed();
    config
}

impl Node {
    fn new(config: SwitchConfig) -> Self {
        Self {
            free: (0..config.frame_count as u32).map(FrameHandle).collect(),
            switch: Switch::new(config).unwrap(),
            now: Instant::from_nanos(1),
            left: [[0; 8]; 3],
            pausing: vec![PAUSING],
            stalled: Vec::new(),
            restored: Vec::new(),
            called: Vec::new(),
            ended: Vec::new(),
        }
    }

    fn control(&mut self, control: &MacControl) {
        self.control_from(PAUSING, control);
    }

    fn control_from(&mut self, port: PortId, control: &MacControl) {
        let mut bytes = [0; 60];
        control.emit(MacAddress::default(), &mut bytes);
        self.switch
            .receive_mac_control(self.now, port, &bytes)
            .unwrap();
    }

    fn pfc(&mut self, priorities: &[Priority], quanta: Quanta) {
        self.pfc_from(PAUSING, priorities, quanta);
    }

    fn pfc_from(&mut self, port: PortId, priorities: &[Priority], quanta: Quanta) {
        let mut times = [None; 8];
        for priority in priorities {
            times[priority.index()] = Some(quanta);
        }
        self.control_from(port, &MacControl::Pfc { times });
    }

    /// Offers a frame from the sender; returns `false` if the switch has no room: the sender is then paused, or loses
    /// it.
    fn offer(&mut self, egress: PortId, priority: Priority) -> bool {
        self.offer_from(SENDER, egress, priority)
    }

    fn offer_from(&mut self, ingress: PortId, egress: PortId, priority: Priority) -> bool {
        let handle = self.free.pop().expect("a free frame");
        let frame = Frame {
            handle,
            length: LENGTH,
            priority,
            destination: MacAddress([2, 0, 0, 0, 0, egress.get()]),
            source: MacAddress([2, 0, 0, 0, 0, ingress.get()]),
            flow_hash: 1,
        };
        let taken = self.switch.receive(self.now, ingress, frame).is_ok();
        if !taken {
            self.free.push(handle);
        }
        taken
    }

    /// Lets time pass: frames leave, and each stall is declared a storm, as the control plane does for hosts.
    fn step(&mut self) {
        self.now = self.now + TICK;
        self.switch.handle_timeout(self.now);
        for port in [SENDER, PAUSING, OTHER] {
            while let Some(sent) = self.switch.transmit(self.now, port) {
                if let Transmission::Data {
                    handle, priority, ..
                } = sent
                {
                    self.left[port.index()][priority.index()] += 1;
                    self.free.extend(self.switch.complete(handle));
                }
            }
        }
        while let Some(event) = self.switch.poll_event() {
            match event.kind {
                EventKind::PauseStalled {
                    egress, priority, ..
                } => {
                    assert!(self.pausing.contains(&egress));
                    self.stalled.push(priority);
                    self.called.push((egress, priority, event.at));
                    let command = Command::CallStorm { egress, priority };
                    self.switch.apply(self.now, command).unwrap();
                }
                EventKind::StormRestored {
                    egress, priority, ..
                } => {
                    self.restored.push(priority);
                    self.ended.push((egress, priority, event.at));
                }
                _ => {}
            }
        }
        while let Some(discarded) = self.switch.poll_discarded() {
            self.free.push(discarded.handle);
        }
    }

    /// Runs for `time` with a `pause` from the host every millisecond and lossy frames to both hosts.
    fn run(&mut self, time: Duration, mut pause: impl FnMut(&mut Self)) {
        let end = self.now + time;
        let mut ticks = 0u32;
        while self.now < end {
            if ticks.is_multiple_of(10) {
                pause(self);
            }
            ticks += 1;
            for (egress, priority) in [(PAUSING, 0), (OTHER, 0), (OTHER, 1)] {
                let taken = self.offer(egress, Priority::new(priority).unwrap());
                assert!(
                    taken,
                    "a frame of priority {priority} for {egress:?} is lost"
                );
            }
            self.step();
        }
    }

    fn left(&self, egress: PortId) -> u64 {
        self.left[egress.index()].iter().sum()
    }

    fn thresholds(&self) -> PfcThresholds {
        match self.switch.config().classes[support::PRIORITY.index()].mode {
            ClassMode::Pfc(thresholds) => thresholds,
            other => panic!("{other:?}"),
        }
    }

    fn gauges(&self, port: PortId, priority: Priority) -> PriorityGauges {
        self.switch.gauges(self.now, port, priority)
    }

    fn dropped(&self, port: PortId, reason: DropReason) -> u64 {
        self.switch.counters(port).drops[reason.index()]
    }

    fn xoffs_sent(&self, port: PortId) -> u64 {
        self.switch.counters(port).priority[support::PRIORITY.index()].xoff_sent
    }

    /// Steps with a `pause` before each, until `condition` holds.
    fn until(&mut self, mut pause: impl FnMut(&mut Self), condition: impl Fn(&Self) -> bool) {
        for _ in 0..100_000 {
            if condition(self) {
                return;
            }
            pause(self);
            self.step();
        }
        panic!("not within {:?}", TICK.saturating_mul(100_000));
    }
}

/// Priority 0 is lossy: a host that pauses it for ever neither stops it nor fills buffers that others need.
#[test]
fn pauses_of_lossy_priorities_are_counted_and_not_obeyed() {
    let mut node = Node::new(config());
    let lossy = [0, 1, 7].map(|number| Priority::new(number).unwrap());
    node.run(Duration::from_millis(100), |node| {
        node.pfc(&lossy, Quanta::MAX);
    });
    node.pfc(&lossy, Quanta::ZERO);
    assert_eq!(node.left(PAUSING), 1000);
    assert_eq!(node.left(OTHER), 2000);
    assert_eq!(node.switch.counters(SENDER).drops_total(), 0);
    let counters = node.switch.counters(PAUSING);
    for priority in lossy {
        let counters = counters.priority[priority.index()];
        assert_eq!(counters.pause_received, 100);
        assert_eq!(counters.pauses_ignored, 100, "a resume is none");
    }
    assert_eq!(counters.priority[3].pauses_ignored, 0);
    assert!(node.stalled.is_empty(), "{:?}", node.stalled);
}

/// All eight priorities: lossless frames for the host wait until the watchdog drops them, and nothing else is lost.
#[test]
fn a_host_that_pauses_all_priorities_does_not_affect_others() {
    let mut node = Node::new(config());
    let lossless = support::PRIORITY;
    assert!(node.offer(PAUSING, lossless));
    node.run(Duration::from_millis(10), |node| {
        node.pfc(&Priority::ALL, Quanta::MAX);
    });
    let gauges = node.switch.gauges(node.now, PAUSING, lossless);
    assert!(gauges.paused);
    node.offer(PAUSING, lossless);
    node.run(Duration::from_millis(100), |node| {
        node.pfc(&Priority::ALL, Quanta::MAX);
    });
    assert_eq!(node.stalled, [lossless]);
    let drops = node.switch.counters(SENDER).drops;
    assert_eq!(
        drops.iter().sum::<u64>(),
        node.switch.counters(PAUSING).priority[3].storm_dropped
    );
    assert_eq!(node.left[PAUSING.index()][0], 1100, "lossy frames go on");
    assert_eq!(node.left(OTHER), 2200);
}

fn pause_for_ever(role: PortRole, rule: Option<PauseRule>, has_lossless: bool) -> Node {
    let mut config = config();
    if !has_lossless {
        let lossy = config.classes[0];
        config.classes = [lossy; 8];
    }
    for port in &mut config.ports {
        let rule = rule.unwrap_or(PauseRule::of_role(role));
        (port.role, port.pause) = (role, rule);
    }
    config.frame_count = config.frames_needed();
    let mut node = Node::new(config);
    for _ in 0..20 {
        let quanta = Quanta::MAX;
        node.control(&MacControl::Pause { quanta });
        assert!(node.offer(PAUSING, Priority::ALL[0]));
        node.step();
    }
    node
}

/// PAUSE by port role, setting, and presence of a lossless priority.
#[test]
fn pause_is_obeyed_as_configured() {
    use PauseRule::{Ignore, NoLossless, Obey};
    use PortRole::{Edge, Fabric};
    for (role, rule, has_lossless, obeyed) in [
        (Edge, None, true, false),
        (Edge, None, false, false),
        (Fabric, None, true, true),
        (Fabric, None, false, true),
        (Edge, Some(Obey), true, true),
        (Edge, Some(NoLossless), true, false),
        (Edge, Some(NoLossless), false, true),
        (Fabric, Some(Ignore), false, false),
        (Fabric, Some(NoLossless), true, false),
    ] {
        let node = pause_for_ever(role, rule, has_lossless);
        let what = format!("{role:?} {rule:?}, lossless: {has_lossless}");
        let counters = node.switch.counters(PAUSING);
        assert_eq!(counters.pause_received, 20, "{what}");
        assert_eq!(counters.pause_ignored == 20, !obeyed, "{what}");
        assert_eq!(counters.pause_ignored == 0, obeyed, "{what}");
        assert_eq!(node.left(PAUSING), if obeyed { 0 } else { 20 }, "{what}");
    }
}

/// PAUSE for ever with the setting of an edge port: others lose nothing, and no lossless frame waits either.
#[test]
fn a_host_that_sends_pause_for_ever_does_not_affect_others() {
    let mut node = Node::new(config());
    node.run(Duration::from_millis(100), |node| {
        let quanta = Quanta::MAX;
        node.control(&MacControl::Pause { quanta });
        assert!(node.offer(PAUSING, support::PRIORITY));
    });
    assert_eq!(node.switch.counters(SENDER).drops_total(), 0);
    assert_eq!(node.left[PAUSING.index()][3], 100);
    assert!(node.stalled.is_empty());
}

/// A regression of SONiC's watchdog: storms on all priorities at once, whose restoration flapped. While the host
/// continues, no storm ends; each lossless priority has one, and each ends once.
#[test]
fn storms_on_all_priorities_do_not_flap() {
    let mut node = Node::new(config());
    let lossless = [3, 4].map(|number| Priority::new(number).unwrap());
    node.run(Duration::from_millis(400), |node| {
        // In two frames, each for half of the priorities.
        node.pfc(&Priority::ALL[..4], Quanta(6000));
        node.pfc(&Priority::ALL[4..], Quanta(6000));
        for priority in lossless {
            node.offer(PAUSING, priority);
        }
    });
    node.stalled.sort_unstable();
    assert_eq!(node.stalled, lossless);
    assert!(node.restored.is_empty(), "{:?}", node.restored);
    node.run(Duration::from_millis(100), |_| {});
    node.restored.sort_unstable();
    assert_eq!(node.restored, lossless);
    assert_eq!(node.stalled, lossless, "none comes back");
}

/// A host that lets a frame leave after each of its pauses, none of which lasts for the detection time: its frames fill
/// the sender's buffer, which is then paused for all destinations. It is declared a storm within two windows, and the
/// sender's frames for others leave again. A merely slow host, which pauses for nine tenths of the time, is not.
#[test]
fn nearly_permanent_pauses_are_a_storm_and_those_of_a_slow_host_are_not() {
    let lossless = support::PRIORITY;
    // Of 180 ticks, which are 18 ms; the detection time is 20 ms.
    for (held, is_storm) in [(178, true), (162, false)] {
        let mut node = Node::new(config());
        let mut tick = 0;
        let mut is_pausing = |node: &mut Node| {
            let quanta = if tick % 180 < held {
                Quanta(200)
            } else {
                Quanta::ZERO
            };
            node.pfc(&[lossless], quanta);
            tick += 1;
            if !node.gauges(SENDER, lossless).pausing {
                node.offer(PAUSING, lossless);
                node.offer(OTHER, lossless);
            }
            node.step();
        };
        (0..2_100).for_each(|_| is_pausing(&mut node));
        let before = node.left(OTHER);
        (0..1_000).for_each(|_| is_pausing(&mut node));
        let after = node.left(OTHER);
        let stormed: &[Priority] = if is_storm { &[lossless] } else { &[] };
        assert_eq!(node.stalled, stormed, "{held} of 180");
        assert_eq!(
            after - before == 1_000,
            is_storm,
            "others get all that they can"
        );
        let dropped = node.switch.counters(SENDER).drops_total();
        assert_eq!(node.dropped(SENDER, DropReason::Storm), dropped);
    }
}

/// Another regression: a queue that stayed "stormed" when the host's XOFFs turned into XONs.
#[test]
fn a_storm_ends_when_xoff_turns_into_xon() {
    let mut node = Node::new(config());
    let lossless = support::PRIORITY;
    node.run(Duration::from_millis(60), |node| {
        node.pfc(&[lossless], Quanta::MAX);
        node.offer(PAUSING, lossless);
    });
    assert_eq!(node.stalled, [lossless]);
    // It continues to send PFC frames, all of them XON, and PAUSE, which is not obeyed.
    node.run(Duration::from_millis(30), |node| {
        node.pfc(&[lossless], Quanta::ZERO);
        let quanta = Quanta::MAX;
        node.control(&MacControl::Pause { quanta });
    });
    assert_eq!(node.restored, [lossless]);
    assert!(node.offer(PAUSING, lossless));
    let before = node.left[PAUSING.index()][3];
    node.run(Duration::from_millis(1), |_| {});
    assert_eq!(node.left[PAUSING.index()][3], before + 1);
}

/// Returns the XOFF or XON of the lossless priority that a port sends now.
fn told(node: &mut Node, port: PortId) -> Vec<bool> {
    let mut told = Vec::new();
    for _ in 0..10 {
        let Some(transmission) = node.switch.transmit(node.now, port) else {
            break;
        };
        if let Transmission::Control(frame) = transmission {
            let mut bytes = [0; 64];
            frame.emit(MacAddress::default(), &mut bytes);
            if let Ok(MacControl::Pfc { times }) = MacControl::parse(&bytes) {
                told.extend(times[support::PRIORITY.index()].map(|time| time != Quanta::ZERO));
            }
        }
    }
    told
}

#[test]
fn a_neighbour_can_be_paused_whatever_the_buffer_holds() {
    let mut node = Node::new(config());
    let hold = |node: &mut Node, priority, held| {
        let command = Command::HoldNeighbour {
            port: SENDER,
            priority,
            held,
        };
        node.switch.apply(node.now, command)
    };
    assert_eq!(told(&mut node, SENDER), []);
    hold(&mut node, support::PRIORITY, true).unwrap();
    assert_eq!(told(&mut node, SENDER), [true]);
    // Repeated it has no effect, and it is refreshed for as long as it lasts.
    hold(&mut node, support::PRIORITY, true).unwrap();
    assert_eq!(told(&mut node, SENDER), []);
    let refresh = node.switch.next_timer().unwrap();
    node.now = refresh;
    node.switch.handle_timeout(node.now);
    assert_eq!(told(&mut node, SENDER), [true]);
    // Frames in flight are admitted, and leave.
    let handle = node.free.pop().unwrap();
    let frame = Frame {
        handle,
        length: LENGTH,
        priority: support::PRIORITY,
        destination: MacAddress([2, 0, 0, 0, 0, OTHER.get()]),
        source: MacAddress([2, 0, 0, 0, 0, 9]),
        flow_hash: 1,
    };
    let admitted = node.switch.receive(node.now, SENDER, frame).unwrap();
    assert!(!admitted.mark);
    assert_eq!(told(&mut node, SENDER), []);
    hold(&mut node, support::PRIORITY, false).unwrap();
    assert_eq!(told(&mut node, SENDER), [false]);
    hold(&mut node, support::PRIORITY, false).unwrap();
    assert_eq!(told(&mut node, SENDER), []);
    // A lossy priority sends no pauses.
    let lossy = Priority::ALL[0];
    assert!(hold(&mut node, lossy, true).is_err());
}
