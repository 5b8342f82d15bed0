//! What SONiC's public tests ask of a switch's watchdog, counters, watermarks and buffers, asked of this one. The book's page
//! `experiments/sonic-cases.md` says which of them, and what the answers are.

use weir_core::{ClassMode, DropReason, PfcThresholds};

use super::*;

const ALL_PORTS: [PortId; 3] = [SENDER, PAUSING, OTHER];
const LOSSY: Priority = Priority::ALL[0];
const LOSSLESS: [Priority; 2] = [support::PRIORITY, Priority::ALL[4]];

impl Node {
    fn thresholds(&self) -> PfcThresholds {
        match self.switch.config().classes[support::PRIORITY.index()].mode {
            ClassMode::Pfc(thresholds) => thresholds,
            other => panic!("{other:?}"),
        }
    }

    fn gauges(&self, port: PortId, priority: Priority) -> weir_core::switch::PriorityGauges {
        self.switch.gauges(self.now, port, priority)
    }

    fn dropped(&self, port: PortId, reason: DropReason) -> u64 {
        self.switch.counters(port).drops[reason.index()]
    }

    fn xoffs_sent(&self, port: PortId) -> u64 {
        self.switch.counters(port).priority[support::PRIORITY.index()].xoff_sent
    }

    /// Steps with a `pause` before each, until `condition` holds.
    fn until(&mut self, mut pause: impl FnMut(&mut Self), condition: impl Fn(&Self) -> bool) {
        for _ in 0..100_000 {
            if condition(self) {
                return;
            }
            pause(self);
            self.step();
        }
        panic!("not within {:?}", TICK.saturating_mul(100_000));
    }
}

/// Storms without their moments, in order.
fn places(storms: &[(PortId, Priority, Instant)]) -> Vec<(PortId, Priority)> {
    let mut places: Vec<_> = storms.iter().map(|(port, of, _)| (*port, *of)).collect();
    places.sort_unstable();
    places
}

#[test]
fn pauses_begin_at_xoff_and_end_at_xon_and_only_what_exceeds_the_headroom_is_lost() {
    let mut node = Node::new(config());
    let priority = support::PRIORITY;
    let limits = node.thresholds();
    node.pfc(&[priority], Quanta::MAX);
    let (mut charged, mut each) = (Bytes::ZERO, Bytes::ZERO);
    while node.offer(PAUSING, priority) {
        let gauges = node.gauges(SENDER, priority);
        each = gauges.ingress - charged;
        charged = gauges.ingress;
        assert_eq!(gauges.pausing, charged >= limits.xoff(), "{charged}");
        let above = charged.saturating_sub(limits.xoff());
        assert_eq!(gauges.headroom_used, above);
        assert_eq!(gauges.headroom_used_max, above);
        assert_eq!(gauges.ingress_max, charged);
        assert_eq!(node.switch.counters(SENDER).drops_total(), 0);
    }
    assert!(charged + each > limits.xoff() + limits.headroom());
    assert_eq!(told(&mut node, SENDER), [true]);
    // One is lost, and counted where it came in.
    let counters = node.switch.counters(SENDER);
    assert_eq!(counters.drops_total(), 1);
    assert_eq!(counters.drops[DropReason::HeadroomExceeded.index()], 1);
    assert_eq!(counters.priority[priority.index()].headroom_dropped, 1);
    // Neither the other priority nor the same one of another port is full.
    assert!(node.offer(PAUSING, LOSSLESS[1]));
    assert!(node.offer_from(OTHER, PAUSING, priority));
    assert_eq!(node.switch.counters(OTHER).drops_total(), 0);

    node.pfc(&[priority], Quanta::ZERO);
    let mut said = Vec::new();
    while node.gauges(SENDER, priority).ingress > Bytes::ZERO {
        node.now = node.now + TICK;
        node.switch.handle_timeout(node.now);
        // The other priority is in between.
        let Some(Transmission::Data { handle, .. }) = node.switch.transmit(node.now, PAUSING)
        else {
            continue;
        };
        let freed = node.switch.complete(node.now, PAUSING, handle);
        node.free.extend(freed);
        let gauges = node.gauges(SENDER, priority);
        assert_eq!(gauges.pausing, gauges.ingress > limits.xon());
        said.extend(told(&mut node, SENDER));
        assert_eq!(said.contains(&false), !gauges.pausing, "told at once");
    }
    assert_eq!(said.iter().filter(|xoff| !**xoff).count(), 1, "{said:?}");
    assert_eq!(said.last(), Some(&false));
}

