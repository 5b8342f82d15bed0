//! A switch under a steady load, in memory: receive, transmit, complete.

use std::hint::black_box;

use weir_core::config::{LevelRules, MarkAt, PartsPerMillion, RedConfig, RouteConfig};
use weir_core::random::SplitMix64;
use weir_core::wire::mac_control::MacControl;
use weir_core::{
    BitRate, Budgets, Bytes, ClassConfig, ClassMode, Duration, Frame, FrameHandle, Instant,
    MacAddress, Neighbour, PfcThresholds, PortConfig, PortId, PortRole, Priority, Quanta, Switch,
    SwitchConfig, Transmission,
};

use crate::case::{Beside, Case, Mode};

/// Frames of a burst, as many as in a dataplane's batch.
pub const BURST: usize = 32;

pub(crate) const PRIORITY: Priority = Priority::ALL[3];
pub(crate) const LENGTH: Bytes = Bytes::new(1500);
/// Charge of a frame in whole cells of 256 B.
const CHARGE: u64 = 1536;
/// D, in mode [`Mode::Level`].
const DEPTH: u8 = 4;

/// A switch and the load of a [`Case`]. No frame is ever dropped.
#[derive(Debug)]
pub struct Pipeline {
    switch: Switch,
    case: Case,
    free: Vec<FrameHandle>,
    now: Instant,
    random: SplitMix64,
    received: usize,
    /// Next port to send while frames wait.
    sender: usize,
    xoff: [u8; 60],
    xon: [u8; 60],
}

impl Pipeline {
    /// Builds the switch with its waiting frames.
    ///
    /// # Panics
    ///
    /// The case has no valid configuration.
    pub fn new(case: Case) -> Self {
        let config = config(case);
        let frame_count = config.frame_count;
        let mut switch = Switch::new(config).expect("a sound configuration");
        // As in the daemon.
        switch.touch_memory();
        let mut pipeline = Self {
            free: (0..frame_count as u32).rev().map(FrameHandle).collect(),
            switch,
            case,
            now: Instant::ZERO + Duration::from_millis(1),
            random: SplitMix64::new(1),
            received: 0,
            sender: 0,
            xoff: pfc(Quanta::MAX),
            xon: pfc(Quanta(0)),
        };
        for _ in 0..case.standing {
            pipeline.receive_one();
        }
        pipeline
    }

    /// Receives [`BURST`] frames, and sends as many.
    pub fn burst(&mut self) {
        self.now = self.now + Duration::from_micros(10);
        if self.case.beside == Beside::Pauses {
            self.hear(self.xoff);
        }
        for _ in 0..BURST {
            self.receive_one();
        }
        if self.case.beside == Beside::Pauses {
            self.hear(self.xon);
        }
        if self.case.standing == 0 {
            self.transmit_all();
        } else {
            self.transmit_a_burst();
        }
    }

    /// Returns the number of frames in the switch.
    pub fn held(&self) -> usize {
        self.switch.config().frame_count - self.free.len()
    }

    fn receive_one(&mut self) {
        let Case {
            ports,
            destinations,
            beside,
            ..
        } = self.case;
        let random = self.random.next_u64() as usize;
        // Frames come in pairs if the second is to find the first.
        let number = if beside == Beside::Lifts {
            self.received / 2
        } else {
            self.received
        };
        let egress = number % ports.min(destinations);
        let groups = (destinations / ports).max(1);
        let pair = if beside == Beside::Lifts {
            number.wrapping_mul(0x9e37_79b9)
        } else {
            random
        };
        let destination = egress + ports * (pair % groups);
        let mut ingress = (egress + 1 + (random >> 32) % (ports - 1)) % ports;
        if beside == Beside::Lifts && ingress % 2 != self.received % 2 {
            ingress = (ingress + 1) % ports;
            if ingress == egress {
                ingress = (ingress + 2) % ports;
            }
        }
        self.received += 1;
        let frame = Frame {
            handle: self.free.pop().expect("a free frame"),
            length: LENGTH,
            priority: PRIORITY,
            destination: address(0, destination),
            source: address(1, ingress),
            flow_hash: random as u32,
        };
        let admitted = self
            .switch
            .receive(self.now, port(ingress), black_box(frame));
        let _ = admitted.expect("room for every frame");
    }

    fn transmit_all(&mut self) {
        while let Some(port) = self.switch.poll_ready() {
            loop {
                // Lent, not moved: it is as large as the longest control frame.
                let transmission = self.switch.transmit(self.now, port);
                let Some(transmission) = &transmission else {
                    break;
                };
                self.sent(transmission);
            }
        }
    }

