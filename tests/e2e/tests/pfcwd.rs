//! The PFC storm watchdog with real frames: a host pauses one priority without end.

use std::time::Duration;

use weir_api::client::{self, Method};
use weir_api::daemon::Queue;
use weir_api::pfcwd::{Pfcwd, PfcwdChange, PfcwdQueue, PfcwdSettings};
use weir_config::daemon::PfcwdConfig;
use weir_lab::lab::switches::SwitchProcess;
use weir_tests::scapy::Scapy;
use weir_tests::switches::events;
use weir_tests::{until, Bench, LOSSLESS};

/// At this rate a pause of 65535 quanta lasts 3.4 s: no test machine is too slow to refresh it.
const RATE: &str = "link-defaults.rate=10Mbit";
const HOLD: &str = "bytes.fromhex('0180c2000001025700000002' '8808' '0101' '0008' '000000000000' 'ffff') + bytes(34)";
const RESUME: &str = "bytes.fromhex('0180c2000001025700000002' '8808' '0101' '0008') + bytes(42)";
const FRAMES: u32 = 20;
const BACK: &str = "Ether(src='02:57:00:00:00:02', dst='02:57:00:00:00:01') / Dot1Q(vlan=0, prio=3) / Raw(bytes(200))";

fn frame(priority: u8, bytes: usize) -> String {
    format!(
        "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:02') / Dot1Q(vlan=0, prio={priority}) \
         / Raw(bytes({bytes}))"
    )
}

fn pfcwd(switch: &SwitchProcess, port: &str) -> PfcwdQueue {
    let all: Pfcwd = switch.get("/v1/pfcwd").unwrap();
    let mut queues = all.queues.into_iter();
    queues
        .find(|queue| queue.port == port && queue.priority == LOSSLESS)
        .unwrap()
}

fn queue(switch: &SwitchProcess) -> Queue {
    let all: Vec<Queue> = switch.get("/v1/queues").unwrap();
    let mut all = all.into_iter();
    all.find(|queue| queue.port == "h2" && queue.priority == LOSSLESS)
        .unwrap()
}

/// A priority of the implicit class is listed once it has carried a frame.
fn others_sent(switch: &SwitchProcess) -> u64 {
    let all: Vec<Queue> = switch.get("/v1/queues").unwrap();
    let mut all = all.iter();
    all.find(|queue| queue.port == "h2" && queue.priority == 0)
        .map_or(0, |queue| queue.tx_frames_total)
}

fn watch(switch: &SwitchProcess, action: &str) {
    let change = PfcwdChange {
        ports: vec!["h2".to_owned()],
        watchdog: Some(PfcwdSettings {
            action: action.into(),
            detection_milliseconds: 200,
            restoration_milliseconds: 200,
        }),
    };
    let limit = Duration::from_secs(30);
    let socket = &switch.config.api_socket;
    let all: Pfcwd = client::send(socket, Method::PUT, "/v1/pfcwd", Some(&change), limit).unwrap();
    let port = all.ports.iter().find(|port| port.port == "h2").unwrap();
    assert_eq!(port.watchdog, change.watchdog);
}

/// Waits while `host` continues its storm.
fn until_in_storm<T>(host: &mut Scapy, what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    until(what, || {
        host.send(1, HOLD);
        condition()
    })
}

