//! Workloads of scenario files: sizes from distributions, senders and receivers, and collectives.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use weir_config::scenario::{
    After, Collective, Distribution, Flow, Ground, Pairs, Pattern, Scenario, Sizes, Traffic,
    TrafficKind, Transport,
};
use weir_config::Fraction;
use weir_core::{Bytes, Duration};

const NETWORK: &str = "name = \"x\"\nduration = \"10ms\"\n[link-defaults]\nrate = \"100Gbit\"\n[topology]\nkind = \"ring\"\nswitches = 4\n[[class]]\nname = \"lossless\"\npriorities = [3]\nmode = \"pfc\"\nxoff = \"300KiB\"\nxon = \"200KiB\"\nheadroom = \"300KiB\"\n";

fn read_in(directory: &Path, traffic: &str) -> Result<Scenario, String> {
    let text = format!("{NETWORK}[[traffic]]\nclass = \"lossless\"\n{traffic}\n");
    let path = directory.join("x.toml");
    Scenario::parse(&text, &path, &[]).map_err(|error| error.to_string())
}

fn read(traffic: &str) -> Result<Scenario, String> {
    read_in(Path::new(""), traffic)
}

fn size(flow: &Flow) -> u64 {
    match flow.pattern {
        Pattern::Burst { size } => size.get(),
        other => panic!("{other:?}"),
    }
}

