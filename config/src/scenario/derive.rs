//! What follows from a scenario: ports, routes, and each switch's configuration.

use std::path::PathBuf;

use weir_core::{Bytes, ClassMode, FeedbackCoding, Neighbour, Police, PortId, PortRole, Priority};

use super::routes::Walk;
use super::topology::{Adjacency, PortPeer, SwitchPort};
use super::Scenario;
use crate::daemon::{
    default_dscp_map, ApiConfig, Class, ControlFramesConfig, DaemonConfig, DataplaneConfig,
    Fallback, FlowsConfig, ForwardingConfig, LldpConfig, LogConfig, MetricsConfig, PageConfig,
    Port, RoundTrip, Route, Trust,
};

/// Plain PFC with the thresholds that the class has at edge ports.
fn without_levels(mode: ClassMode) -> ClassMode {
    match mode {
        ClassMode::Level {
            xoff,
            xon,
            headroom,
            ..
        } => ClassMode::Pfc {
            xoff,
            xon,
            headroom,
        },
        other => other,
    }
}

impl Scenario {
    /// The ports of a switch; a port's number is its index here. O(switches + links + hosts).
    pub fn ports(&self, switch: usize) -> Vec<SwitchPort> {
        self.adjacency().ports(switch).to_vec()
    }

    /// The ports of every switch, for those who need all: O(switches + links + hosts) altogether.
    pub fn all_ports(&self) -> Vec<Vec<SwitchPort>> {
        self.adjacency().into_ports()
    }

    pub(super) fn adjacency(&self) -> Adjacency {
        Adjacency::new(
            self.switches.len(),
            &self.hosts,
            &self.links,
            self.link_defaults,
        )
    }

    /// By host that frames go to: the flow and the host that they come from. Answers of a receiver are among them.
    pub(super) fn ways_by_target(&self) -> Vec<Vec<(usize, usize)>> {
        let mut ways = vec![Vec::new(); self.hosts.len()];
        for (index, flow) in self.flows.iter().enumerate() {
            ways[flow.to].push((index, flow.from));
            if flow.transport.is_answered() {
                ways[flow.from].push((index, flow.to));
            }
        }
        ways
    }

    /// Longest frame from destination address to last payload byte that switches must take: that of any flow, and
    /// what a daemon takes without being told.
    pub fn frame_length_max(&self) -> Bytes {
        self.dataplane().frame_length_max()
    }

    /// `[dataplane]` of every switch: the defaults, with an MTU that the flows' frames fit.
    pub fn dataplane(&self) -> DataplaneConfig {
        let frames = self.flows.iter().map(|flow| flow.frame);
        DataplaneConfig {
            feedback_refresh: self.control.feedback_refresh,
            ..DataplaneConfig::default()
        }
        .with_frames(frames.max().unwrap_or(Bytes::ZERO))
    }

    /// A port's name: that of what it leads to.
    pub fn peer_name(&self, peer: PortPeer) -> &str {
        match peer {
            PortPeer::Switch(index) => &self.switches[index],
            PortPeer::Host(index) => &self.hosts[index].name,
        }
    }

    /// The switches that a flow goes over, first to last: its `via`, or what the routes leave no choice in. `None` where
    /// the flow hash decides.
    pub fn way(&self, flow: usize) -> Option<Vec<usize>> {
        let flow = &self.flows[flow];
        let adjacency = self.adjacency();
        let only_way = || {
            Walk::new(&adjacency, &self.next_hops, flow.to).only_way(self.hosts[flow.from].switch)
        };
        flow.via.clone().or_else(only_way)
    }

    /// The priority of what a flow's receiver answers.
    pub fn answer_priority(&self, flow: usize) -> Priority {
        self.classes[self.flows[flow].answer_class].priorities[0]
    }

    /// True for a flow between hosts of different switches.
    pub fn crosses_links(&self, flow: usize) -> bool {
        let flow = &self.flows[flow];
        self.hosts[flow.from].switch != self.hosts[flow.to].switch
    }

    /// The priority that a flow's frames carry.
    pub fn priority(&self, flow: usize) -> Priority {
        self.classes[self.flows[flow].class].priorities[0]
    }

    /// True when classes of mode `level` meet switches that know no Levels.
    pub fn is_mixed(&self) -> bool {
        self.has_levels.contains(&false)
    }

    /// The classes as one switch has them.
    pub fn classes_of(&self, switch: usize) -> Vec<Class> {
        let mut classes = self.classes.clone();
        if !self.has_levels[switch] {
            for class in &mut classes {
                class.mode = without_levels(class.mode);
            }
        }
        classes
    }

    /// Grants need Levels on both sides.
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

    /// The configuration of one switch's daemon. `device` names the network device of a port.
    pub fn daemon_config(
        &self,
        switch: usize,
        run_dir: PathBuf,
        dataplane: DataplaneConfig,
        device: impl Fn(PortPeer) -> String,
    ) -> DaemonConfig {
        self.daemon_config_with(switch, &self.ports(switch), run_dir, dataplane, device)
    }

    /// As [`daemon_config`](Self::daemon_config), for those who have the switch's `ports` from
    /// [`all_ports`](Self::all_ports).
    pub fn daemon_config_with(
        &self,
        switch: usize,
        ports: &[SwitchPort],
        run_dir: PathBuf,
        dataplane: DataplaneConfig,
        device: impl Fn(PortPeer) -> String,
    ) -> DaemonConfig {
        let fastest = ports.iter().map(|port| port.properties.rate).max();
        let ports = ports
            .iter()
            .map(|port| Port {
                name: self.peer_name(port.peer).to_owned(),
                device: device(port.peer),
                queue: 0,
                queue_count: None,
                role: match port.peer {
                    PortPeer::Switch(_) => PortRole::Fabric,
                    PortPeer::Host(_) => PortRole::Edge,
                },
                rate: port.properties.rate,
                address: None,
                wait: false,
                default_priority: Priority::ALL[0],
                trust: Trust::Pcp,
                pcp_map: Priority::ALL,
                dscp_map: default_dscp_map(),
                fallback: Fallback::Drop,
                round_trip: RoundTrip::Fixed(port.properties.round_trip),
                neighbour: match self.feedback_of(switch, port) {
                    FeedbackCoding::Grants => Neighbour::Enhanced,
                    _ => Neighbour::Unknown,
                },
                feedback: self.feedback_of(switch, port),
                police: match port.peer {
                    PortPeer::Switch(_) => Police::Off,
                    PortPeer::Host(host) => self.hosts[host].police,
                },
                pause: None,
                pfcwd: None,
            })
            .collect();
        let routes = self.next_hops[switch]
            .iter()
            .zip(&self.hosts)
            .filter(|(members, _)| !members.is_empty())
            .map(|(members, host)| {
                let ports = members.iter().filter_map(|port| PortId::from_index(*port));
                Route::new(host.address, ports.collect())
            })
            .collect();
        DaemonConfig {
            name: self.switches[switch].clone(),
            api_socket: run_dir.join("api.sock"),
            run_dir,
            log: LogConfig::default(),
            metrics: MetricsConfig {
                listen: None,
                ..MetricsConfig::default()
            },
            api: ApiConfig::default(),
            control_frames: ControlFramesConfig::for_fabric(self.deadlock.clcm_interval, fastest),
            page: PageConfig::OFF,
            dataplane,
            classes: self.classes_of(switch),
            ports,
            deadlock: self.deadlock,
            pfcwd: self.pfcwd,
            forwarding: ForwardingConfig::default(),
            routes,
            flows: FlowsConfig::default(),
            lldp: LldpConfig::default(),
        }
    }
}
