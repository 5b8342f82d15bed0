//! Explores a case and determines its verdict.

use crate::cases::{Case, Verdict};
use crate::nodes::Nodes;
use crate::plan::{Plan, PlanError};
use crate::progress;
use crate::rules::Rules;
use crate::search::{End, Graph};
use crate::story;
use crate::world::World;

/// Result of a case.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Verdict on the case.
    pub verdict: Verdict,
    /// Number of initial states.
    pub starts: usize,
    /// Number of states of the network.
    pub states: usize,
    /// Number of steps between them.
    pub transitions: usize,
    /// Number of distinct states of switches.
    pub node_states: usize,
    /// Number of steps to the most distant state.
    pub depth: u32,
    /// Number of states with frames in which nothing can happen.
    pub locked: usize,
    /// Number of states from which no sequence of steps delivers all frames, including these.
    pub without_way_out: usize,
    /// With a horizon: the largest number of ticks until all frames had arrived.
    pub ticks: Option<u8>,
    /// Shortest path to the finding, and the state there.
    pub story: Vec<String>,
}

/// Explores a case, up to `most` states.
///
/// # Errors
///
/// The reason for which its plan cannot be explored.
pub fn explore(case: &Case, most: usize) -> Result<Outcome, PlanError> {
    let rules = Rules::new(&case.plan);
    let mut nodes = Nodes::new(&case.plan);
    let starts = match &case.from_locks_of {
        None => vec![rules.start(&mut nodes)?],
        Some(plan) => locks_of(case, plan, &rules, &mut nodes, most)?,
    };
    let start_count = starts.len();
    let graph = Graph::explore(rules, nodes, starts, most)?;
    judge(graph, start_count)
}

/// Returns every deadlocked state of `plan`, converted for the exploration that starts there.
fn locks_of(
    case: &Case,
    plan: &Plan,
    rules: &Rules<'_>,
    nodes: &mut Nodes<'_>,
    most: usize,
) -> Result<Vec<World>, PlanError> {
    let before = Rules::new(plan);
    let mut nodes_before = Nodes::new(plan);
    let start = before.start(&mut nodes_before)?;
    let mut graph = Graph::explore(before, nodes_before, vec![start], most)?;
    let locked = progress::locked(&graph);
    let locked = locked.take(case.starts_max);
    let worlds: Vec<_> = locked.filter_map(|state| graph.world(state)).collect();
    let taken = worlds
        .iter()
        .map(|world| rules.take_over(nodes, &mut graph.nodes, world));
    taken.collect()
}

fn judge(mut graph: Graph<'_>, starts: usize) -> Result<Outcome, PlanError> {
    let mut outcome = Outcome {
        verdict: Verdict::Free,
        starts,
        states: graph.len(),
        transitions: graph.transitions(),
        node_states: graph.nodes.len(),
        depth: graph.depth(),
        locked: 0,
        without_way_out: 0,
        ticks: None,
        story: Vec::new(),
    };
    let mut found = None;
    let shown = match graph.end {
        End::TooMany => {
            outcome.verdict = Verdict::Unfinished;
            None
        }
        End::Dropped { state, .. } => {
            outcome.verdict = Verdict::Drops;
            Some(state)
        }
        End::Complete => {
            let stuck = progress::without_way_out(&graph);
            outcome.without_way_out = stuck.len();
            outcome.locked = progress::locked(&graph).count();
            outcome.ticks = ticks(&graph);
            if let Some(first) = stuck.first().copied() {
                outcome.verdict = Verdict::Locks;
                let locked = progress::locked(&graph).next();
                Some(locked.unwrap_or(first))
            } else {
                found = progress::starvation(&graph);
                if found.is_some() {
                    outcome.verdict = Verdict::Starves;
                }
                found.as_ref().map(|found| found.state)
            }
        }
    };
    if let Some(state) = shown {
        outcome.story = story::tell(&mut graph, state)?;
        outcome.story.extend(story::picture(&mut graph, state)?);
    }
    if let Some(found) = found {
        outcome.story.push("     and then, ever again:".to_owned());
        let round = found.round(&graph);
        outcome.story.extend(story::along(&mut graph, &round)?);
    }
    Ok(outcome)
}

fn ticks(graph: &Graph<'_>) -> Option<u8> {
    let horizon = graph.rules.plan().horizon?;
    let drained = (0..graph.len() as u32).filter(|state| graph.is_drained(*state));
    let left = drained
        .filter_map(|state| graph.world(state))
        .map(|world| world.ticks)
        .min();
    left.map(|left| horizon - left)
}
