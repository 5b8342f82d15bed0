//! Random networks in which every switch has six links and one host, loaded evenly.

use std::collections::{BTreeMap, VecDeque};

use weir_config::scenario::generate::{generate, TopologyConfig, TopologyKind};
use weir_config::scenario::Transport;
use weir_core::config::RouteConfig;
use weir_core::{BitRate, Instant, PortId, PortRole};
use weir_sim::network::plan::*;
use weir_sim::random::Random;

use super::{link, switch_config, FRAME_LENGTH, LINE_RATE, PRIORITY};

/// Links from each switch to others.
const DEGREE: usize = 6;
/// Flows that each host sends, and also receives.
pub const FLOWS_PER_HOST: usize = 4;
const FLOW_RATE: BitRate = BitRate::from_mbit(12_000);
/// Including overhead on the line, seven flows take 85 % of it.
pub const FLOWS_PER_LINE_MAX: u8 = 7;
/// Maximum number of other senders tried for a flow that would overload a line.
const DRAWS_MAX: usize = 64;
/// Minimum number of links between switches from a host to the destinations of its flows.
const DISTANCE_MIN: u32 = 2;

/// Builds a network of `switches` switches. Each host sends [`FLOWS_PER_HOST`] flows, chosen by as many permutations of the
/// hosts, on shortest paths; no line has more than [`FLOWS_PER_LINE_MAX`]. The few flows for which no path is found are left
/// out. Switches have routes only where flows go. O(switches²) time.
pub fn regular(switches: usize, seed: u64) -> NetworkPlan {
    let config = TopologyConfig {
        kind: TopologyKind::RandomRegular {
            switches,
            degree: DEGREE,
        },
        hosts: 1,
        miswired: 0,
        failed: 0,
    };
    let topology = generate(&config, seed).expect("the numbers are legal");
    let mut plan = NetworkPlan::default();
    let mut neighbours = vec![Vec::new(); switches];
    for planned in &topology.links {
        let [a, b] = planned.ends;
        plan.links.push(link([a, b].map(|switch| End::Port {
            switch: switch as u32,
            port: link_port(neighbours[switch].len()),
        })));
        neighbours[a].push(b as u32);
        neighbours[b].push(a as u32);
    }
    let mut draw = FlowDraw::new(neighbours, Random::new(seed));
    plan.flows = draw.flows();
    let mut roles = vec![PortRole::Edge];
    roles.extend([PortRole::Fabric; DEGREE]);
    for (switch, next_hops) in (0..).zip(draw.next_hops) {
        let routes = next_hops.into_iter();
        let routes = routes.map(|(host, port)| RouteConfig::new(host_address(host), vec![port]));
        plan.switches.push(SwitchPlan {
            config: switch_config(switch, &roles, routes.collect()),
            control: None,
        });
        plan.hosts.push(HostPlan {
            rate: LINE_RATE,
            obeys_pfc: true,
            obeys_credits: true,
        });
        plan.links.push(link([
            End::Host(switch),
            End::Port {
                switch,
                port: HOST_PORT,
            },
        ]));
    }
    plan
}

const HOST_PORT: PortId = PortId::new(0);

fn link_port(link: usize) -> PortId {
    PortId::new(link as u8 + 1)
}

struct FlowDraw {
    /// By switch, in the order of its ports.
    neighbours: Vec<Vec<u32>>,
    random: Random,
    /// By switch and port: flows that leave there. A host's line has at most [`FLOWS_PER_HOST`].
    flows_out: Vec<[u8; 1 + DEGREE]>,
    /// By switch and host.
    next_hops: Vec<BTreeMap<u32, PortId>>,
    /// Distance of each switch to the current target.
    distances: Vec<u32>,
}

impl FlowDraw {
    fn new(neighbours: Vec<Vec<u32>>, random: Random) -> Self {
        let count = neighbours.len();
        Self {
            neighbours,
            random,
            flows_out: vec![[0; 1 + DEGREE]; count],
            next_hops: vec![BTreeMap::new(); count],
            distances: Vec::new(),
        }
    }

    fn flows(&mut self) -> Vec<FlowPlan> {
        let count = self.neighbours.len();
        let mut senders: Vec<Vec<u32>> = (0..FLOWS_PER_HOST)
            .map(|_| {
                let mut senders: Vec<u32> = (0..count as u32).collect();
                self.random.shuffle(&mut senders);
                senders
            })
            .collect();
        let mut flows = Vec::with_capacity(FLOWS_PER_HOST * count);
        for target in 0..count as u32 {
            self.measure(target);
            for senders in &mut senders {
                if let Some(from) = self.take_sender(senders, target) {
                    flows.push(self.flow(from, target));
                }
            }
        }
        flows
    }

    /// Takes a sender that no earlier target has taken, and whose path to `target` has room.
    fn take_sender(&mut self, senders: &mut [u32], target: u32) -> Option<u32> {
        let first = target as usize;
        for _ in 0..DRAWS_MAX {
            let left = (senders.len() - first) as u64;
            senders.swap(first, first + self.random.below(left) as usize);
            let from = senders[first];
            if self.distances[from as usize] < DISTANCE_MIN {
                continue;
            }
            let way = self.way(from, target);
            let has_room = |(switch, port): &(u32, PortId)| {
                self.flows_out[*switch as usize][port.index()] < FLOWS_PER_LINE_MAX
            };
            if way.iter().all(has_room) {
                for (switch, port) in way {
                    self.flows_out[switch as usize][port.index()] += 1;
                    self.next_hops[switch as usize].insert(target, port);
                }
                return Some(from);
            }
        }
        None
    }

    /// Returns the switches on the path and the ports by which frames leave them. All frames for one host leave a switch by
    /// one port: the first that is nearer, counted from a number derived from switch and host.
    fn way(&self, from: u32, target: u32) -> Vec<(u32, PortId)> {
        let mut way = Vec::new();
        let mut at = from;
        while at != target {
            let neighbours = &self.neighbours[at as usize];
            let nearer = self.distances[at as usize] - 1;
            let first = Random::for_purpose(u64::from(at), u64::from(target)).below(DEGREE as u64);
            let link = (0..DEGREE)
                .map(|step| (first as usize + step) % DEGREE)
                .find(|link| self.distances[neighbours[*link] as usize] == nearer)
                .expect("all switches are connected");
            way.push((at, link_port(link)));
            at = neighbours[link];
        }
        way.push((target, HOST_PORT));
        way
    }

    /// Computes distances to `target`, breadth first.
    fn measure(&mut self, target: u32) {
        self.distances.clear();
        self.distances.resize(self.neighbours.len(), u32::MAX);
        self.distances[target as usize] = 0;
        let mut reached = VecDeque::from([target]);
        while let Some(switch) = reached.pop_front() {
            let next = self.distances[switch as usize] + 1;
            for neighbour in &self.neighbours[switch as usize] {
                let distance = &mut self.distances[*neighbour as usize];
                if *distance == u32::MAX {
                    *distance = next;
                    reached.push_back(*neighbour);
                }
            }
        }
    }

    fn flow(&mut self, from: u32, to: u32) -> FlowPlan {
        let period = FLOW_RATE.time_for(FRAME_LENGTH).as_nanos();
        FlowPlan {
            from,
            to,
            priority: PRIORITY,
            frame: FRAME_LENGTH,
            rate: Some(FLOW_RATE),
            start: Instant::from_nanos(self.random.below(period)),
            stop: Instant::FAR_FUTURE,
            size: None,
            on_off: None,
            flow_hash: self.random.next_u64() as u32,
            transport: Transport::Open,
            answer_priority: PRIORITY,
        }
    }
}
