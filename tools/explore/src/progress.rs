//! Progress in the graph of all states: unresolvable states, deadlocks, and frames that wait forever.

use crate::rules::Action;
use crate::search::Graph;

/// Returns the states from which no sequence of steps leads to one in which all frames have arrived, in the order in which
/// they were found.
pub fn without_way_out(graph: &Graph<'_>) -> Vec<u32> {
    let count = graph.len();
    // Reverse edges, by counting.
    let mut first = vec![0u32; count + 1];
    for state in 0..count as u32 {
        for edge in graph.edges(state) {
            first[edge.to as usize + 1] += 1;
        }
    }
    for index in 0..count {
        first[index + 1] += first[index];
    }
    let mut place = first.clone();
    let mut sources = vec![0u32; graph.transitions()];
    for state in 0..count as u32 {
        for edge in graph.edges(state) {
            let place = &mut place[edge.to as usize];
            sources[*place as usize] = state;
            *place += 1;
        }
    }
    let mut leads_out: Vec<bool> = (0..count as u32)
        .map(|state| graph.is_drained(state))
        .collect();
    let mut open: Vec<u32> = (0..count as u32)
        .filter(|state| graph.is_drained(*state))
        .collect();
    while let Some(state) = open.pop() {
        let index = state as usize;
        for source in &sources[first[index] as usize..first[index + 1] as usize] {
            if !core::mem::replace(&mut leads_out[*source as usize], true) {
                open.push(*source);
            }
        }
    }
    (0..count as u32)
        .filter(|state| !leads_out[*state as usize])
        .collect()
}

/// Returns the states with frames in which nothing can happen, in the order in which they were found.
pub fn locked<'a>(graph: &'a Graph<'_>) -> impl Iterator<Item = u32> + 'a {
    let all = 0..graph.len() as u32;
    all.filter(|state| graph.edges(*state).is_empty() && !graph.is_drained(*state))
}

/// A virtual queue that may hold a frame forever, and a state from which it may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Starvation {
    /// The queue, numbered as in [`Step::served`](crate::rules::Step::served).
    pub queue: u16,
    /// The first such state.
    pub state: u32,
    /// The states of the endless run.
    pub part: Vec<u32>,
}

impl Starvation {
    /// Returns the states of a cycle from `state` through the part, on which a frame of another queue is sent if possible.
    pub fn round(&self, graph: &Graph<'_>) -> Vec<u32> {
        let mut inside = vec![false; graph.len()];
        for state in &self.part {
            inside[*state as usize] = true;
        }
        let serves_another = |from: u32| {
            let edges = graph.edges(from).iter();
            let mut others = edges.filter(|edge| {
                let served = graph.labels[usize::from(edge.label)].served;
                served.is_some_and(|queue| queue != self.queue) && inside[edge.to as usize]
            });
            others.next().map(|edge| edge.to)
        };
        let mut way = self.way(graph, &inside, self.state, |state| {
            serves_another(state).is_some()
        });
        let busy = way.last().copied().unwrap_or(self.state);
        if let Some(next) = serves_another(busy) {
            way.push(next);
            let back = self.way(graph, &inside, next, |state| state == busy);
            way.extend(back.into_iter().skip(1));
        }
        way
    }

    /// Finds the shortest path within the part from `from` to a state of the wanted kind.
    fn way(
        &self,
        graph: &Graph<'_>,
        inside: &[bool],
        from: u32,
        found: impl Fn(u32) -> bool,
    ) -> Vec<u32> {
        let mut parents = vec![OUTSIDE; graph.len()];
        parents[from as usize] = from;
        let mut open = std::collections::VecDeque::from([from]);
        while let Some(state) = open.pop_front() {
            if found(state) {
                let mut way = vec![state];
                let mut at = state;
                while at != from {
                    at = parents[at as usize];
                    way.push(at);
                }
                way.reverse();
                return way;
            }
            for edge in graph.edges(state) {
                let serves = graph.labels[usize::from(edge.label)].served == Some(self.queue);
                let to = edge.to as usize;
                if !serves && inside[to] && parents[to] == OUTSIDE {
                    parents[to] = state;
                    open.push_back(edge.to);
                }
            }
        }
        vec![from]
    }
}

/// Searches for an endless run in which a virtual queue always holds a frame and never sends one, although the network is
/// fair: events that are possible infinitely often happen infinitely often. Hosts need not send, and no frame need be lost.
/// Sends of a port count by the virtual queue that they serve.
///
/// Such a run stays in a strongly connected part of the states in which the queue holds frames, without the steps that serve
/// it. A part in which a possible event never happens is not fair: the states in which it is possible are removed, and the
/// remainder is searched again (Streett's condition).
pub fn starvation(graph: &Graph<'_>) -> Option<Starvation> {
    let queues = graph.labels.iter().filter_map(|label| label.served);
    let mut queues: Vec<u16> = queues.collect();
    queues.sort_unstable();
    queues.dedup();
    let fair: Vec<bool> = graph
        .labels
        .iter()
        .map(|label| is_fair(label.action))
        .collect();
    let mut search = Parts::new(graph, fair);
    let found = queues
        .into_iter()
        .filter_map(|queue| search.fair_part(queue));
    found.min_by_key(|found| found.state)
}

