//! Traffic, transports, faults and baselines of scenario files.

use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use weir_config::scenario::{
    Baseline, Fault, FaultTime, Flow, Ground, Pairs, Pattern, Scenario, Sizes, Traffic,
    TrafficKind, Transport,
};
use weir_config::{Fraction, Override};
use weir_core::{Bytes, Duration};

const NETWORK: &str = "name = \"x\"\nduration = \"10ms\"\n[topology]\nkind = \"ring\"\nswitches = 4\n[[class]]\nname = \"lossless\"\npriorities = [3, 4]\nmode = \"pfc\"\nxoff = \"30KiB\"\nxon = \"20KiB\"\nheadroom = \"30KiB\"\n";
const FLOW: &str = "[[flow]]\nname = \"a\"\nfrom = \"h1\"\nto = \"h2\"\nclass = \"lossless\"\n";

fn read_with(rest: &str, overrides: &[&str]) -> Result<Scenario, String> {
    let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    let text = format!("{NETWORK}{rest}");
    Scenario::parse(&text, Path::new("x.toml"), &overrides).map_err(|error| error.to_string())
}

fn read(rest: &str) -> Result<Scenario, String> {
    read_with(rest, &[])
}

fn refused(rest: &str, said: &str) {
    let error = read(rest).expect_err(rest);
    assert!(error.contains(said), "{rest}\n{error}");
    assert!(error.starts_with("x.toml:"), "{error}");
}

fn traffic(kind: TrafficKind) -> Traffic {
    Traffic {
        kind,
        class: 0,
        rate: None,
        frame: Bytes::new(1500),
        pattern: Pattern::Steady,
        transport: Transport::Open,
        answer_class: 0,
        start: Duration::ZERO,
        stop: Duration::from_secs(1),
    }
}

fn expand(traffic: &Traffic, hosts: usize, seed: u64) -> Vec<Flow> {
    let ground = Ground {
        switch_of: &vec![0; hosts],
        bits_per_second: &vec![10_000_000_000; hosts],
        seed,
        end: Duration::from_secs(1),
        taken: 0,
    };
    traffic.expand(0, &ground).unwrap()
}

fn ends(flows: &[Flow]) -> Vec<(usize, usize)> {
    flows.iter().map(|flow| (flow.from, flow.to)).collect()
}

