//! Builds a network from a plan.

use std::collections::BTreeSet;
use std::sync::Arc;

use weir_core::credit::HostCredits;
use weir_core::{Duration, Instant};

use super::faults::actions::Action;
use super::faults::impairment::Impairing;
use super::hosts::nic::Nic;
use super::line::Line;
use super::node::Node;
use super::plan::{Dependency, End, FlowPlan, NetworkPlan, PriorityMap};
use super::pool::{Frames, Pool, Telemetry};
use super::switches::spreader::Spreader;
use super::{log, Counters, Event, Flow, Network, PlanError, Samples, Totals};
use crate::random::Random;
use crate::schedule::Schedule;
use crate::table::Table;

/// Distinguishes the random numbers for faults from others with the same seed.
const FAULTS: u64 = 1;

impl Network {
    /// Builds the network of `plan`, at the epoch.
    ///
    /// # Errors
    ///
    /// The plan cannot work.
    pub fn new(plan: NetworkPlan) -> Result<Self, PlanError> {
        let mut plan = plan;
        let waiting = dependencies(&mut plan)?;
        let restarts = restarts(&plan);
        let (spread, seed) = (plan.spread_at_switches, plan.seed);
        let mut nodes = Vec::with_capacity(plan.switches.len());
        let mut lines = Vec::new();
        let mut first_lines = Vec::with_capacity(plan.switches.len() + 1);
        for (index, switch) in plan.switches.iter_mut().enumerate() {
            first_lines.push(lines.len() as u32);
            let is_made_again = restarts.contains(&index);
            let spreader = spread.map(|spread| Spreader::new(spread, seed, index));
            let node = Node::new(switch, lines.len() as u32, spreader, is_made_again);
            let node = node.map_err(|error| PlanError::Switch {
                switch: index,
                error,
            })?;
            for (port, config) in node.ports().zip(&switch.config.ports) {
                let from = End::Port {
                    switch: index as u32,
                    port,
                };
                lines.push(Line::new(from, config.rate));
            }
            nodes.push(node);
        }
        first_lines.push(lines.len() as u32);
        let mut nics = Vec::with_capacity(plan.hosts.len());
        for (index, host) in plan.hosts.iter().enumerate() {
            let place = (plan.switches.len() + index) as u32;
            nics.push(Nic::new(lines.len() as u32, place, host.obeys_pfc));
            lines.push(Line::new(End::Host(index as u32), host.rate));
        }
        let is_traced = |flow: &FlowPlan| flow.transport.has_telemetry();
        let is_traced = plan.flows.iter().any(is_traced);
        let telemetry = is_traced.then(|| Box::new(Telemetry::new(lines.len())));
        let mut network = Self {
            now: Instant::ZERO,
            queue: Schedule::new(0, Duration::ZERO),
            nodes: Table::whole(nodes),
            lines: Table::whole(lines),
            first_lines: first_lines.into(),
            nics: Table::whole(nics),
            flows: Table::default(),
            waiting,
            frames: Frames::new(telemetry),
            messages: Pool::new(),
            impairing: vec![Impairing::default(); plan.impairments.len()],
            scratch: Vec::new(),
            log: log::Log::new(plan.log_capacity),
            pauses: None,
            samples: None,
            last_part_from: plan.last_part_from,
            totals: Totals::default(),
            past_counters: Counters::default(),
            plan: Arc::new(plan),
            outbox: None,
        };
        network.connect()?;
        network.give_hosts_credits();
        let places = network.nodes.len() + network.nics.len();
        network.queue = Schedule::new(places, network.lookahead());
        network.add_flows()?;
        for (index, (at, _)) in network.plan.actions.iter().enumerate() {
            let index = index as u32;
            network.queue.push_everywhere(*at, Event::Action { index });
        }
        network.samples = network
            .plan
            .sample_interval
            .map(|interval| Samples::new(&network, interval));
        for node in 0..network.nodes.len() {
            network.settle(node);
        }
        for host in 0..network.nics.len() {
            if network.nics[host].credits.is_some() {
                let place = network.nics[host].place;
                let host = host as u32;
                network
                    .queue
                    .push(place, Instant::ZERO, Event::HostWake { host });
            }
        }
        if network.samples.is_some() {
            network.queue.push_everywhere(Instant::ZERO, Event::Sample);
        }
        Ok(network)
    }

