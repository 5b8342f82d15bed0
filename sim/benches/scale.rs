//! Frame-hops per second.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use weir_core::config::{DetectorConfig, EcmpConfig, FlowMonitorConfig, RouteConfig};
use weir_core::{
    BitRate, Bytes, ClassConfig, ClassMode, Duration, Instant, PortConfig, PortId, PortRole,
    Priority, Quanta, SwitchConfig,
};
use weir_sim::network::plan::*;
use weir_sim::network::Network;

const P: Priority = Priority::ALL[3];

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
    };
    config.frame_count = config.frames_needed();
    config
}

fn fat_tree(k: u32) -> NetworkPlan {
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
                    RouteConfig::new(host_address(h), ports)
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
    let mut random = weir_sim::random::Random::new(1);
    let mut targets: Vec<u32> = (0..hosts).collect();
    random.shuffle(&mut targets);
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
        if targets[h as usize] != h {
            plan.flows.push(FlowPlan {
                from: h,
                to: targets[h as usize],
                priority: P,
                frame: Bytes::new(1500),
                rate: None,
                start: Instant::ZERO,
                stop: Instant::FAR_FUTURE,
                size: None,
                on_off: None,
                flow_hash: random.next_u64() as u32,
            });
        }
    }
    plan
}

fn main() {
    let k = std::env::args()
        .filter_map(|a| a.parse().ok())
        .next()
        .unwrap_or(16);
    let begun = std::time::Instant::now();
    let plan = fat_tree(k);
    let mut network = Network::new(plan).unwrap();
    println!("built in {:?}", begun.elapsed());
    for ms in 1..=6u64 {
        let begun = std::time::Instant::now();
        let before = *network.totals();
        network.run_until(Instant::from_nanos(ms * 100_000));
        let t = begun.elapsed().as_secs_f64();
        let hops = network.totals().frame_hops - before.frame_hops;
        let events = network.totals().events - before.events;
        println!("{hops} hops {events} events in {t:.2} s: {:.2} M hops/s, {:.2} M events/s, in network {}", hops as f64 / t / 1e6, events as f64 / t / 1e6, network.frames_in_network());
    }
    let drops: u64 = (0..network.plan().switches.len())
        .map(|s| {
            (0..k)
                .map(|p| {
                    network
                        .switch(s)
                        .counters(PortId::new(p as u8))
                        .drops_total()
                })
                .sum::<u64>()
        })
        .sum();
    println!("drops {drops}");
}
