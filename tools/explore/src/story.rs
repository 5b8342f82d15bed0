//! A path through the graph in words.

use weir_core::wire::mac_control::MacControl;
use weir_core::wire::ControlFrame;

use crate::node::Frames;
use crate::plan::{Mode, Plan, PlanError, PRIORITY};
use crate::rules::Action;
use crate::search::{End, Graph};
use crate::world::{Item, World};

/// Describes the shortest path to `state`, one line per step.
///
/// # Errors
///
/// Only those of the exploration.
pub fn tell(graph: &mut Graph<'_>, state: u32) -> Result<Vec<String>, PlanError> {
    let way = graph.way_to(state);
    let mut lines = along(graph, &way)?;
    if let End::Dropped {
        state: before,
        action,
        node,
        reason,
    } = graph.end
    {
        if let (true, Some(world)) = (before == state, graph.world(before)) {
            let what = describe(
                graph.rules.plan(),
                &graph.nodes.frames,
                &world,
                action,
                None,
            );
            lines.push(format!("{:>3}  {what}", lines.len() + 1));
            lines.push(format!("     s{node} drops it: {}", reason.name()));
        }
    }
    Ok(lines)
}

/// Describes the steps from each of these states to the next.
///
/// # Errors
///
/// Only those of the exploration.
pub fn along(graph: &mut Graph<'_>, way: &[u32]) -> Result<Vec<String>, PlanError> {
    let mut lines = Vec::new();
    for pair in way.windows(2) {
        let (Some(before), Some(after)) = (graph.world(pair[0]), graph.world(pair[1])) else {
            continue;
        };
        let steps = graph.steps_from(pair[0])?;
        let step = steps.into_iter().find(|step| step.world == after);
        let Some(step) = step else { continue };
        let plan = graph.rules.plan();
        let served = step.served.map(|queue| destination_of(plan, queue));
        let what = describe(plan, &graph.nodes.frames, &before, step.action, served);
        lines.push(format!("{:>3}  {what}", lines.len() + 1));
    }
    Ok(lines)
}

/// Describes the waiting frames of a state.
///
/// # Errors
///
/// Only those of the exploration.
pub fn picture(graph: &mut Graph<'_>, state: u32) -> Result<Vec<String>, PlanError> {
    let Some(world) = graph.world(state) else {
        return Ok(Vec::new());
    };
    let plan = graph.rules.plan();
    let mut lines = Vec::new();
    for (index, number) in world.nodes.iter().enumerate() {
        let node = graph.nodes.node(*number)?;
        let mut held: Vec<_> = node.held().collect();
        held.sort_unstable();
        let held: Vec<_> = held
            .iter()
            .map(|(ingress, to)| format!("{} to d{to} from port {ingress}", frame_of(plan)))
            .collect();
        let pausing: Vec<_> = (0..plan.nodes[index].ports.len())
            .filter(|port| {
                let id = weir_core::PortId::new(*port as u8);
                let gauges = node.switch().gauges(weir_core::Instant::ZERO, id, PRIORITY);
                gauges.pausing
            })
            .map(|port| format!("port {port}"))
            .collect();
        let pausing = if pausing.is_empty() {
            String::new()
        } else {
            format!("; pauses {}", pausing.join(" and "))
        };
        let held = if held.is_empty() {
            "empty".to_owned()
        } else {
            held.join(", ")
        };
        lines.push(format!("     s{index}: {held}{pausing}"));
    }
    Ok(lines)
}

fn frame_of(_: &Plan) -> &'static str {
    "frame"
}

/// Returns the destination of a queue as in [`Step::served`](crate::rules::Step::served).
fn destination_of(plan: &Plan, queue: u16) -> usize {
    let destinations = plan.nodes.iter().map(|node| node.routes.len()).max();
    usize::from(queue) % crate::rules::QUEUES_OF_NODE as usize % destinations.unwrap_or(1)
}

fn describe(
    plan: &Plan,
    frames: &Frames,
    world: &World,
    action: Action,
    served: Option<usize>,
) -> String {
    let ends = |link: u8| {
        let link = plan.links[usize::from(link)];
        (link.from.0, link.to.0)
    };
    let first = |link: u8| match world.links[usize::from(link)].items().first() {
        Some(Item::Data(destination)) => format!("the frame to d{destination}"),
        Some(Item::Control { frame, .. }) => control(plan, frames, *frame),
        None => "nothing".to_owned(),
    };
    match action {
        Action::Offer(flow) => {
            let flow = plan.flows[usize::from(flow)];
            let (node, port, to) = (flow.node, flow.port, flow.destination);
            format!("the host at s{node} port {port} sends a frame to d{to}")
        }
        Action::Transmit(link) => {
            let (from, to) = ends(link);
            match served {
                Some(destination) => format!("s{from} sends s{to} a frame to d{destination}"),
                None => format!("s{from} sends s{to} what control has to say"),
            }
        }
        Action::Sink(switch, _) => match served {
            Some(destination) => format!("s{switch} hands d{destination} its frame"),
            None => format!("s{switch} sends a host nothing"),
        },
        Action::Deliver(link) => {
            let (from, to) = ends(link);
            format!("s{to} receives {} from s{from}", first(link))
        }
        Action::Lose(link) => {
            let (from, to) = ends(link);
            format!("{} from s{from} to s{to} is lost", first(link))
        }
        Action::Repeat(link) => {
            let (from, to) = ends(link);
            format!(
                "s{to} receives {} from s{from}, and will again",
                first(link)
            )
        }
        Action::Timer(node) => format!("s{node} does what is due"),
        Action::ControlTimer(node) => format!("the control plane of s{node} does what is due"),
        Action::Handle(node) => format!("the control plane of s{node} takes an event"),
        Action::Tick => "a tick of time".to_owned(),
    }
}

fn control(plan: &Plan, frames: &Frames, number: u16) -> String {
    match frames.frame(number) {
        ControlFrame::Mac(MacControl::Pfc { times }) => {
            let quanta = times[PRIORITY.index()].map_or(0, |quanta| quanta.0);
            match (&plan.mode, quanta) {
                (Mode::Pfc { .. }, 0) => "XON".to_owned(),
                (Mode::Pfc { .. }, _) => "XOFF".to_owned(),
                (Mode::Levels { .. }, quanta) => {
                    format!("Feedback {}", quanta.saturating_sub(1))
                }
            }
        }
        ControlFrame::Clcm(message) => {
            let spuids = message
                .hops()
                .iter()
                .map(|hop| format!("{:08x}", hop.spuid.0));
            let spuids: Vec<_> = spuids.collect();
            format!("CLCM {:?} [{}]", message.phase(), spuids.join(" "))
        }
        other => format!("{other:?}"),
    }
}