fn is_fair(action: Action) -> bool {
    !matches!(
        action,
        Action::Offer(_) | Action::Lose(_) | Action::Repeat(_)
    )
}

const OUTSIDE: u32 = u32::MAX;

/// Strongly connected components of some states, by Tarjan's algorithm without recursion.
struct Parts<'g, 'a> {
    graph: &'g Graph<'a>,
    fair: Vec<bool>,
    /// By state: its set; [`OUTSIDE`] for none.
    set: Vec<u32>,
    next_set: u32,
    order: Vec<u32>,
    low: Vec<u32>,
}

impl<'g, 'a> Parts<'g, 'a> {
    fn new(graph: &'g Graph<'a>, fair: Vec<bool>) -> Self {
        Self {
            graph,
            fair,
            set: vec![OUTSIDE; graph.len()],
            next_set: 0,
            order: vec![0; graph.len()],
            low: vec![0; graph.len()],
        }
    }

    fn fair_part(&mut self, queue: u16) -> Option<Starvation> {
        let waiting = (0..self.graph.len() as u32).filter(|state| self.graph.waits(*state, queue));
        let mut sets = vec![waiting.collect::<Vec<u32>>()];
        let mut found: Option<Starvation> = None;
        while let Some(states) = sets.pop() {
            for part in self.parts_of(&states, queue) {
                match self.leaves_out(&part, queue) {
                    None => {
                        let state = part.iter().copied().min().unwrap_or_default();
                        if found.as_ref().is_none_or(|found| state < found.state) {
                            found = Some(Starvation { queue, state, part });
                        }
                    }
                    Some(rest) if rest.is_empty() => {}
                    Some(rest) => sets.push(rest),
                }
            }
        }
        found
    }

    /// Returns `None` for a fair part; otherwise its states in which only steps of the part are possible.
    fn leaves_out(&mut self, part: &[u32], queue: u16) -> Option<Vec<u32>> {
        let set = self.mark(part);
        let mut possible = vec![false; self.fair.len()];
        let mut happens = vec![false; self.fair.len()];
        for state in part {
            for edge in self.graph.edges(*state) {
                let label = usize::from(edge.label);
                possible[label] |= self.fair[label];
                let serves = self.graph.labels[label].served == Some(queue);
                happens[label] |= !serves && self.set[edge.to as usize] == set;
            }
        }
        let missing: Vec<bool> = possible
            .iter()
            .zip(&happens)
            .map(|(possible, happens)| *possible && !happens)
            .collect();
        if !missing.contains(&true) {
            return None;
        }
        let allows = |state: &u32| {
            let mut edges = self.graph.edges(*state).iter();
            edges.any(|edge| missing[usize::from(edge.label)])
        };
        Some(
            part.iter()
                .copied()
                .filter(|state| !allows(state))
                .collect(),
        )
    }

    fn mark(&mut self, states: &[u32]) -> u32 {
        let set = self.next_set;
        self.next_set += 1;
        for state in states {
            self.set[*state as usize] = set;
        }
        set
    }

    /// Returns the strongly connected components of `states`, by steps that do not serve `queue`.
    fn parts_of(&mut self, states: &[u32], queue: u16) -> Vec<Vec<u32>> {
        let set = self.mark(states);
        for state in states {
            self.order[*state as usize] = 0;
        }
        let mut parts = Vec::new();
        let mut count = 0;
        let (mut stack, mut open) = (Vec::new(), Vec::<(u32, usize)>::new());
        for root in states {
            if self.order[*root as usize] != 0 {
                continue;
            }
            open.push((*root, 0));
            while let Some((state, at)) = open.pop() {
                let index = state as usize;
                if at == 0 {
                    count += 1;
                    self.order[index] = count;
                    self.low[index] = count;
                    stack.push(state);
                }
                let edges = self.graph.edges(state);
                let mut next = at;
                let mut below = None;
                while let Some(edge) = edges.get(next) {
                    next += 1;
                    let to = edge.to as usize;
                    let serves = self.graph.labels[usize::from(edge.label)].served == Some(queue);
                    if serves || self.set[to] != set {
                        continue;
                    }
                    if self.order[to] == 0 {
                        below = Some(edge.to);
                        break;
                    }
                    self.low[index] = self.low[index].min(self.order[to]);
                }
                if let Some(below) = below {
                    open.push((state, next));
                    open.push((below, 0));
                    continue;
                }
                if self.low[index] == self.order[index] {
                    let begin = stack.iter().rposition(|other| *other == state).unwrap_or(0);
                    let part = stack.split_off(begin);
                    for member in &part {
                        self.set[*member as usize] = OUTSIDE;
                    }
                    parts.push(part);
                }
                if let Some((above, _)) = open.last() {
                    let low = self.low[index];
                    let above = *above as usize;
                    self.low[above] = self.low[above].min(low);
                }
            }
        }
        parts
    }
}
