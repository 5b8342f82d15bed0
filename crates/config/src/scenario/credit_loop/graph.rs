//! A directed graph and its cycles.

use std::collections::{BTreeSet, VecDeque};

/// Nodes are numbers from 0.
#[derive(Clone, Debug)]
pub struct Graph {
    /// By node: successors, without duplicates, in ascending order. A node has few.
    next: Vec<Vec<usize>>,
}

impl Graph {
    /// A graph without edges.
    pub fn new(node_count: usize) -> Self {
        Self {
            next: vec![Vec::new(); node_count],
        }
    }

    /// Adds an edge; no effect if it exists.
    pub fn add(&mut self, from: usize, to: usize) {
        let next = &mut self.next[from];
        if let Err(place) = next.binary_search(&to) {
            next.insert(place, to);
        }
    }

    /// For each node on a cycle a shortest cycle through it; each cycle once, starting at its smallest node.
    pub fn cycles(&self) -> Vec<Vec<usize>> {
        let component = self.components();
        let mut search = Search::new(self.next.len());
        let shortest =
            (0..self.next.len()).filter_map(|start| self.shortest(start, &component, &mut search));
        let distinct: BTreeSet<Vec<usize>> = shortest.collect();
        distinct.into_iter().collect()
    }

    /// Nodes on cycles, in ascending order: those whose strongly connected component has others. Edges from a node to
    /// itself are ignored. O(edges).
    pub fn on_cycles(&self) -> Vec<usize> {
        let component = self.components();
        let mut sizes = vec![0_usize; self.next.len()];
        for component in &component {
            sizes[*component] += 1;
        }
        let nodes = 0..self.next.len();
        nodes.filter(|node| sizes[component[*node]] > 1).collect()
    }

    /// A shortest cycle through the smallest node on any.
    pub fn first_cycle(&self) -> Option<Vec<usize>> {
        let component = self.components();
        let mut search = Search::new(self.next.len());
        (0..self.next.len()).find_map(|start| self.shortest(start, &component, &mut search))
    }

    /// A cycle through `start` is within its strongly connected component.
    fn shortest(
        &self,
        start: usize,
        component: &[usize],
        search: &mut Search,
    ) -> Option<Vec<usize>> {
        let within = |node: usize| {
            let next = self.next[node].iter().copied();
            next.filter(|next| component[*next] == component[start])
        };
        search.begin(start);
        while let Some(at) = search.queue.pop_front() {
            for next in within(at) {
                if next == start {
                    let mut cycle = vec![at];
                    while let Some(previous) = cycle.last().filter(|node| **node != start) {
                        cycle.push(search.before[*previous]);
                    }
                    cycle.reverse();
                    let smallest = (0..cycle.len()).min_by_key(|index| cycle[*index])?;
                    cycle.rotate_left(smallest);
                    return Some(cycle);
                }
                search.reach(next, at);
            }
        }
        None
    }

    /// By node: the number of its strongly connected component (Tarjan, 1972). O(edges).
    fn components(&self) -> Vec<usize> {
        const NONE: usize = usize::MAX;
        let count = self.next.len();
        let mut component = vec![NONE; count];
        let mut component_count = 0;
        // By node: the order of discovery, and the earliest reachable node on the stack.
        let mut found = vec![NONE; count];
        let mut earliest = vec![NONE; count];
        let mut found_count = 0;
        let mut stack = Vec::new();
        // Nodes being explored, each with its position in its list of edges.
        let mut open: Vec<(usize, usize)> = Vec::new();
        for root in 0..count {
            if found[root] != NONE {
                continue;
            }
            open.push((root, 0));
            while let Some((node, arrow)) = open.pop() {
                if arrow == 0 {
                    found[node] = found_count;
                    earliest[node] = found_count;
                    found_count += 1;
                    stack.push(node);
                } else {
                    // Returning over the previous edge.
                    let behind = self.next[node][arrow - 1];
                    if component[behind] == NONE {
                        earliest[node] = earliest[node].min(earliest[behind]);
                    }
                }
                if let Some(next) = self.next[node].get(arrow) {
                    open.push((node, arrow + 1));
                    if found[*next] == NONE {
                        open.push((*next, 0));
                    }
                    continue;
                }
                if earliest[node] == found[node] {
                    while let Some(member) = stack.pop() {
                        component[member] = component_count;
                        if member == node {
                            break;
                        }
                    }
                    component_count += 1;
                }
            }
        }
        component
    }
}

