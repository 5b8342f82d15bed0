//! Routes and credit loops in files.

use std::path::Path;

use weir_config::scenario::Scenario;

use super::{next, Network};

fn diamond() -> Network {
    Network {
        switch_count: 4,
        links: vec![(0, 1, false), (0, 2, false), (1, 3, false), (2, 3, false)],
        hosts: vec![0, 3],
    }
}

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, Path::new("diamond.toml"), &[]).map_err(|error| error.to_string())
}

const FLOW: &str = "[[flow]]\nname = \"a\"\nfrom = \"h0\"\nto = \"h1\"\nclass = \"lossless\"\n";

#[test]
fn written_routes_override_computed_ones() {
    let computed = diamond().text("mode = \"ecmp\"");
    let scenario = parse(&computed).unwrap();
    assert_eq!(next(&scenario, 0, 1), [Some(1), Some(2)]);
    let one = format!("{computed}[[route]]\nto = \"h1\"\nvia = [\"s0\", \"s2\", \"s3\"]\n");
    let scenario = parse(&one).unwrap();
    assert_eq!(next(&scenario, 0, 1), [Some(2)]);
    assert_eq!(
        next(&scenario, 3, 0),
        [Some(1), Some(2)],
        "the other way as computed"
    );
    let shortest = diamond().text("mode = \"shortest\"");
    let group = "[[route]]\nto = \"h1\"\nat = \"s0\"\nports = [\"s2\", \"s1\"]\n";
    let scenario = parse(&format!("{shortest}{group}")).unwrap();
    assert_eq!(
        next(&scenario, 0, 1),
        [Some(1), Some(2)],
        "in the order of ports"
    );
}

#[test]
fn a_flow_can_ask_for_one_of_the_ways() {
    let text = diamond().text("mode = \"ecmp\"") + FLOW;
    assert_eq!(parse(&text).unwrap().way(0), None, "the hash decides");
    let asked = |via: &str| parse(&format!("{text}via = {via}\n"));
    assert_eq!(
        asked("[\"s0\", \"s2\", \"s3\"]").unwrap().way(0),
        Some(vec![0, 2, 3])
    );
    for (via, said) in [
        (
            "[\"s0\", \"s3\"]",
            "the routes to `h1` do not take this path",
        ),
        (
            "[\"s0\", \"s2\"]",
            "the routes to `h1` do not take this path",
        ),
        ("[\"s1\", \"s3\"]", "must begin at `s0`, where `h0` is"),
        ("[\"s9\"]", "unknown switch `s9`"),
    ] {
        let complaint = asked(via).unwrap_err();
        assert!(complaint.contains(said), "{complaint}");
    }
}

#[test]
fn refusals_of_routes_name_the_remedy() {
    let text = diamond().text("mode = \"ecmp\"") + FLOW;
    for (routes, said) in [
        (
            "to = \"h1\"\nat = \"s0\"\nports = [\"s3\"]",
            "no working link from `s0` to `s3`",
        ),
        (
            "to = \"h1\"\nat = \"s0\"\nports = [\"s1\", \"s1\"]",
            "`s1` is listed twice",
        ),
        ("to = \"h1\"\nat = \"s0\"\nports = []", "at least one adjacent switch"),
        ("to = \"h1\"\nat = \"s0\"", "ports: missing"),
        ("to = \"h1\"", "via: missing"),
        (
            "to = \"h1\"\nat = \"s3\"\nports = [\"s1\"]",
            "`h1` is at `s3` itself",
        ),
        (
            "to = \"h1\"\nat = \"s0\"\nvia = [\"s0\", \"s1\", \"s3\"]",
            "either `via`, or `at` and `ports`",
        ),
        (
            "to = \"h1\"\nat = \"s1\"\nports = [\"s0\"]",
            "frames to `h1` can come back to `s0`",
        ),
        (
            "to = \"h1\"\nat = \"s0\"\nports = [\"s1\"]\n[[route]]\nto = \"h1\"\nvia = [\"s0\", \"s2\", \"s3\"]",
            "another route to `h1` leaves `s0` by another link",
        ),
    ] {
        let complaint = parse(&format!("{text}[[route]]\n{routes}\n")).expect_err(routes);
        assert!(complaint.contains(said), "{routes}:\n{complaint}");
    }
    let rooted = diamond().text("mode = \"ecmp\"\nroot = \"s1\"");
    assert!(parse(&rooted)
        .unwrap_err()
        .contains("mode = \"up-down\" has a root"));
    let failed = diamond()
        .text("mode = \"shortest\"")
        .replace("failed = false", "failed = true");
    let complaint = parse(&(failed + FLOW)).unwrap_err();
    assert!(
        complaint.contains("get no further than `s0`"),
        "{complaint}"
    );
}

