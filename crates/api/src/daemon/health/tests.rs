use super::*;

fn seen(role: PortRole, queue: ObservedQueue) -> Observed {
    Observed {
        loss_seconds: 10.0,
        recurrence_seconds: 10.0,
        releases: true,
        ports: vec![ObservedPort {
            queues: vec![queue],
            ..ObservedPort::new("h1", role)
        }],
        ..Observed::default()
    }
}

fn check(observed: &Observed, verdict: Verdict, why: &str) {
    let health = judge(observed);
    assert_eq!(health.verdict, verdict, "{health:?}");
    assert_eq!(health.why(), why);
}

#[test]
fn without_findings_the_state_is_ok() {
    check(&Observed::default(), Verdict::Ok, "");
    let queue = ObservedQueue {
        releases: 3,
        ..ObservedQueue::default()
    };
    check(&seen(PortRole::Edge, queue), Verdict::Ok, "");
}

#[test]
fn a_host_that_ignores_pauses_degrades_and_a_switch_fails() {
    let queue = ObservedQueue {
        headroom_drops: 6120,
        ..ObservedQueue::default()
    };
    check(
        &seen(PortRole::Edge, queue),
        Verdict::Degraded,
        "h1 priority 0: 6,120 frames dropped; the host ignores our pauses (weir-host, `police`, or more headroom)",
    );
    check(
        &seen(PortRole::Fabric, queue),
        Verdict::Failing,
        "h1 priority 0: 6,120 frames dropped; the neighbour does not stop in time (its PFC, or more headroom)",
    );
}

#[test]
fn repeated_locks_are_not_green() {
    let mut queue = ObservedQueue {
        priority: 3,
        suspicions: 9,
        releases: 9,
        ..ObservedQueue::default()
    };
    let why =
        "h1 priority 3: was suspected of a deadlock, 9 times in 10 s, every 1.1 s; 9 released";
    check(&seen(PortRole::Fabric, queue), Verdict::Degraded, why);
    queue.suspected_seconds = Some(2.0);
    let why = "h1 priority 3: suspected of a deadlock for 2.0 s, 9 times in 10 s, every 1.1 s; 9 released";
    check(&seen(PortRole::Fabric, queue), Verdict::Degraded, why);
}

#[test]
fn queues_that_stand_still_are_failing() {
    let queue = ObservedQueue {
        priority: 3,
        suspected_seconds: Some(12.3),
        ..ObservedQueue::default()
    };
    let mut observed = seen(PortRole::Fabric, queue);
    let why = "h1 priority 3: suspected of a deadlock for 12 s; no release has helped";
    check(&observed, Verdict::Failing, why);
    observed.releases = false;
    let advice = "; nothing will release this: set deadlock.policy = \"breaker\" or \"auto\" in the configuration file, then `switchctl reload`";
    let why = format!("h1 priority 3: suspected of a deadlock for 12 s{advice}");
    check(&observed, Verdict::Failing, &why);
    // At once, not only for long suspicions.
    observed.ports[0].queues[0].suspected_seconds = Some(0.4);
    let why = format!("h1 priority 3: suspected of a deadlock for 0.4 s{advice}");
    check(&observed, Verdict::Degraded, &why);
    observed.ports[0].queues[0].suspected_seconds = None;
    observed.ports[0].queues[0].suspicions = 1;
    let why = "h1 priority 3: was suspected of a deadlock, once; nothing would release a deadlock: set deadlock.policy = \"breaker\" or \"auto\"";
    check(&observed, Verdict::Degraded, why);
    let silent = Observed {
        age_seconds: 3.5,
        ..Observed::default()
    };
    let why = "the dataplane has not answered for 3.5 s; frames may be stuck";
    check(&silent, Verdict::Failing, why);
}

#[test]
fn the_worst_reason_comes_first_and_their_number_is_bounded() {
    let mut observed = Observed {
        age_seconds: 60.0,
        events_lost: 1,
        ..Observed::default()
    };
    for number in 0..20 {
        observed.ports.push(ObservedPort {
            kernel_losses: 1,
            ..ObservedPort::new(format!("p{number}"), PortRole::Edge)
        });
    }
    let health = judge(&observed);
    assert_eq!(health.reasons.len(), REASONS_MAX);
    assert_eq!(health.left_out, 6);
    assert_eq!(health.reasons[0].kind, Trouble::DataplaneSilent);
    assert_eq!(health.verdict, Verdict::Failing);
    assert!(health.why().ends_with("; and 6 more"), "{}", health.why());
}

