//! Random graphs, and random routes of bounded length in them.

use crate::random::Random;

/// An undirected graph without parallel edges.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    /// Both ends of each edge.
    pub(super) edges: Vec<[usize; 2]>,
    pub(super) node_count: usize,
}

const DEGREE_MAX: usize = 6;

impl Graph {
    /// Draws a connected graph: a ring or a tree, with some further edges.
    pub(super) fn random(random: &mut Random) -> Self {
        let node_count = random.between(2, 10) as usize;
        let mut graph = Self {
            edges: Vec::new(),
            node_count,
        };
        let ring = node_count > 2 && random.below(3) > 0;
        for node in 1..node_count {
            let other = if ring {
                node - 1
            } else {
                random.below(node as u64) as usize
            };
            graph.add(node, other);
        }
        if ring {
            graph.add(0, node_count - 1);
        }
        for _ in 0..random.below(node_count as u64) {
            let [a, b] = [0; 2].map(|_| random.below(node_count as u64) as usize);
            graph.add(a, b);
        }
        graph
    }

    fn add(&mut self, a: usize, b: usize) {
        let known = self
            .edges
            .iter()
            .any(|edge| *edge == [a, b] || *edge == [b, a]);
        let room = |node: usize| {
            let edges = self.edges.iter().filter(|edge| edge.contains(&node));
            edges.count() < DEGREE_MAX
        };
        // The first edges connect the graph, so they always find room.
        let needed = self.edges.len() + 1 < self.node_count;
        if a != b && !known && (needed || room(a) && room(b)) {
            self.edges.push([a, b]);
        }
    }

    /// Iterates over neighbours of `node`, each with the edge that leads there.
    pub(super) fn neighbours(&self, node: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let edges = self.edges.iter().enumerate();
        edges.filter_map(move |(edge, [a, b])| match node {
            node if node == *a => Some((edge, *b)),
            node if node == *b => Some((edge, *a)),
            _ => None,
        })
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Style {
    /// Shortest paths.
    Shortest,
    /// Random paths, up to this many links.
    Wandering(usize),
    /// Along the first edges of the graph, from each node to the previous one, up to this many links. In a ring these are
    /// the paths around it, which close credit loops.
    Backwards(usize),
}

/// Routes to one node: for each node its distance along the longest route and the next edges. `None` if no route of
/// permitted length was found.
pub(super) type RoutesTo = Vec<Option<(usize, Vec<usize>)>>;

/// Finds routes to `target`. The distance decreases along each, so none is cyclic.
pub(super) fn routes_to(
    graph: &Graph,
    target: usize,
    style: Style,
    several: bool,
    random: &mut Random,
) -> RoutesTo {
    let mut routes: RoutesTo = vec![None; graph.node_count];
    routes[target] = Some((0, Vec::new()));
    loop {
        // Edges from nodes without a route to nodes with one.
        let mut open: Vec<(usize, usize, usize)> = Vec::new();
        for node in (0..graph.node_count).filter(|node| routes[*node].is_none()) {
            for (edge, next) in graph.neighbours(node) {
                if let Some((distance, _)) = routes[next] {
                    open.push((node, edge, distance + 1));
                }
            }
        }
        let longest = match style {
            Style::Shortest => open
                .iter()
                .map(|(_, _, distance)| *distance)
                .min()
                .unwrap_or(0),
            Style::Wandering(longest) | Style::Backwards(longest) => longest,
        };
        open.retain(|(node, edge, distance)| {
            let backwards = *edge == (node + graph.node_count - 1) % graph.node_count;
            *distance <= longest && (backwards || !matches!(style, Style::Backwards(_)))
        });
        if open.is_empty() {
            break;
        }
        let (node, edge, distance) = open[random.below(open.len() as u64) as usize];
        routes[node] = Some((distance, vec![edge]));
    }
    if several {
        add_members(graph, &mut routes, random);
    }
    routes
}

/// Adds other paths that are not longer to the same group.
fn add_members(graph: &Graph, routes: &mut RoutesTo, random: &mut Random) {
    let distances: Vec<Option<usize>> = routes
        .iter()
        .map(|route| route.as_ref().map(|(distance, _)| *distance))
        .collect();
    for (node, route) in routes.iter_mut().enumerate() {
        let Some((distance, edges)) = route else {
            continue;
        };
        for (edge, next) in graph.neighbours(node) {
            let nearer = distances[next].is_some_and(|other| other < *distance);
            if nearer && !edges.contains(&edge) && random.below(2) == 0 {
                edges.push(edge);
            }
        }
    }
}
