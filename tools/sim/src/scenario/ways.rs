//! Switches that frames to a host can pass.

use weir_config::scenario::{Fault, PortPeer, Scenario, SwitchPort};

/// Returns by switch the hosts whose frames can pass it with any flow hash, in ascending order. It needs no other routes: in
/// a large network each switch has a small part of all routes. `None` if routes change during the run, since frames can then
/// pass anywhere.
///
/// O(destinations × switches on their paths).
pub(super) fn targets_by_switch(
    scenario: &Scenario,
    ports: &[Vec<SwitchPort>],
) -> Option<Vec<Vec<u32>>> {
    if changes_routes(scenario) {
        return None;
    }
    let mut targets: Vec<Vec<u32>> = vec![Vec::new(); ports.len()];
    let mut open = Vec::new();
    for (target, ways) in scenario.ways_by_target().into_iter().enumerate() {
        let target_number = target as u32;
        // A switch that has been reached has the target as its last entry.
        let mut reach = |switch: usize, open: &mut Vec<usize>| {
            if targets[switch].last() != Some(&target_number) {
                targets[switch].push(target_number);
                open.push(switch);
            }
        };
        for (_, from) in ways {
            reach(scenario.hosts[from].switch, &mut open);
        }
        while let Some(at) = open.pop() {
            for port in &scenario.next_hops[at][target] {
                if let Some(PortPeer::Switch(next)) = ports[at].get(*port).map(|port| port.peer) {
                    reach(next, &mut open);
                }
            }
        }
    }
    Some(targets)
}

pub(super) fn changes_routes(scenario: &Scenario) -> bool {
    let changes = |fault: &Fault| matches!(fault, Fault::RouteChange { .. });
    scenario.faults.iter().any(changes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use weir_config::Override;

    use super::*;
    use crate::scenario::{plan, run, Options};

    fn torus(changes: &[&str]) -> Scenario {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/scale/torus-100k.toml");
        let small = [
            "topology.layers=4",
            "topology.rows=5",
            "topology.columns=6",
            "traffic.0.flows=9",
            "duration=20us",
        ];
        let changes: Vec<Override> = small
            .iter()
            .chain(changes)
            .map(|change| change.parse().expect("a change"))
            .collect();
        Scenario::load(&file, &changes).expect("a scenario")
    }

    #[test]
    fn a_switch_has_routes_to_what_comes_by() {
        let scenario = torus(&[]);
        let plan = plan(&scenario).expect("a plan");
        let mut expected: Vec<BTreeSet<_>> = vec![BTreeSet::new(); scenario.switches.len()];
        for (index, flow) in scenario.flows.iter().enumerate() {
            for switch in scenario.way(index).expect("one way") {
                expected[switch].insert(scenario.hosts[flow.to].address);
            }
        }
        for (switch, expected) in plan.switches.iter().zip(&expected) {
            let routes = switch.config.routes.iter();
            let found: BTreeSet<_> = routes.map(|route| route.destination).collect();
            assert_eq!(found, *expected);
        }
        let idle = expected.iter().filter(|routes| routes.is_empty()).count();
        assert!(idle > 20, "{idle} of {} switches are idle", expected.len());
    }

    #[test]
    fn of_several_ways_all_are_kept() {
        let scenario = torus(&["routing.mode=ecmp"]);
        let ports = scenario.all_ports();
        let targets = targets_by_switch(&scenario, &ports).expect("no route changes");
        for flow in &scenario.flows {
            let mut open = vec![scenario.hosts[flow.from].switch];
            while let Some(at) = open.pop() {
                assert!(targets[at].contains(&(flow.to as u32)));
                for port in &scenario.next_hops[at][flow.to] {
                    if let PortPeer::Switch(next) = ports[at][*port].peer {
                        open.push(next);
                    }
                }
            }
        }
        let result = run(&scenario, Options::default()).expect("a run");
        assert!(result.flows.iter().all(|flow| flow.received > 0));
        assert!(result.drops.is_empty(), "{:?}", result.drops);
    }

    #[test]
    fn where_routes_change_all_switches_have_all() {
        let scenario = torus(&[]);
        let way = scenario.way(0).expect("one way");
        let host = &scenario.hosts[scenario.flows[0].to].name;
        let [at, next] = [way[0], way[1]].map(|switch| &scenario.switches[switch]);
        let fault = format!(
            "fault=[{{ kind = \"route-change\", switch = \"{at}\", to = \"{host}\", ports = [\"{next}\"], at = \"5us\" }}]"
        );
        let changed = torus(&[&fault]);
        assert_eq!(targets_by_switch(&changed, &changed.all_ports()), None);
        let plan = plan(&changed).expect("a plan");
        let counts = plan
            .switches
            .iter()
            .map(|switch| switch.config.routes.len());
        // One to each receiver, and one to its own host if that is none.
        assert!(counts.min() >= Some(8));
    }
}
