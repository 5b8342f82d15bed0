//! A ring of switches that learn addresses: the loop is found and broken, and hosts reach each other, each frame once.

use weir_api::daemon::{Event, EventPage};
use weir_lab::lab::switches::SwitchProcess;
use weir_tests::{until, Bench};

fn events(switch: &SwitchProcess, kind: &str) -> Vec<Event> {
    let page: EventPage = switch.get("/v1/events?after=0").unwrap();
    let events = page.events.into_iter();
    events.filter(|event| event.kind == kind).collect()
}

/// Ports that flood nothing, over all switches.
fn blocked(bench: &Bench) -> usize {
    let switches = std::iter::once(&bench.switch).chain(&bench.others);
    let blocked = |switch: &SwitchProcess| {
        let begun = events(switch, "forwarding_loop").len();
        begun - events(switch, "forwarding_loop_ended").len()
    };
    switches.map(blocked).sum()
}

#[test]
fn a_ring_that_learns_is_broken_once_and_hosts_hear_each_frame_once() {
    let bench = Bench::of("ring4.toml", &["link-defaults.rate=25Mbit"], |config| {
        config.forwarding.learning = true;
        config.routes.clear();
    });
    until("the loop is broken", || {
        (blocked(&bench) == 1).then_some(())
    });
    bench.give_addresses();
    // Who has the address is asked by a broadcast, which goes round no more.
    let ping = ["ping", "-c", "5", "-i", "0.2", "-W", "20", "10.99.0.2"];
    let text = until("what went round before is gone", || {
        let output = bench
            .command("h1", ping[0])
            .args(&ping[1..])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.contains(" 0% packet loss").then_some(text)
    });
    assert!(!text.contains("DUP!"), "{text}");
    assert_eq!(blocked(&bench), 1);
    bench.end();
}
