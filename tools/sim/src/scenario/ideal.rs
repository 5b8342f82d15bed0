//! Ideal completion time of a flow that has the network to itself.

use weir_config::scenario::{PortPeer, Scenario, SwitchPort};
use weir_core::config::default_member;
use weir_core::units::LINE_OVERHEAD;
use weir_core::{BitRate, Bytes, Duration};

use crate::network::plan::{FlowPlan, NetworkPlan};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hop {
    pub(super) rate: BitRate,
    pub(super) delay: Duration,
}

/// Returns the lines from a flow's sender to its receiver, by the scenario's initial routes and the
/// members that its hash picks; where frames spread, that of the flow itself. `None` if the routes
/// do not lead there.
pub(super) fn way(
    scenario: &Scenario,
    ports: &[Vec<SwitchPort>],
    plan: &NetworkPlan,
    flow: &FlowPlan,
) -> Option<Vec<Hop>> {
    let (from, to) = (flow.from as usize, flow.to as usize);
    let first = Hop {
        rate: scenario.link_defaults.rate,
        delay: scenario.link_defaults.delay,
    };
    let mut hops = vec![first];
    let mut switch = scenario.hosts[from].switch;
    // A way that is longer than this comes by some switch twice.
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

/// From the flow's start to the arrival of its last byte over `hops`, when nothing else is sent and
/// nothing stops it: each switch has a frame whole before it sends it on, and each line is busy
/// with one frame at a time. The flow's own `rate` holds. `None`: it has no end.
///
/// All frames but the last are of one length, and the k-th of them leaves a line when the slowest
/// line before has let k − 1 go by. The last frame may be shorter, and then waits where a line is
/// slower than the one before it.
pub(super) fn completion(flow: &FlowPlan, hops: &[Hop]) -> Option<Duration> {
    let size = flow.size?.get();
    let frame = flow.frame.get().max(1);
    let full = size.saturating_sub(1) / frame;
    let last = size - full * frame;
    let last = Bytes::new(last.max(FlowPlan::LENGTH_MIN));
    let time = |rate: BitRate, length: Bytes| rate.time_for(length + LINE_OVERHEAD);
    // Of the full frames: how long the first one takes, and what lies between two.
    let mut first = Duration::ZERO;
    let pace = flow.rate.map(|rate| rate.time_for(flow.frame));
    let mut gap = pace.unwrap_or(Duration::ZERO);
    // When the last frame may begin: it was let go, and is there.
    let released = gap.saturating_mul(full);
    let mut there = released;
    for hop in hops {
        let full_time = time(hop.rate, flow.frame);
        gap = gap.max(full_time);
        first += full_time;
        if full > 0 {
            there = there.max(first + gap.saturating_mul(full - 1));
        }
        there += time(hop.rate, last) + hop.delay;
        first += hop.delay;
    }
    Some(there)
}
