//! SONiC's public tests of a switch's counters, watermarks and buffers, applied to this switch. The book's page
//! `experiments/sonic-cases.md` lists them with the results.

use super::*;

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
    // One is lost, and counted at its ingress port.
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
        // The other priority takes its turn in between.
        let Some(Transmission::Data { handle, .. }) = node.switch.transmit(node.now, PAUSING)
        else {
            continue;
        };
        let freed = node.switch.complete(handle);
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
    // There is no room for another host's frames either, but there is from another port: buffers belong to ingress
    // ports.
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

/// PFC counts by its priority, whether it pauses or resumes; PAUSE counts for none of them.
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

/// PFC frames that name no priority, and some that pause two.
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
        sum += length;
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
