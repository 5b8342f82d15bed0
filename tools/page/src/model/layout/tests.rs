use super::*;
use proptest::prelude::*;

fn graph(has_hosts: &[bool], links: &[(usize, usize)]) -> Graph {
    let ordered = links.iter().map(|&(a, b)| (a.min(b), a.max(b)));
    Graph {
        has_hosts: has_hosts.to_vec(),
        links: ordered.collect(),
    }
}

#[test]
fn a_ring_is_a_circle_in_the_order_of_its_links() {
    // 0 - 2 - 1 - 3 - 0
    let layout = layout(&graph(&[true; 4], &[(0, 2), (2, 1), (1, 3), (3, 0)]));
    assert_eq!(layout.kind, Kind::Ring);
    let rounded: Vec<(i64, i64)> = layout
        .places
        .iter()
        .map(|(x, y)| ((x * 100.0).round() as i64, (y * 100.0).round() as i64))
        .collect();
    assert_eq!(rounded, [(50, 8), (50, 92), (76, 50), (24, 50)]);
}

#[test]
fn leaves_are_below_spines() {
    let links: Vec<_> = (0..4)
        .flat_map(|leaf| (4..6).map(move |spine| (leaf, spine)))
        .collect();
    let layout = layout(&graph(&[true, true, true, true, false, false], &links));
    assert_eq!(layout.kind, Kind::Layers);
    assert!(layout.places[..4]
        .iter()
        .all(|place| (place.1 - 0.88).abs() < 1e-9));
    assert!(layout.places[4..]
        .iter()
        .all(|place| (place.1 - 0.12).abs() < 1e-9));
}

#[test]
fn a_layer_that_is_too_wide_has_several_rows() {
    let links: Vec<_> = (0..80)
        .flat_map(|leaf| (80..90).map(move |spine| (leaf, spine)))
        .collect();
    let has_hosts: Vec<bool> = (0..90).map(|member| member < 80).collect();
    let layout = layout(&graph(&has_hosts, &links));
    let mut rows: Vec<i64> = layout.places[..80]
        .iter()
        .map(|place| (place.1 * 1e6).round() as i64)
        .collect();
    rows.sort_unstable();
    rows.dedup();
    assert_eq!(rows, [830_000, 880_000, 930_000]);
}

/// A fat tree of degree four: pods stay together.
#[test]
fn a_fat_tree_has_three_layers_and_its_pods_side_by_side() {
    let (edge, middle, core) = (0..8, 8..16, 16..20);
    let mut links = Vec::new();
    for pod in 0..4 {
        for low in 0..2 {
            for high in 0..2 {
                links.push((2 * pod + low, 8 + 2 * pod + high));
            }
        }
        for high in 0..2 {
            for top in 0..2 {
                links.push((8 + 2 * pod + high, 16 + 2 * high + top));
            }
        }
    }
    let has_hosts: Vec<bool> = (0..20).map(|member| edge.contains(&member)).collect();
    let layout = layout(&graph(&has_hosts, &links));
    assert_eq!(layout.kind, Kind::Layers);
    let at = |members: std::ops::Range<usize>| {
        members
            .map(|member| layout.places[member])
            .collect::<Vec<_>>()
    };
    assert!(at(edge).iter().all(|place| (place.1 - 0.88).abs() < 1e-9));
    assert!(at(middle).iter().all(|place| (place.1 - 0.5).abs() < 1e-9));
    assert!(at(core).iter().all(|place| (place.1 - 0.12).abs() < 1e-9));
    for pod in 0..4 {
        let (left, right) = (layout.places[2 * pod].0, layout.places[2 * pod + 1].0);
        assert!((left - right).abs() < 0.13, "pod {pod}: {left} {right}");
    }
}

#[test]
fn switches_with_hosts_beside_each_other_are_a_mesh() {
    let layout = layout(&graph(&[true; 4], &[(0, 1), (1, 2), (2, 3)]));
    assert_eq!(layout.kind, Kind::Forces);
    // A line stays a line: its ends are farthest from each other.
    let distance = |a: usize, b: usize| {
        let (a, b) = (layout.places[a], layout.places[b]);
        (a.0 - b.0).hypot(a.1 - b.1)
    };
    assert!(distance(0, 3) > distance(0, 2) && distance(0, 2) > distance(0, 1));
}

#[test]
fn parts_do_not_overlap() {
    let ring = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)];
    let layout = layout(&graph(&[true; 8], &ring));
    assert_eq!(layout.kind, Kind::Parts);
    let right = layout.places[..3]
        .iter()
        .map(|place| place.0)
        .fold(0.0, f64::max);
    let left = layout.places[3..6]
        .iter()
        .map(|place| place.0)
        .fold(1.0, f64::min);
    assert!(right < left, "{right} {left}");
    let below = layout.places[..6]
        .iter()
        .map(|place| place.1)
        .fold(0.0, f64::max);
    assert!(layout.places[6..].iter().all(|place| place.1 > below));
}

#[test]
fn nothing_is_a_layout_too() {
    assert_eq!(layout(&Graph::default()).places, []);
    assert_eq!(layout(&graph(&[false], &[])).places, [(0.5, 0.5)]);
}

proptest! {
    #[test]
    fn everything_has_a_place_of_its_own_and_always_the_same(
        hosts in proptest::collection::vec(any::<bool>(), 1..24),
        pairs in proptest::collection::vec((0_usize..24, 0_usize..24), 0..40),
    ) {
        let count = hosts.len();
        let links: Vec<_> = pairs.into_iter().filter(|(a, b)| a != b && *a < count && *b < count).collect();
        let graph = graph(&hosts, &links);
        let made = layout(&graph);
        prop_assert_eq!(&made, &layout(&graph));
        prop_assert_eq!(made.places.len(), count);
        for (index, (x, y)) in made.places.iter().enumerate() {
            prop_assert!((0.0..=1.0).contains(x) && (0.0..=1.0).contains(y), "{x} {y}");
            for other in &made.places[..index] {
                prop_assert!((x - other.0).hypot(y - other.1) > 1e-4, "{made:?}");
            }
        }
    }
}
