//! Headroom by cable length in virtual time: with the derived headroom nothing is lost, and it is used up to a frame; with
//! 60 % less something is lost.

use std::path::{Path, PathBuf};

use weir_config::scenario::Scenario;
use weir_config::Override;
use weir_core::{Bytes, DropReason, Instant, PortId, Priority};
use weir_sim::network::Network;
use weir_sim::scenario::plan;

const PRIORITY: Priority = Priority::ALL[3];

fn scenario(changes: &[String]) -> Scenario {
    let file: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/cable.toml");
    let parsed: Vec<Override> = changes
        .iter()
        .map(|change| change.parse().unwrap())
        .collect();
    Scenario::load(&file, &parsed).unwrap()
}

struct Seen {
    headroom: Bytes,
    /// Maximum used by any port.
    used: Bytes,
    lost: u64,
}

/// Runs it with `percent` of the headroom derived from the cables.
fn run(changes: &[String], percent: u64) -> Seen {
    let scenario = scenario(changes);
    let mut plan = plan(&scenario).unwrap();
    let core = &mut plan.switches[0].config;
    let mut headroom = Bytes::ZERO;
    for port in &mut core.ports {
        let room = port.cable.as_mut().unwrap();
        headroom = room.headroom;
        room.headroom = Bytes::new(room.headroom.get() * percent / 100);
    }
    let ports = core.ports.len();
    let mut network = Network::new(plan).unwrap();
    let end = Instant::ZERO + scenario.duration;
    network.run_until(end);
    let gauges = |port| {
        let port = PortId::from_index(port).unwrap();
        network.switch(0).gauges(end, port, PRIORITY)
    };
    let used = (0..ports).map(|port| gauges(port).headroom_used_max);
    Seen {
        headroom,
        used: used.max().unwrap(),
        lost: network.counters().drops[DropReason::HeadroomExceeded.index()],
    }
}

fn link(rate: &str, cable: &str, duration: &str) -> Vec<String> {
    vec![
        format!("duration={duration}"),
        format!("link-defaults.rate={rate}"),
        format!("link-defaults.cable={cable}"),
    ]
}

/// Rates, lengths from a rack to a city, and sending times of hosts, long enough to fill buffers.
const LINES: [(&str, &str, &str); 7] = [
    ("1Gbit", "5m", "2ms"),
    ("1Gbit", "10km", "2ms"),
    ("10Gbit", "40m", "300us"),
    ("10Gbit", "2km", "300us"),
    ("25Gbit", "300m", "150us"),
    ("100Gbit", "40m", "60us"),
    ("100Gbit", "2km", "100us"),
];

#[test]
fn what_follows_from_a_cable_is_enough_and_no_more_than_that() {
    for (rate, cable, duration) in LINES {
        let seen = run(&link(rate, cable, duration), 100);
        assert_eq!(seen.lost, 0, "{rate}, {cable}");
        let (used, headroom) = (seen.used.get(), seen.headroom.get());
        println!("{rate}, {cable}: {used} of {headroom} used");
        // The egress drains a quarter of what arrives meanwhile, and not every pause waits for a frame of our own.
        assert!(
            used * 100 >= headroom * 60,
            "{rate}, {cable}: {used} of {headroom}"
        );
    }
}

#[test]
fn sixty_percent_less_lose_frames() {
    for (rate, cable, duration) in LINES {
        let seen = run(&link(rate, cable, duration), 40);
        println!("{rate}, {cable}: {} frames lost", seen.lost);
        assert!(
            seen.lost > 0,
            "{rate}, {cable}: {} of {}",
            seen.used,
            seen.headroom
        );
    }
}
