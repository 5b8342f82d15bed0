//! Converts a scenario to a network plan.

use weir_config::scenario::{Pattern, PortPeer, Scenario, SwitchPort};
use weir_config::switch::Switch;
use weir_core::control::StormNeighbour;
use weir_core::{CableRoom, Duration, Instant, Neighbour, PortId};

use super::{faults, hashes, round_trip, ways};
use crate::network::plan::{
    host_address, port_address, ControlPlan, Dependency, End, FlowPlan, HostPlan, LinkPlan,
    NetworkPlan, PriorityMap, SwitchPlan,
};
use crate::random::Random;

/// Approximate number of points of a curve.
const POINTS: u64 = 800;

const LOG_CAPACITY: usize = 500_000;

/// Purposes of random numbers from one seed.
const IDENTIFIERS: u64 = 2;
const HASHES: u64 = 3;
const HASH_SEEDS: u64 = 4;

/// Reason for which a scenario cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrepareError {
    /// Only the lab can run it.
    #[error("the simulator cannot run `{scenario}`: {gap}")]
    Gap {
        /// The scenario's name.
        scenario: String,
        /// Missing feature, and the programs that have it.
        gap: &'static str,
    },
    /// No hash picks the intended path.
    #[error("flow `{0}`: no flow hash selects the path in `via`")]
    Via(String),
    /// A switch has more ports than the core supports.
    #[error("switch `{switch}` has {ports} ports; a switch has at most {max}", max = weir_core::units::PORT_COUNT_MAX)]
    Ports {
        /// The switch.
        switch: String,
        /// Number of ports.
        ports: usize,
    },
}

/// Returns the plan for `scenario`. The same scenario and seed give the same plan.
///
/// # Errors
///
/// See [`PrepareError`].
pub fn plan(scenario: &Scenario) -> Result<NetworkPlan, PrepareError> {
    if let Some(gap) = scenario.simulator_gap() {
        let scenario = scenario.name.clone();
        return Err(PrepareError::Gap { scenario, gap });
    }
    let ports = scenario.all_ports();
    for (switch, ports) in scenario.switches.iter().zip(&ports) {
        if ports.len() > weir_core::units::PORT_COUNT_MAX {
            return Err(PrepareError::Ports {
                switch: switch.clone(),
                ports: ports.len(),
            });
        }
    }
    let mut identifiers = Random::for_purpose(scenario.seed, IDENTIFIERS);
    let mut targets = ways::targets_by_switch(scenario, &ports);
    let switches = (0..scenario.switches.len())
        .map(|switch| {
            let mut built = match &mut targets {
                // They are not needed again.
                Some(targets) => {
                    let targets = std::mem::take(&mut targets[switch]);
                    scenario.switch_towards(switch, &ports[switch], &targets)
                }
                None => scenario.switch(switch, &ports[switch]),
            };
            built.seed = identifiers.next_u64();
            spare(scenario, &mut built);
            switch_plan(scenario, switch, &ports[switch], built)
        })
        .collect();
    let hash_seeds = hash_seeds(scenario);
    let (links, link_of) = links(scenario, &ports);
    let interval = sample_interval(scenario.duration);
    let third = scenario.duration.divided_by(3);
    let mut plan = NetworkPlan {
        switches,
        hosts: hosts(scenario),
        sources: Vec::new(),
        links,
        flows: flows(scenario, &ports, &hash_seeds)?,
        dependencies: dependencies(scenario),
        dcqcn: scenario.dcqcn,
        window: scenario.window,
        transports: scenario.transports,
        custom: None,
        base_round_trip: Duration::ZERO,
        hash_seeds,
        spread: scenario.balancing.spread,
        spread_at_switches: scenario.balancing.at_switches,
        actions: Vec::new(),
        impairments: Vec::new(),
        seed: scenario.seed,
        sample_interval: Some(interval),
        last_part_from: Instant::ZERO + third + third,
        log_capacity: LOG_CAPACITY,
    };
    plan.base_round_trip = round_trip::longest(scenario, &ports, &plan);
    faults::apply(scenario, &ports, &link_of, &mut plan);
    Ok(plan)
}

/// Returns a round time (1, 2 or 5 of a power of ten) with about [`POINTS`] points.
fn sample_interval(duration: Duration) -> Duration {
    let wanted = duration.as_nanos().div_ceil(POINTS).max(1);
    let mut power = 1u64;
    loop {
        for factor in [1, 2, 5] {
            let candidate = power.saturating_mul(factor);
            if candidate >= wanted {
                return Duration::from_nanos(candidate);
            }
        }
        power = power.saturating_mul(10);
    }
}

/// Removes the spare room of tables, which is for changes by an operator that do not occur here.
fn spare(scenario: &Scenario, built: &mut Switch) {
    if !ways::changes_routes(scenario) {
        built.forwarding.spare_routes = 0;
        built.forwarding.spare_buckets = 0;
    }
    if !scenario.deadlock.policy.reroutes() {
        built.forwarding.pins = 0;
    }
}

fn switch_plan(
    scenario: &Scenario,
    switch: usize,
    ports: &[SwitchPort],
    mut built: Switch,
) -> SwitchPlan {
    for (port, config) in built.ports.iter_mut().enumerate() {
        config.address = port_address(switch as u32, port as u8);
        // A line has the delay of its cable, except under a fault: measuring it would only delay frames of hosts.
        if let (true, Some(room)) = (scenario.faults.is_empty(), &mut config.cable) {
            room.round_trip_max = CableRoom::UNLIMITED;
        }
    }
    introduce(scenario, switch, ports, &mut built);
    let storm_neighbours = ports
        .iter()
        .map(|port| match port.peer {
            PortPeer::Host(_) => StormNeighbour::Regular,
            PortPeer::Switch(_) => StormNeighbour::Judges,
        })
        .collect();
    SwitchPlan {
        control: Some(ControlPlan {
            config: built.control(),
            seed: built.seed,
            latency: scenario.control.latency,
            storm_neighbours,
        }),
        config: built.core(),
    }
}

