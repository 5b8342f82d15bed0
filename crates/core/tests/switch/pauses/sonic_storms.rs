//! SONiC's public tests of a switch's storm watchdog, applied to this switch: see the book's
//! `experiments/sonic-cases.md`.

use super::*;

/// Returns storms without their times, in order.
fn places(storms: &[(PortId, Priority, Instant)]) -> Vec<(PortId, Priority)> {
    let mut places: Vec<_> = storms.iter().map(|(port, of, _)| (*port, *of)).collect();
    places.sort_unstable();
    places
}

/// A sender that was paused because of frames of a storm's victim continues once they are dropped, and is not paused
/// again.
#[test]
fn a_storm_frees_the_buffer_that_it_has_filled() {
    let mut node = Node::new(config());
    let priority = support::PRIORITY;
    node.pfc(&[priority], Quanta::MAX);
    let mut offered = 0;
    while node.gauges(SENDER, priority).headroom_used == Bytes::ZERO {
        assert!(node.offer(PAUSING, priority));
        offered += 1;
    }
    assert!(node.gauges(SENDER, priority).pausing);
    node.run(Duration::from_millis(60), |node| {
        node.pfc(&[priority], Quanta::MAX);
    });
    assert_eq!(places(&node.called), [(PAUSING, priority)]);
    assert_eq!(node.dropped(SENDER, DropReason::Storm), offered);
    assert_eq!(node.dropped(SENDER, DropReason::HeadroomExceeded), 0);
    let gauges = node.gauges(SENDER, priority);
    assert_eq!((gauges.ingress, gauges.pausing), (Bytes::ZERO, false));
    let xoffs = node.xoffs_sent(SENDER);
    assert!(xoffs > 0);
    // More frames than the buffer has room for arrive during the storm.
    for _ in 0..200 {
        node.offer(PAUSING, priority);
    }
    node.run(Duration::from_millis(80), |_| ());
    assert_eq!(places(&node.ended), [(PAUSING, priority)]);
    let before = node.left[PAUSING.index()][priority.index()];
    for _ in 0..20 {
        assert!(node.offer(PAUSING, priority));
    }
    node.run(Duration::from_millis(5), |_| ());
    assert_eq!(
        node.left[PAUSING.index()][priority.index()],
        before + 20,
        "they leave"
    );
    assert_eq!(node.xoffs_sent(SENDER), xoffs, "nobody is paused again");
    assert_eq!(node.dropped(SENDER, DropReason::Storm), offered + 200);
}

/// Two ports, in the same lossless priority and in different ones.
#[test]
fn storms_at_one_port_after_the_other_begin_and_end_each_by_itself() {
    for [first, second] in [[LOSSLESS[0]; 2], LOSSLESS] {
        let mut node = Node::new(config());
        node.pausing = vec![PAUSING, OTHER];
        let calm = LOSSLESS.into_iter().find(|priority| *priority != first);
        let calm = calm.unwrap();
        let mut others = 0;
        node.run(Duration::from_millis(40), |node| {
            node.pfc_from(PAUSING, &[first], Quanta::MAX);
            node.offer(PAUSING, first);
            others += u64::from(node.offer(PAUSING, calm));
        });
        assert_eq!(places(&node.called), [(PAUSING, first)]);
        node.run(Duration::from_millis(40), |node| {
            node.pfc_from(PAUSING, &[first], Quanta::MAX);
            node.pfc_from(OTHER, &[second], Quanta::MAX);
            node.offer(OTHER, second);
            others += u64::from(node.offer(PAUSING, calm));
        });
        let both = [(PAUSING, first), (OTHER, second)];
        assert_eq!(places(&node.called), both);
        assert!(node.ended.is_empty(), "{:?}", node.ended);
        assert_eq!(others, 80, "the other lossless priority is in no storm");
        assert_eq!(node.left[PAUSING.index()][calm.index()], others);
        // The first one ends, and its frames flow while the second one lasts.
        node.run(Duration::from_millis(80), |node| {
            node.pfc_from(OTHER, &[second], Quanta::MAX);
        });
        assert_eq!(places(&node.ended), both[..1]);
        assert!(node.offer(PAUSING, first));
        node.run(Duration::from_millis(1), |_| ());
        assert_eq!(node.gauges(PAUSING, first).egress_frames, 0);
        assert!(node.gauges(OTHER, second).storm.is_some());
        node.run(Duration::from_millis(80), |_| ());
        assert_eq!(places(&node.ended), both);
        assert_eq!(places(&node.called), both, "none comes back");
    }
}