proptest! {
    #[test]
    fn a_permutation_includes_every_host(hosts in 2usize..50, seed: u64) {
        let flows = expand(&traffic(TrafficKind::Permutation), hosts, seed);
        let senders: BTreeSet<usize> = flows.iter().map(|flow| flow.from).collect();
        let receivers: BTreeSet<usize> = flows.iter().map(|flow| flow.to).collect();
        prop_assert_eq!(flows.len(), hosts);
        prop_assert_eq!(senders.len(), hosts);
        prop_assert_eq!(receivers.len(), hosts);
        prop_assert!(flows.iter().all(|flow| flow.from != flow.to));
        prop_assert_eq!(flows, expand(&traffic(TrafficKind::Permutation), hosts, seed));
    }

    #[test]
    fn random_flows_go_to_others(hosts in 2usize..10, count in 1usize..100, seed: u64) {
        let flows = expand(&traffic(TrafficKind::Random { flows: count }), hosts, seed);
        prop_assert_eq!(flows.len(), count);
        prop_assert!(flows.iter().all(|flow| flow.from != flow.to && flow.from.max(flow.to) < hosts));
        let names: BTreeSet<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
        prop_assert_eq!(names.len(), count);
    }

    #[test]
    fn incast_has_the_configured_number_of_senders(
        (hosts, fan_in, to) in (2usize..40).prop_flat_map(|hosts| (Just(hosts), 1..hosts, 0..hosts)),
        seed: u64
    ) {
        let flows = expand(&traffic(TrafficKind::Incast { fan_in, to }), hosts, seed);
        let senders: BTreeSet<usize> = flows.iter().map(|flow| flow.from).collect();
        prop_assert_eq!(senders.len(), fan_in);
        prop_assert!(!senders.contains(&to));
        prop_assert!(flows.iter().all(|flow| flow.to == to));
    }

    #[test]
    fn all_to_all_is_every_pair_once(hosts in 2usize..12) {
        let found = ends(&expand(&traffic(TrafficKind::AllToAll), hosts, 1));
        let pairs = (0..hosts).flat_map(|a| (0..hosts).map(move |b| (a, b)));
        let expected: Vec<_> = pairs.filter(|(a, b)| a != b).collect();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn poisson_bursts_offer_the_load() {
    let half = Fraction::from_parts(Fraction::ONE_IN_PARTS / 2).unwrap();
    let sizes = vec![(Bytes::new(10_000), half), (Bytes::new(100_000), half)];
    for percent in [10, 50, 100] {
        let load = Fraction::from_parts(percent * (Fraction::ONE_IN_PARTS / 100)).unwrap();
        let sizes = Sizes::Listed(sizes.clone());
        let pairs = Pairs::Any;
        let flows = expand(
            &traffic(TrafficKind::Poisson { load, sizes, pairs }),
            20,
            u64::from(percent),
        );
        let size = |flow: &Flow| match flow.pattern {
            Pattern::Burst { size } => size.get(),
            other => panic!("{other:?}"),
        };
        let sent: u64 = flows.iter().map(size).sum();
        // 20 hosts at 10 Gbit/s for a second. With at least 45,000 bursts the mean deviates by some permille.
        let offered = sent as f64 / 25e9;
        let wanted = f64::from(percent) / 100.0;
        assert!(
            (offered / wanted - 1.0).abs() < 0.02,
            "{offered} of {wanted}"
        );
        assert!(flows.windows(2).all(|pair| pair[0].start <= pair[1].start));
        assert!(flows
            .iter()
            .all(|flow| flow.start < flow.stop && flow.from != flow.to));
    }
}

#[test]
fn traffic_is_read() {
    let scenario = read_with(
        &format!("{FLOW}[[traffic]]\nkind = \"random\"\nclass = \"lossless\"\nflows = 3\nsize = \"10kB\"\nframe = \"9000B\"\n[[traffic]]\nkind = \"incast\"\nclass = \"lossless\"\nto = \"h2\"\non = \"1ms\"\noff = \"2ms\"\ntransport = \"vegas\"\n"),
        &["traffic.0.flows=2"],
    )
    .unwrap();
    let names: Vec<&str> = scenario
        .flows
        .iter()
        .map(|flow| flow.name.as_str())
        .collect();
    assert_eq!(names, ["a", "t1-1", "t1-2", "t2-1", "t2-2", "t2-3"]);
    let size = Bytes::new(10_000);
    assert_eq!(scenario.flows[1].pattern, Pattern::Burst { size });
    assert_eq!(scenario.flows[3].transport, Transport::Vegas);
    assert_eq!(scenario.frames().frame_length_max(), Bytes::new(9000));
    let gaps = scenario.lab_gaps().join("\n");
    for said in ["`transport`", "`size`", "`on` and `off`", "`frame`"] {
        assert!(gaps.contains(said), "{gaps}");
    }
    assert!(read(FLOW).unwrap().lab_gaps().is_empty());
}

#[test]
fn traffic_depends_on_the_seed() {
    let rest = "[[traffic]]\nkind = \"random\"\nclass = \"lossless\"\nflows = 20\n[[traffic]]\nkind = \"random\"\nclass = \"lossless\"\nflows = 20\n";
    let with = |seed: &str| ends(&read_with(rest, &[seed]).unwrap().flows);
    assert_eq!(with("seed=5"), with("seed=5"));
    assert_ne!(with("seed=5"), with("seed=6"));
    let flows = with("seed=5");
    assert_ne!(flows[..20], flows[20..], "each has its own");
}

#[test]
fn wrong_traffic_is_refused() {
    let of = |kind: &str, keys: &str| {
        format!("[[traffic]]\nkind = \"{kind}\"\nclass = \"lossless\"\n{keys}\n")
    };
    for (kind, keys, said) in [
        ("incst", "", "did you mean `incast`?"),
        ("random", "", "flows: missing"),
        ("random", "flows = 2000000", "is not between 1 and 1000000"),
        (
            "permutation",
            "flows = 3",
            "flows: does not apply to this kind; keys of this kind: size, on, off",
        ),
        ("incast", "to = \"h9\"", "unknown host `h9`"),
        (
            "incast",
            "to = \"h1\"\nfan-in = 4",
            "4 is not between 1 and 3",
        ),
        ("poisson", "load = 0.5", "sizes: missing"),
        (
            "poisson",
            "load = 1.5\nsizes = [[\"1kB\", 1]]",
            "not a number from 0 to 1",
        ),
        (
            "poisson",
            "load = 0.5\nsizes = [[\"1kB\", 0.5], [\"2kB\", 0.4]]",
            "add up to 0.9; they must add up to 1",
        ),
        (
            "poisson",
            "load = 0.5\nsizes = [[\"1kB\"]]",
            "a pair such as",
        ),
        (
            "all-to-all",
            "size = \"1kB\"\non = \"1ms\"",
            "either `size`, or `on` and `off`",
        ),
        ("all-to-all", "on = \"1ms\"", "off: missing"),
        (
            "all-to-all",
            "transport = \"cubic\"",
            "valid: open, dcqcn, tahoe, reno, vegas",
        ),
        ("all-to-all", "start = \"11ms\"", "start < stop"),
    ] {
        refused(&of(kind, keys), said);
    }
    let named = FLOW.replace("\"a\"", "\"t1-1\"");
    refused(
        &(named + &of("permutation", "")),
        "a [[flow]] already has that name",
    );
    let fast = "[link-defaults]\nrate = \"800Gbit\"\n";
    let many = of("poisson", "load = 1\nsizes = [[\"1B\", 1]]");
    refused(&format!("{fast}{many}"), "the maximum is 1000000");
}

#[test]
fn parameters_are_those_of_the_paper() {
    let scenario = read(FLOW).unwrap();
    let dcqcn = scenario.dcqcn;
    assert_eq!(dcqcn.g.as_f64(), 1.0 / 256.0);
    assert_eq!(dcqcn.notification_gap, Duration::from_micros(50));
    assert_eq!(dcqcn.byte_counter, Bytes::new(10_000_000));
    assert_eq!(
        (dcqcn.additive.get(), dcqcn.hyper.get()),
        (5_000_000, 50_000_000)
    );
    assert_eq!(dcqcn.initial_alpha, Fraction::ONE);
    let rest = "[dcqcn]\ninitial-alpha = 0.5\nclamp-target = false\nrate-timer = \"300us\"\n[window]\ninitial = 10\nbeta = 4\n[control]\nlatency = \"100us\"\n";
    let scenario = read(&format!("{FLOW}{rest}")).unwrap();
    assert_eq!(scenario.dcqcn.initial_alpha.as_f64(), 0.5);
    assert!(!scenario.dcqcn.clamp_target);
    assert_eq!(scenario.window.initial, 10);
    assert_eq!(scenario.control.latency, Duration::from_micros(100));
    for (table, said) in [
        ("[dcqcn]\ng = 0\n", "g: must be above zero"),
        ("[dcqcn]\nkmin = \"5kB\"\n", "unknown key"),
        ("[dcqcn]\nalpha-timer = \"0s\"\n", "must be above zero"),
        ("[window]\ninitial = 0\n", "0 is not between 1"),
        ("[window]\nalpha = 5\n", "must not be below alpha (5)"),
    ] {
        refused(&format!("{FLOW}{table}"), said);
    }
}

#[test]
fn faults_are_read() {
    let rest = "[[fault]]\nkind = \"control-loss\"\nprobability = 0.01\n[[fault]]\nkind = \"link-down\"\nlink = [\"s2\", \"s1\"]\nat = \"1ms\"\nfor = \"100us\"\nevery = \"1ms\"\n[[fault]]\nkind = \"switch-restart\"\nswitch = \"s3\"\nat = \"2ms\"\n[[fault]]\nkind = \"round-trip\"\nround-trip = \"1us\"\nlink = [\"s3\", \"s4\"]\n[[fault]]\nkind = \"route-change\"\nswitch = \"s1\"\nto = \"h3\"\nports = [\"s4\"]\nat = \"3ms\"\n";
    let scenario = read(&format!("{FLOW}{rest}")).unwrap();
    let ms = Duration::from_millis;
    assert_eq!(
        scenario.faults,
        [
            Fault::ControlLoss {
                links: vec![0, 1, 2, 3],
                probability: Fraction::from_parts(10_000_000).unwrap(),
                time: FaultTime::From(Duration::ZERO),
            },
            Fault::LinkDown {
                link: 0,
                time: FaultTime::Every {
                    at: ms(1),
                    length: Duration::from_micros(100),
                    period: ms(1),
                },
            },
            Fault::SwitchRestart {
                switch: 2,
                time: FaultTime::Once {
                    at: ms(2),
                    length: Duration::ZERO,
                },
            },
            Fault::RoundTrip {
                links: vec![2],
                round_trip: Duration::from_micros(1),
            },
            Fault::RouteChange {
                switch: 0,
                host: 2,
                members: vec![3],
                at: ms(3),
            },
        ]
    );
    let lines: Vec<_> = scenario.fault_lines.iter().flatten().collect();
    assert!(lines.len() == 5 && lines.is_sorted());
    for (fault, said) in [
        ("kind = \"link-up\"", "did you mean `link-down`?"),
        ("kind = \"link-down\"", "link: missing"),
        (
            "kind = \"link-down\"\nlink = [\"s1\", \"s3\"]",
            "no working link between `s1` and `s3`",
        ),
        ("kind = \"control-loss\"", "probability: missing"),
        (
            "kind = \"route-change\"\nswitch = \"s1\"\nto = \"h3\"\nports = [\"s3\"]",
            "no working link from `s1` to `s3`",
        ),
        ("kind = \"control-loss\"\nprobability = 0", "above zero"),
        ("kind = \"control-delay\"", "by: missing"),
        (
            "kind = \"host-storm\"\nswitch = \"s1\"",
            "switch: does not apply to this kind; keys of this kind: host",
        ),
        (
            "kind = \"host-storm\"\nhost = \"h1\"\nat = \"10ms\"",
            "must be below duration",
        ),
        (
            "kind = \"host-storm\"\nhost = \"h1\"\nevery = \"1ms\"",
            "set `for` too",
        ),
        (
            "kind = \"host-storm\"\nhost = \"h1\"\nfor = \"2ms\"\nevery = \"1ms\"",
            "longer than `for`",
        ),
        (
            "kind = \"drop\"\nswitch = \"s1\"\nport = \"s3\"",
            "switch `s1` has no port to `s3`; it has: s2, s4, h1",
        ),
        (
            "kind = \"drop\"\nswitch = \"s1\"\nport = \"h1\"\none-in = 0",
            "0 is not between 1",
        ),
        (
            "kind = \"mark\"\nswitch = \"s1\"\nport = \"h1\"\nfilter = \"udp prt 3\"",
            "`prt` (word 2) is not valid here",
        ),
        (
            "kind = \"drop\"\nswitch = \"s1\"\nport = \"h1\"\nfilter = \"dropped\"",
            "before the switch has decided",
        ),
        (
            "kind = \"drop\"\nswitch = \"s1\"\nport = \"h1\"\non = \"1ms\"",
            "on: does not apply to this kind",
        ),
        (
            "kind = \"delay\"\nswitch = \"s1\"\nport = \"h1\"",
            "by: missing",
        ),
        (
            "kind = \"pause\"\nswitch = \"s1\"\nport = \"h1\"\npriority = 0\non = \"1ms\"\nevery = \"2ms\"",
            "a switch sends no pauses in priority 0; priorities of lossless classes: ",
        ),
        (
            "kind = \"flap\"\nswitch = \"s1\"\nport = \"s2\"\non = \"2ms\"\nevery = \"2ms\"",
            "must be longer than `on`",
        ),
        (
            "kind = \"round-trip\"\nround-trip = \"1us\"\nat = \"1ms\"",
            "at: does not apply",
        ),
    ] {
        refused(&format!("{FLOW}[[fault]]\n{fault}\n"), said);
    }
}

/// Each host of the ring sends to the second next one, clockwise.
fn around() -> String {
    let mut text = String::from("[routing]\nmode = \"explicit\"\n");
    for (from, middle, to) in [(1, 2, 3), (2, 3, 4), (3, 4, 1), (4, 1, 2)] {
        text += &format!("[[route]]\nto = \"h{to}\"\nvia = [\"s{from}\", \"s{middle}\", \"s{to}\"]\n[[flow]]\nname = \"f{from}\"\nfrom = \"h{from}\"\nto = \"h{to}\"\nclass = \"lossless\"\n");
    }
    text
}

#[test]
fn baselines_break_the_loop_when_they_have_the_priorities() {
    let loops = |rest: &str, overrides: &[&str]| {
        let scenario = read_with(&format!("{}{rest}", around()), overrides)?;
        Ok::<_, String>(scenario.credit_loops().len())
    };
    assert_eq!(loops("", &[]), Ok(1));
    let pools = "[baseline]\nkind = \"buffer-pools\"\n";
    let error = loops(pools, &[]).unwrap_err();
    let said = "class `lossless` has 2 priorities; its frames need up to 3, one after another";
    assert!(error.contains(said), "{error}");
    let three = "class.lossless.priorities=[3, 4, 5]";
    assert_eq!(loops(pools, &[three]), Ok(0));
    let channels = "[baseline]\nkind = \"virtual-channels\"\nchange-at = [[\"s4\", \"s1\"]]\n";
    assert_eq!(loops(channels, &[]), Ok(0));
    let wrong_way = channels.replace("\"s4\", \"s1\"", "\"s1\", \"s4\"");
    assert_eq!(loops(&wrong_way, &[]), Ok(1), "nobody changes there");
    let error = loops(channels, &["class.lossless.priorities=[3]"]).unwrap_err();
    assert!(error.contains("has 1 priorities"), "{error}");
    for (table, said) in [
        (
            "[baseline]\nkind = \"virtual-channels\"\n",
            "change-at: missing",
        ),
        (
            "[baseline]\nkind = \"virtual-channels\"\nchange-at = [[\"s1\", \"s3\"]]\n",
            "no working link from `s1` to `s3`",
        ),
        (
            "[baseline]\nkind = \"buffer-pools\"\nchange-at = [[\"s1\", \"s2\"]]\n",
            "does not apply to this kind",
        ),
    ] {
        refused(&format!("{FLOW}{table}"), said);
    }
    let scenario = read_with(&format!("{}{pools}", around()), &[three]).unwrap();
    assert_eq!(scenario.baseline, Baseline::BufferPools);
    assert!(scenario.lab_gaps()[0].contains("buffer-pools"));
}

/// Two flows do not close the loop of four switches, but their answers take the rest of the ring.
#[test]
fn answers_close_credit_loops_in_their_own_class() {
    let mut text =
        String::from("[routing]\nmode = \"explicit\"\n[[class]]\nname = \"answers\"\npriority = 7\nmode = \"lossy\"\n");
    for (from, middle, to) in [(1, 2, 3), (2, 3, 4), (3, 4, 1), (4, 1, 2)] {
        text +=
            &format!("[[route]]\nto = \"h{to}\"\nvia = [\"s{from}\", \"s{middle}\", \"s{to}\"]\n");
    }
    let loops = |keys: &str| {
        let flow = |from, to| {
            format!("[[flow]]\nname = \"f{from}\"\nfrom = \"h{from}\"\nto = \"h{to}\"\nclass = \"lossless\"\n{keys}\n")
        };
        let scenario = read(&format!("{text}{}{}", flow(1, 3), flow(2, 4))).unwrap();
        (
            scenario.credit_loops().len(),
            scenario.answer_priority(0).get(),
        )
    };
    assert_eq!(loops(""), (0, 3));
    assert_eq!(loops("transport = \"reno\""), (1, 3));
    assert_eq!(
        loops("transport = \"reno\"\nanswer-class = \"answers\""),
        (0, 7)
    );
    refused(
        &format!("{FLOW}answer-class = \"lossless\"\n"),
        "needs a `transport`",
    );
    refused(
        &format!("{FLOW}transport = \"reno\"\nanswer-class = \"x\"\n"),
        "answer-class: unknown class `x`",
    );
}

#[test]
fn answers_need_a_way_back() {
    let one_way =
        "[routing]\nmode = \"explicit\"\n[[route]]\nto = \"h2\"\nvia = [\"s1\", \"s2\"]\n";
    assert!(read(&format!("{one_way}{FLOW}")).is_ok());
    refused(
        &format!("{one_way}{FLOW}transport = \"dcqcn\"\n"),
        "frames to `h1` get no further than `s2`",
    );
}