/// Sets the findings of LLDP: neighbours with Levels.
fn introduce(scenario: &Scenario, switch: usize, ports: &[SwitchPort], built: &mut Switch) {
    for (port, config) in ports.iter().zip(&mut built.ports) {
        if let PortPeer::Switch(peer) = port.peer {
            config.neighbour = if !port.properties.known {
                Neighbour::Unknown
            } else if scenario.has_levels[switch] && scenario.has_levels[peer] {
                Neighbour::Enhanced
            } else {
                Neighbour::Regular
            };
        }
    }
}

fn hosts(scenario: &Scenario) -> Vec<HostPlan> {
    let host = |host: &weir_config::scenario::Host| HostPlan {
        rate: host.line.rate,
        obeys_pfc: host.obeys_pfc,
        obeys_credits: host.obeys_credits,
    };
    scenario.hosts.iter().map(host).collect()
}

/// Returns links between switches, then those of hosts; and the index of each link of the scenario, if it works.
fn links(scenario: &Scenario, ports: &[Vec<SwitchPort>]) -> (Vec<LinkPlan>, Vec<Option<u32>>) {
    let port_to = |switch: usize, peer: PortPeer| {
        let index = ports[switch].iter().position(|port| port.peer == peer)?;
        let port = PortId::from_index(index)?;
        let switch = switch as u32;
        Some(End::Port { switch, port })
    };
    let mut plans = Vec::new();
    let mut link_of = Vec::new();
    for link in &scenario.links {
        let [a, b] = link.ends;
        let ends = (
            port_to(a, PortPeer::Switch(b)),
            port_to(b, PortPeer::Switch(a)),
        );
        let (false, (Some(from), Some(to))) = (link.failed, ends) else {
            link_of.push(None);
            continue;
        };
        link_of.push(Some(plans.len() as u32));
        plans.push(LinkPlan {
            ends: [from, to],
            delay: link.properties.delay,
            priority_map: [priority_map(scenario, a, b), priority_map(scenario, b, a)],
        });
    }
    for (index, host) in scenario.hosts.iter().enumerate() {
        debug_assert_eq!(host.address, host_address(index as u32));
        if let Some(port) = port_to(host.switch, PortPeer::Host(index)) {
            plans.push(LinkPlan {
                ends: [End::Host(index as u32), port],
                delay: host.line.delay,
                priority_map: [PriorityMap::IDENTITY; 2],
            });
        }
    }
    (plans, link_of)
}

/// Maps each priority of a lossless class to that of the baseline. The last one is unchanged: no path of a flow goes
/// further, which is checked when a scenario is read.
fn priority_map(scenario: &Scenario, from: usize, to: usize) -> PriorityMap {
    let mut map = PriorityMap::IDENTITY;
    let lossless = scenario
        .classes
        .iter()
        .filter(|class| class.mode.is_lossless());
    for class in lossless {
        for (rank, before) in class.priorities.iter().enumerate() {
            let behind = scenario.baseline.rank_behind(rank, from, to);
            let behind = class.priorities.get(behind).unwrap_or(before);
            map = map.with(*before, *behind);
        }
    }
    map
}

/// By switch; empty if all use the same hash.
fn hash_seeds(scenario: &Scenario) -> Vec<u32> {
    let mut random = Random::for_purpose(scenario.seed, HASH_SEEDS);
    let switches = match scenario.balancing.has_seeds {
        true => scenario.switches.len(),
        false => 0,
    };
    (0..switches).map(|_| random.next_u64() as u32).collect()
}

fn flows(
    scenario: &Scenario,
    ports: &[Vec<SwitchPort>],
    hash_seeds: &[u32],
) -> Result<Vec<FlowPlan>, PrepareError> {
    let mut random = Random::for_purpose(scenario.seed, HASHES);
    let flow = |(index, flow): (usize, &weir_config::scenario::Flow)| {
        let flow_hash = hashes::flow_hash(scenario, (ports, hash_seeds), flow, &mut random)
            .ok_or_else(|| PrepareError::Via(flow.name.clone()))?;
        Ok(FlowPlan {
            from: flow.from as u32,
            to: flow.to as u32,
            priority: scenario.priority(index),
            frame: flow.frame,
            rate: flow.rate,
            start: Instant::ZERO + flow.start,
            stop: Instant::ZERO + flow.stop,
            size: match flow.pattern {
                Pattern::Burst { size } => Some(size),
                _ => None,
            },
            on_off: match flow.pattern {
                Pattern::OnOff { on, off } => Some([on, off]),
                _ => None,
            },
            flow_hash,
            transport: flow.transport,
            answer_priority: scenario.answer_priority(index),
        })
    };
    scenario.flows.iter().enumerate().map(flow).collect()
}

fn dependencies(scenario: &Scenario) -> Vec<Dependency> {
    let flows = scenario.flows.iter().enumerate();
    let pairs = flows.flat_map(|(next, flow)| {
        let before = flow.after.iter();
        before.map(move |wait| Dependency {
            done: wait.flow as u32,
            next: next as u32,
            compute: wait.compute,
        })
    });
    pairs.collect()
}
