//! Possible steps of a network, and their results.

use weir_core::DropReason;

use crate::node::{Input, Node, Output};
use crate::nodes::Nodes;
use crate::plan::{Facing, Plan, PlanError};
use crate::world::{Item, Link, World};

/// A possible event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// The flow's host sends a frame, which reaches its switch at once.
    Offer(u8),
    /// A port between switches sends, by link.
    Transmit(u8),
    /// A port to a receiving host sends, by switch and port.
    Sink(u8, u8),
    /// The first item on a link arrives.
    Deliver(u8),
    /// The first item on a link is lost.
    Lose(u8),
    /// The first item on a link arrives, and will arrive again.
    Repeat(u8),
    /// A switch handles due timers.
    Timer(u8),
    /// A control plane handles due timers.
    ControlTimer(u8),
    /// A control plane takes an event.
    Handle(u8),
    /// Time advances everywhere.
    Tick,
}

/// Result of an action.
#[derive(Clone, Debug)]
pub struct Step {
    /// The action.
    pub action: Action,
    /// The resulting state.
    pub world: World,
    /// Virtual queue that a data frame left, if any: switch × 64 + [`Nodes::queue`].
    pub served: Option<u16>,
    /// Set if a lossless frame was dropped: the switch and the reason.
    pub dropped: Option<(usize, DropReason)>,
}

/// Bits of a switch's queues in [`Step::served`].
pub const QUEUES_OF_NODE: u32 = 64;

/// A plan with precomputed look-ups.
#[derive(Debug)]
pub struct Rules<'a> {
    plan: &'a Plan,
    reverse: Vec<usize>,
    /// (switch, port) of all ports to receiving hosts.
    sinks: Vec<(u8, u8)>,
}

impl<'a> Rules<'a> {
    /// Prepares a plan. A link without reverse direction is its own reverse.
    pub fn new(plan: &'a Plan) -> Self {
        let reverse = |link| plan.reverse(link).unwrap_or(link);
        let mut sinks = Vec::new();
        for (index, node) in plan.nodes.iter().enumerate() {
            for (port, facing) in node.ports.iter().enumerate() {
                if *facing == Facing::Sink {
                    sinks.push((index as u8, port as u8));
                }
            }
        }
        Self {
            plan,
            reverse: (0..plan.links.len()).map(reverse).collect(),
            sinks,
        }
    }

    /// Returns the plan.
    pub fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// Returns the initial state, in which each switch has done the work due at its start.
    ///
    /// # Errors
    ///
    /// Those of [`Node::new`] and [`Node::step`].
    pub fn start(&self, nodes: &mut Nodes<'_>) -> Result<World, PlanError> {
        let links = vec![Link::EMPTY; self.plan.links.len()];
        let mut world = World::begin(self.plan, Vec::new(), links);
        for index in 0..self.plan.nodes.len() {
            let node = Node::new(self.plan, index)?;
            let fresh = nodes.number(node)?;
            world.nodes.push(nodes.step(fresh, Input::Timer)?.0);
        }
        // The first Feedback is known in advance, since it restricts nothing.
        for link in 0..self.plan.links.len() {
            loop {
                let (from, port) = self.plan.links[link].from;
                let (next, output) = nodes.step(world.nodes[from], Input::Transmit { port })?;
                world.nodes[from] = next;
                let Output::Control(frame) = output else {
                    break;
                };
                let (to, port) = self.plan.links[link].to;
                let input = Input::Control { port, frame };
                world.nodes[to] = nodes.step(world.nodes[to], input)?.0;
            }
        }
        Ok(world)
    }

    /// Returns the same network at the same moment in another exploration: time runs from now on,
    /// and hosts send according to its plan.
    ///
    /// # Errors
    ///
    /// Those of [`Nodes::number`].
    pub fn take_over(
        &self,
        nodes: &mut Nodes<'_>,
        other: &mut Nodes<'_>,
        world: &World,
    ) -> Result<World, PlanError> {
        let mut taken = World::begin(self.plan, world.nodes.clone(), world.links.clone());
        for number in &mut taken.nodes {
            *number = nodes.number(other.node(*number)?.with_time())?;
        }
        Ok(taken)
    }

    /// Returns all possible steps from a state.
    ///
    /// # Errors
    ///
    /// Those of [`Node::step`].
    pub fn steps(
        &self,
        nodes: &mut Nodes<'_>,
        world: &World,
        steps: &mut Vec<Step>,
    ) -> Result<(), PlanError> {
        steps.clear();
        for flow in 0..self.plan.flows.len() as u8 {
            self.offer(nodes, world, flow, steps)?;
        }
        for (switch, port) in &self.sinks {
            self.sink(nodes, world, *switch, *port, steps)?;
        }
        let mut control_under_way = false;
        for link in 0..self.plan.links.len() {
            control_under_way |= self.control_due(nodes, world, link)?.is_some();
            let mut items = world.links[link].items().iter();
            control_under_way |= items.any(|item| matches!(item, Item::Control { .. }));
            self.transmit(nodes, world, link, steps)?;
            self.first_of_link(nodes, world, link, steps)?;
        }
        if self.plan.timed {
            self.by_the_clock(nodes, world, control_under_way, steps)?;
        }
        for step in steps {
            self.go_on_at_once(nodes, step)?;
        }
        Ok(())
    }

