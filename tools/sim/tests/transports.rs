//! Flows with congestion control across switches: all frames are accounted for, and lost ones are repeated.

use std::path::Path;

use weir_config::scenario::Scenario;
use weir_config::Override;
use weir_core::{Duration, Instant, Priority};
use weir_sim::network::{Flow, Network};
use weir_sim::scenario::{plan, run, Options};

/// Two switches; three hosts of the first send to hosts of the second over one link.
const DUMBBELL: &str = r#"
name = "dumbbell"
duration = "20ms"
seed = 1

[link-defaults]
rate = "10Gbit"
delay = "2us"

[[class]]
name = "lossy"
priority = 1
mode = "lossy"
buffer = "60kB"

[[class]]
name = "lossless"
priority = 3
mode = "pfc"
xoff = "60KiB"
xon = "52KiB"
headroom = "64KiB"
ecn-kmin = "5kB"
ecn-kmax = "50kB"

[[class]]
name = "answers"
priority = 6
mode = "lossy"
buffer = "60kB"

[topology]
kind = "line"
switches = 2
hosts = 3

[window]
timeout-min = "1ms"
"#;

fn dumbbell(keys: &str, overrides: &[&str]) -> Scenario {
    let mut text = DUMBBELL.to_owned();
    for host in 1..=3 {
        let to = host + 3;
        text += &format!(
            "[[flow]]\nname = \"f{host}\"\nfrom = \"h{host}\"\nto = \"h{to}\"\nframe = \"1024B\"\n{keys}\n"
        );
    }
    let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    Scenario::parse(&text, Path::new("dumbbell.toml"), &overrides).unwrap()
}

/// Runs until `millis`, checking the accounts regularly.
fn network(scenario: &Scenario, millis: u64) -> Network {
    let mut network = Network::new(plan(scenario).unwrap()).unwrap();
    for step in 1..=millis * 20 {
        network.run_until(Instant::ZERO + Duration::from_micros(50 * step));
        network.check_conservation().unwrap();
    }
    network
}

fn sum(network: &Network, of: impl Fn(&Flow) -> u64) -> u64 {
    network.flows().iter().map(of).sum()
}

#[test]
fn bursts_arrive_whole_though_frames_are_dropped() {
    for transport in ["tahoe", "reno", "vegas"] {
        let keys = format!("class = \"lossy\"\nsize = \"2MB\"\ntransport = \"{transport}\"");
        let network = network(&dumbbell(&keys, &["duration=200ms"]), 200);
        for flow in network.flows() {
            assert_eq!(flow.received_bytes, 2_000_000, "{transport}");
            assert!(flow.window().unwrap().is_done(), "{transport}");
        }
        let lost = sum(&network, |flow| flow.sent - flow.received);
        assert_eq!(lost, network.totals().dropped, "{transport}");
        let repeated = sum(&network, |flow| flow.repeated);
        assert!(repeated >= lost, "{transport}: {repeated} for {lost}");
        // Vegas notices the queue and loses none.
        assert_eq!(lost == 0, transport == "vegas", "{transport}: {lost}");
        // The reverse path is free: every answer arrives. Neither frames in flight nor timers are left.
        assert_eq!(
            sum(&network, |flow| flow.answers_sent),
            sum(&network, |flow| flow.received)
        );
        assert_eq!(
            sum(&network, |flow| flow.answers_received),
            sum(&network, |flow| flow.answers_sent)
        );
        assert_eq!(network.frames_in_network(), 0);
    }
}

#[test]
fn windows_fill_the_link_and_share_it() {
    for (transport, least) in [("tahoe", 0.6), ("reno", 0.75), ("vegas", 0.9)] {
        let keys = format!("class = \"lossy\"\ntransport = \"{transport}\"");
        let network = network(&dumbbell(&keys, &["duration=40ms"]), 40);
        let bits = 8 * sum(&network, |flow| flow.received_bytes);
        let share = bits as f64 / (10e9 * 0.04);
        assert!(share > least && share < 1.0, "{transport}: {share}");
        for flow in network.flows() {
            let part = 8.0 * flow.received_bytes as f64 / bits as f64;
            assert!(part > 0.1, "{transport}: {part}");
        }
    }
}

