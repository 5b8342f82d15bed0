//! Peaks, and spans of pauses, of random traffic compared with slow models that keep everything.

use std::collections::VecDeque;

use weir_core::config::RouteConfig;
use weir_core::switch::PauseGauges;
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::ControlFrame;
use weir_core::{
    BitRate, Bytes, Duration, Frame, FrameHandle, Instant, MacAddress, PortConfig, PortId,
    PortRole, Priority, Quanta, Switch, SwitchConfig, Transmission,
};

use crate::support::{self, Random};

const PORTS: [PortId; 3] = [PortId::new(0), PortId::new(1), PortId::new(2)];
const LOSSY: Priority = Priority::ALL[0];
const PRIORITIES: [Priority; 2] = [LOSSY, support::PRIORITY];
/// One quantum is 512 ns.
const RATE: BitRate = BitRate::from_mbit(1000);
const STEPS: u64 = 40_000;

fn config() -> SwitchConfig {
    let address = |number| MacAddress([2, 0, 0, 0, 0, number]);
    let ports = (0..3).map(|number| PortConfig {
        pause: weir_core::config::PauseRule::Obey,
        ..PortConfig::new(PortRole::Edge, RATE, address(0x80 + number))
    });
    let routes = (0..3).map(|number| RouteConfig::new(address(number), vec![PortId::new(number)]));
    let mut config =
        support::switch_config(ports.collect(), routes.collect(), Duration::from_millis(10));
    // Short enough for an unrefreshed pause to expire within the test.
    config.pause_time = Quanta(400);
    config
}

/// State of the models for one (port, priority).
#[derive(Default)]
struct Model {
    /// All values in the window.
    ingress: Vec<u64>,
    egress: Vec<u64>,
    charged: u64,
    waiting: u64,
    sent: Pauses,
    received: Pauses,
}

/// Complete history of pauses, with the time up to which each lasts.
#[derive(Default)]
struct Pauses {
    told: Vec<(Instant, Instant)>,
}

impl Pauses {
    fn at(&self, now: Instant) -> PauseGauges {
        let mut spans: Vec<(Instant, Instant)> = Vec::new();
        for (at, until) in &self.told {
            match spans.last_mut() {
                // It is prolonged, or ends.
                Some((_, end)) if *end > *at => *end = *until.max(at),
                _ if until > at => spans.push((*at, *until)),
                _ => {}
            }
        }
        let lengths = spans
            .iter()
            .map(|(began, end)| end.min(&now).saturating_since(*began));
        let ended = spans.iter().map(|(_, end)| *end).filter(|end| *end <= now);
        PauseGauges {
            begun: spans.len() as u64,
            active: spans.last().is_some_and(|(_, end)| *end > now),
            last_began: spans.last().map(|(began, _)| *began),
            last_ended: ended.max(),
            total: lengths.clone().fold(Duration::ZERO, |sum, span| sum + span),
            longest: lengths.max().unwrap_or_default(),
        }
    }
}

struct Node {
    switch: Switch,
    random: Random,
    now: Instant,
    free: Vec<FrameHandle>,
    /// Frames with the transmitter: ingress buffer charged, and the charge.
    under_way: VecDeque<FrameHandle>,
    frames: Vec<Option<(PortId, Priority, u64)>>,
    models: [[Model; 2]; 3],
    /// Times up to which a port's PAUSE and each priority's PFC last.
    said: [[Instant; 3]; 3],
}

