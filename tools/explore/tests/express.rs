//! Foundation of the express path: a frame that a switch would forward at once changes nothing in it except the round-robin
//! position, under PFC, with Levels, and while a loop is released. Such a frame may therefore bypass the switch.

use weir_core::random::SplitMix64;
use weir_explore::cases;
use weir_explore::node::{Input, Node, Output};
use weir_explore::plan::{Facing, Mode, Plan};

use crate::walk::Walker;

const WALKS: u64 = 40;
const STEPS: usize = 60;

#[derive(Debug, Default)]
struct Seen {
    passed: usize,
    held: usize,
}

/// Walks through states of a switch and passes it a frame wherever one may bypass it.
fn walk(name: &str, plan: &Plan, node: usize, seen: &mut Seen) {
    let mut walker = Walker::new(plan, node);
    let start = Node::new(plan, node).unwrap();
    for walk in 0..WALKS {
        let mut random = SplitMix64::new(walk);
        let mut here = start.clone();
        for step in 0..STEPS {
            let input = walker.choose(&mut random);
            here.step(plan, &mut walker.frames, input).unwrap();
            for (port, facing) in plan.nodes[node].ports.iter().enumerate() {
                if *facing != Facing::Sink {
                    let what = format!(
                        "{name}, switch {node}, walk {walk}, step {step} ({input:?}), port {port}"
                    );
                    try_all(plan, node, &mut walker, &here, port as u8, &what, seen);
                }
            }
        }
    }
}

/// Tries a frame from `port` for each destination that it may bypass the switch to.
fn try_all(
    plan: &Plan,
    node: usize,
    walker: &mut Walker,
    here: &Node,
    port: u8,
    what: &str,
    seen: &mut Seen,
) {
    for (destination, &egress) in plan.nodes[node].routes.iter().enumerate() {
        let destination = destination as u8;
        if egress == port {
            continue;
        }
        if !here.lets_pass(port, egress) {
            seen.held += 1;
            continue;
        }
        let mut there = here.clone();
        let mut step = |node: &mut Node, input| node.step(plan, &mut walker.frames, input).unwrap();
        let receive = Input::Receive { port, destination };
        assert_eq!(step(&mut there, receive), Output::Nothing, "{what}");
        let ingress = port;
        let gone = Output::Data {
            ingress,
            destination,
        };
        let transmit = Input::Transmit { port: egress };
        assert_eq!(step(&mut there, transmit), gone, "{what}");
        // Both check for messages to the ingress neighbour, and have the same ones.
        let mut here = here.clone();
        let told = step(&mut here, Input::Transmit { port });
        assert_eq!(step(&mut there, Input::Transmit { port }), told, "{what}");
        let digest = |node: &Node| node.digest_without_turns().unwrap();
        assert_eq!(digest(&there), digest(&here), "{what}");
        seen.passed += 1;
    }
}

#[test]
fn a_frame_that_passes_leaves_no_trace() {
    let mut all = [Seen::default(), Seen::default()];
    for case in cases::all() {
        let mut plan = case.plan;
        let mut has_levels = true;
        if let Mode::Pfc { xoff, xon, .. } = &mut plan.mode {
            // A single frame does not fill a buffer up to xoff.
            (*xoff, *xon) = ((*xoff).max(2), (*xon).max(1));
            has_levels = false;
        }
        // The detector remembers movement until its next check.
        plan.timed = false;
        for node in 0..plan.nodes.len() {
            walk(case.name, &plan, node, &mut all[usize::from(has_levels)]);
        }
    }
    for seen in all {
        assert!(seen.passed > 10_000 && seen.held > 10_000, "{seen:?}");
    }
}
