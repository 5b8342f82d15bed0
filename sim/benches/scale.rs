//! Frame-hops per second of a fat-tree of 100 Gbit/s: `cargo bench -p weir-sim --bench scale -- 16`, the number
//! being k, 16 unless told; a second one gives the microseconds of each step. Rates are by CPU time. Two loads, each a permutation of the hosts:
//!
//! * half: every host sends at half of its line, beginning at a moment of its own, and flows are spread so that
//!   no link carries more than two;
//! * full: every host sends at line rate from the same moment on, and the two tiers choose by the same bits of
//!   the flow hash, so that many flows share a link. They hold each other by PFC, back to the hosts.
//!
//! The digest is over what every flow, port and buffer has counted: builds with the same digests did the same.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::BTreeMap;

use weir_core::config::{
    DetectorConfig, EcmpConfig, FlowMonitorConfig, RouteConfig, BUCKETS_DEFAULT,
};
use weir_core::{
    BitRate, Bytes, ClassConfig, ClassMode, Duration, Instant, PortConfig, PortId, PortRole,
    Priority, Quanta, SwitchConfig,
};
use weir_sim::network::plan::*;
use weir_sim::network::Network;
use weir_sim::random::Random;

const P: Priority = Priority::ALL[3];
const FRAME_LENGTH: Bytes = Bytes::new(1500);
const STEPS: usize = 6;
/// With what a frame occupies of the line beside its own bytes: a little less than half of the line.
const HALF_RATE: BitRate = BitRate::from_mbit(49_000);
/// In this number and a power of two, a flow hash has independent remainders.
const AGGREGATION_BUCKETS: u16 = 61;

fn config(index: u32, roles: &[PortRole], routes: Vec<RouteConfig>) -> SwitchConfig {
    let kib = |n: u64| Bytes::new(n * 1024);
    let mut classes = [ClassConfig::new(ClassMode::Lossy { buffer: kib(2) }); 8];
    classes[P.index()].mode = ClassMode::Pfc {
        xoff: kib(60),
        xon: kib(52),
        headroom: kib(64),
    };
    let mut config = SwitchConfig {
        ports: roles
            .iter()
            .enumerate()
            .map(|(port, role)| {
                PortConfig::new(
                    *role,
                    BitRate::from_mbit(100_000),
                    port_address(index, port as u8),
                )
            })
            .collect(),
        classes,
        cell: Bytes::new(256),
        frame_count: 0,
        frame_length_max: Bytes::new(1522),
        routes,
        ecmp: EcmpConfig {
            spare_routes: 0,
            spare_buckets: 0,
            pin_capacity: 0,
        },
        flows: FlowMonitorConfig::default(),
        learning_capacity: 0,
        learning_age: Duration::from_secs(300),
        detector: Some(DetectorConfig {
            detect: Duration::from_micros(100),
        }),
        lifetime: None,
        pause_time: Quanta::MAX,
        feedback_refresh: Duration::from_millis(10),
        shaper_burst: Bytes::ZERO,
        seed: 1,
    };
    config.frame_count = config.frames_needed();
    config
}

/// What the hosts send.
#[derive(Clone, Copy)]
enum Load {
    Half,
    Full,
}

/// Flows on the links between switches, by which flow hashes are chosen.
struct Spread {
    half: u32,
    flows: BTreeMap<(&'static str, u32, u32), u32>,
}

impl Spread {
    fn new(half: u32) -> Self {
        let flows = BTreeMap::new();
        Self { half, flows }
    }

    /// Of some random flow hashes the one whose links have the fewest flows.
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