    fn transmit_a_burst(&mut self) {
        let mut left = BURST;
        while left > 0 {
            let port = port(self.sender % self.case.ports);
            let transmission = self.switch.transmit(self.now, port);
            if !matches!(transmission, Some(Transmission::Control(_))) {
                self.sender += 1;
            }
            if let Some(transmission) = &transmission {
                left -= usize::from(self.sent(transmission));
            }
        }
    }

    fn sent(&mut self, transmission: &Transmission) -> bool {
        let Transmission::Data { handle, .. } = black_box(transmission) else {
            return false;
        };
        let back = self.switch.complete(*handle);
        self.free.extend(back);
        true
    }

    fn hear(&mut self, control: [u8; 60]) {
        for port in (0..self.case.ports).map(port) {
            let heard = self.switch.receive_mac_control(self.now, port, &control);
            heard.expect("a sound frame");
        }
    }
}

fn pfc(quanta: Quanta) -> [u8; 60] {
    let mut times = [None; 8];
    times[PRIORITY.index()] = Some(quanta);
    let mut frame = [0; 60];
    MacControl::Pfc { times }.emit(address(0xfd, 0), &mut frame);
    frame
}

pub(crate) fn address(kind: u8, number: usize) -> MacAddress {
    let [high, middle, low] = [number >> 16, number >> 8, number].map(|part| part as u8);
    MacAddress([2, 0, kind, high, middle, low])
}

pub(crate) fn port(index: usize) -> PortId {
    PortId::new(index as u8)
}

/// Returns buffers that no burst fills, except if pauses are wanted, and lines so fast that no shaper waits.
pub(crate) fn config(case: Case) -> SwitchConfig {
    let lossy = ClassMode::Lossy {
        buffer: Bytes::new(2 * 1024),
    };
    let mut classes = [ClassConfig::new(lossy); 8];
    let rate = BitRate::from_mbit(10_000_000);
    let ports = (0..case.ports)
        .map(|index| {
            let from_host = case.beside == Beside::Lifts && index % 2 == 0;
            let role = if from_host {
                PortRole::Edge
            } else {
                PortRole::Fabric
            };
            PortConfig {
                neighbour: Neighbour::Enhanced,
                ..PortConfig::new(role, rate, address(2, index))
            }
        })
        .collect();
    let route = |destination| {
        RouteConfig::new(
            address(0, destination),
            vec![port(destination % case.ports)],
        )
    };
    let routes = (0..case.destinations).map(route).collect();
    let mut config = SwitchConfig::new(ports, classes, routes);
    // Ingress ports are random: some get several times their share.
    let share = (case.standing / case.ports + BURST) as u64 * CHARGE * 4;
    let (xoff, xon) = match case.beside {
        Beside::Pauses => (Bytes::new(CHARGE), Bytes::new(256)),
        _ => (Bytes::new(share), Bytes::new(share / 2)),
    };
    let headroom = Bytes::new(share);
    classes[PRIORITY.index()].mode = match case.mode {
        Mode::Lossy => ClassMode::Lossy {
            buffer: xoff + headroom,
        },
        Mode::Pfc => ClassMode::Pfc(PfcThresholds::new(xoff, xon, headroom).unwrap()),
        Mode::Level => ClassMode::Level {
            rules: LevelRules::default(),
            budgets: Budgets::derived(DEPTH, xoff, config.gamma_max()).expect("sound budgets"),
            edge: PfcThresholds::new(xoff, xon, headroom).unwrap(),
        },
    };
    if case.beside == Beside::Marking {
        let each = (case.standing / case.ports) as u64 * LENGTH.get();
        classes[PRIORITY.index()].ecn = Some(RedConfig {
            kmin: Bytes::new(each / 2),
            kmax: Bytes::new(each * 2),
            pmax: PartsPerMillion::new(100_000).expect("at most a million"),
            at: MarkAt::Arrival,
        });
    }
    config.classes = classes;
    config.frame_count = config.frames_needed();
    config
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::GUARDED;

    #[test]
    fn every_case_carries_its_load() {
        for (name, case) in GUARDED {
            let mut pipeline = Pipeline::new(case);
            for _ in 0..200 {
                pipeline.burst();
                assert_eq!(pipeline.held(), case.standing, "{name}");
            }
            let of = |of: fn(&weir_core::counters::PriorityCounters) -> u64| -> u64 {
                let ports = (0..case.ports).map(port);
                ports
                    .map(|port| of(&pipeline.switch.counters(port).priority[PRIORITY.index()]))
                    .sum()
            };
            let frames = 200 * BURST as u64;
            assert_eq!(of(|c| c.tx_frames), frames, "{name}");
        }
    }
}
