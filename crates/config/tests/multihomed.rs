//! Hosts of several lines, and the lines that flows take.

use std::collections::BTreeSet;
use std::path::Path;

use weir_config::scenario::Scenario;
use weir_core::Duration;

/// Two racks of two switches each. `a` and `b` have a line to both switches of their rack, `c` has one line.
const NETWORK: &str = r#"
name = "x"
duration = "1ms"
[link-defaults]
rate = "25Gbit"
delay = "1us"
[[class]]
name = "c"
priority = 3
mode = "pfc"
xoff = "200kB"
xon = "180kB"
headroom = "900kB"
[[switch]]
name = "s1"
[[switch]]
name = "s2"
[[switch]]
name = "s3"
[[switch]]
name = "s4"
[[link]]
ends = ["s1", "s3"]
[[link]]
ends = ["s2", "s4"]
[[link]]
ends = ["s3", "s4"]
[[host]]
name = "a-1"
switch = "s1"
[[host]]
name = "a-2"
switch = "s2"
rate = "10Gbit"
delay = "7us"
[[host]]
name = "a"
lines = ["a-1", "a-2"]
[[host]]
name = "b-1"
switch = "s3"
[[host]]
name = "b-2"
switch = "s4"
[[host]]
name = "b"
lines = ["b-1", "b-2"]
[[host]]
name = "c"
switch = "s3"
"#;

fn parse(more: &str) -> Result<Scenario, String> {
    let text = format!("{NETWORK}{more}");
    Scenario::parse(&text, Path::new("x.toml"), &[]).map_err(|error| error.to_string())
}

fn flow(name: &str, from: &str, to: &str, more: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nclass = \"c\"\n{more}\n"
    )
}

fn lines(scenario: &Scenario) -> Vec<[&str; 2]> {
    let name = |host: usize| scenario.hosts[host].name.as_str();
    let flows = scenario.flows.iter();
    flows.map(|flow| [flow.from, flow.to].map(name)).collect()
}

#[test]
fn a_flow_takes_one_of_the_nearest_pairs_of_lines_by_its_name() {
    let text: String = (0..64)
        .map(|number| flow(&format!("f{number}"), "a", "b", ""))
        .collect();
    let scenario = parse(&text).unwrap();
    let taken: BTreeSet<[&str; 2]> = lines(&scenario).into_iter().collect();
    assert_eq!(taken, BTreeSet::from([["a-1", "b-1"], ["a-2", "b-2"]]));
    // Other flows do not change it.
    let alone = parse(&flow("f7", "a", "b", "")).unwrap();
    assert_eq!(lines(&alone)[0], lines(&scenario)[7]);
    // The seed does.
    let other = format!("seed = 2\n{NETWORK}{text}");
    let other = Scenario::parse(&other, Path::new("x.toml"), &[]).unwrap();
    assert_ne!(lines(&other), lines(&scenario));
    // From `a` to `c` one line is nearer.
    let text: String = (0..16)
        .map(|number| flow(&format!("f{number}"), "a", "c", ""))
        .collect();
    let scenario = parse(&text).unwrap();
    assert!(lines(&scenario).iter().all(|ends| *ends == ["a-1", "c"]));
}

#[test]
fn a_flow_may_name_its_lines() {
    let scenario = parse(&(flow("f", "a-2", "c", "") + &flow("g", "c", "b-2", ""))).unwrap();
    assert_eq!(lines(&scenario), [["a-2", "c"], ["c", "b-2"]]);
    let line = &scenario.hosts[scenario.flows[0].from].line;
    assert_eq!(
        (line.rate.get(), line.delay),
        (10_000_000_000, Duration::from_micros(7))
    );
    let via = parse(&flow("f", "a", "b", "via = [\"s2\", \"s4\"]")).unwrap();
    assert_eq!(lines(&via), [["a-2", "b-2"]]);
}

#[test]
fn traffic_has_every_host_once() {
    let traffic = "[[traffic]]\nkind = \"all-to-all\"\nclass = \"c\"\n";
    let scenario = parse(traffic).unwrap();
    assert_eq!(scenario.flows.len(), 3 * 2);
    let incast = "[[traffic]]\nkind = \"incast\"\nclass = \"c\"\nto = \"b\"\n";
    let scenario = parse(incast).unwrap();
    let ends = lines(&scenario);
    assert_eq!(ends.len(), 2);
    assert!(ends.iter().all(|[_, to]| to.starts_with("b-")), "{ends:?}");
    let ring = "[[traffic]]\nkind = \"ring-all-reduce\"\nclass = \"c\"\nsize = \"1MB\"\n";
    let scenario = parse(&format!("{ring}group = [\"a-2\", \"b-1\", \"c\"]\n")).unwrap();
    assert_eq!(lines(&scenario)[0], ["a-2", "b-1"]);
    let error = parse(ring).unwrap_err();
    assert!(error.contains("`a` has several lines"), "{error}");
}

