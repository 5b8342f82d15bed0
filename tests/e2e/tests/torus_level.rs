//! A torus of nine real switches under Levels: with links whose round trip matters, no flow starves.

use weir_tests::{run_as_expected, scenario};

/// Maximum stall of a flow relative to a run. In virtual time none exceeds a hundredth with any coding of Feedback
/// (`tools/sim/tests/levels_starve_nobody.rs`).
const PART: f64 = 0.25;

#[test]
fn no_flow_of_a_torus_of_three_by_three_starves() {
    let result = run_as_expected(&scenario("torus3.toml", &[]));
    assert!(result.drops.is_empty(), "{:?}", result.drops);
    assert_eq!(result.flows.len(), 27);
    for flow in &result.flows {
        let kept = (flow.lost, flow.reordered, flow.corrupted, flow.duplicated);
        assert_eq!(kept, (0, 0, 0, 0), "{flow:?}");
        assert_eq!(flow.sent, flow.received, "all has drained: {flow:?}");
        let longest = flow.longest_stall_seconds;
        assert!(longest < PART * result.duration_seconds, "{flow:?}");
    }
}