impl Node {
    fn new(seed: u64) -> Self {
        let config = config();
        Self {
            free: (0..config.frame_count as u32).map(FrameHandle).collect(),
            frames: vec![None; config.frame_count],
            switch: Switch::new(config).unwrap(),
            random: Random(seed),
            now: Instant::from_nanos(1),
            under_way: VecDeque::new(),
            models: Default::default(),
            said: [[Instant::ZERO; 3]; 3],
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next() % bound
    }

    fn port(&mut self) -> PortId {
        PORTS[self.below(3) as usize]
    }

    fn model(&mut self, port: PortId, priority: Priority) -> &mut Model {
        &mut self.models[port.index()][usize::from(priority != LOSSY)]
    }

    fn note(&mut self) {
        for model in self.models.iter_mut().flatten() {
            model.ingress.push(model.charged);
            model.egress.push(model.waiting);
        }
    }

    fn arrive(&mut self) {
        let (ingress, egress) = (self.port(), self.port());
        let priority = PRIORITIES[self.below(2) as usize];
        let length = 60 + self.below(1400);
        let Some(handle) = self.free.pop() else {
            return;
        };
        let frame = Frame {
            handle,
            length: Bytes::new(length),
            priority,
            destination: MacAddress([2, 0, 0, 0, 0, egress.get()]),
            source: MacAddress([2, 0, 0, 0, 0, 0x10]),
            flow_hash: 1,
        };
        if self.switch.receive(self.now, ingress, frame).is_err() {
            self.free.push(handle);
            return;
        }
        self.frames[handle.index()] = Some((ingress, priority, length));
        self.model(ingress, priority).charged += length.next_multiple_of(256);
        self.model(egress, priority).waiting += length;
        self.note();
    }

    fn leave(&mut self) {
        let port = self.port();
        match self.switch.transmit(self.now, port) {
            Some(Transmission::Data { handle, .. }) => {
                let (_, priority, length) = self.frames[handle.index()].unwrap();
                self.model(port, priority).waiting -= length;
                self.under_way.push_back(handle);
            }
            Some(Transmission::Control(ControlFrame::Mac(MacControl::Pfc { times }))) => {
                for (priority, quanta) in Priority::ALL.into_iter().zip(times) {
                    if let Some(quanta) = quanta {
                        let told = (self.now, self.now + quanta.at(RATE));
                        self.model(port, priority).sent.told.push(told);
                    }
                }
            }
            Some(other) => panic!("{other:?}"),
            None => {}
        }
    }

    fn complete(&mut self) {
        let Some(handle) = self.under_way.pop_front() else {
            return;
        };
        let (ingress, priority, length) = self.frames[handle.index()].take().unwrap();
        let freed = self.switch.complete(handle);
        self.free.push(freed.expect("one copy"));
        self.model(ingress, priority).charged -= length.next_multiple_of(256);
    }

    /// XOFF, a refresh, XON or PAUSE from the neighbour.
    fn pause(&mut self) {
        let port = self.port();
        let quanta = match self.below(3) {
            0 => Quanta::ZERO,
            _ => Quanta(self.below(600) as u16),
        };
        let until = self.now + quanta.at(RATE);
        let control = match self.below(3) {
            0 => {
                self.said[port.index()][0] = until;
                MacControl::Pause { quanta }
            }
            // One for a lossy priority is not obeyed.
            which => {
                let priority = PRIORITIES[which as usize - 1];
                if priority != LOSSY {
                    self.said[port.index()][2] = until;
                }
                let mut times = [None; 8];
                times[priority.index()] = Some(quanta);
                MacControl::Pfc { times }
            }
        };
        let mut bytes = [0; 60];
        control.emit(MacAddress::default(), &mut bytes);
        self.switch
            .receive_mac_control(self.now, port, &bytes)
            .unwrap();
        let now = self.now;
        let [all, lossy, lossless] = self.said[port.index()];
        for (model, own) in self.models[port.index()].iter_mut().zip([lossy, lossless]) {
            model.received.told.push((now, all.max(own)));
        }
    }

    /// Compares all values, and begins another window if `takes`.
    fn look(&mut self, takes: bool) {
        for port in PORTS {
            for priority in PRIORITIES {
                let gauges = self.switch.gauges(self.now, port, priority);
                let (now, xoff) = (self.now, gauges.xoff.get());
                let model = self.model(port, priority);
                let most = |values: &[u64]| values.iter().copied().max().unwrap_or(0);
                let ingress = most(&model.ingress).max(model.charged);
                let egress = most(&model.egress).max(model.waiting);
                assert_eq!(gauges.ingress.get(), model.charged);
                assert_eq!(gauges.ingress_max.get(), ingress, "{port:?} {priority}");
                assert_eq!(gauges.egress_max.get(), egress, "{port:?} {priority}");
                let headroom = match priority {
                    LOSSY => 0,
                    _ => ingress.saturating_sub(xoff),
                };
                assert_eq!(gauges.headroom_used_max.get(), headroom);
                assert_eq!(gauges.pauses_sent, model.sent.at(now), "sent by {port:?}");
                assert_eq!(
                    gauges.pauses_received,
                    model.received.at(now),
                    "received by {port:?}"
                );
                if takes {
                    model.ingress = vec![model.charged];
                    model.egress = vec![model.waiting];
                }
            }
        }
        if takes {
            self.switch.restart_peaks();
        }
    }

    /// Traffic that arrives faster than it leaves for a while, and then the reverse.
    fn run(&mut self) {
        for step in 0..STEPS {
            self.now = self.now + Duration::from_nanos(self.below(2_000));
            self.switch.handle_timeout(self.now);
            let fills = step / 2_000 % 2 == 0;
            match self.below(100) {
                0..=1 => self.pause(),
                2..=45 if fills => self.arrive(),
                2..=20 => self.arrive(),
                46..=50 => self.note(),
                51..=75 => self.leave(),
                _ => self.complete(),
            }
            while self.switch.poll_event().is_some() {}
            if self.below(50) == 0 {
                let takes = self.below(4) == 0;
                self.look(takes);
            }
        }
    }
}

#[test]
fn peaks_and_pauses_are_those_of_slow_models() {
    let (mut sent, mut received, mut headroom) = (0, 0, 0);
    for seed in 1..=8 {
        let mut node = Node::new(seed);
        node.run();
        for port in PORTS {
            let gauges = node.switch.gauges(node.now, port, support::PRIORITY);
            sent += gauges.pauses_sent.begun;
            received += gauges.pauses_received.begun;
            headroom += u64::from(node.switch.counters(port).drops_total() > 0);
            let counters = node.switch.counters(port).priority[support::PRIORITY.index()];
            assert!(counters.xoff_sent >= gauges.pauses_sent.begun);
        }
    }
    assert!(sent > 20 && received > 100, "{sent} {received} {headroom}");
}

/// A frame that is present when a window begins counts in it; one that has left does not.
#[test]
fn a_window_begins_with_the_current_occupancy() {
    let mut node = Node::new(3);
    for _ in 0..2_000 {
        node.now = node.now + Duration::from_micros(1);
        node.arrive();
    }
    let ids = PORTS.map(|port| (port, support::PRIORITY));
    let before = ids.map(|(port, priority)| node.switch.gauges(node.now, port, priority));
    assert!(before
        .iter()
        .any(|gauges| gauges.headroom_used_max > Bytes::ZERO));
    while !node.under_way.is_empty() || node.switch.held_frames() > 0 {
        node.now = node.now + Duration::from_micros(20);
        node.switch.handle_timeout(node.now);
        node.leave();
        node.complete();
    }
    for restarted in [false, true] {
        for ((port, priority), before) in ids.into_iter().zip(before) {
            let gauges = node.switch.gauges(node.now, port, priority);
            let peaks = |gauges: &weir_core::switch::PriorityGauges| {
                [
                    gauges.ingress_max,
                    gauges.headroom_used_max,
                    gauges.egress_max,
                ]
            };
            let expected = if restarted {
                [Bytes::ZERO; 3]
            } else {
                peaks(&before)
            };
            assert_eq!(peaks(&gauges), expected);
        }
        node.switch.restart_peaks();
    }
}

#[test]
fn the_cheap_gauges_equal_the_others() {
    let mut switch = Switch::new(config()).unwrap();
    let now = Instant::from_nanos(1);
    let frame = Frame {
        handle: FrameHandle(0),
        length: Bytes::new(1000),
        priority: LOSSY,
        destination: MacAddress([2, 0, 0, 0, 0, 1]),
        source: MacAddress([2, 0, 0, 0, 0, 0]),
        flow_hash: 0,
    };
    let _ = switch.receive(now, PORTS[0], frame).unwrap();
    for port in PORTS {
        let gauges = switch.gauges(now, port, LOSSY);
        let occupancy = switch.occupancy(port, LOSSY);
        assert_eq!(occupancy, (gauges.ingress, gauges.egress));
    }
    assert_ne!(switch.occupancy(PORTS[0], LOSSY).0, Bytes::ZERO);
    assert_ne!(switch.occupancy(PORTS[1], LOSSY).1, Bytes::ZERO);
}
