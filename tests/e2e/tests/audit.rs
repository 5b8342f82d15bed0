//! `switchctl audit` on a ring under load: at any time every frame and every chunk of packet memory is accounted for.

use std::path::Path;

use weir_api::audit::Audit;
use weir_lab::lab::switches::SwitchProcess;
use weir_tests::switches::switchctl;
use weir_tests::{scenario, tear_down, until, with_traffic};

/// Number for each of the four switches, while it forwards.
const AUDITS: usize = 100;
/// Minimum number of frames from neighbours received by each switch in the end.
const FRAMES_MIN: u64 = 2_000;

fn audit(switch: &SwitchProcess) -> Audit {
    let audit: Audit = switch.get("/v1/audit").unwrap();
    assert_eq!(
        audit.differences(),
        [],
        "{}: {audit:#?}",
        switch.config.name
    );
    audit
}

fn sum(audit: &Audit, of: fn(&weir_api::audit::PortAudit) -> u64) -> u64 {
    audit.ports.iter().map(of).sum()
}

/// Returns the output of a command that must succeed.
fn shown(socket: &Path, words: &[&str]) -> String {
    let output = switchctl(socket).args(words).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    text
}

#[test]
fn the_books_of_a_loaded_ring_balance_at_any_moment() {
    let scenario = scenario(
        "ring4.toml",
        &[
            "duration=600s",
            "deadlock.policy=breaker",
            "link-defaults.rate=25Mbit",
        ],
    );
    let mut stage = with_traffic(&scenario);
    until("every switch holds frames", || {
        let mut audits = stage.switches.iter().map(audit);
        audits
            .all(|audit| sum(&audit, |port| port.held) > 0)
            .then_some(())
    });
    let mut most_held = 0;
    for _ in 0..AUDITS {
        for switch in &stage.switches {
            let audit = audit(switch);
            most_held = most_held.max(sum(&audit, |port| port.held));
        }
    }
    assert!(most_held > 0, "the ring is loaded");
    let socket = &stage.switches[0].config.api_socket;
    let table = shown(socket, &["audit"]);
    assert!(table.ends_with("all is accounted for\n"), "{table}");
    let json = shown(socket, &["--json", "audit"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["differences"], serde_json::json!([]));
    until("every switch has seen enough", || {
        let mut audits = stage.switches.iter().map(audit);
        audits
            .all(|audit| sum(&audit, |port| port.received) >= FRAMES_MIN)
            .then_some(())
    });

    for host in &mut stage.hosts {
        host.stop_sending().unwrap();
    }
    until("nothing is held", || {
        let mut audits = stage.switches.iter().map(audit);
        audits
            .all(|audit| sum(&audit, |port| port.held) == 0)
            .then_some(())
    });
    for switch in &stage.switches {
        let audit = audit(switch);
        let admitted = sum(&audit, |port| port.admitted);
        assert_eq!(sum(&audit, |port| port.delivered), admitted);
        assert_eq!(
            sum(&audit, |port| port.sent_data),
            admitted,
            "nothing floods"
        );
    }
    tear_down(stage);
}