    /// Executes prompt actions in the step that makes them possible.
    fn go_on_at_once(&self, nodes: &mut Nodes<'_>, step: &mut Step) -> Result<(), PlanError> {
        loop {
            let before = step.world.nodes.clone();
            if self.plan.prompt_sinks {
                for (switch, port) in &self.sinks {
                    step.input(nodes, usize::from(*switch), Input::Transmit { port: *port })?;
                }
            }
            for link in 0..self.plan.links.len() {
                let due = self.control_due(nodes, &step.world, link)?;
                let Some(frame) = due.filter(|frame| nodes.frames.is_pfc(*frame)) else {
                    continue;
                };
                if self.plan.prompt_control {
                    let (from, to) = (self.plan.links[link].from, self.plan.links[link].to);
                    step.input(nodes, from.0, Input::Transmit { port: from.1 })?;
                    step.input(nodes, to.0, Input::Control { port: to.1, frame })?;
                }
            }
            if step.world.nodes == before {
                return Ok(());
            }
        }
    }

    fn offer(
        &self,
        nodes: &mut Nodes<'_>,
        world: &World,
        flow: u8,
        steps: &mut Vec<Step>,
    ) -> Result<(), PlanError> {
        let left = world.left[usize::from(flow)];
        let plan = self.plan.flows[usize::from(flow)];
        let held_back = nodes.view(world.nodes[plan.node]).pausing & (1 << plan.port) != 0;
        if left == 0 || held_back {
            return Ok(());
        }
        let mut step = Step::new(Action::Offer(flow), world);
        if left != 255 {
            step.world.left[usize::from(flow)] -= 1;
        }
        let (port, destination) = (plan.port, plan.destination);
        step.input(nodes, plan.node, Input::Receive { port, destination })?;
        steps.push(step);
        Ok(())
    }

    fn sink(
        &self,
        nodes: &mut Nodes<'_>,
        world: &World,
        switch: u8,
        port: u8,
        steps: &mut Vec<Step>,
    ) -> Result<(), PlanError> {
        let mut step = Step::new(Action::Sink(switch, port), world);
        let output = step.input(nodes, usize::from(switch), Input::Transmit { port })?;
        if let Output::Data {
            ingress,
            destination,
        } = output
        {
            step.served = Some(queue_of(nodes, usize::from(switch), ingress, destination));
            steps.push(step);
        }
        Ok(())
    }

    /// Returns the control frame due at the sending side of `link`.
    fn control_due(
        &self,
        nodes: &mut Nodes<'_>,
        world: &World,
        link: usize,
    ) -> Result<Option<u16>, PlanError> {
        let (from, port) = self.plan.links[link].from;
        let (_, output) = nodes.step(world.nodes[from], Input::Transmit { port })?;
        Ok(match output {
            Output::Control(frame) => Some(frame),
            _ => None,
        })
    }

    fn transmit(
        &self,
        nodes: &mut Nodes<'_>,
        world: &World,
        link: usize,
        steps: &mut Vec<Step>,
    ) -> Result<(), PlanError> {
        let (from, port) = self.plan.links[link].from;
        let before = world.nodes[from];
        let mut step = Step::new(Action::Transmit(link as u8), world);
        let output = step.input(nodes, from, Input::Transmit { port })?;
        match output {
            Output::Control(frame) => {
                let link = &mut step.world.links[link];
                if link.is_full() {
                    return Ok(());
                }
                let pfc = nodes.frames.is_pfc(frame);
                let since = if pfc {
                    core::mem::take(&mut link.since_due)
                } else {
                    0
                };
                link.push(Item::Control { frame, since });
            }
            Output::Data {
                ingress,
                destination,
            } => {
                step.served = Some(queue_of(nodes, from, ingress, destination));
                if !self.send_data(nodes, link, destination, &mut step)? {
                    return Ok(());
                }
            }
            Output::Nothing if step.world.nodes[from] != before => {}
            Output::Nothing | Output::Dropped(_) => return Ok(()),
        }
        steps.push(step);
        Ok(())
    }

    /// Puts a data frame on `link`, unless the round trip forbids it.
    fn send_data(
        &self,
        nodes: &mut Nodes<'_>,
        link: usize,
        destination: u8,
        step: &mut Step,
    ) -> Result<bool, PlanError> {
        let back = self.reverse[link];
        let (peer, peer_port) = self.plan.links[back].from;
        let (_, due) = nodes.step(step.world.nodes[peer], Input::Transmit { port: peer_port })?;
        let is_due = matches!(due, Output::Control(frame) if nodes.frames.is_pfc(frame));
        let reverse = &mut step.world.links[back];
        if is_due {
            if reverse.since_due >= self.plan.slack {
                return Ok(false);
            }
            reverse.since_due += 1;
        }
        for item in reverse.items_mut() {
            if let Item::Control { frame, since } = item {
                if !nodes.frames.is_pfc(*frame) {
                    continue;
                }
                if *since >= self.plan.slack {
                    return Ok(false);
                }
                *since += 1;
            }
        }
        let forward = &mut step.world.links[link];
        let items = forward.items().iter();
        let under_way = items.filter(|item| matches!(item, Item::Data(_)));
        if self.plan.wire == 0 {
            let (to, port) = self.plan.links[link].to;
            step.input(nodes, to, Input::Receive { port, destination })?;
            return Ok(true);
        }
        if under_way.count() >= usize::from(self.plan.wire) || forward.is_full() {
            return Ok(false);
        }
        forward.push(Item::Data(destination));
        Ok(true)
    }