#[test]
fn a_storm_meets_each_action_and_ends() {
    let bench = Bench::new(&[RATE], |_| {});
    let switch = &bench.switch;
    let mut h1 = Scapy::start(&bench, "h1");
    let mut h2 = Scapy::start(&bench, "h2");
    let n = u64::from(FRAMES);
    let mut dropped = 0;
    let (held, other) = (frame(LOSSLESS, 200), frame(0, 200));
    for (number, action) in (1..).zip(["alert", "drop", "forward"]) {
        watch(switch, action);
        let sent = queue(switch).tx_frames_total;
        h2.send(1, HOLD);
        until_in_storm(&mut h2, "the priority is paused", || {
            bench.pfc("h2").paused.then_some(())
        });
        h1.send(FRAMES, &held);
        let storm = until_in_storm(&mut h2, "a storm is called", || {
            let queue = pfcwd(switch, "h2");
            (queue.storms_detected_total == number).then_some(queue)
        });
        assert_eq!(storm.status, "stormed");
        assert_eq!(
            storm.action.as_ref().map(|word| word.as_str()),
            Some(action)
        );

        // Other priorities are not affected.
        let others = others_sent(switch);
        h1.send(FRAMES, &other);
        until_in_storm(&mut h2, "other priorities flow", || {
            (others_sent(switch) >= others + n).then_some(())
        });

        // Frames of the host in the priority that it pauses are received.
        h2.send(FRAMES, BACK);
        until_in_storm(&mut h2, "its own frames are counted", || {
            let queue = pfcwd(switch, "h2");
            let counts = (queue.last_received_frames, queue.received_frames_total);
            (counts == (n, number * n)).then_some(())
        });

        h1.send(FRAMES, &held);
        match action {
            "alert" => {
                until_in_storm(&mut h2, "all wait", || {
                    (queue(switch).egress_frames == 2 * n).then_some(())
                });
                assert_eq!(queue(switch).tx_frames_total, sent);
            }
            "drop" => {
                dropped += 2 * n;
                until_in_storm(&mut h2, "what waited and what came is dropped", || {
                    (pfcwd(switch, "h2").dropped_frames_total == dropped).then_some(())
                });
                assert_eq!(queue(switch).tx_frames_total, sent);
                assert_eq!(bench.drops("h1", "storm"), dropped);
            }
            _ => {
                until_in_storm(&mut h2, "all leave against the pause", || {
                    (pfcwd(switch, "h2").forwarded_frames_total == 2 * n).then_some(())
                });
                assert!(bench.pfc("h2").paused);
                let now = queue(switch).tx_frames_total;
                assert_eq!(now, sent + 2 * n);
            }
        }
        let lasting = pfcwd(switch, "h2");
        assert_eq!(lasting.storms_restored_total, number - 1, "it lasts");

        h2.send(1, RESUME);
        until("the storm is over", || {
            let queue = pfcwd(switch, "h2");
            (queue.storms_restored_total == number).then_some(())
        });
        let over = pfcwd(switch, "h2");
        assert_eq!(over.status, "operational");
        let [forwarded, lost] = ["forward", "drop"].map(|of| if of == action { 2 * n } else { 0 });
        let last = [over.last_forwarded_frames, over.last_dropped_frames];
        assert_eq!(last, [forwarded, lost]);
        assert_eq!(over.last_received_frames, n);
        let waited = if action == "drop" { 0 } else { 2 * n };
        h1.send(1, &held);
        until("frames flow again", || {
            let sent_now = queue(switch).tx_frames_total;
            (sent_now == sent + waited + 1).then_some(())
        });
    }
    assert_eq!(pfcwd(switch, "h2").dropped_frames_total, dropped);
    assert_eq!(bench.drops("h1", "storm"), dropped);
    for kind in ["storm_detected", "storm_restored"] {
        let events = events(switch, kind);
        assert_eq!(events.len(), 3, "{events:?}");
        for event in events {
            let place = (event.port.as_deref(), event.priority);
            assert_eq!(place, (Some("h2"), Some(LOSSLESS)));
        }
    }
    assert!(events(switch, "loop_found").is_empty());
    drop((h1, h2));
    bench.end();
}

/// Two switches: the one next to the storm's origin declares it, the other one knows from LLDP that it is a victim.
#[test]
fn a_storm_is_called_where_it_comes_from_and_not_at_its_victim() {
    let overrides = [RATE, "class.lossless.mode=pfc", "deadlock.policy=breaker"];
    let bench = Bench::of("gateway.toml", &overrides, |config| {
        let mut pfcwd = PfcwdConfig {
            enabled: Some(true),
            ..PfcwdConfig::default()
        };
        if config.name == "s2" {
            // Late enough for the victim's watchdog to react first.
            pfcwd.detection = weir_core::Duration::from_millis(3_000);
        }
        config.pfcwd = pfcwd;
    });
    let (s1, s2) = (&bench.switch, &bench.others[0]);
    until("the switches know each other", || {
        let hears = |switch: &SwitchProcess| {
            let all: Vec<weir_api::neighbors::Neighbor> = switch.get("/v1/neighbors").unwrap();
            all.iter().any(|neighbour| neighbour.weir.is_some())
        };
        (hears(s1) && hears(s2)).then_some(())
    });
    let mut h1 = Scapy::start(&bench, "h1");
    let mut h2 = Scapy::start(&bench, "h2");
    h2.send(1, HOLD);
    // More than s2 buffers before it pauses s1.
    h1.send(200, &frame(LOSSLESS, 1000));
    until_in_storm(&mut h2, "the victim is told apart", || {
        let dismissed = events(s1, "no_storm");
        dismissed.first().map(|event| {
            assert_eq!(event.port.as_deref(), Some("s2"));
            assert_eq!(event.details["reason"], "neighbour_judges");
        })
    });
    until_in_storm(&mut h2, "the storm is called at its origin", || {
        (pfcwd(s2, "h2").storms_detected_total == 1).then_some(())
    });
    until_in_storm(&mut h2, "the fabric is free", || {
        let held = |switch: &SwitchProcess| switch.status().unwrap().held_frames;
        (held(s1) + held(s2) == 0).then_some(())
    });
    assert_eq!(pfcwd(s1, "s2").storms_detected_total, 0);
    assert_eq!(pfcwd(s2, "h2").dropped_frames_total, 200);
    assert!(s1.status().unwrap().drops_total.is_empty());
    for switch in [s1, s2] {
        assert!(events(switch, "loop_found").is_empty());
    }
    drop((h1, h2));
    bench.end();
}
