//! Ports, routes, and each switch's configuration, derived from a scenario.

use weir_core::{
    Bytes, ClassMode, FeedbackCoding, MacAddress, Neighbour, PauseRule, Police, PortConfig, PortId,
    PortRole, Priority,
};

use super::routes::Walk;
use super::topology::{Adjacency, PortPeer, SwitchPort};
use super::Scenario;
use crate::switch::{
    control_limits, watchdog, Class, ForwardingConfig, FrameConfig, Route, Switch,
};

/// Plain PFC with the thresholds that the class has at edge ports.
fn without_levels(mode: ClassMode) -> ClassMode {
    match mode {
        ClassMode::Level { edge, .. } => ClassMode::Pfc(edge),
        other => other,
    }
}

impl Scenario {
    /// The ports of a switch; a port's number is its index here. O(switches + links + hosts).
    pub fn ports(&self, switch: usize) -> Vec<SwitchPort> {
        self.adjacency().ports(switch).to_vec()
    }

    /// The ports of all switches. O(switches + links + hosts) in total.
    pub fn all_ports(&self) -> Vec<Vec<SwitchPort>> {
        self.adjacency().into_ports()
    }

    pub(super) fn adjacency(&self) -> Adjacency {
        Adjacency::new(self.switches.len(), &self.hosts, &self.links)
    }

    /// By receiving host: flows and sending hosts, including the answers of receivers.
    pub fn ways_by_target(&self) -> Vec<Vec<(usize, usize)>> {
        let mut ways = vec![Vec::new(); self.hosts.len()];
        for (index, flow) in self.flows.iter().enumerate() {
            ways[flow.to].push((index, flow.from));
            if flow.transport.is_answered() {
                ways[flow.from].push((index, flow.to));
            }
        }
        ways
    }

    /// Frame settings of every switch: defaults, with an MTU that fits the flows' frames.
    pub fn frames(&self) -> FrameConfig {
        let frames = self.flows.iter().map(|flow| flow.frame);
        FrameConfig {
            feedback_refresh: self.control.feedback_refresh,
            ..FrameConfig::DEFAULT
        }
        .with_frames(frames.max().unwrap_or(Bytes::ZERO))
    }

    /// A port's name: that of its peer.
    pub fn peer_name(&self, peer: PortPeer) -> &str {
        match peer {
            PortPeer::Switch(index) => &self.switches[index],
            PortPeer::Host(index) => &self.hosts[index].name,
        }
    }

    /// The switches on a flow's path, first to last: its `via`, or the only path. `None` if the flow hash decides.
    pub fn way(&self, flow: usize) -> Option<Vec<usize>> {
        let flow = &self.flows[flow];
        let adjacency = self.adjacency();
        let only_way = || {
            Walk::new(&adjacency, &self.next_hops, flow.to).only_way(self.hosts[flow.from].switch)
        };
        flow.via.clone().or_else(only_way)
    }

    /// The priority of the answers of a flow's receiver.
    pub fn answer_priority(&self, flow: usize) -> Priority {
        self.classes[self.flows[flow].answer_class].priorities[0]
    }

    /// Returns true for a flow between hosts of different switches.
    pub fn crosses_links(&self, flow: usize) -> bool {
        let flow = &self.flows[flow];
        self.hosts[flow.from].switch != self.hosts[flow.to].switch
    }

    /// The priority of a flow's frames.
    pub fn priority(&self, flow: usize) -> Priority {
        self.classes[self.flows[flow].class].priorities[0]
    }

    /// Returns true if classes of mode `level` meet switches without Levels.
    pub fn is_mixed(&self) -> bool {
        self.has_levels.contains(&false)
    }

    /// The classes of one switch.
    pub fn classes_of(&self, switch: usize) -> Vec<Class> {
        let mut classes = self.classes.clone();
        if !self.has_levels[switch] {
            for class in &mut classes {
                class.mode = without_levels(class.mode);
            }
        }
        classes
    }

    /// Grants need Levels on both ends.
    fn feedback_of(&self, switch: usize, port: &SwitchPort) -> FeedbackCoding {
        let both = match port.peer {
            PortPeer::Switch(peer) => self.has_levels[switch] && self.has_levels[peer],
            PortPeer::Host(_) => return FeedbackCoding::Pfc,
        };
        match port.properties.feedback {
            FeedbackCoding::Grants if !both => FeedbackCoding::Pfc,
            feedback => feedback,
        }
    }

    /// The switch's configuration, with `ports` from [`ports`](Self::ports) or [`all_ports`](Self::all_ports). Its
    /// ports have no addresses yet, and its seed is zero.
    pub fn switch(&self, switch: usize, ports: &[SwitchPort]) -> Switch {
        self.with_routes(switch, ports, self.next_hops[switch].routes())
    }

    /// The same with only the routes to these hosts.
    pub fn switch_towards(&self, switch: usize, ports: &[SwitchPort], hosts: &[u32]) -> Switch {
        let next_hops = &self.next_hops[switch];
        let hosts = hosts.iter().map(|host| *host as usize);
        let routes = hosts.map(|host| (host, &next_hops[host]));
        self.with_routes(
            switch,
            ports,
            routes.filter(|(_, members)| !members.is_empty()),
        )
    }

    fn with_routes<'a>(
        &self,
        switch: usize,
        ports: &[SwitchPort],
        routes: impl Iterator<Item = (usize, &'a [usize])>,
    ) -> Switch {
        let fastest = ports.iter().map(|port| port.properties.rate).max();
        let routes = routes
            .map(|(host, members)| {
                let ports = members.iter().filter_map(|port| PortId::from_index(*port));
                Route::new(self.hosts[host].address, ports.collect())
            })
            .collect();
        Switch {
            classes: self.classes_of(switch),
            pools: self.pools.clone(),
            ecn: self.ecn.clone(),
            ports: ports.iter().map(|port| self.port(switch, port)).collect(),
            frames: self.frames(),
            deadlock: self.deadlock,
            routes,
            forwarding: ForwardingConfig::default(),
            flood: self.flood_of(switch, ports),
            flows: self.flow_monitor,
            control_limits: control_limits(self.deadlock.clcm_interval, fastest),
            seed: 0,
            vlans: Vec::new(),
        }
    }

    fn port(&self, switch: usize, port: &SwitchPort) -> PortConfig {
        let feedback = self.feedback_of(switch, port);
        let (role, police, pause) = match port.peer {
            PortPeer::Switch(_) => {
                let role = PortRole::Fabric;
                (role, Police::Off, PauseRule::of_role(role))
            }
            PortPeer::Host(host) => {
                let host = &self.hosts[host];
                (PortRole::Edge, host.police, host.pause)
            }
        };
        PortConfig {
            role,
            rate: port.properties.rate,
            address: MacAddress::default(),
            round_trip: port.properties.round_trip,
            round_trip_measured: false,
            cable: port
                .properties
                .cable_line()
                .map(|line| line.room(self.frames().charging())),
            feedback,
            police,
            pause,
            neighbour: match feedback {
                FeedbackCoding::Grants => Neighbour::Enhanced,
                _ => Neighbour::Unknown,
            },
            // A scenario's classes have the same share at all ports.
            pool_thresholds: Default::default(),
            watchdog: watchdog(self.pfcwd, &self.deadlock, false),
            address_limit: None,
            credit_slots: None,
            priorities: [true; 8],
        }
    }
}