    fn first_of_link(
        &self,
        nodes: &mut Nodes<'_>,
        world: &World,
        link: usize,
        steps: &mut Vec<Step>,
    ) -> Result<(), PlanError> {
        let Some(first) = world.links[link].items().first().copied() else {
            return Ok(());
        };
        let (to, port) = self.plan.links[link].to;
        let input = match first {
            Item::Data(destination) => Input::Receive { port, destination },
            Item::Control { frame, .. } => Input::Control { port, frame },
        };
        let mut step = Step::new(Action::Deliver(link as u8), world);
        step.world.links[link].take_first();
        step.input(nodes, to, input)?;
        steps.push(step);
        let Item::Control { frame, .. } = first else {
            return Ok(());
        };
        if world.disturbances == 0 {
            return Ok(());
        }
        let disturbance = self.plan.disturbance;
        let may_be_lost = if nodes.frames.is_pfc(frame) {
            disturbance.lose_pfc
        } else {
            disturbance.lose_clcm
        };
        if may_be_lost {
            let mut step = Step::new(Action::Lose(link as u8), world);
            step.world.disturbances -= 1;
            step.world.links[link].take_first();
            steps.push(step);
        }
        if disturbance.repeat {
            let mut step = Step::new(Action::Repeat(link as u8), world);
            step.world.disturbances -= 1;
            step.input(nodes, to, input)?;
            steps.push(step);
        }
        Ok(())
    }

    /// Runs timers before time advances, and delivers control frames within the tick in which they were due.
    fn by_the_clock(
        &self,
        nodes: &mut Nodes<'_>,
        world: &World,
        control_under_way: bool,
        steps: &mut Vec<Step>,
    ) -> Result<(), PlanError> {
        let moves = |step: &Step| {
            let action = step.action;
            matches!(
                action,
                Action::Transmit(_) | Action::Sink(..) | Action::Deliver(_)
            )
        };
        let mut waits = control_under_way || self.plan.busy && steps.iter().any(moves);
        for index in 0..self.plan.nodes.len() {
            let timers = [
                (Action::Timer(index as u8), Input::Timer),
                (Action::ControlTimer(index as u8), Input::ControlTimer),
            ];
            for (action, input) in timers {
                let mut step = Step::new(action, world);
                step.input(nodes, index, input)?;
                if step.world.nodes[index] != world.nodes[index] {
                    waits = true;
                    steps.push(step);
                }
            }
            let lag = nodes.view(world.nodes[index]).lag;
            if lag > 0 {
                waits |= lag > self.plan.control_lag;
                let mut step = Step::new(Action::Handle(index as u8), world);
                step.input(nodes, index, Input::Handle)?;
                steps.push(step);
            }
        }
        if waits || world.ticks == 0 {
            return Ok(());
        }
        let mut step = Step::new(Action::Tick, world);
        if self.plan.horizon.is_some() {
            step.world.ticks -= 1;
        }
        for index in 0..self.plan.nodes.len() {
            step.input(nodes, index, Input::Tick)?;
            if self.plan.prompt_timers {
                step.input(nodes, index, Input::Timer)?;
            }
        }
        steps.push(step);
        Ok(())
    }

    /// Returns the number of frames in switches and on links.
    pub fn frames_in(&self, nodes: &Nodes<'_>, world: &World) -> usize {
        let held = world
            .nodes
            .iter()
            .map(|node| usize::from(nodes.view(*node).held_count));
        let items = world.links.iter().flat_map(Link::items);
        held.sum::<usize>() + items.filter(|item| matches!(item, Item::Data(_))).count()
    }
}

impl Step {
    fn new(action: Action, world: &World) -> Self {
        Self {
            action,
            world: world.clone(),
            served: None,
            dropped: None,
        }
    }

    fn input(
        &mut self,
        nodes: &mut Nodes<'_>,
        node: usize,
        input: Input,
    ) -> Result<Output, PlanError> {
        let (next, output) = nodes.step(self.world.nodes[node], input)?;
        self.world.nodes[node] = next;
        if let Output::Dropped(reason) = output {
            self.dropped = Some((node, reason));
        }
        Ok(output)
    }
}

fn queue_of(nodes: &Nodes<'_>, node: usize, ingress: u8, destination: u8) -> u16 {
    (node as u32 * QUEUES_OF_NODE + nodes.queue(ingress, destination)) as u16
}
