//! Hosts that pause their switch for ever, and a network without loops that they block.

use weir_core::config::{LifetimeConfig, RouteConfig, WatchdogConfig};
use weir_core::control::{ControlConfig, ControlPlane, LoopBreakerConfig, Policy, StormNeighbour};
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::ControlFrame;
use weir_core::{
    Bytes, Duration, Instant, MacAddress, PortConfig, PortId, PortRole, PortSet, Quanta,
};

use super::config::switch_config;
use super::run::emit;
use super::{
    host_address, End, Network, Node, Packet, Random, RingOptions, HOST_DELAY, PRIORITY, RATE,
};

/// Treatment of storms and old frames by the switches.
#[derive(Clone, Copy, Default)]
pub struct Recovery {
    pub watchdog: Option<WatchdogConfig>,
    pub lifetime: Option<LifetimeConfig>,
    /// Kind of neighbour that every switch assumes for other switches.
    pub neighbour: StormNeighbour,
}

pub(super) struct HostStorm {
    host: usize,
    quanta: Quanta,
    next: Instant,
    until: Instant,
    /// It sends a resume at its end; otherwise its last pause expires.
    resumes: bool,
}

/// A row of switches, hence without loops.
pub struct LineOptions {
    pub switches: usize,
    pub hosts_each: usize,
    pub policy: Policy,
    pub detect: Duration,
    pub clcm_interval: Duration,
    pub recovery: Recovery,
    pub seed: u64,
}

impl Network {
    /// Switches in a row, each with `hosts_each` hosts that send to another host at a share of the line.
    ///
    /// Ports: 0 to the next switch, 1 to the one before, 2 and up hosts.
    pub fn line(options: &LineOptions) -> Self {
        let host_count = options.switches * options.hosts_each;
        let mut random = Random(options.seed);
        let mut network = Self::empty(&RingOptions {
            seed: options.seed,
            ..RingOptions::default()
        });
        for index in 0..options.switches {
            network.nodes.push(switch(index, options));
        }
        for index in 1..options.switches {
            network.connect(
                End::Switch(index - 1, PortId::new(0)),
                End::Switch(index, PortId::new(1)),
            );
        }
        for host in 0..host_count {
            let other = (host as u64 + 1 + random.next() % (host_count as u64 - 1)) as usize;
            let idle = Duration::from_micros(random.next() % 400);
            let port = PortId::new(2 + (host % options.hosts_each) as u8);
            let target = host_address(other % host_count);
            network.add_host(host, host / options.hosts_each, port, Some(target));
            network.hosts[host].idle = idle;
        }
        network
    }

    pub fn receiver(&self, host: usize) -> usize {
        let (_, address) = self.hosts[host].flow.expect("every host sends");
        (0..self.hosts.len())
            .find(|other| host_address(*other) == address)
            .expect("a host has the address")
    }

    /// Makes the host pause its switch until `until`, with refreshed pauses of `quanta`.
    pub fn begin_storm(&mut self, host: usize, quanta: Quanta, until: Instant, resumes: bool) {
        self.storms.push(HostStorm {
            host,
            quanta,
            next: self.now,
            until,
            resumes,
        });
    }

    pub(super) fn send_storms(&mut self) {
        let now = self.now;
        for storm in &mut self.storms {
            if storm.next > now {
                continue;
            }
            let over = now >= storm.until;
            let quanta = if over { Quanta::ZERO } else { storm.quanta };
            if !over || storm.resumes {
                let mut times = [None; 8];
                times[PRIORITY.index()] = Some(quanta);
                let bytes = emit(&ControlFrame::Mac(MacControl::Pfc { times }));
                let line = self.hosts[storm.host].line;
                self.lines[line].send(now + HOST_DELAY, Packet::Control(bytes));
            }
            storm.next = if over {
                Instant::FAR_FUTURE
            } else {
                let half = quanta.at(RATE).divided_by(2);
                (now + half).min(storm.until.max(now + Duration::from_nanos(1)))
            };
        }
    }
}

fn switch(index: usize, options: &LineOptions) -> Node {
    let port_count = 2 + options.hosts_each;
    let ports = (0..port_count)
        .map(|port| {
            let role = if port < 2 {
                PortRole::Fabric
            } else {
                PortRole::Edge
            };
            let address = MacAddress([2, 0x57, 1, 0, index as u8, port as u8]);
            PortConfig {
                watchdog: options.recovery.watchdog,
                ..PortConfig::new(role, RATE, address)
            }
        })
        .collect();
    let routes = (0..options.switches * options.hosts_each)
        .map(|host| {
            let port = match (host / options.hosts_each).cmp(&index) {
                std::cmp::Ordering::Greater => 0,
                std::cmp::Ordering::Less => 1,
                std::cmp::Ordering::Equal => 2 + (host % options.hosts_each) as u8,
            };
            RouteConfig::new(host_address(host), vec![PortId::new(port)])
        })
        .collect();
    let mut config = switch_config(ports, routes, options.detect);
    config.lifetime = options.recovery.lifetime;
    let control = ControlPlane::new(
        ControlConfig {
            policy: options.policy,
            clcm_interval: options.clcm_interval,
            release_period: Duration::from_millis(20),
            release_extra: Bytes::new(3072),
            loop_breaker: LoopBreakerConfig::default(),
            port_count,
            fabric_ports: (0..2).map(PortId::new).collect::<PortSet>(),
        },
        options.seed + index as u64,
    );
    Node::new(config, control, options.recovery)
}
