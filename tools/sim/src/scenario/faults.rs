//! `[[fault]]` as actions on the network.

use weir_config::frames::filter;
use weir_config::scenario::{
    Fault, FaultTime, ImpairedFrames, Impairing, PortPeer, Scenario, SwitchPort,
};
use weir_config::Fraction;
use weir_core::{Duration, Instant, PortId, PortSet, SwitchConfig};

use crate::network::faults::actions::Action;
use crate::network::faults::disturbance::{Disturbance, DisturbanceKind};
use crate::network::faults::impairment::{Doing, DutyAction, FrameAction, ImpairmentPlan};
use crate::network::plan::{End, NetworkPlan};

/// Adds the faults to `plan`. `link_of` maps links of the scenario to links of the plan.
pub(super) fn apply(
    scenario: &Scenario,
    ports: &[Vec<SwitchPort>],
    link_of: &[Option<u32>],
    plan: &mut NetworkPlan,
) {
    let lossless = scenario
        .classes
        .iter()
        .filter(|class| class.mode.is_lossless())
        .flat_map(|class| &class.priorities)
        .fold(0, |mask, priority| mask | 1 << priority.get());
    for fault in &scenario.faults {
        let mut spans = Spans {
            end: scenario.duration,
            plan,
        };
        match fault {
            Fault::ControlLoss { .. }
            | Fault::ControlCorruption { .. }
            | Fault::ControlDuplication { .. }
            | Fault::ControlDelay { .. } => {
                let Some((links, time, disturbance)) = disturbance(fault) else {
                    continue;
                };
                for link in links.iter().filter_map(|link| link_of[*link]) {
                    let begin = Action::Disturb { link, disturbance };
                    spans.add(time, begin, Action::Calm { link, disturbance });
                }
            }
            Fault::LinkDown { link, time } => {
                if let Some(link) = link_of[*link] {
                    spans.add(*time, Action::LinkDown(link), Action::LinkUp(link));
                }
            }
            Fault::SwitchRestart { switch, time } => {
                let switch = *switch as u32;
                spans.add(*time, Action::Stop(switch), Action::Start(switch));
            }
            Fault::SwitchFreeze { switch, time } => {
                let switch = *switch as u32;
                spans.add(*time, Action::Freeze(switch), Action::Thaw(switch));
            }
            Fault::SlowControl {
                switches,
                latency,
                time,
            } => {
                for switch in switches {
                    let of = |latency| Action::ControlLatency {
                        switch: *switch as u32,
                        latency,
                    };
                    spans.add(*time, of(*latency), of(scenario.control.latency));
                }
            }
            Fault::RoundTrip { links, round_trip } => {
                for link in links.iter().filter_map(|link| link_of[*link]) {
                    believe(plan, link, *round_trip);
                }
            }
            Fault::RouteChange {
                switch,
                host,
                members,
                at,
            } => {
                let change = Action::Route {
                    switch: *switch as u32,
                    host: *host as u32,
                    members: ports_to(&ports[*switch], members),
                };
                plan.actions.push((Instant::ZERO + *at, change));
            }
            Fault::HostIgnoresPfc { host, time } => {
                let of = |obeys| Action::HostObeys {
                    host: *host as u32,
                    obeys,
                };
                spans.add(*time, of(false), of(scenario.hosts[*host].obeys_pfc));
            }
            Fault::HostStorm { host, time } => {
                let host = *host as u32;
                let begin = Action::StormBegin {
                    host,
                    priorities: lossless,
                };
                spans.add(*time, begin, Action::StormEnd(host));
            }
            Fault::Impair {
                switch,
                port,
                what,
                time,
            } => {
                let place = ports[*switch].iter().position(|to| to.peer == *port);
                let Some(port) = place.and_then(PortId::from_index) else {
                    continue;
                };
                let depths = depths(&spans.plan.switches[*switch].config);
                let index = spans.plan.impairments.len() as u32;
                spans.plan.impairments.push(ImpairmentPlan {
                    switch: *switch as u32,
                    port,
                    doing: doing(what, depths),
                });
                spans.add(*time, Action::Impair(index), Action::Repair(index));
            }
        }
    }
    plan.actions.sort_by_key(|(at, _)| *at);
}

/// Returns D of each priority whose class has Levels, and 0 for others.
fn depths(config: &SwitchConfig) -> [u8; 8] {
    config.classes.map(|class| class.mode.depth().get())
}

fn doing(what: &Impairing, depths: [u8; 8]) -> Doing {
    let frames = |frames: &ImpairedFrames, action| Doing::Frames {
        // The reader refuses invalid filters.
        filter: filter::parse(&frames.filter, depths).unwrap_or_default(),
        one_in: frames.one_in,
        action,
    };
    let duty = |action, on: Duration, period: Duration| Doing::Duty { action, on, period };
    match what {
        Impairing::Drop(which) => frames(which, FrameAction::Drop),
        Impairing::Mark(which) => frames(which, FrameAction::Mark),
        Impairing::Delay { frames: which, by } => frames(which, FrameAction::Delay(*by)),
        Impairing::Pause {
            priority,
            on,
            period,
        } => duty(DutyAction::Pause(*priority), *on, *period),
        Impairing::Flap { on, period } => duty(DutyAction::Flap, *on, *period),
    }
}

/// Returns the disturbance of control frames, with its links and times; `None` for other faults.
fn disturbance(fault: &Fault) -> Option<(&[usize], FaultTime, Disturbance)> {
    use DisturbanceKind::{Corruption, Delay, Duplication, Loss};
    let (links, probability, time, kind) = match fault {
        Fault::ControlLoss {
            links,
            probability,
            time,
        } => (links, probability, time, Loss),
        Fault::ControlCorruption {
            links,
            probability,
            time,
        } => (links, probability, time, Corruption),
        Fault::ControlDuplication {
            links,
            probability,
            time,
        } => (links, probability, time, Duplication),
        Fault::ControlDelay {
            links,
            probability,
            by,
            time,
        } => (links, probability, time, Delay(*by)),
        _ => return None,
    };
    let probability_ppm = parts_per_million(*probability);
    Some((
        links,
        *time,
        Disturbance {
            probability_ppm,
            kind,
        },
    ))
}

fn ports_to(ports: &[SwitchPort], members: &[usize]) -> PortSet {
    let mut set = PortSet::EMPTY;
    for (index, port) in ports.iter().enumerate() {
        let is_member = members.iter().any(|to| port.peer == PortPeer::Switch(*to));
        if let Some(port) = PortId::from_index(index).filter(|_| is_member) {
            set.insert(port);
        }
    }
    set
}

struct Spans<'a> {
    end: Duration,
    plan: &'a mut NetworkPlan,
}

impl Spans<'_> {
    /// Adds a fault. Faults end with the traffic, so that the network can recover in the rest of the time.
    fn add(&mut self, time: FaultTime, begin: Action, end: Action) {
        for (from, to) in time.spans(self.end) {
            self.plan.actions.push((Instant::ZERO + from, begin));
            self.plan.actions.push((Instant::ZERO + to, end));
        }
    }
}

/// Sets a wrong T at both ends of a link.
fn believe(plan: &mut NetworkPlan, link: u32, round_trip: Duration) {
    for end in plan.links[link as usize].ends {
        if let End::Port { switch, port } = end {
            plan.switches[switch as usize].config.ports[port.index()].round_trip = round_trip;
        }
    }
}

fn parts_per_million(fraction: Fraction) -> u32 {
    (fraction.as_f64() * 1e6).round() as u32
}
