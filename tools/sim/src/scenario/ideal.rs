//! Ideal completion time of a flow that has the network to itself.

use weir_config::scenario::{PortPeer, Scenario, SwitchPort};
use weir_core::config::default_member;
use weir_core::units::LINE_OVERHEAD;
use weir_core::{BitRate, Bytes, Duration, Instant, LineClock};

use crate::network::pace_from;
use crate::network::plan::{FlowPlan, NetworkPlan};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hop {
    pub(super) rate: BitRate,
    pub(super) delay: Duration,
}

/// Returns the lines from a flow's sender to its receiver, by the scenario's initial routes and the members that its hash
/// picks; if frames spread, by the flow's own hash. `None` if the routes do not lead there.
pub(super) fn way(
    scenario: &Scenario,
    ports: &[Vec<SwitchPort>],
    plan: &NetworkPlan,
    flow: &FlowPlan,
) -> Option<Vec<Hop>> {
    let (from, to) = (flow.from as usize, flow.to as usize);
    let sender = &scenario.hosts[from];
    let first = Hop {
        rate: sender.line.rate,
        delay: sender.line.delay,
    };
    let mut hops = vec![first];
    let mut switch = sender.switch;
    // Longer paths pass some switch twice.
    for _ in 0..scenario.switches.len() {
        let members = &scenario.next_hops[switch][to];
        let member = default_member(plan.hash_at(switch, flow.flow_hash), members.len())?;
        let port = ports[switch].get(*members.get(member)?)?;
        hops.push(Hop {
            rate: port.properties.rate,
            delay: port.properties.delay,
        });
        match port.peer {
            PortPeer::Switch(next) => switch = next,
            PortPeer::Host(host) => return (host == to).then_some(hops),
        }
    }
    None
}

/// Returns the time from the flow's start to the arrival of its last byte over `hops` if nothing else is sent and
/// nothing stops it. Switches store frames before forwarding them, and each line carries one frame at a time. The
/// flow's own `rate` applies. `None` if it has no end. O(frames × hops), so compute it for completed flows only.
pub(super) fn completion(flow: &FlowPlan, hops: &[Hop]) -> Option<Duration> {
    let mut left = flow.size?.get();
    let mut lines: Vec<(LineClock, Duration)> = hops
        .iter()
        .map(|hop| (LineClock::new(hop.rate), hop.delay))
        .collect();
    let mut pace = flow.rate.map(LineClock::new);
    let mut released = Instant::ZERO;
    let mut there = Instant::ZERO;
    while left > 0 {
        let length = flow.frame.get().min(left.max(FlowPlan::LENGTH_MIN));
        left = left.saturating_sub(length);
        let length = Bytes::new(length);
        let first_free = lines
            .first()
            .map_or(Instant::ZERO, |(line, _)| line.free_at());
        there = released.max(first_free);
        if let Some(pace) = &mut pace {
            released = pace.book(pace_from(there), length);
        }
        for (line, delay) in &mut lines {
            let begun = there.max(line.free_at());
            let sent = line.book(begun, length + LINE_OVERHEAD);
            there = (sent + *delay).max(begun + Duration::from_nanos(1));
        }
    }
    Some(there.saturating_since(Instant::ZERO))
}
