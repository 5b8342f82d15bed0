//! Impairments as faults in virtual time: each acts like `switchctl impair` for the requested time, and after it everything
//! drains.

use std::path::Path;

use weir_config::scenario::Scenario;
use weir_core::counters::DropReason;
use weir_core::{Duration, Instant};
use weir_sim::network::Network;
use weir_sim::scenario::plan;

/// Two switches, a host at each, one flow in each direction, with `fault`; run for 20 ms and drained.
fn run(fault: &str) -> Network {
    run_at("500Mbit", fault)
}

/// Like [`run`], with another rate of the first flow.
fn run_at(rate: &str, fault: &str) -> Network {
    let text = format!(
        r#"
name = "two"
duration = "20ms"
[link-defaults]
rate = "1Gbit"
delay = "1us"
round-trip = "60us"
[topology]
kind = "line"
switches = 2
hosts = 1
[[class]]
name = "lossless"
priority = 3
mode = "pfc"
xoff = "30KiB"
xon = "24KiB"
headroom = "32KiB"
[deadlock]
detect = "1ms"
[[flow]]
name = "there"
from = "h1"
to = "h2"
class = "lossless"
rate = "{rate}"
[[flow]]
name = "back"
from = "h2"
to = "h1"
class = "lossless"
rate = "500Mbit"
{fault}
"#
    );
    let scenario = Scenario::parse(&text, Path::new("two.toml"), &[])
        .unwrap_or_else(|error| panic!("{error}"));
    let plan = plan(&scenario).unwrap_or_else(|error| panic!("{error}"));
    let mut network = Network::new(plan).unwrap_or_else(|error| panic!("{error}"));
    network.run_until(Instant::ZERO + Duration::from_millis(20));
    assert!(network.drain(Duration::from_millis(100), Duration::from_millis(400)));
    network
        .check_conservation()
        .unwrap_or_else(|error| panic!("{error}"));
    network
}

/// Impairs the port of s1 to h1.
fn at_h1(kind: &str, keys: &str) -> Network {
    run(&format!(
        "[[fault]]\nkind = \"{kind}\"\nswitch = \"s1\"\nport = \"h1\"\n{keys}\n"
    ))
}

fn impaired(network: &Network) -> u64 {
    network.counters().drops[DropReason::Impaired.index()]
}

/// Returns by flow the frames that did not arrive.
fn lost(network: &Network) -> Vec<u64> {
    let flows = network.flows().iter();
    flows.map(|flow| flow.sent - flow.received).collect()
}

#[test]
fn each_fourth_frame_is_dropped_and_no_other() {
    let network = at_h1("drop", "one-in = 4");
    let sent = network.flows()[0].sent;
    assert!(sent > 500, "{sent}");
    assert_eq!(impaired(&network), sent / 4);
    assert_eq!(lost(&network), [sent / 4, 0]);
    // From 5 ms to 10 ms, 500 Mbit/s of 1500 B are 208 frames.
    let network = at_h1("drop", "at = \"5ms\"\nfor = \"5ms\"");
    let dropped = impaired(&network);
    assert!((200..=215).contains(&dropped), "{dropped}");
    assert_eq!(lost(&network), [dropped, 0]);
    // Twice as long in halves has the same effect.
    let network = at_h1("drop", "for = \"1ms\"\nevery = \"4ms\"");
    let dropped = impaired(&network);
    assert!((200..=215).contains(&dropped), "{dropped}");
}

#[test]
fn filters_see_what_the_labs_hosts_send() {
    for (filter, is_all) in [
        ("udp and dst port 9 and src port 49152", true),
        ("priority 3 and src host 10.0.0.1", true),
        ("ether src 02:57:00:00:00:01 and greater 1500", true),
        ("ether src 02:57:00:00:00:02", false),
        ("priority 4 or tcp or control", false),
        ("less 1499", false),
    ] {
        let network = at_h1("drop", &format!("filter = \"{filter}\""));
        let sent = network.flows()[0].sent;
        // The last one arrives after its end.
        let expected = if is_all { sent - 1 } else { 0 };
        assert_eq!(lost(&network), [expected, 0], "{filter}");
        assert_eq!(impaired(&network), expected, "{filter}");
    }
}

#[test]
fn pauses_can_be_lost_on_their_way() {
    let storm = "[[fault]]\nkind = \"host-storm\"\nhost = \"h1\"\nat = \"2ms\"\nfor = \"1ms\"\n";
    let heard = |network: &Network| network.flows()[1].longest_gap();
    let with = run(storm);
    // 65535 quanta at 1 Gbit/s are 33 ms.
    assert!(
        heard(&with) > Duration::from_millis(30),
        "{:?}",
        heard(&with)
    );
    let drop =
        "[[fault]]\nkind = \"drop\"\nswitch = \"s1\"\nport = \"h1\"\nfilter = \"pfc and xoff\"\n";
    let without = run(&format!("{storm}{drop}"));
    assert!(heard(&without) < Duration::from_millis(1));
    assert!(impaired(&without) >= 1);
    assert_eq!(lost(&without), [0, 0]);
}

