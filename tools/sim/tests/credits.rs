//! Classes with credits: nothing is lost whatever stops, and no credit leaks.

use std::fmt::Write;
use std::path::Path;

use weir_config::scenario::Scenario;
use weir_core::credit::CreditState;
use weir_core::{Duration, Instant, PortId, PortRole, Priority};
use weir_sim::network::Network;
use weir_sim::random::Random;
use weir_sim::scenario::plan;

const P3: Priority = Priority::ALL[3];

const PFC: &str = "mode = \"pfc\"\nxoff = \"128KiB\"\nxon = \"96KiB\"\nheadroom = \"128KiB\"";
/// With the same memory.
const CREDIT: &str = "mode = \"credit\"\ncredit-limit = \"256KiB\"";

fn network(text: &str) -> Network {
    let scenario = Scenario::parse(text, Path::new("credits.toml"), &[])
        .unwrap_or_else(|error| panic!("{error}"));
    let plan = plan(&scenario).unwrap_or_else(|error| panic!("{error}"));
    Network::new(plan).unwrap_or_else(|error| panic!("{error}"))
}

/// Switches in a line, with a host at each and a flow from end to end.
fn chain(class: &str, seconds: u32, faults: &str) -> Network {
    network(&chain_text(class, seconds, faults))
}

fn chain_text(class: &str, seconds: u32, faults: &str) -> String {
    format!(
        r#"
name = "chain"
duration = "{seconds}s"
[link-defaults]
rate = "200Mbit"
delay = "10us"
[topology]
kind = "line"
switches = 2
hosts = 1
[[class]]
name = "lossless"
priority = 3
{class}
[deadlock]
detect = "20s"
[[flow]]
name = "there"
from = "h1"
to = "h2"
class = "lossless"
frame = "1500B"
[[flow]]
name = "back"
from = "h2"
to = "h1"
class = "lossless"
frame = "300B"
rate = "20Mbit"
{faults}
"#
    )
}

fn fault(kind: &str, rest: &str) -> String {
    format!("[[fault]]\nkind = \"{kind}\"\n{rest}\n")
}

/// Runs to the end and drains. Returns the frames sent, and those lost for any reason.
fn finish(network: &mut Network, seconds: u64) -> (u64, u64) {
    network.run_until(Instant::ZERO + Duration::from_secs(seconds));
    let is_empty = network.drain(Duration::from_secs(1), Duration::from_secs(20));
    assert!(is_empty, "{} frames stay", network.frames_in_network());
    network.check_conservation().unwrap();
    for flow in network.flows() {
        assert_eq!(flow.reordered, 0);
    }
    let sent = network.flows().iter().map(|flow| flow.sent).sum();
    let received: u64 = network.flows().iter().map(|flow| flow.received).sum();
    (sent, sent - received)
}

/// Both ends of every link agree, and all credits are back.
fn assert_no_leak(network: &mut Network) {
    let later = network.now() + Duration::from_secs(1);
    network.run_until(later);
    let mut limit = 0;
    for index in 0..network.plan().switches.len() {
        let switch = network.switch(index);
        for port in (0..switch.config().ports.len()).filter_map(PortId::from_index) {
            let gauges = switch
                .credit_gauges(port, P3)
                .expect("a class with credits");
            let (sending, receiving) = (gauges.sending, gauges.receiving);
            assert_eq!(sending.state, CreditState::Credits, "{index} {port}");
            assert_eq!(sending.used, 0, "{index} {port}: {gauges:?}");
            assert_eq!(receiving.outstanding, receiving.limit, "{index} {port}");
            limit = receiving.limit;
        }
    }
    for host in 0..network.plan().hosts.len() {
        let (used, given) = network.credits_of_host(host, P3).expect("credits");
        assert_eq!((used, given), (0, limit), "host {host}");
    }
}

#[test]
fn a_switch_that_stands_still_loses_frames_under_pfc_and_none_under_credits() {
    let freezes = (0..4).fold(String::new(), |mut text, index| {
        let at = 1 + 3 * index;
        let rest = format!("switch = \"s2\"\nat = \"{at}s\"\nfor = \"2s\"");
        let _ = write!(text, "{}", fault("switch-freeze", &rest));
        text
    });
    let mut with_pfc = chain(PFC, 12, &freezes);
    let (sent, lost) = finish(&mut with_pfc, 12);
    println!("pfc: {lost} of {sent} lost");
    assert!(lost > 10_000, "{lost} of {sent}");

    let mut with_credits = chain(CREDIT, 12, &freezes);
    let (sent, lost) = finish(&mut with_credits, 12);
    println!("credits: {lost} of {sent} lost");
    // 200 Mbit/s for 4 s of 12, plus a little.
    assert!(sent > 60_000, "{sent}");
    assert_eq!(lost, 0);
    assert_no_leak(&mut with_credits);
}