/// Breadth-first search, with memory reused by many searches.
struct Search {
    /// By node: the search that reached it last.
    reached: Vec<usize>,
    /// By node reached: its predecessor.
    before: Vec<usize>,
    queue: VecDeque<usize>,
    number: usize,
}

impl Search {
    fn new(node_count: usize) -> Self {
        Self {
            reached: vec![0; node_count],
            before: vec![0; node_count],
            queue: VecDeque::new(),
            number: 0,
        }
    }

    fn begin(&mut self, start: usize) {
        self.number += 1;
        self.queue.clear();
        self.reach(start, start);
    }

    fn reach(&mut self, node: usize, from: usize) {
        if self.reached[node] != self.number {
            self.reached[node] = self.number;
            self.before[node] = from;
            self.queue.push_back(node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn graph(edges: &[(usize, usize)]) -> Graph {
        let mut graph = Graph::new(10);
        for (from, to) in edges {
            graph.add(*from, *to);
        }
        graph
    }

    #[test]
    fn a_chain_has_no_cycle_and_a_ring_has_one() {
        assert!(graph(&[(1, 2), (2, 3), (1, 3)]).cycles().is_empty());
        let ring = graph(&[(3, 1), (1, 2), (2, 3), (9, 1)]);
        assert_eq!(ring.cycles(), [[1, 2, 3]]);
        assert_eq!(ring.first_cycle(), Some(vec![1, 2, 3]));
    }

    #[test]
    fn separate_loops_and_loops_that_share_a_node_are_found() {
        assert_eq!(
            graph(&[(1, 2), (2, 1), (3, 4), (4, 3), (2, 3)]).cycles(),
            [[1, 2], [3, 4]]
        );
        assert_eq!(
            graph(&[(1, 2), (2, 3), (3, 1), (2, 4), (4, 1)]).cycles(),
            [[1, 2, 3], [1, 2, 4]]
        );
    }

    proptest! {
        /// Compared with all distances by Floyd and Warshall.
        #[test]
        fn each_node_on_a_cycle_has_a_shortest_one(
            edges in prop::collection::vec((0usize..10, 0usize..10), 0..25)
        ) {
            let edges: Vec<_> = edges.into_iter().filter(|(a, b)| a != b).collect();
            let graph = graph(&edges);
            let mut distance = [[1000usize; 10]; 10];
            for (a, b) in &edges {
                distance[*a][*b] = 1;
            }
            for over in 0..10 {
                for a in 0..10 {
                    for b in 0..10 {
                        distance[a][b] = distance[a][b].min(distance[a][over] + distance[over][b]);
                    }
                }
            }
            let cycles = graph.cycles();
            for cycle in &cycles {
                for (index, node) in cycle.iter().enumerate() {
                    prop_assert!(edges.contains(&(*node, cycle[(index + 1) % cycle.len()])));
                }
            }
            for (node, distance) in distance.iter().enumerate() {
                let through = cycles.iter().filter(|cycle| cycle.contains(&node));
                let shortest = through.map(Vec::len).min();
                let expected = (distance[node] < 1000).then_some(distance[node]);
                prop_assert_eq!(shortest, expected);
            }
            prop_assert_eq!(graph.first_cycle().is_some(), !cycles.is_empty());
            let on_cycles: BTreeSet<usize> = cycles.into_iter().flatten().collect();
            prop_assert_eq!(graph.on_cycles(), Vec::from_iter(on_cycles));
        }
    }
}