#[test]
fn a_tenth_is_late_and_overtaken() {
    let network = at_h1("delay", "by = \"5ms\"\none-in = 10");
    assert_eq!(lost(&network), [0, 0]);
    let [there, back] = network.flows() else {
        panic!("two flows");
    };
    assert!(there.delay_max > Duration::from_millis(5));
    assert!(back.delay_max < Duration::from_millis(1));
    assert!(there.reordered > 0 && back.reordered == 0);
    // Frames with equal delays keep their order.
    let network = at_h1("delay", "by = \"5ms\"");
    assert_eq!((network.flows()[0].reordered, impaired(&network)), (0, 0));
    // As many are kept as by the daemon.
    let delay = "[[fault]]\nkind = \"delay\"\nswitch = \"s1\"\nport = \"h1\"\nby = \"50ms\"\n";
    let network = run_at("line", delay);
    let sent = network.flows()[0].sent;
    assert!(sent > 1_500, "{sent}");
    assert_eq!(impaired(&network), sent - 1 - 1024);
}

#[test]
fn a_twentieth_is_marked() {
    let network = at_h1("mark", "one-in = 20");
    let flows = network.flows();
    assert_eq!(flows[0].marked, flows[0].sent / 20);
    assert_eq!(flows[1].marked, 0);
    assert_eq!(network.counters().marks, flows[0].marked);
    assert_eq!(lost(&network), [0, 0]);
}

#[test]
fn a_host_is_paused_for_a_part_of_the_time() {
    let network = at_h1(
        "pause",
        "priority = 3\non = \"1500us\"\nevery = \"2ms\"\nat = \"1ms\"",
    );
    let [there, back] = network.flows() else {
        panic!("two flows");
    };
    assert!(network.counters().xoff_sent >= 9);
    // At line rate this is half of the flow's amount in a quarter of the time.
    assert!(
        there.sent * 10 < back.sent * 7,
        "{} {}",
        there.sent,
        back.sent
    );
    assert!(there.longest_gap() > Duration::from_micros(1_400));
    assert_eq!(lost(&network), [0, 0]);
    // Once, and never again.
    let network = at_h1(
        "pause",
        "priority = 3\non = \"1ms\"\nevery = \"2ms\"\nat = \"5ms\"\nfor = \"1ms\"",
    );
    assert!((1..=2).contains(&network.counters().xoff_sent));
}

#[test]
fn a_link_is_taken_for_down_for_a_part_of_the_time() {
    let network = at_h1("flap", "on = \"1ms\"\nevery = \"4ms\"");
    let down = network.counters().drops[DropReason::PortDown.index()];
    // The host continues to send: a quarter of its frames is lost, and nothing else.
    let sent = network.flows()[0].sent;
    assert!(
        (sent / 5..=sent * 3 / 10).contains(&down),
        "{down} of {sent}"
    );
    assert_eq!(lost(&network), [down, 0]);
    assert!(network.flows()[1].longest_gap() >= Duration::from_micros(990));
}

#[test]
fn a_restart_ends_them_and_a_freeze_does_not() {
    let drop = "[[fault]]\nkind = \"drop\"\nswitch = \"s1\"\nport = \"h1\"\none-in = 2\n";
    let flap = "[[fault]]\nkind = \"flap\"\nswitch = \"s1\"\nport = \"h1\"\non = \"1ms\"\nevery = \"2ms\"\n";
    let late = "[[fault]]\nkind = \"delay\"\nswitch = \"s1\"\nport = \"s2\"\nby = \"3ms\"\n";
    let switch = |kind: &str| {
        format!("[[fault]]\nkind = \"{kind}\"\nswitch = \"s1\"\nat = \"10ms\"\nfor = \"1ms\"\n")
    };
    let whole = impaired(&run(drop));
    let restarted = impaired(&run(&format!("{drop}{}", switch("switch-restart"))));
    assert!((whole * 4 / 10..=whole * 6 / 10).contains(&restarted));
    let frozen = impaired(&run(&format!("{drop}{}", switch("switch-freeze"))));
    assert!(frozen.abs_diff(whole) <= 1, "{frozen} {whole}");
    let network = run(&format!("{flap}{}", switch("switch-restart")));
    let down = network.counters().drops[DropReason::PortDown.index()];
    let sent = network.flows()[0].sent;
    assert!(
        (sent / 5..=sent * 3 / 10).contains(&down),
        "{down} of {sent}"
    );
    // Delayed frames are lost with a stopped switch, and wait in a frozen one.
    let network = run(&format!("{late}{}", switch("switch-restart")));
    assert!(network.totals().lost_in_restarts > 100);
    let freeze = switch("switch-freeze").replace("1ms", "200us");
    let late = late.replace("3ms", "500us");
    let network = run(&format!("{late}{freeze}"));
    assert_eq!(lost(&network), [0, 0]);
    assert_eq!(network.flows()[1].reordered, 0);
}