#[test]
fn losses_at_the_device_degrade() {
    let mut observed = seen(PortRole::Edge, ObservedQueue::default());
    observed.ports[0].device_overruns = 5;
    check(
        &observed,
        Verdict::Degraded,
        "h1: 5 frames found no room in the device, including lossless ones: the switch gets too little CPU, or the device's ring is too small (ethtool -G)",
    );
    observed.ports[0].device_overruns = 0;
    observed.ports[0].device_errors = 1;
    check(
        &observed,
        Verdict::Degraded,
        "h1: 1 frame arrived damaged, including lossless ones: cable, transceiver, or the other end's MTU (`ip -s -s link` shows the kind of damage)",
    );
}

#[test]
fn numbers_are_grouped_by_three() {
    for (count, text) in [
        (0, "0"),
        (999, "999"),
        (1000, "1,000"),
        (1_234_567, "1,234,567"),
    ] {
        assert_eq!(grouped(count), text);
    }
}

#[test]
fn a_port_that_floods_nothing_degrades_while_it_lasts() {
    let mut observed = seen(PortRole::Edge, ObservedQueue::default());
    observed.ports[0].loop_blocked = true;
    let why = "h1: floods nothing because of a loop: take out the cable that closes it; `switchctl ports` has the VLANs, `switchctl events` the loop's other port";
    check(&observed, Verdict::Degraded, why);
}

#[test]
fn a_loss_below_the_switch_is_not_blamed_on_another_place() {
    let of = |change: fn(&mut ObservedPort)| {
        let mut observed = seen(PortRole::Edge, ObservedQueue::default());
        change(&mut observed.ports[0]);
        let health = judge(&observed);
        assert_eq!(health.verdict, Verdict::Degraded);
        health.why()
    };
    for (why, part) in [
        (of(|port| port.kernel_losses = 2), "too little CPU"),
        (
            of(|port| port.transmit_drops = 2),
            "2 frames were not sent by the device",
        ),
        (
            of(|port| port.transmit_drops = 1),
            "1 frame was not sent by the device",
        ),
        (of(|port| port.receive_missing = 2), "never arrived"),
        (
            of(|port| port.transmit_missing = 2),
            "not counted by the device",
        ),
    ] {
        assert!(why.contains(part), "{why}");
        assert_eq!(why.contains("CPU"), part.contains("CPU"), "{why}");
    }
}

#[test]
fn a_device_that_does_not_fit_degrades_while_it_lasts() {
    let mut observed = seen(PortRole::Edge, ObservedQueue::default());
    observed.ports[0].small_mtu = Some((1500, 9000));
    let why = "h1: its device has an MTU of 1500 B and the switch of 9000 B: longer frames are lost both ways (`ip link set dev DEVICE mtu 9000`)";
    check(&observed, Verdict::Degraded, why);
    observed.ports[0].small_mtu = None;
    observed.ports[0].unfit = Some("is a port of the bridge `br0`".to_owned());
    let why = "h1: is a port of the bridge `br0`";
    check(&observed, Verdict::Degraded, why);
}

#[test]
fn a_device_that_is_stuck_fails_and_a_table_without_room_and_a_stall_degrade() {
    let mut observed = seen(PortRole::Edge, ObservedQueue::default());
    observed.ports[0].stuck = true;
    let why = "h1: its device completes no transmissions, and frames for it are dropped: set the link down and up, or reset the device";
    check(&observed, Verdict::Failing, why);
    observed.ports[0].stuck = false;
    observed.ports[0].addresses_crowded = 1_234;
    let why = "h1: 1,234 source addresses found no room among the learned ones, so frames to some addresses are flooded: a host forges addresses, or `forwarding.capacity` is too small (`switchctl fdb count`)";
    check(&observed, Verdict::Degraded, why);
    let stalled = Observed {
        stalls: 1,
        stall_seconds: 2.1,
        recurrence_seconds: 60.0,
        ..Observed::default()
    };
    let why = "the dataplane did nothing for 2.1 s, once: it was stopped, or had no CPU; frames waited, and those that found no room in the RX rings are lost";
    check(&stalled, Verdict::Degraded, why);
}