#[test]
fn credits_carry_what_pfc_carries() {
    let sent = [PFC, CREDIT].map(|class| {
        let mut network = chain(class, 2, "");
        let (sent, lost) = finish(&mut network, 2);
        assert_eq!(lost, 0);
        sent
    });
    println!("{sent:?}");
    assert!(sent[1] * 100 >= sent[0] * 98, "{sent:?}");
}

/// The losses last to the end, until all credits are back. At a delay of 1 ms the first limit is what full
/// rate needs, the second four times as much. Prints the table of the book.
#[test]
fn lost_control_frames_cost_no_frame_and_no_credit() {
    for (limit, least) in [("100KiB", [100, 99, 94, 75]), ("400KiB", [100, 99, 99, 99])] {
        let class = format!("mode = \"credit\"\ncredit-limit = \"{limit}\"");
        let mut without = None;
        for (percent, least) in [0, 1, 10, 50].into_iter().zip(least) {
            let faults = match percent {
                0 => String::new(),
                _ => fault(
                    "control-loss",
                    &format!("probability = 0.{percent:02}\nat = \"0s\""),
                ),
            };
            let text = chain_text(&class, 60, &faults).replace("10us", "1ms");
            let mut network = network(&text);
            let (sent, lost) = finish(&mut network, 10);
            let without = *without.get_or_insert(sent);
            assert_eq!(lost, 0, "{percent} %");
            assert_no_leak(&mut network);
            let [told, heard] = updates_between_switches(&network);
            let exceeded =
                network.counters().drops[weir_core::DropReason::HeadroomExceeded.index()];
            assert_eq!(exceeded, 0, "{percent} %");
            println!(
                "{limit} {percent} %: {sent} frames, {:.1} %, {} of {told} messages lost",
                sent as f64 * 100.0 / without as f64,
                told - heard
            );
            assert!(
                (told - heard) * 100 >= told * percent * 8 / 10,
                "{percent} %: {heard} of {told}"
            );
            assert!(
                sent * 100 >= without * least,
                "{percent} %: {sent} of {without}"
            );
        }
    }
}

/// Returns the messages about credits that both switches have sent each other, and those that have arrived.
fn updates_between_switches(network: &Network) -> [u64; 2] {
    let mut sums = [0; 2];
    for index in 0..2 {
        let switch = network.switch(index);
        let ports = switch.config().ports.iter();
        let between = ports
            .enumerate()
            .filter(|(_, port)| port.role != PortRole::Edge);
        for port in between.filter_map(|(port, _)| PortId::from_index(port)) {
            let gauges = switch.credit_gauges(port, P3).unwrap();
            for [sent, received, ..] in [gauges.sender_updates, gauges.receiver_updates] {
                sums[0] += sent;
                sums[1] += received;
            }
        }
    }
    sums
}

#[test]
fn repeated_control_frames_cost_no_frame_and_no_credit() {
    let rest = "probability = 0.2\nat = \"0s\"\nfor = \"1s\"";
    let mut network = chain(CREDIT, 2, &fault("control-duplication", rest));
    let (_, lost) = finish(&mut network, 2);
    assert_eq!(lost, 0);
    assert_no_leak(&mut network);
}

#[test]
fn a_restart_loses_what_was_there_and_leaks_nothing() {
    for (kind, rest, most) in [
        // Content of the switch, and arrivals during its absence: at most the credits that it has given.
        ("switch-restart", "switch = \"s2\"", 1_000),
        ("switch-restart", "switch = \"s1\"", 1_000),
    ] {
        let rest = format!("{rest}\nat = \"500ms\"\nfor = \"200ms\"");
        let mut network = chain(CREDIT, 2, &fault(kind, &rest));
        let (sent, lost) = finish(&mut network, 2);
        println!("{kind} {rest}: {lost} of {sent}");
        assert!(sent > 20_000, "{kind}: {sent}");
        assert!(lost <= most, "{kind}: {lost} of {sent}");
        let exceeded = network.counters().drops[weir_core::DropReason::HeadroomExceeded.index()];
        assert_eq!(exceeded, 0, "{kind}");
        assert_no_leak(&mut network);
    }
}