#[test]
fn a_wrong_claim_about_credit_loops_is_refused() {
    let text = diamond().text("mode = \"ecmp\"") + FLOW;
    let complaint = parse(&format!("{text}[expect]\ncredit-loop = true\n")).unwrap_err();
    assert!(
        complaint.contains("expect.credit-loop: the routes of the flows form no"),
        "{complaint}"
    );
    assert!(parse(&format!("{text}[expect]\ncredit-loop = false\n")).is_ok());
    let ring = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/ring4.toml");
    let overrides = ["expect.off.credit-loop=false".parse().unwrap()];
    let complaint = Scenario::load(&ring, &overrides).unwrap_err().to_string();
    assert!(
        complaint.contains(
            "expect.off.credit-loop: the routes of the flows form the credit loop s1 → s2 → s3 → s4 → s1 in priority 3"
        ),
        "{complaint}"
    );
}

#[test]
fn the_scenarios_close_the_loops_that_they_are_about() {
    for (file, wanted) in [
        ("ring4.toml", &["s1 → s2 → s3 → s4 → s1"][..]),
        ("ring4-ecmp.toml", &["s1 → s2 → s3 → s4 → s1"]),
        ("ring4-hub.toml", &["s1 → s2 → s3 → s4 → s1"]),
        ("ring4-hub-returns.toml", &["s1 → s2 → s3 → s4 → s1"]),
        ("figure1.toml", &["c11 → l23 → c12 → l22 → c11"]),
        ("figure2.toml", &["sw1 → q1a → sw2 → q2a → sw1"]),
        (
            "two-loops.toml",
            &["s1 → s2 → s3 → s1", "t1 → t2 → t3 → t1"],
        ),
        ("shared-link.toml", &["u → v → a → u", "u → v → b → u"]),
        ("one-switch.toml", &[]),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../scenarios")
            .join(file);
        let scenario = Scenario::load(&path, &[]).unwrap();
        let found: Vec<String> = scenario
            .credit_loops()
            .iter()
            .map(|found| scenario.credit_loop_text(found))
            .collect();
        assert_eq!(found, wanted, "{file}");
    }
}

/// Figures 1 and 2 and both rings have the members that a Loop Breaker needs.
#[test]
fn every_switch_of_those_loops_has_another_member_for_a_flow_on_it() {
    for file in [
        "ring4-ecmp.toml",
        "ring4-hub.toml",
        "figure1.toml",
        "figure2.toml",
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../scenarios")
            .join(file);
        let scenario = Scenario::load(&path, &[]).unwrap();
        let ways: Vec<Vec<usize>> = (0..scenario.flows.len())
            .map(|flow| scenario.way(flow).unwrap())
            .collect();
        let on_loop = &scenario.credit_loops()[0].switches;
        let movable = on_loop.iter().filter(|switch| {
            ways.iter().zip(&scenario.flows).any(|(way, flow)| {
                way.contains(*switch) && scenario.next_hops[**switch][flow.to].len() > 1
            })
        });
        assert_eq!(movable.count(), on_loop.len(), "{file}");
    }
}

/// All hosts of a torus of 100,000 switches as receivers would need 10¹⁰ routes.
#[test]
fn too_many_routes_are_refused_before_they_are_made() {
    let torus = |layers: usize, traffic: &str| {
        let text = format!(
            "name = \"torus\"\nduration = \"1ms\"\n\
             [topology]\nkind = \"torus-3d\"\nlayers = {layers}\nrows = 50\ncolumns = 40\n\
             [[class]]\nname = \"lossless\"\npriority = 3\nmode = \"pfc\"\n\
             xoff = \"60KiB\"\nxon = \"52KiB\"\nheadroom = \"64KiB\"\n\
             [[traffic]]\nclass = \"lossless\"\n{traffic}\n"
        );
        parse(&text)
    };
    let refused = torus(50, "kind = \"permutation\"").unwrap_err();
    assert!(
        refused.contains("100000 switches") && refused.contains("at most 4000 hosts"),
        "{refused}"
    );
    let few = torus(50, "kind = \"random\"\nflows = 2").unwrap();
    assert_eq!(few.switches.len(), 100_000);
    assert!(few.way(0).unwrap().len() <= 1 + 25 + 25 + 20);
    let refused = torus(61, "kind = \"random\"\nflows = 2").unwrap_err();
    assert!(refused.contains("more than 120000 switches"), "{refused}");
}

#[test]
fn a_switch_lists_its_routes_in_the_order_of_hosts() {
    let mut network = diamond();
    network.hosts = vec![0, 3, 0];
    let scenario = parse(&(network.text("mode = \"ecmp\"") + FLOW)).unwrap();
    let routes = |switch: usize| -> Vec<(usize, Vec<usize>)> {
        let routes = scenario.next_hops[switch].routes();
        routes.map(|(host, ports)| (host, ports.to_vec())).collect()
    };
    // Its own hosts, even without frames to them, and the receiving host.
    assert_eq!(routes(0), [(0, vec![2]), (1, vec![0, 1]), (2, vec![3])]);
    assert_eq!(routes(1), [(1, vec![1])]);
    assert_eq!(scenario.next_hops.targets().collect::<Vec<_>>(), [1]);
}