/// Vegas keeps between α and β frames of each flow in the queue once it has found its rate, and then loses none.
#[test]
fn vegas_keeps_queues_short() {
    let keys = "class = \"lossy\"\ntransport = \"vegas\"";
    let mut network = network(&dumbbell(keys, &["duration=60ms"]), 40);
    let dropped = network.totals().dropped;
    let (mut most, mut total) = (0, 0);
    for step in 1..=1000 {
        network.run_until(Instant::ZERO + Duration::from_micros(40_000 + 20 * step));
        let port = network.switch(0).config().ports.len() - 1;
        let waiting: u64 = (0..=port)
            .filter_map(weir_core::PortId::from_index)
            .map(|port| network.switch(0).occupancy(port, Priority::ALL[1]).1.get())
            .sum();
        most = most.max(waiting);
        total += waiting;
    }
    assert_eq!(network.totals().dropped, dropped);
    assert!(most < 20 * 1024, "{most}");
    assert!(total / 1000 > 1024, "{total}");
}

#[test]
fn dcqcn_spares_pfc_and_its_notifications_have_a_class_of_their_own() {
    let open = network(&dumbbell("class = \"lossless\"", &[]), 20);
    let keys = "class = \"lossless\"\ntransport = \"dcqcn\"\nanswer-class = \"answers\"";
    let dcqcn = network(&dumbbell(keys, &[]), 20);
    let pauses = |network: &Network| network.counters().xoff_sent;
    assert!(pauses(&open) > 10 * pauses(&dcqcn).max(1));
    assert_eq!(open.totals().dropped + dcqcn.totals().dropped, 0);
    let answers = sum(&dcqcn, |flow| flow.answers_sent);
    assert!(answers > 10, "{answers}");
    let by_class = |network: &Network, priority: usize| {
        (0..network.switch(1).config().ports.len())
            .filter_map(weir_core::PortId::from_index)
            .map(|port| network.switch(1).counters(port).priority[priority].rx_frames)
            .sum::<u64>()
    };
    // Answers of the hosts at the second switch; one may be in flight.
    assert!(by_class(&dcqcn, 6).abs_diff(answers) <= 3);
    for flow in dcqcn.flows() {
        let point = flow.reaction_point().unwrap();
        assert_eq!(point.cuts(), flow.answers_received);
        assert!(flow.marked >= flow.answers_sent);
    }
}

/// Data in one direction, acknowledgements of other data in the other, all in one lossless class.
#[test]
fn answers_wait_for_pauses_like_other_frames() {
    let mut text = DUMBBELL.to_owned();
    for (name, from, to, transport) in [
        ("there", 1, 4, "reno"),
        ("back-1", 5, 2, "open"),
        ("back-2", 6, 2, "open"),
        ("back-3", 4, 2, "open"),
    ] {
        text += &format!("[[flow]]\nname = \"{name}\"\nfrom = \"h{from}\"\nto = \"h{to}\"\nclass = \"lossless\"\ntransport = \"{transport}\"\n");
    }
    let scenario = Scenario::parse(&text, Path::new("x.toml"), &[]).unwrap();
    let network = network(&scenario, 20);
    assert_eq!(network.totals().dropped, 0);
    let there = &network.flows()[0];
    assert!(there.received > 100 && there.answers_received > 100);
    assert!(there.answers_received <= there.answers_sent && there.answers_sent <= there.received);
}

#[test]
fn runs_end_empty_and_the_same_each_time() {
    for transport in ["dcqcn", "tahoe", "reno", "vegas"] {
        let class = if transport == "dcqcn" {
            "lossless"
        } else {
            "lossy"
        };
        let keys = format!("class = \"{class}\"\ntransport = \"{transport}\"");
        let scenario = dumbbell(&keys, &[]);
        let result = || run(&scenario, Options::default()).unwrap();
        let (first, second) = (result(), result());
        assert_eq!(
            serde_json::to_string(&first).unwrap(),
            serde_json::to_string(&second).unwrap(),
            "{transport}"
        );
        assert!(!first.deadlocked, "{transport}");
        for flow in &first.flows {
            assert_eq!(flow.in_flight, 0, "{transport}");
            assert_eq!(flow.duplicated, 0, "{transport}");
        }
    }
}