#[test]
fn a_host_of_several_lines_has_a_line_in_every_switch_of_its_own() {
    let scenario = parse(&flow("f", "a", "b", "")).unwrap();
    let names: Vec<&str> = scenario
        .hosts
        .iter()
        .map(|host| host.name.as_str())
        .collect();
    assert_eq!(names, ["a-1", "a-2", "b-1", "b-2", "c"]);
    let [a, b] = &scenario.multihomed[..] else {
        panic!("{:?}", scenario.multihomed)
    };
    assert_eq!((a.name.as_str(), &a.lines[..]), ("a", &[0, 1][..]));
    assert_eq!((b.name.as_str(), &b.lines[..]), ("b", &[2, 3][..]));
    assert_eq!(scenario.simulator_gap(), None);
    assert_eq!(
        scenario.lab_gaps(),
        Vec::<String>::new(),
        "a line is an endpoint of the lab"
    );
}

#[test]
fn the_load_of_traffic_counts_lines() {
    let poisson =
        "[[traffic]]\nkind = \"poisson\"\nclass = \"c\"\nload = 0.5\nsizes = [[\"1500B\", 1]]\n";
    let flows = parse(poisson).unwrap().flows.len() as f64;
    // Half of four lines of 25 Gbit/s and one of 10 Gbit/s for a millisecond.
    let expected = 0.5 * (4.0 * 25e9 + 10e9) / 8.0 / 1500.0 / 1000.0;
    assert!(
        (flows / expected - 1.0).abs() < 0.05,
        "{flows}, not {expected}"
    );
}

#[test]
fn unsuitable_lines_are_refused() {
    let host = |keys: &str| format!("[[host]]\nname = \"x\"\n{keys}\n");
    let sized = "size = \"1MB\"";
    for (text, said) in [
        (host("lines = [\"c\"]"), "x.lines: give at least two"),
        (
            host("lines = [\"c\", \"d\"]"),
            "host.x.lines: unknown host `d`",
        ),
        (
            host("lines = [\"c\", \"a-1\"]"),
            "host.x.lines: `a-1` is a line of `a` already",
        ),
        (
            host("lines = [\"c\", \"c\"]"),
            "host.x.lines: `c` is a line of `x` already",
        ),
        (
            host("lines = [\"c\", \"a\"]"),
            "host.x.lines: unknown host `a`",
        ),
        (
            host("lines = [\"c\", \"a-1\"]\nrate = \"1Gbit\""),
            "host.x.rate: belongs to a line: set it in the [[host]]s of `lines`",
        ),
        (
            host("lines = [\"c\", \"a-1\"]\nswitch = \"s1\""),
            "host.x.switch: belongs to a line",
        ),
        (
            flow("f", "a", "a-2", ""),
            "flow.f.to: must be another host than `from`",
        ),
        (
            flow("f", "a-1", "a-2", ""),
            "flow.f.to: must be another host than `from`",
        ),
        (flow("f", "d", "a", ""), "flow.f.from: unknown host `d`"),
        (
            flow("f", "a", "b", sized) + &flow("g", "b-1", "c", "after = [\"f\"]"),
            "flow.g.after: the line on which `f` arrives must be the one on which this flow leaves",
        ),
        (
            flow("f", "a-1", "b-1", sized) + &flow("g", "b", "c", "after = [\"f\"]"),
            "flow.g.after: the line on which `f` arrives must be the one on which this flow leaves",
        ),
        (
            "[[traffic]]\nkind = \"incast\"\nclass = \"c\"\nto = \"b-1\"\n".to_owned(),
            "`b-1` is a line of `b`: name the host",
        ),
    ] {
        let error = parse(&text).unwrap_err();
        assert!(error.contains(said), "{text}: {error}");
    }
    let waits = flow("f", "a-1", "b-1", sized) + &flow("g", "b-1", "c", "after = [\"f\"]");
    assert!(parse(&waits).is_ok());
    let kernel = format!("hosts = \"kernel\"\n{NETWORK}");
    let error = Scenario::parse(&kernel, Path::new("x.toml"), &[])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("host.a.lines: a host with a kernel has one line"),
        "{error}"
    );
}