    /// The links on the way by an edge switch, an aggregation switch and a core switch, as if it were always
    /// that long.
    fn links(&self, hash: u32, from: u32, to: u32) -> [(&'static str, u32, u32); 4] {
        let half = self.half;
        let aggregation = hash % u32::from(BUCKETS_DEFAULT) % half;
        let core = aggregation * half + hash % u32::from(AGGREGATION_BUCKETS) % half;
        let [from_pod, to_pod] = [from, to].map(|host| host / (half * half));
        [
            ("to aggregation", from / half, aggregation),
            ("to core", from_pod, core),
            ("from core", to_pod, core),
            ("from aggregation", to / half, aggregation),
        ]
    }
}

fn fat_tree(k: u32, load: Load) -> NetworkPlan {
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
                config: config(edge(pod, i), &roles, routes),
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
                config: config(agg(pod, i), &roles, routes),
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
            config: config(core(j), &roles, routes),
            control: None,
        });
    }
    let link = |a: (u32, u32), b: (u32, u32)| LinkPlan {
        ends: [
            End::Port {
                switch: a.0,
                port: port(a.1),
            },
            End::Port {
                switch: b.0,
                port: port(b.1),
            },
        ],
        delay: Duration::from_micros(1),
        priority_map: [PriorityMap::IDENTITY; 2],
    };
    for pod in 0..k {
        for i in 0..half {
            for j in 0..half {
                plan.links
                    .push(link((edge(pod, i), half + j), (agg(pod, j), i)));
                plan.links
                    .push(link((agg(pod, i), half + j), (core(i * half + j), pod)));
            }
        }
    }
    let mut random = Random::new(1);
    let mut targets: Vec<u32> = (0..hosts).collect();
    random.shuffle(&mut targets);
    let mut spread = Spread::new(half);
    for h in 0..hosts {
        plan.hosts.push(HostPlan {
            rate: BitRate::from_mbit(100_000),
            obeys_pfc: true,
        });
        plan.links.push(LinkPlan {
            ends: [
                End::Host(h),
                End::Port {
                    switch: h / half,
                    port: port(h % half),
                },
            ],
            delay: Duration::from_micros(1),
            priority_map: [PriorityMap::IDENTITY; 2],
        });
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
                priority: P,
                frame: FRAME_LENGTH,
                rate,
                start,
                stop: Instant::FAR_FUTURE,
                size: None,
                on_off: None,
                flow_hash,
            });
        }
    }
    plan
}

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let k = numbers.next().unwrap_or(16);
    let step = Duration::from_micros(numbers.next().unwrap_or(100).into());
    for (name, load) in [("half", Load::Half), ("full", Load::Full)] {
        let begun = std::time::Instant::now();
        let mut network = Network::new(fat_tree(k, load)).unwrap();
        println!("k {k}, load {name}: built in {:?}", begun.elapsed());
        run(&mut network, step);
    }
}

fn run(network: &mut Network, step: Duration) {
    let mut rates = Vec::new();
    for _ in 0..STEPS {
        let (begun, begun_cpu) = (std::time::Instant::now(), cpu_seconds());
        let before = *network.totals();
        network.run_until(network.now() + step);
        let wall = begun.elapsed().as_secs_f64();
        let cpu = cpu_seconds() - begun_cpu;
        let hops = network.totals().frame_hops - before.frame_hops;
        let events = network.totals().events - before.events;
        let rate = hops as f64 / cpu / 1e6;
        rates.push(rate);
        println!(
            "{hops} hops {events} events in {cpu:.3} s of CPU, {wall:.3} s: {rate:.2} M hops/s, {:.2} M events/s, in network {}, digest {:016x}",
            events as f64 / cpu / 1e6,
            network.frames_in_network(),
            digest(network),
        );
    }
    let steady = &mut rates[STEPS / 3..];
    steady.sort_by(f64::total_cmp);
    println!(
        "steady: {:.2} M hops/s at best, {:.2} at worst; drops {}",
        steady[steady.len() - 1],
        steady[0],
        ports(network)
            .map(|(switch, port)| network.switch(switch).counters(port).drops_total())
            .sum::<u64>(),
    );
}

/// What this process has had of the CPU, so that what else runs on the machine counts less.
fn cpu_seconds() -> f64 {
    let clock = nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID;
    let time = nix::time::clock_gettime(clock).expect("every Linux has this clock");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}

fn ports(network: &Network) -> impl Iterator<Item = (usize, PortId)> + '_ {
    let switches = network.plan().switches.iter().enumerate();
    switches.flat_map(|(index, switch)| {
        (0..switch.config.ports.len()).map(move |port| (index, PortId::new(port as u8)))
    })
}

/// FNV-1a over all that was counted.
fn digest(network: &Network) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |number: u64| {
        for byte in number.to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for flow in network.flows() {
        add(flow.sent);
        add(flow.received);
        add(flow.reordered);
        add(flow.delay_total.as_nanos());
        add(flow.delay_max.as_nanos());
        add(flow.longest_gap.as_nanos());
    }
    for (index, port) in ports(network) {
        let switch = network.switch(index);
        let counters = switch.counters(port);
        let gauges = switch.gauges(network.now(), port, P);
        add(counters.priority[P.index()].tx_frames);
        add(counters.pfc_sent);
        add(counters.pfc_received);
        add(counters.drops_total());
        add(gauges.ingress.get());
        add(gauges.ingress_max.get());
        add(gauges.egress_max.get());
        add(gauges.paused_total.as_nanos());
    }
    hash
}
