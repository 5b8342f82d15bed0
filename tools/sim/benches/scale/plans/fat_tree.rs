//! A fat-tree of 100 Gbit/s and two loads, each a permutation of the hosts.

use std::collections::BTreeMap;

use weir_config::scenario::Transport;
use weir_core::config::{RouteConfig, BUCKETS_DEFAULT};
use weir_core::{BitRate, Instant, PortId, PortRole};
use weir_sim::network::plan::*;
use weir_sim::random::Random;

use super::{link, switch_config, FRAME_LENGTH, LINE_RATE, PRIORITY};

/// Including a frame's overhead on the line: a little less than half of the line.
pub const HALF_RATE: BitRate = BitRate::from_mbit(49_000);
/// Modulo this number and a power of two, a flow hash has independent remainders.
const AGGREGATION_BUCKETS: u16 = 61;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Every host sends at [`HALF_RATE`], each with a different start, and flows are spread so that no link between switches
    /// carries more than two.
    Half,
    /// Every host sends at line rate from the same moment on. Both tiers choose by the same bits of the flow hash, so many
    /// flows share a link, and PFC spreads back to the hosts.
    Full,
}

/// Number of flows on each link between switches, by which flow hashes are chosen.
struct Spread {
    half: u32,
    flows: BTreeMap<(&'static str, u32, u32), u32>,
}

impl Spread {
    fn new(half: u32) -> Self {
        let flows = BTreeMap::new();
        Self { half, flows }
    }

    /// Draws several flow hashes; returns the one whose links have the fewest flows.
    fn choose(&mut self, random: &mut Random, from: u32, to: u32) -> u32 {
        let load = |hash: &u32| {
            let links = self.links(*hash, from, to);
            let flows = links.map(|link| self.flows.get(&link).copied().unwrap_or(0));
            (flows.into_iter().max(), flows.into_iter().sum::<u32>())
        };
        let hashes: Vec<u32> = (0..200).map(|_| random.next_u64() as u32).collect();
        let best = hashes.into_iter().min_by_key(load).expect("some");
        for link in self.links(best, from, to) {
            *self.flows.entry(link).or_default() += 1;
        }
        best
    }

    /// Returns the links of the path through an edge, an aggregation and a core switch; shorter paths count the same.
    fn links(&self, hash: u32, from: u32, to: u32) -> [(&'static str, u32, u32); 4] {
        let half = self.half;
        let [aggregation, core] = choices(hash, half);
        let [from_pod, to_pod] = [from, to].map(|host| host / (half * half));
        [
            ("to aggregation", from / half, aggregation),
            ("to core", from_pod, core),
            ("from core", to_pod, core),
            ("from aggregation", to / half, aggregation),
        ]
    }
}

/// Returns the aggregation switch of its pod and the core that a flow of [`Load::Half`] would use on a full path. A core's
/// links come from aggregation switch core ÷ `half` of each pod.
pub fn choices(flow_hash: u32, half: u32) -> [u32; 2] {
    let aggregation = flow_hash % u32::from(BUCKETS_DEFAULT) % half;
    let core = aggregation * half + flow_hash % u32::from(AGGREGATION_BUCKETS) % half;
    [aggregation, core]
}

/// Builds `k` pods of k/2 edge and k/2 aggregation switches, (k/2)² cores, k/2 hosts on each edge switch.
pub fn fat_tree(k: u32, load: Load) -> NetworkPlan {
    let half = k / 2;
    let edges = k * half;
    let hosts = edges * half;
    let mut plan = NetworkPlan::default();
    let edge = |pod: u32, i: u32| pod * half + i;
    let agg = |pod: u32, i: u32| edges + pod * half + i;
    let core = |j: u32| 2 * edges + j;
    let port = |n: u32| PortId::new(n as u8);
    let ups: Vec<PortId> = (half..k).map(port).collect();
    for pod in 0..k {
        for i in 0..half {
            let mut roles = vec![PortRole::Edge; half as usize];
            roles.extend(vec![PortRole::Fabric; half as usize]);
            let routes = (0..hosts)
                .map(|h| {
                    let ports = if h / half == edge(pod, i) {
                        vec![port(h % half)]
                    } else {
                        ups.clone()
                    };
                    RouteConfig::new(host_address(h), ports)
                })
                .collect();
            plan.switches.push(SwitchPlan {
                config: switch_config(edge(pod, i), &roles, routes),
                control: None,
            });
        }
    }
    for pod in 0..k {
        for i in 0..half {
            let roles = vec![PortRole::Fabric; k as usize];
            let routes = (0..hosts)
                .map(|h| {
                    let ports = if h / (half * half) == pod {
                        vec![port(h / half % half)]
                    } else {
                        ups.clone()
                    };
                    let mut route = RouteConfig::new(host_address(h), ports);
                    if let Load::Half = load {
                        route.buckets = AGGREGATION_BUCKETS;
                    }
                    route
                })
                .collect();
            plan.switches.push(SwitchPlan {
                config: switch_config(agg(pod, i), &roles, routes),
                control: None,
            });
        }
    }
    for j in 0..half * half {
        let roles = vec![PortRole::Fabric; k as usize];
        let routes = (0..hosts)
            .map(|h| RouteConfig::new(host_address(h), vec![port(h / (half * half))]))
            .collect();
        plan.switches.push(SwitchPlan {
            config: switch_config(core(j), &roles, routes),
            control: None,
        });
    }
    let end = |switch: u32, n: u32| End::Port {
        switch,
        port: port(n),
    };
    for pod in 0..k {
        for i in 0..half {
            for j in 0..half {
                plan.links
                    .push(link([end(edge(pod, i), half + j), end(agg(pod, j), i)]));
                plan.links.push(link([
                    end(agg(pod, i), half + j),
                    end(core(i * half + j), pod),
                ]));
            }
        }
    }
    let mut random = Random::new(1);
    let mut targets: Vec<u32> = (0..hosts).collect();
    random.shuffle(&mut targets);
    let mut spread = Spread::new(half);
    for h in 0..hosts {
        plan.hosts.push(HostPlan {
            rate: LINE_RATE,
            obeys_pfc: true,
            obeys_credits: true,
        });
        plan.links
            .push(link([End::Host(h), end(h / half, h % half)]));
        let (rate, start, flow_hash) = match load {
            Load::Full => (None, Instant::ZERO, random.next_u64() as u32),
            Load::Half => {
                let period = HALF_RATE.time_for(FRAME_LENGTH).as_nanos();
                let start = Instant::from_nanos(random.below(period));
                let flow_hash = spread.choose(&mut random, h, targets[h as usize]);
                (Some(HALF_RATE), start, flow_hash)
            }
        };
        if targets[h as usize] != h {
            plan.flows.push(FlowPlan {
                from: h,
                to: targets[h as usize],
                priority: PRIORITY,
                frame: FRAME_LENGTH,
                rate,
                start,
                stop: Instant::FAR_FUTURE,
                size: None,
                on_off: None,
                flow_hash,
                transport: Transport::Open,
                answer_priority: PRIORITY,
            });
        }
    }
    plan
}
