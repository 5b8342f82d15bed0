use super::*;

fn seen(role: PortRole, queue: ObservedQueue) -> Observed {
    Observed {
        loss_seconds: 10.0,
        recurrence_seconds: 10.0,
        releases: true,
        ports: vec![ObservedPort {
            name: "h1".to_owned(),
            role,
            kernel_losses: 0,
            xdp_drops: 0,
            device_overruns: 0,
            device_errors: 0,
            loop_blocked: false,
            queues: vec![queue],
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
fn nothing_wrong_is_ok() {
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
fn locks_that_come_back_are_not_green() {
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
fn what_stands_is_failing() {
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
    // At once, not only after what stands for long.
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
    let why = "the dataplane has not answered for 3.5 s; frames may stand still";
    check(&silent, Verdict::Failing, why);
}

#[test]
fn the_worst_reason_comes_first_and_there_are_not_too_many() {
    let mut observed = Observed {
        age_seconds: 60.0,
        events_lost: 1,
        ..Observed::default()
    };
    for number in 0..20 {
        observed.ports.push(ObservedPort {
            name: format!("p{number}"),
            role: PortRole::Edge,
            kernel_losses: 1,
            xdp_drops: 0,
            device_overruns: 0,
            device_errors: 0,
            loop_blocked: false,
            queues: Vec::new(),
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
fn what_the_device_loses_degrades() {
    let mut observed = seen(PortRole::Edge, ObservedQueue::default());
    observed.ports[0].device_overruns = 5;
    check(
        &observed,
        Verdict::Degraded,
        "h1: 5 frames found no room in the device, lossless ones too: the switch gets too little CPU, or the device's ring is too small (ethtool -G)",
    );
    observed.ports[0].device_overruns = 0;
    observed.ports[0].device_errors = 1;
    check(
        &observed,
        Verdict::Degraded,
        "h1: 1 frame arrived damaged, lossless ones too: cable, transceiver, or the other end's MTU (`ip -s -s link` says what is wrong with them)",
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
fn a_port_that_floods_nothing_degrades_for_as_long_as_that_is_so() {
    let mut observed = seen(PortRole::Edge, ObservedQueue::default());
    observed.ports[0].loop_blocked = true;
    let why = "h1: floods nothing because of a loop: take out the cable that closes it; `switchctl ports` has the VLANs, `switchctl events` the loop's other port";
    check(&observed, Verdict::Degraded, why);
}
