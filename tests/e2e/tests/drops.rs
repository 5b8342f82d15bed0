//! Drops below the switch, in one table with its own.

use serde_json::Value;
use weir_tests::scapy::Scapy;
use weir_tests::switches::switchctl;
use weir_tests::{until, Bench};

/// LLDP goes to the kernel; where no agent listens, the kernel drops it, and says why.
#[test]
fn drops_of_the_kernel_s_stack_have_its_reason_and_a_remedy() {
    const FRAMES: u64 = 5;
    let bench = Bench::of("one-switch.toml", &[], |config| config.lldp.enabled = false);
    let counted = || {
        let counts = bench.port("h1").stack_drops_total;
        counts.get("unhandled_proto").copied().unwrap_or(0)
    };
    let mut h1 = Scapy::start(&bench, "h1");
    let frame = "Ether(dst='01:80:c2:00:00:0e', type=0x88cc) / Raw(bytes(46))";
    // The device is watched soon after the start.
    until("a frame is counted", || {
        h1.send(1, frame);
        (counted() > 0).then_some(())
    });
    let before = counted();
    h1.send(FRAMES as u32, frame);
    until("each is counted", || {
        (counted() >= before + FRAMES).then_some(())
    });
    let metric = bench.metric("weir_stack_drops_total{port=\"h1\",reason=\"unhandled_proto\"}");
    assert!(metric >= before + FRAMES);
    let unlost = bench.metric("weir_stack_drops_total{port=\"h2\",reason=\"cpu_backlog\"}");
    assert_eq!(unlost, 0);
    let output = switchctl(&bench.switch.config.api_socket)
        .args(["--json", "drops", "h1"])
        .output()
        .unwrap();
    let drops: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let of_stack = drops.iter().find(|drop| drop["layer"] == "stack").unwrap();
    assert_eq!(of_stack["reason"], "unhandled_proto");
    assert!(of_stack["frames_total"].as_u64() >= Some(before + FRAMES));
    let remedy = of_stack["remedy"].as_str().unwrap();
    assert!(remedy.contains("does not speak its protocol"), "{remedy}");
    drop(h1);
    bench.end();
}