#[test]
fn a_lossy_priority_loses_what_exceeds_its_buffer_and_pauses_nobody() {
    let mut node = Node::new(config());
    let ClassMode::Lossy { buffer } = node.switch.config().classes[LOSSY.index()].mode else {
        panic!("priority 0 is lossy");
    };
    let mut taken = 0;
    while node.offer(PAUSING, LOSSY) {
        taken += 1;
    }
    let gauges = node.gauges(SENDER, LOSSY);
    let each = Bytes::new(gauges.ingress.get() / taken);
    assert!(gauges.ingress <= buffer && gauges.ingress + each > buffer);
    assert_eq!(node.dropped(SENDER, DropReason::BufferFull), 1);
    assert!(!gauges.pausing);
    assert_eq!(told(&mut node, SENDER), [false; 0]);
    // For another host there is no more room either; from another port there is: buffers are those of ingress ports.
    assert!(!node.offer(OTHER, LOSSY));
    assert!(node.offer_from(OTHER, PAUSING, LOSSY));
    node.until(|_| (), |node| node.switch.held_frames() == 0);
    assert_eq!(node.left[PAUSING.index()][0], taken + 1);
    assert!(node.offer(PAUSING, LOSSY), "there is room again");
}

#[test]
fn each_queue_of_each_port_has_a_peak_of_its_own() {
    let mut node = Node::new(config());
    let count = |egress: PortId, priority: Priority| match egress {
        SENDER => 0,
        _ => 1 + priority.index() as u64 + 8 * u64::from(egress.get() - 1),
    };
    for egress in [PAUSING, OTHER] {
        for priority in Priority::ALL {
            for _ in 0..count(egress, priority) {
                assert!(node.offer(egress, priority));
            }
        }
    }
    node.until(|_| (), |node| node.switch.held_frames() == 0);
    for restarted in [false, true] {
        for (port, priority) in ALL_PORTS
            .into_iter()
            .flat_map(|port| Priority::ALL.map(|priority| (port, priority)))
        {
            let gauges = node.gauges(port, priority);
            assert_eq!(gauges.egress, Bytes::ZERO);
            let peak = if restarted { 0 } else { count(port, priority) };
            let peak = LENGTH.get() * peak;
            assert_eq!(gauges.egress_max.get(), peak, "{port:?} {priority}");
        }
        node.switch.restart_peaks();
    }
}

/// A sender that was paused for frames of a storm's victim goes on once they are dropped, and is not paused anew.
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
    // More than the buffer has room for comes while the storm lasts.
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
fn storms_at_all_ports_are_called_and_end() {
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

/// A switch that stands where another one stood, as after a restart: it has the same configuration, knows nothing of what was
/// said before, and takes every neighbour for one that pauses it.
fn restarted(old: Node) -> Node {
    let mut node = Node::new(old.switch.config().clone());
    node.now = old.now;
    let command = Command::AssumePaused;
    node.switch.apply(node.now, command).unwrap();
    node
}

/// A storm that goes on over a restart, one that ends while no switch is there, and none.
#[test]
fn storms_are_called_and_end_before_and_after_a_restart() {
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
        // The watchdog is as good as before.
        round(&mut node, true);
        assert_eq!(node.called.len(), expected + 1);
        node.run(Duration::from_millis(80), |_| ());
        assert_eq!(node.ended.len(), expected + 1);
        let lost = node.switch.counters(SENDER).drops_total();
        assert_eq!(lost, node.dropped(SENDER, DropReason::Storm));
        assert!(lost > 0);
    }
}