fn poisson(pairs: Pairs, percent: u32, name: &str) -> Traffic {
    let distribution = Distribution::known(name).expect(name);
    Traffic {
        kind: TrafficKind::Poisson {
            load: Fraction::from_parts(percent * (Fraction::ONE_IN_PARTS / 100)).unwrap(),
            sizes: Sizes::Distribution(Arc::new(distribution)),
            pairs,
        },
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

/// Waits without computing.
fn arrivals<const N: usize>(flows: [usize; N]) -> Vec<After> {
    flows.map(After::arrival_of).into()
}

/// Hosts on 100 Gbit/s lines, by their switches.
fn expand(traffic: &Traffic, switch_of: &[usize], seed: u64) -> Vec<Flow> {
    let ground = Ground {
        switch_of,
        bits_per_second: &vec![100_000_000_000; switch_of.len()],
        seed,
        end: Duration::from_secs(1),
        taken: 0,
    };
    traffic.expand(0, &ground).unwrap()
}

#[test]
fn sizes_and_load_are_those_of_the_distribution() {
    let switch_of = [0; 16];
    for (name, percent) in [("web-search", 80), ("fb-hadoop", 30)] {
        let traffic = Traffic {
            stop: Duration::from_millis(400),
            ..poisson(Pairs::Any, percent, name)
        };
        let flows = expand(&traffic, &switch_of, 7);
        assert!(flows.len() > 10_000, "{name}: {}", flows.len());
        // Each share is met within five standard deviations of a binomial count.
        let distribution = Distribution::known(name).unwrap();
        for (bytes, cdf) in distribution.points() {
            let below = flows.iter().filter(|flow| size(flow) < *bytes).count() as f64;
            let (count, share) = (flows.len() as f64, cdf.as_f64());
            let scatter = (share * (1.0 - share) / count).sqrt();
            let miss = (below / count - share).abs();
            assert!(miss <= 5.0 * scatter + 1e-9, "{name} at {bytes}: {miss}");
        }
        // 16 hosts at 100 Gbit/s for 0.4 s.
        let offered = flows.iter().map(size).sum::<u64>() as f64 / 80e9;
        let wanted = f64::from(percent) / 100.0;
        assert!((offered / wanted - 1.0).abs() < 0.1, "{name}: {offered}");
    }
}

/// A load of 40 % is that of each line, in both directions, whatever the others' rates are.
#[test]
fn hosts_send_and_receive_in_proportion_to_their_rates() {
    let rates = [10, 10, 25, 40, 100, 200].map(|gbit| gbit * 1_000_000_000);
    for (pairs, switch_of) in [
        (Pairs::Any, [0; 6]),
        (Pairs::OtherSwitch, [0, 1, 2, 0, 1, 2]),
    ] {
        let ground = Ground {
            switch_of: &switch_of,
            bits_per_second: &rates,
            seed: 7,
            end: Duration::from_secs(1),
            taken: 0,
        };
        let flows = poisson(pairs, 40, "fb-hadoop").expand(0, &ground).unwrap();
        for (host, rate) in rates.iter().enumerate() {
            let sent = flows.iter().filter(|flow| flow.from == host);
            let sent = sent.map(|flow| 8 * size(flow)).sum::<u64>() as f64 / *rate as f64;
            assert!(
                (sent / 0.4 - 1.0).abs() < 0.15,
                "{pairs:?}, host {host}: {sent}"
            );
        }
        let received = |host| flows.iter().filter(|flow| flow.to == host).count();
        // Eight times the rate; the fastest host receives less than its share, since it sends to all others.
        let ratio = received(5) as f64 / received(2) as f64;
        assert!((2.0..8.0).contains(&ratio), "{pairs:?}: {ratio}");
    }
}

proptest! {
    #[test]
    fn pairs_are_those_of_the_pattern(
        switch_of in prop::collection::vec(0usize..4, 2..24),
        seed: u64,
        pairs in prop::sample::select(Pairs::NAMED.map(|(_, pairs)| pairs).to_vec()),
    ) {
        let traffic = Traffic {
            stop: Duration::from_micros(500),
            ..poisson(pairs, 100, "fb-hadoop")
        };
        let rates: Vec<u64> = switch_of.iter().map(|switch| 1_000_000_000 * (100 - *switch as u64)).collect();
        let ground = Ground { switch_of: &switch_of, bits_per_second: &rates, seed, end: Duration::from_secs(1), taken: 0 };
        let is_one = switch_of.iter().all(|switch| *switch == switch_of[0]);
        let flows = traffic.expand(0, &ground);
        if pairs == Pairs::OtherSwitch && is_one {
            prop_assert_eq!(flows.unwrap_err().key, "pairs");
            return Ok(());
        }
        let flows = flows.unwrap();
        prop_assert_eq!(&flows, &traffic.expand(0, &ground).unwrap());
        for flow in &flows {
            prop_assert!(flow.from != flow.to && flow.from.max(flow.to) < switch_of.len());
            prop_assert!(size(flow) >= 1 && flow.start < flow.stop);
            if pairs == Pairs::OtherSwitch {
                prop_assert_ne!(switch_of[flow.from], switch_of[flow.to]);
            }
        }
        if pairs == Pairs::Permutation {
            let ways: BTreeSet<_> = flows.iter().map(|flow| (flow.from, flow.to)).collect();
            let senders: BTreeSet<_> = ways.iter().map(|(from, _)| from).collect();
            let receivers: BTreeSet<_> = ways.iter().map(|(_, to)| to).collect();
            prop_assert!(senders.len() == ways.len() && receivers.len() == ways.len());
        }
    }
}

#[test]
fn every_receiver_on_other_switches_is_equally_likely() {
    // Hosts of three switches, unordered.
    let switch_of = [2, 0, 1, 0, 2, 0];
    let flows = expand(&poisson(Pairs::OtherSwitch, 50, "fb-hadoop"), &switch_of, 3);
    for from in 0..switch_of.len() {
        let sent: Vec<usize> = flows
            .iter()
            .filter_map(|flow| (flow.from == from).then_some(flow.to))
            .collect();
        let others: BTreeSet<usize> = (0..switch_of.len())
            .filter(|to| switch_of[*to] != switch_of[from])
            .collect();
        for to in &others {
            let count = sent.iter().filter(|host| *host == to).count() as f64;
            let mean = sent.len() as f64 / others.len() as f64;
            assert!((count / mean - 1.0).abs() < 0.05, "{from} to {to}: {count}");
        }
    }
}

#[test]
fn a_distribution_is_read_by_name_or_from_a_file_beside_the_scenario() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("workloads");
    std::fs::create_dir_all(directory.join("sizes")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.join(name), text).unwrap();
    let of = |sizes: &str| {
        read_in(
            &directory,
            &format!("kind = \"poisson\"\nload = 0.5\nsizes = \"{sizes}\""),
        )
    };
    let (_, text) = Distribution::KNOWN[0];
    write("sizes/same.csv", text);
    let known = of("web-search").unwrap();
    assert_eq!(of("sizes/same.csv").unwrap().flows, known.flows);
    assert!(!known.flows.is_empty());
    write("half.csv", "size_bytes,cdf\n1000,0.25\n2000,0.5\n");
    for (sizes, said) in [
        (
            "web-serch",
            "x.toml:19: traffic.0.sizes: unknown value `web-serch`; did you mean `web-search`?",
        ),
        ("web-serch", "or a file with a name that ends in .csv"),
        ("none.csv", "none.csv: No such file"),
        ("sizes", "or a file with a name that ends in .csv"),
        (
            "half.csv",
            "half.csv:3:6: the last share is 0.5; it must be 1",
        ),
    ] {
        let error = of(sizes).expect_err(sizes);
        assert!(error.contains(said), "{sizes}: {error}");
    }
    std::fs::create_dir_all(directory.join("folder.csv")).unwrap();
    let error = of("folder.csv").unwrap_err();
    assert!(error.contains("is not a regular file"), "{error}");
}

#[test]
fn listed_sizes_draw_what_they_drew_before() {
    // From the version before distributions.
    let scenario = read("kind = \"poisson\"\nload = 0.3\nstop = \"20us\"\nsizes = [[\"10kB\", 0.5], [\"100kB\", 0.5]]").unwrap();
    let drawn: Vec<_> = scenario
        .flows
        .iter()
        .map(|flow| (flow.start.as_nanos(), flow.from, flow.to, size(flow)))
        .collect();
    assert_eq!(drawn, OF_BEFORE, "{drawn:?}");
    // `stop` limits starts: a started flow sends all of its data, if the scenario lasts long enough.
    let ends = scenario.flows.iter().map(|flow| flow.stop);
    assert!(ends.into_iter().all(|end| end == scenario.duration));
}

const OF_BEFORE: [(u64, usize, usize, u64); 10] = [
    (1484, 2, 1, 100_000),
    (2573, 3, 1, 10_000),
    (3182, 0, 2, 10_000),
    (4615, 3, 1, 10_000),
    (9601, 2, 3, 10_000),
    (10_042, 0, 3, 100_000),
    (14_227, 1, 2, 10_000),
    (14_498, 3, 1, 100_000),
    (16_327, 3, 0, 10_000),
    (17_712, 3, 0, 10_000),
];

#[test]
fn collectives_are_read() {
    let flows = |rest: &str| read(rest).unwrap().flows;
    let ring = flows("kind = \"ring-all-reduce\"\nsize = \"4MB\"\ntransport = \"dcqcn\"");
    assert_eq!(ring.len(), 2 * 3 * 4);
    assert!(ring.iter().all(|flow| size(flow) == 1_000_000));
    assert!(ring[..4].iter().all(|flow| flow.after.is_empty()));
    assert_eq!((ring[4].from, ring[4].to), (0, 1));
    assert_eq!(
        ring[4].after,
        arrivals([3]),
        "h1 sends on what h4 has sent it"
    );
    let tree =
        flows("kind = \"tree-all-reduce\"\nsize = \"4MB\"\ngroup = [\"h3\", \"h1\", \"h2\"]");
    let ends: Vec<_> = tree.iter().map(|flow| (flow.from, flow.to)).collect();
    assert_eq!(ends, [(1, 2), (0, 2), (2, 0), (2, 1)]);
    assert_eq!(tree[3].after, arrivals([1, 0]));
    // Flows of a second one wait for its own.
    let two = flows("kind = \"tree-all-reduce\"\nsize = \"1MB\"\n[[traffic]]\nclass = \"lossless\"\nkind = \"all-to-all-steps\"\nsize = \"1MB\"");
    assert_eq!((two.len(), two[6].after.len()), (6 + 12, 0));
    assert_eq!(two[10].after, arrivals([6 + 3]));
    let gaps = read("kind = \"ring-all-reduce\"\nsize = \"1MB\"")
        .unwrap()
        .lab_gaps()
        .join("\n");
    assert!(gaps.contains("do not wait for other flows"), "{gaps}");
    for (rest, said) in [
        (
            "kind = \"ring-all-reduce\"",
            "size: missing; write text with a unit",
        ),
        (
            "kind = \"ring-all-reduce\"\nsize = \"1MB\"\ngroup = [\"h1\"]",
            "group: a collective needs at least two hosts",
        ),
        (
            "kind = \"ring-all-reduce\"\nsize = \"1MB\"\ngroup = [\"h1\", \"h2\", \"h1\"]",
            "group: `h1` is listed twice",
        ),
        (
            "kind = \"ring-all-reduce\"\nsize = \"1MB\"\ngroup = [\"h1\", \"h7\"]",
            "group: unknown host `h7`",
        ),
        (
            "kind = \"ring-all-reduce\"\nsize = \"1MB\"\non = \"1ms\"",
            "on: does not apply to this kind; keys of this kind: size, group",
        ),
        (
            "kind = \"poisson\"\nload = 0.5\nsizes = \"web-search\"\npairs = \"others\"",
            "pairs: unknown value `others`; did you mean `other-switch`?",
        ),
    ] {
        let error = read(rest).expect_err(rest);
        assert!(error.contains(said), "{rest}\n{error}");
    }
}

#[test]
fn too_many_flows_are_refused_before_they_are_made() {
    let group: Vec<usize> = (0..2000).collect();
    let traffic = Traffic {
        kind: TrafficKind::Collective {
            collective: Collective::AllToAllSteps,
            group,
            size: Bytes::new(1_000_000),
        },
        ..poisson(Pairs::Any, 50, "web-search")
    };
    let ground = Ground {
        switch_of: &[0; 2000],
        bits_per_second: &[100_000_000_000; 2000],
        seed: 1,
        end: Duration::from_secs(1),
        taken: 0,
    };
    let error = traffic.expand(0, &ground).unwrap_err().to_string();
    assert!(error.contains("the maximum is 1000000"), "{error}");
}

/// Flows with a size, each as `name from to`, with further keys.
fn flows(tables: &[(&str, &str)]) -> Result<Scenario, String> {
    let mut text = NETWORK.to_owned();
    for (ends, keys) in tables {
        let mut words = ends.split(' ');
        let [name, from, to] = [(); 3].map(|()| words.next().unwrap());
        text += &format!("[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nclass = \"lossless\"\n{keys}\n");
    }
    Scenario::parse(&text, Path::new("x.toml"), &[]).map_err(|error| error.to_string())
}

#[test]
fn a_flow_waits_for_flows_to_its_sender_and_for_what_is_computed_with_them() {
    let scenario = flows(&[
        (
            "c h1 h2",
            "after = [\"a\", \"b\"]\ncompute = [\"0s\", \"5us\"]",
        ),
        ("a h2 h1", "size = \"10kB\""),
        ("b h3 h1", "size = \"10kB\""),
    ]);
    let after = &scenario.unwrap().flows[0].after;
    let wait = |flow, micros| After {
        flow,
        compute: Duration::from_micros(micros),
    };
    assert_eq!(*after, [wait(1, 0), wait(2, 5)]);
    let a = ("a h2 h1", "size = \"10kB\"");
    for (tables, said) in [
        (
            vec![("c h1 h2", "after = [\"x\"]"), a],
            "c.after: there is no [[flow]] `x`",
        ),
        (
            vec![("c h3 h2", "after = [\"a\"]"), a],
            "`a` does not end at this flow's sender",
        ),
        (
            vec![("c h1 h2", "after = [\"a\"]"), ("a h2 h1", "")],
            "`a` never ends: give it a `size`",
        ),
        (
            vec![("c h1 h2", "after = [\"a\", \"a\"]"), a],
            "`a` is listed twice",
        ),
        (vec![("c h1 h2", "after = [\"c\"]")], "waits for itself"),
        (
            vec![("c h1 h2", "after = [\"a\"]\ncompute = []"), a],
            "has 0 times for 1 flows in `after`",
        ),
        (
            vec![
                ("c h1 h2", "after = [\"a\"]\nsize = \"1kB\""),
                ("a h2 h1", "after = [\"c\"]\nsize = \"1kB\""),
            ],
            "c, a wait for each other: none of them would begin",
        ),
    ] {
        let error = flows(&tables).expect_err(said);
        assert!(error.contains(said), "{error}\n{said}");
    }
}
