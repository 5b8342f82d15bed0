//! The explored networks.

use weir_core::control::Policy;
use weir_core::testing::Faults;

use crate::plan::{Disturbance, Facing, FlowPlan, LinkPlan, Mode, NodePlan, Plan};

/// Returns a network in which only the order of steps is open: untimed, with lossless links that carry one data frame at a
/// time.
fn plan(nodes: Vec<NodePlan>, links: &[LinkPlan], flows: Vec<FlowPlan>, mode: Mode) -> Plan {
    let reverse = |link: &LinkPlan| LinkPlan {
        from: link.to,
        to: link.from,
    };
    let both = links.iter().flat_map(|link| [*link, reverse(link)]);
    Plan {
        nodes,
        links: both.collect(),
        flows,
        mode,
        wire: 1,
        slack: 0,
        prompt_control: false,
        prompt_sinks: false,
        prompt_timers: false,
        busy: false,
        horizon: None,
        timed: false,
        policy: Policy::Off,
        control_lag: 0,
        disturbance: Disturbance::default(),
        faults: Faults::default(),
    }
}

fn flow(node: usize, port: u8, destination: u8) -> FlowPlan {
    FlowPlan {
        node,
        port,
        destination,
        limit: None,
    }
}

/// Returns three switches in a ring. Each one's host sends over two links, clockwise; with `second_host` the last switch has
/// another such host (CLCM paper, figure 4). Destination d is at switch d.
///
/// Ports: 0 clockwise, 1 counter-clockwise, 2 a host that sends, 3 a host that receives, 4 the second host.
pub fn ring(second_host: bool, mode: Mode) -> Plan {
    const COUNT: usize = 3;
    let node = |index: usize| {
        let mut ports = vec![Facing::Switch, Facing::Switch, Facing::Source, Facing::Sink];
        if second_host && index == COUNT - 1 {
            ports.push(Facing::Source);
        }
        let routes = (0..COUNT).map(|to| if to == index { 3 } else { 0 });
        NodePlan {
            ports,
            routes: routes.collect(),
        }
    };
    let link = |index: usize| LinkPlan {
        from: (index, 0),
        to: ((index + 1) % COUNT, 1),
    };
    let target = |index: usize| ((index + 2) % COUNT) as u8;
    let mut flows: Vec<_> = (0..COUNT)
        .map(|index| flow(index, 2, target(index)))
        .collect();
    if second_host {
        flows.push(flow(COUNT - 1, 4, target(COUNT - 1)));
    }
    let links: Vec<_> = (0..COUNT).map(link).collect();
    plan((0..COUNT).map(node).collect(), &links, flows, mode)
}

/// Returns two switches; `hosts` hosts at each send to hosts at the other, over one link. Destinations 0 and 1 are at the
/// first switch, 2 and 3 at the second.
///
/// Ports: 0 the other switch, 1 and 2 hosts that send, 3 and 4 hosts that receive.
pub fn pair(hosts: usize, mode: Mode) -> Plan {
    let node = |routes: [u8; 4]| NodePlan {
        ports: vec![
            Facing::Switch,
            Facing::Source,
            Facing::Source,
            Facing::Sink,
            Facing::Sink,
        ],
        routes: routes.to_vec(),
    };
    let mut flows = vec![flow(0, 1, 2), flow(1, 1, 0), flow(0, 2, 3), flow(1, 2, 1)];
    flows.truncate(2 * hosts);
    let link = LinkPlan {
        from: (0, 0),
        to: (1, 0),
    };
    let nodes = vec![node([3, 4, 0, 0]), node([0, 0, 3, 4])];
    plan(nodes, &[link], flows, mode)
}

/// Returns a host, two switches, and a host that receives.
///
/// Ports: 0 the other switch, 1 the host.
pub fn chain(mode: Mode) -> Plan {
    let node = |host, route| NodePlan {
        ports: vec![Facing::Switch, host],
        routes: vec![route],
    };
    let nodes = vec![node(Facing::Source, 0), node(Facing::Sink, 1)];
    let link = LinkPlan {
        from: (0, 0),
        to: (1, 0),
    };
    plan(nodes, &[link], vec![flow(0, 1, 0)], mode)
}

/// Returns three switches in a line: traffic from the first and from the second's host meet on the link to the third. Frames
/// of the second's host have Level 0 there and those in transit have more.
///
/// Ports: 0 the next switch (or the receiver of destination 0), 1 the switch before, 2 a host that sends; the third
/// switch has destination 1 at port 2.
pub fn line(mode: Mode) -> Plan {
    let nodes = vec![
        NodePlan {
            ports: vec![Facing::Switch, Facing::Sink, Facing::Source],
            routes: vec![0, 0],
        },
        NodePlan {
            ports: vec![Facing::Switch, Facing::Switch, Facing::Source],
            routes: vec![0, 0],
        },
        NodePlan {
            ports: vec![Facing::Sink, Facing::Switch, Facing::Sink],
            routes: vec![0, 2],
        },
    ];
    let link = |from| LinkPlan {
        from: (from, 0),
        to: (from + 1, 1),
    };
    let flows = vec![flow(0, 2, 0), flow(1, 2, 1)];
    plan(nodes, &[link(0), link(1)], flows, mode)
}