#[test]
fn storms_at_all_ports_are_reported_and_end() {
    let mut node = Node::new(config());
    node.pausing = ALL_PORTS.to_vec();
    node.run(Duration::from_millis(60), |node| {
        for (from, to) in [(SENDER, PAUSING), (PAUSING, OTHER), (OTHER, SENDER)] {
            node.pfc_from(to, &LOSSLESS, Quanta::MAX);
            for priority in LOSSLESS {
                node.offer_from(from, to, priority);
            }
        }
    });
    let all: Vec<_> = ALL_PORTS
        .into_iter()
        .flat_map(|port| LOSSLESS.map(|priority| (port, priority)))
        .collect();
    assert_eq!(places(&node.called), all);
    assert!(node.ended.is_empty(), "{:?}", node.ended);
    node.run(Duration::from_millis(80), |_| ());
    assert_eq!(places(&node.ended), all);
    assert_eq!(places(&node.called), all);
    for (from, to) in [(SENDER, PAUSING), (PAUSING, OTHER), (OTHER, SENDER)] {
        for priority in LOSSLESS {
            let before = node.left[to.index()][priority.index()];
            assert!(node.offer_from(from, to, priority));
            node.until(
                |_| (),
                |node| node.left[to.index()][priority.index()] == before + 1,
            );
        }
    }
}

#[test]
fn thresholds_change_while_a_storm_lasts() {
    let mut node = Node::new(config());
    let small = PfcThresholds::new(
        Bytes::new(24 * 1024),
        Bytes::new(16 * 1024),
        Bytes::new(16 * 1024),
    );
    let (small, large) = (small.unwrap(), node.thresholds());
    let mut storms = 0;
    for (turn, change) in [Some(small), None, Some(large), None]
        .into_iter()
        .enumerate()
    {
        let priority = LOSSLESS[turn % 2];
        node.run(Duration::from_millis(60), |node| {
            node.pfc(&[priority], Quanta::MAX);
            node.offer(PAUSING, priority);
        });
        storms += 1;
        assert_eq!(node.called.len(), storms);
        for of in LOSSLESS {
            let mut class = node.switch.config().classes[of.index()];
            let Some(thresholds) = change else { continue };
            class.mode = ClassMode::Pfc(thresholds);
            let priority = of;
            let command = Command::SetClass { priority, class };
            node.switch.apply(node.now, command).unwrap();
        }
        node.run(Duration::from_millis(10), |node| {
            node.pfc(&[priority], Quanta::MAX);
            node.offer(PAUSING, priority);
        });
        assert_eq!(node.ended.len(), storms - 1, "it lasts");
        node.run(Duration::from_millis(80), |_| ());
        assert_eq!(node.ended.len(), storms);
        let before = node.left[PAUSING.index()][priority.index()];
        assert!(node.offer(PAUSING, priority));
        node.run(Duration::from_millis(1), |_| ());
        assert_eq!(node.left[PAUSING.index()][priority.index()], before + 1);
    }
    let lost = node.switch.counters(SENDER).drops_total();
    assert_eq!(lost, node.dropped(SENDER, DropReason::Storm));
}