    fn connect(&mut self) -> Result<(), PlanError> {
        for (index, link) in self.plan.links.iter().enumerate() {
            let [a, b] = link.ends;
            for (from, to, directions) in [(a, b, [0, 1]), (b, a, [1, 0])] {
                let error = PlanError::Link {
                    link: index,
                    end: from,
                };
                let line = self.line_of(from).ok_or(error.clone())?;
                let line = &mut self.lines[line];
                if line.to.is_some() {
                    return Err(error);
                }
                line.to = Some(to);
                line.to_place = match to {
                    End::Port { switch, .. } => switch,
                    End::Host(host) => self.nodes.len() as u32 + host,
                };
                line.faults = Random::for_purpose(self.plan.seed, FAULTS + ((index as u64) << 32));
                line.delay = link.delay;
                let [there, back] = directions.map(|direction| link.priority_map[direction]);
                line.priority_map = there;
                line.priority_map_back = (back != PriorityMap::IDENTITY).then_some(back);
            }
        }
        Ok(())
    }

    /// Hosts use credits if their switch has a class with credits, unless the plan excludes it.
    fn give_hosts_credits(&mut self) {
        for link in &self.plan.links {
            let [a, b] = link.ends;
            for (host, end) in [(a, b), (b, a)] {
                let (End::Host(host), Some((node, port))) = (host, end.node_and_port()) else {
                    continue;
                };
                let config = &self.plan.switches[node].config;
                if !self.plan.hosts[host as usize].obeys_credits {
                    continue;
                }
                let port = &config.ports[port.index()];
                let terms = config.classes.map(|class| class.credit_terms(port));
                let credits = HostCredits::new(terms, config.credits, config.frame_length_max);
                self.nics[host as usize].credits = credits.map(Box::new);
            }
        }
    }

    /// Minimum time after which an event at one end of a link affects the other.
    fn lookahead(&self) -> Duration {
        let connected = self.lines.iter().filter(|line| line.to.is_some());
        connected
            .map(Line::shortest)
            .min()
            .unwrap_or(Duration::from_micros(1))
    }

    fn add_flows(&mut self) -> Result<(), PlanError> {
        let mut flows = Vec::with_capacity(self.plan.flows.len());
        for (index, flow) in self.plan.flows.iter().enumerate() {
            let hosts = self.nics.len() as u32;
            if flow.from >= hosts || flow.to >= hosts {
                return Err(PlanError::Flow(index));
            }
            let line = self.plan.hosts[flow.from as usize].rate;
            let [from, to] = [flow.from, flow.to].map(|host| {
                let line = self.nics[host as usize].line;
                self.lines[line as usize].to_place
            });
            let is_between = from != to;
            flows.push(Flow::new(index, line, is_between, &self.plan));
            if self.waiting.get(index).is_some_and(|count| *count > 0) {
                continue;
            }
            let flow_start = Event::FlowStart { flow: index as u32 };
            let place = self.nics[flow.from as usize].place;
            self.queue.push(place, flow.start, flow_start);
        }
        self.flows = Table::whole(flows);
        Ok(())
    }
}

fn restarts(plan: &NetworkPlan) -> BTreeSet<usize> {
    let starts = plan.actions.iter().filter_map(|(_, action)| match action {
        Action::Start(switch) => Some(*switch as usize),
        _ => None,
    });
    starts.collect()
}

/// Returns the number of others for which each flow waits.
fn dependencies(plan: &mut NetworkPlan) -> Result<Vec<u32>, PlanError> {
    if plan.dependencies.is_empty() {
        return Ok(Vec::new());
    }
    plan.dependencies.sort_unstable();
    let mut waiting = vec![0; plan.flows.len()];
    for Dependency { done, next, .. } in &plan.dependencies {
        let [first, second] = [done, next].map(|flow| plan.flows.get(*flow as usize));
        let (Some(first), Some(second)) = (first, second) else {
            return Err(PlanError::Dependency(*done, *next));
        };
        if first.size.is_none() || first.to != second.from {
            return Err(PlanError::Dependency(*done, *next));
        }
        waiting[*next as usize] += 1;
    }
    Ok(waiting)
}
