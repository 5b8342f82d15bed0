//! Round trip in an empty network, for transports that use it.

use weir_config::scenario::{Scenario, SwitchPort, Transport, WindowLimit};
use weir_core::units::LINE_OVERHEAD;
use weir_core::{Bytes, Duration};

use super::ideal::{self, Hop};
use crate::network::plan::{FlowPlan, NetworkPlan};
use crate::transport::telemetry::TELEMETRY_LENGTH_BYTES;
use crate::transport::ANSWER_LENGTH_BYTES;

/// Returns the longest round trip of any flow of `plan` whose transport uses it; zero if none does: a full frame there and
/// the answer back. O(flows × hops).
pub(super) fn longest(
    scenario: &Scenario,
    ports: &[Vec<SwitchPort>],
    plan: &NetworkPlan,
) -> Duration {
    let is_limited = plan.transports.recovery.window_limit == Some(WindowLimit::Bdp);
    let goes_by_it = |flow: &&FlowPlan| match flow.transport {
        Transport::Hpcc | Transport::Custom(_) => true,
        Transport::Dcqcn | Transport::Timely => is_limited,
        _ => false,
    };
    let flows = plan.flows.iter().filter(goes_by_it);
    let trips = flows.filter_map(|flow| round_trip(scenario, ports, plan, flow));
    trips.max().unwrap_or(Duration::ZERO)
}

/// Returns `None` if routes do not lead there and back.
fn round_trip(
    scenario: &Scenario,
    ports: &[Vec<SwitchPort>],
    plan: &NetworkPlan,
    flow: &FlowPlan,
) -> Option<Duration> {
    let back = FlowPlan {
        from: flow.to,
        to: flow.from,
        ..*flow
    };
    let telemetry = if flow.transport == Transport::Hpcc {
        TELEMETRY_LENGTH_BYTES
    } else {
        0
    };
    let answer = Bytes::new(ANSWER_LENGTH_BYTES + telemetry);
    let there = time(&ideal::way(scenario, ports, plan, flow)?, flow.frame);
    Some(there + time(&ideal::way(scenario, ports, plan, &back)?, answer))
}

fn time(way: &[Hop], length: Bytes) -> Duration {
    let length = length + LINE_OVERHEAD;
    way.iter().fold(Duration::ZERO, |time, hop| {
        time + hop.rate.time_for(length) + hop.delay
    })
}