#[test]
fn a_link_that_goes_and_comes_back_makes_no_storm() {
    let mut node = Node::new(config());
    let priority = support::PRIORITY;
    node.run(Duration::from_millis(60), |node| {
        node.pfc(&[priority], Quanta::MAX);
        node.offer(PAUSING, priority);
    });
    node.run(Duration::from_millis(80), |_| ());
    let once = [(PAUSING, priority)];
    assert_eq!(places(&node.ended), once);
    let before = node.left[PAUSING.index()][priority.index()];
    for up in [false, true] {
        let port = PAUSING;
        let command = Command::SetLink { port, up };
        node.switch.apply(node.now, command).unwrap();
        if !up {
            // Frames wait for longer than the detection time, but for no pause.
            assert!(node.offer(PAUSING, priority));
            let end = node.now + Duration::from_millis(60);
            node.until(|_| (), |node| node.now >= end);
        }
    }
    node.run(Duration::from_millis(60), |node| {
        assert!(node.offer(PAUSING, priority));
    });
    assert_eq!(places(&node.called), once);
    let left = node.left[PAUSING.index()][priority.index()];
    assert_eq!(left, before + 61);
}

/// Replaces a switch, as by a restart: the new one has the same configuration, knows no earlier messages, and assumes
/// that every neighbour pauses it.
fn restarted(old: Node) -> Node {
    // The switch's own configuration has no routes.
    let mut node = Node::new(SwitchConfig {
        routes: config().routes,
        ..old.switch.config().clone()
    });
    node.now = old.now;
    let command = Command::AssumePaused;
    node.switch.apply(node.now, command).unwrap();
    node
}

/// A storm that continues over a restart, one that ends while no switch runs, and none.
#[test]
fn storms_are_reported_and_end_before_and_after_a_restart() {
    let priority = support::PRIORITY;
    for [before, after] in [[true, true], [true, false], [false, true], [false, false]] {
        let mut config = config();
        for port in &mut config.ports {
            // Longer than any pause.
            port.watchdog = Some(WatchdogConfig {
                detection: Duration::from_millis(40),
                ..WATCHDOG
            });
        }
        let round = |node: &mut Node, is_storm: bool| {
            node.run(Duration::from_millis(60), |node| {
                if is_storm {
                    node.pfc(&[priority], Quanta::MAX);
                }
                node.offer(PAUSING, priority);
            });
        };
        let mut node = Node::new(config);
        round(&mut node, before);
        assert_eq!(node.called.len(), usize::from(before));
        let mut node = restarted(node);
        round(&mut node, after);
        let expected = usize::from(after);
        assert_eq!(node.called.len(), expected, "{before} {after}");
        node.run(Duration::from_millis(80), |_| ());
        assert_eq!(node.ended.len(), expected, "{before} {after}");
        // The watchdog works as before.
        round(&mut node, true);
        assert_eq!(node.called.len(), expected + 1);
        node.run(Duration::from_millis(80), |_| ());
        assert_eq!(node.ended.len(), expected + 1);
        let lost = node.switch.counters(SENDER).drops_total();
        assert_eq!(lost, node.dropped(SENDER, DropReason::Storm));
        assert!(lost > 0);
    }
}

/// For the longest pause time it waits for neighbours that may have paused its predecessor. A neighbour that has paused
/// nothing sends nothing, and that is no storm, however short the detection time and the window for the share of paused
/// time.
#[test]
fn pauses_assumed_after_a_restart_are_no_storm() {
    let priority = support::PRIORITY;
    for detection in [10, 4, 2] {
        let mut config = config();
        for port in &mut config.ports {
            port.role = PortRole::Edge;
            port.watchdog = Some(WatchdogConfig {
                detection: Duration::from_millis(detection),
                ..WATCHDOG
            });
        }
        let mut node = restarted(Node::new(config));
        for count in 1..=5 {
            assert!(node.offer(PAUSING, priority));
            node.run(Duration::from_millis(4), |_| ());
            assert_eq!(node.gauges(PAUSING, priority).egress_frames, count, "held");
        }
        node.run(Duration::from_millis(20), |_| ());
        assert_eq!(node.left[PAUSING.index()][priority.index()], 5);
        assert!(node.called.is_empty(), "{:?}", node.called);
        // Messages of the neighbour count.
        node.run(Duration::from_millis(30), |node| {
            node.pfc(&[priority], Quanta::MAX);
            node.offer(PAUSING, priority);
        });
        assert_eq!(places(&node.called), [(PAUSING, priority)]);
    }
}