/// Rings that lock, with the Deadlock Breaker, while switches freeze occasionally.
#[test]
fn frozen_rings_lose_nothing_and_go_on() {
    for switches in 3..=6usize {
        let mut random = Random::new(switches as u64);
        let mut text = String::from(
            r#"
name = "ring"
duration = "6s"
[link-defaults]
rate = "100Mbit"
delay = "10us"
[[class]]
name = "lossless"
priority = 3
mode = "credit"
credit-limit = "64KiB"
[deadlock]
policy = "breaker"
detect = "20ms"
clcm-interval = "5ms"
release = "10ms"
[routing]
mode = "explicit"
"#,
        );
        let behind = |index: usize, by: usize| (index + by) % switches + 1;
        for index in 0..switches {
            let (own, next, last) = (index + 1, behind(index, 1), behind(index, 2));
            let _ = write!(
                text,
                r#"
[[switch]]
name = "s{own}"
[[host]]
name = "h{own}"
switch = "s{own}"
[[link]]
ends = ["s{own}", "s{next}"]
[[route]]
to = "h{last}"
via = ["s{own}", "s{next}", "s{last}"]
[[flow]]
name = "f{own}"
from = "h{own}"
to = "h{last}"
class = "lossless"
frame = "1500B"
"#
            );
        }
        // Another host, which breaks the symmetry.
        let target = behind(0, 2);
        let _ = write!(
            text,
            "[[host]]\nname = \"more\"\nswitch = \"s1\"\n[[flow]]\nname = \"more\"\nfrom = \"more\"\nto = \"h{target}\"\nclass = \"lossless\"\n"
        );
        for _ in 0..20 {
            let (switch, at) = (1 + random.below(switches as u64), random.below(5_000));
            let lasts = 1 + random.below(300);
            let rest = format!("switch = \"s{switch}\"\nat = \"{at}ms\"\nfor = \"{lasts}ms\"");
            let _ = write!(text, "{}", fault("switch-freeze", &rest));
        }
        let mut network = network(&text);
        let (sent, lost) = finish(&mut network, 6);
        println!("{switches} switches: {lost} of {sent} lost");
        assert_eq!(lost, 0, "{switches} switches");
        assert!(sent > 10_000, "{switches} switches: {sent}");
    }
}

/// PFC that pauses a neighbour no earlier than credits would run out.
const DEEP_PFC: &str = "mode = \"pfc\"\nxoff = \"256KiB\"\nxon = \"192KiB\"\nheadroom = \"128KiB\"";

/// Frames wait for a link in either mode, for the 100 ms of `link-down-hold`. Those on the wire are lost.
#[test]
fn a_flap_loses_no_more_than_under_pfc() {
    for millis in [1, 20, 90, 200] {
        let rest = format!("link = [\"s1\", \"s2\"]\nat = \"500ms\"\nfor = \"{millis}ms\"");
        let [by_pfc, by_credits] = [DEEP_PFC, CREDIT].map(|class| {
            let mut network = chain(class, 2, &fault("link-down", &rest));
            let (sent, lost) = finish(&mut network, 2);
            if class == CREDIT {
                assert_no_leak(&mut network);
            }
            let late = network.counters().drops[weir_core::DropReason::PortDown.index()];
            println!("{millis} ms: {lost} of {sent} lost, {late} as port_down");
            assert_eq!(late > 0, millis > 100);
            (lost, late)
        });
        // The number on the wire differs between the two.
        assert!(by_credits.0 - by_credits.1 <= by_pfc.0 - by_pfc.1 + 1);
        assert!(
            by_credits.1 <= by_pfc.1 * 101 / 100,
            "{by_credits:?}, {by_pfc:?}"
        );
    }
}

/// Kills of either switch, while links flap and the other one is frozen.
#[test]
fn a_thousand_kills_leak_no_credit_and_lose_no_more_than_under_pfc() {
    const NETWORKS: u64 = 25;
    const KILLS: u64 = 40;
    let mut all_lost = [0, 0];
    for seed in 0..NETWORKS {
        let mut random = Random::new(seed);
        let mut faults = String::new();
        for kill in 0..KILLS {
            let (killed, other) = match random.below(2) {
                0 => (1, 2),
                _ => (2, 1),
            };
            let at = 100 + 60 * kill + random.below(10);
            let lasts = 1 + random.below(30);
            let rest = format!("switch = \"s{killed}\"\nat = \"{at}ms\"\nfor = \"{lasts}ms\"");
            faults += &fault("switch-restart", &rest);
            let (at, lasts) = (at + random.below(40), 1 + random.below(8));
            let when = format!("at = \"{at}ms\"\nfor = \"{lasts}ms\"");
            faults += &match random.below(3) {
                0 => fault("link-down", &format!("link = [\"s1\", \"s2\"]\n{when}")),
                1 => fault("switch-freeze", &format!("switch = \"s{other}\"\n{when}")),
                _ => String::new(),
            };
        }
        for (class, all_lost) in [PFC, CREDIT].into_iter().zip(&mut all_lost) {
            let mut network = chain(class, 3, &faults);
            let (sent, lost) = finish(&mut network, 3);
            assert!(sent > 10_000, "{seed}: {sent}");
            *all_lost += lost;
            if class == CREDIT {
                let drops = network.counters().drops;
                let exceeded = drops[weir_core::DropReason::HeadroomExceeded.index()];
                assert_eq!(exceeded, 0, "{seed}");
                assert_no_leak(&mut network);
            }
        }
    }
    println!("lost under PFC and under credits: {all_lost:?}");
    assert!(all_lost[1] <= all_lost[0], "{all_lost:?}");
}
