//! One switch with a group of ports, and its commands.

#![allow(dead_code)] // each test uses some of it

use std::collections::BTreeMap;

use weir_core::config::{FlowMonitorConfig, RouteConfig};
use weir_core::event::EventKind;
use weir_core::wire::mac_control::MacControl;
use weir_core::{
    BitRate, Bytes, Command, DropReason, Duration, Frame, FrameHandle, Instant, MacAddress,
    PortConfig, PortId, PortRole, Quanta, RerouteBy, RerouteSelection, Switch, SwitchConfig,
    Transmission,
};

use crate::support::{self, PRIORITY};

pub const DETECT: Duration = Duration::from_millis(8);
pub const PORTS: u8 = 6;
/// Member ports of the group of [`X`].
pub const MEMBERS: [u8; 3] = [1, 2, 3];
/// A destination with a group, and one with a single port.
pub const X: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
pub const Y: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

pub fn port(number: u8) -> PortId {
    PortId::new(number)
}

pub fn config(flows: usize) -> SwitchConfig {
    let ports = (0..PORTS)
        .map(|number| {
            let rate = BitRate::from_mbit(10_000);
            PortConfig::new(PortRole::Fabric, rate, MacAddress([2, 1, 0, 0, 0, number]))
        })
        .collect();
    let routes = vec![
        RouteConfig {
            destination: X,
            vlan: None,
            ports: MEMBERS.map(port).to_vec(),
            buckets: 12,
            pins: Vec::new(),
        },
        RouteConfig::new(Y, vec![port(1)]),
    ];
    let mut config = support::switch_config(ports, routes, DETECT);
    config.shaper_burst = Bytes::new(1 << 20);
    config.flows = FlowMonitorConfig {
        capacity: flows,
        age: Duration::from_secs(10),
    };
    config
}

pub struct Node {
    pub switch: Switch,
    pub now: Instant,
    pub free: Vec<FrameHandle>,
    /// Frame of a handle: ingress, destination, flow hash.
    pub frames: BTreeMap<FrameHandle, (u8, MacAddress, u32)>,
}

impl Node {
    pub fn new(config: SwitchConfig) -> Self {
        Self {
            free: (0..config.frame_count as u32).map(FrameHandle).collect(),
            switch: Switch::new(config).unwrap(),
            now: Instant::from_nanos(1),
            frames: BTreeMap::new(),
        }
    }

    pub fn receive(&mut self, ingress: u8, destination: MacAddress, flow_hash: u32) {
        self.try_receive(ingress, destination, flow_hash).unwrap();
    }

    pub fn try_receive(
        &mut self,
        ingress: u8,
        destination: MacAddress,
        flow_hash: u32,
    ) -> Result<FrameHandle, DropReason> {
        let handle = self.free.pop().expect("a free frame");
        let frame = Frame {
            handle,
            length: Bytes::new(1000),
            priority: PRIORITY,
            destination,
            source: MacAddress([2, 2, 0, 0, 0, ingress]),
            flow_hash,
        };
        match self.switch.receive(self.now, port(ingress), frame) {
            Ok(_) => {
                self.frames
                    .insert(handle, (ingress, destination, flow_hash));
                Ok(handle)
            }
            Err(reason) => {
                self.free.push(handle);
                Err(reason)
            }
        }
    }

    /// Flow hashes of the frames that `egress` sends now, in order.
    pub fn send(&mut self, egress: u8) -> Vec<u32> {
        self.transmit(egress)
            .into_iter()
            .map(|handle| {
                self.free.push(handle);
                self.frames.remove(&handle).unwrap().2
            })
            .collect()
    }

    pub fn transmit(&mut self, egress: u8) -> Vec<FrameHandle> {
        let mut handles = Vec::new();
        let mut waited = false;
        loop {
            match self.switch.transmit(self.now, port(egress)) {
                Some(Transmission::Data { handle, .. }) => {
                    waited = false;
                    handles.extend(self.switch.complete(handle));
                }
                Some(Transmission::Control(_)) => {}
                None if waited => return handles,
                // Longer than the shaper delays any frame.
                None => {
                    waited = true;
                    self.now = self.now + Duration::from_micros(2);
                }
            }
        }
    }

    pub fn hold(&mut self, egress: u8) {
        let mut times = [None; 8];
        times[PRIORITY.index()] = Some(Quanta::MAX);
        let mut bytes = [0; 60];
        MacControl::Pfc { times }.emit(MacAddress::default(), &mut bytes);
        self.switch
            .receive_mac_control(self.now, port(egress), &bytes)
            .unwrap();
    }

    /// Blocks `egress` for long enough to be suspected.
    pub fn wait_for_suspicion(&mut self, egress: u8) {
        for _ in 0..20 {
            self.hold(egress);
            self.now = self.now + Duration::from_millis(1);
            self.switch.handle_timeout(self.now);
        }
        assert!(
            self.switch
                .gauges(self.now, port(egress), PRIORITY)
                .suspected
        );
    }

    pub fn reroute(&mut self, selection: RerouteSelection, egress: u8, by: RerouteBy) -> Outcome {
        self.events();
        let command = Command::Reroute {
            selection,
            egress: port(egress),
            priority: PRIORITY,
            by,
        };
        self.switch.apply(self.now, command).unwrap();
        let mut outcome = Outcome::default();
        for event in self.events() {
            match event {
                EventKind::FlowMoved {
                    ingress,
                    from,
                    to,
                    priority,
                    destination,
                    flow_hash,
                } => {
                    assert_eq!((from, priority, destination), (port(egress), PRIORITY, X));
                    outcome.flows.push((ingress.get(), flow_hash, to.get()));
                }
                EventKind::Rerouted {
                    selection: told,
                    egress: from,
                    priority,
                    moved,
                    stuck,
                } => {
                    assert_eq!((told, from, priority), (selection, port(egress), PRIORITY));
                    (outcome.moved, outcome.stuck) = (moved, stuck);
                }
                _ => {}
            }
        }
        outcome.flows.sort_unstable();
        outcome
    }

    pub fn events(&mut self) -> Vec<EventKind> {
        std::iter::from_fn(|| self.switch.poll_event())
            .map(|event| event.kind)
            .collect()
    }

    pub fn egress_of(&mut self, ingress: u8, flow_hash: u32) -> u8 {
        self.receive(ingress, X, flow_hash);
        let left = (0..PORTS).find(|egress| self.send(*egress).contains(&flow_hash));
        left.expect("the frame leaves by some port")
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// (ingress, flow hash, to).
    pub flows: Vec<(u8, u32, u8)>,
    pub moved: u32,
    pub stuck: u32,
}