/// Never earlier than configured, and at most a sample (an eighth of the shorter time) and a tick later.
#[test]
fn storms_are_reported_and_end_within_the_configured_times() {
    let priority = support::PRIORITY;
    for (detection, restoration) in [(20, 40), (40, 20), (200, 200), (400, 100)] {
        let mut config = config();
        let [detection, restoration] = [detection, restoration].map(Duration::from_millis);
        for port in &mut config.ports {
            port.watchdog = Some(WatchdogConfig {
                detection,
                restoration,
                ..WATCHDOG
            });
        }
        let shorter = detection.min(restoration).as_nanos();
        let late = Duration::from_nanos(shorter / 8) + TICK;
        let in_time = |since: Instant, at: Instant, time: Duration| {
            let took = at.saturating_since(since);
            assert!(took >= time && took <= time + late, "{time:?}: {took:?}");
        };
        let mut node = Node::new(config);
        for round in 1..=20 {
            // The phase of samples is independent of the storms.
            let start = node.now + TICK.saturating_mul(7 * round as u64);
            node.until(|_| (), |node| node.now >= start);
            node.pfc(&[priority], Quanta::MAX);
            assert!(node.offer(PAUSING, priority));
            let began = node.now;
            node.until(
                |node| node.pfc(&[priority], Quanta::MAX),
                |node| node.called.len() == round,
            );
            in_time(began, node.called[round - 1].2, detection);
            node.pfc(&[priority], Quanta::ZERO);
            let over = node.now;
            node.until(|_| (), |node| node.ended.len() == round);
            in_time(over, node.ended[round - 1].2, restoration);
        }
    }
}

impl Node {
    /// Pauses the host's port until the dataplane reports a stall.
    fn stall(&mut self, priority: Priority) {
        self.pfc(&[priority], Quanta::MAX);
        assert!(self.offer(PAUSING, priority));
        loop {
            let due = self.switch.next_timer().expect("something is sampled");
            self.now = self.now.max(due);
            self.switch.handle_timeout(self.now);
            let next = self.switch.next_timer();
            assert!(next > Some(due), "the same timer again");
            let event = self.switch.poll_event().map(|event| event.kind);
            if matches!(event, Some(EventKind::PauseStalled { .. })) {
                return;
            }
        }
    }
}

#[test]
fn stalls_and_storms_are_shown_and_counted_and_nothing_is_sampled_afterwards() {
    let mut node = Node::new(SwitchConfig {
        detector: None,
        ..config()
    });
    let priority = support::PRIORITY;
    assert_eq!(node.switch.watchdog(PAUSING), Some(WATCHDOG));
    for storms in 1..=2 {
        node.stall(priority);
        assert!(node.gauges(PAUSING, priority).stalled);
        let (egress, now) = (PAUSING, node.now);
        let call = Command::CallStorm { egress, priority };
        node.switch.apply(now, call).unwrap();
        assert!(!node.gauges(PAUSING, priority).stalled, "it is a storm now");
        node.run(Duration::from_millis(80), |_| ());
        let counters = node.switch.counters(PAUSING).priority[priority.index()];
        let counted = (counters.storms_detected, counters.storms_restored);
        assert_eq!(counted, (storms, storms));
        assert_eq!(node.switch.next_timer(), None);
    }
}

#[test]
fn a_storm_counts_only_its_own_forwarded_frames() {
    let mut config = config();
    for port in &mut config.ports {
        port.watchdog = Some(WatchdogConfig {
            action: StormAction::Forward,
            ..WATCHDOG
        });
    }
    let mut node = Node::new(config);
    let priority = support::PRIORITY;
    for frames in [3, 5] {
        node.run(Duration::from_millis(40), |node| {
            node.pfc(&[priority], Quanta::MAX);
            if node.gauges(PAUSING, priority).egress_frames < frames {
                node.offer(PAUSING, priority);
            }
        });
        node.run(Duration::from_millis(80), |_| ());
    }
    assert_eq!(places(&node.ended), [(PAUSING, priority); 2]);
    let all = node.switch.counters(PAUSING).priority[priority.index()].storm_forwarded;
    let last = node.gauges(PAUSING, priority).storm_frames.last_forwarded;
    assert!(0 < last && last < all, "{last} of {all}");
}