/// Never earlier than what is configured, and no later than a sample, an eighth of the shorter time, and a tick.
#[test]
fn storms_are_called_and_end_in_the_times_that_are_configured() {
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
            // Samples and storms have nothing to do with each other.
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

/// PFC by its priority, whether it pauses or resumes; PAUSE as none of them.
#[test]
fn pauses_and_resumes_are_counted_by_priority_and_pause_is_no_pfc() {
    let mut node = Node::new(config());
    for quanta in [Quanta::MAX, Quanta::ZERO] {
        for (number, priority) in Priority::ALL.into_iter().enumerate() {
            for _ in 0..10 + number {
                node.pfc(&[priority], quanta);
            }
        }
        for _ in 0..5 {
            node.control(&MacControl::Pause { quanta });
        }
    }
    let counters = node.switch.counters(PAUSING);
    for (number, of) in counters.priority.iter().enumerate() {
        let counted = [of.pause_received, of.resume_received];
        assert_eq!(counted, [10 + number as u64; 2], "priority {number}");
    }
    assert_eq!(counters.pause_received, 10);
}

/// PFC frames that name no priority, and such as pause two.
#[test]
fn no_pause_and_no_resume_is_counted_as_a_drop() {
    let mut node = Node::new(config());
    for _ in 0..1000 {
        node.pfc(&[], Quanta::MAX);
    }
    for priority in Priority::ALL {
        let gauges = node.gauges(PAUSING, priority);
        assert!(!gauges.paused);
        assert_eq!(gauges.pauses_received.begun, 0);
    }
    for quanta in [Quanta::ZERO, Quanta::MAX, Quanta::ZERO] {
        for _ in 0..1000 {
            node.pfc(&LOSSLESS, quanta);
        }
        let paused = node.gauges(PAUSING, LOSSLESS[1]).paused;
        assert_eq!(paused, quanta == Quanta::MAX);
    }
    assert_eq!(node.switch.counters(PAUSING).drops_total(), 0);
    assert_eq!(node.gauges(PAUSING, LOSSLESS[0]).pauses_received.begun, 1);
}

#[test]
fn pauses_add_up_to_the_nanosecond() {
    let mut node = Node::new(config());
    let priority = support::PRIORITY;
    let mut sum = Duration::ZERO;
    let mut longest = Duration::ZERO;
    for (number, ticks) in [5, 17, 11].into_iter().enumerate() {
        let began = node.now;
        node.pfc(&[priority], Quanta::MAX);
        for tick in 1..=ticks {
            node.step();
            let so_far = node.gauges(PAUSING, priority).pauses_received;
            assert!(so_far.active);
            assert_eq!(so_far.total, sum + TICK.saturating_mul(tick));
        }
        node.pfc(&[priority], Quanta::ZERO);
        let length = TICK.saturating_mul(ticks);
        sum = sum + length;
        longest = longest.max(length);
        node.step();
        let history = node.gauges(PAUSING, priority).pauses_received;
        assert!(!history.active);
        assert_eq!(history.begun, number as u64 + 1);
        assert_eq!((history.total, history.longest), (sum, longest));
        assert_eq!(history.last_began, Some(began));
        assert_eq!(history.last_ended, Some(began + length));
    }
}

#[test]
fn every_port_reaches_every_other_in_every_priority() {
    let mut node = Node::new(config());
    for (from, to) in ALL_PORTS
        .into_iter()
        .flat_map(|from| ALL_PORTS.map(|to| (from, to)))
        .filter(|(from, to)| from != to)
    {
        for priority in Priority::ALL {
            for _ in 0..3 {
                assert!(node.offer_from(from, to, priority));
            }
        }
    }
    node.until(|_| (), |node| node.switch.held_frames() == 0);
    assert_eq!(node.left, [[6; 8]; 3]);
    for port in ALL_PORTS {
        assert_eq!(node.switch.counters(port).drops_total(), 0);
    }
}
