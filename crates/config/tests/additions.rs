//! Flows that a caller adds to a scenario.

use std::path::Path;

use weir_config::scenario::{AddedFlow, Additions, Pattern, Scenario, Transport};
use weir_core::{Bytes, Duration};

const NETWORK: &str = r#"
name = "x"
duration = "1ms"
[[class]]
name = "a"
priority = 1
mode = "lossy"
buffer = "200kB"
[[class]]
name = "b"
priority = 3
mode = "pfc"
xoff = "200kB"
xon = "180kB"
headroom = "900kB"
[topology]
kind = "line"
switches = 2
hosts = 2
[[flow]]
name = "first"
from = "h1"
to = "h3"
class = "b"
"#;

fn flow(from: &str, to: &str) -> AddedFlow {
    AddedFlow {
        from: from.to_owned(),
        to: to.to_owned(),
        size: Bytes::new(5000),
        start: Duration::from_micros(7),
        ..AddedFlow::default()
    }
}

fn parse(flows: Vec<AddedFlow>) -> Result<Scenario, String> {
    let additions = Additions {
        transports: vec!["mine".to_owned()],
        every_flow: None,
        flows,
    };
    let parsed = Scenario::parse_with(NETWORK, Path::new("x.toml"), &[], &additions);
    parsed.map_err(|error| error.to_string())
}

#[test]
fn added_flows_follow_those_of_the_file() {
    let second = AddedFlow {
        name: Some("second".to_owned()),
        class: Some("b".to_owned()),
        transport: Some("mine".to_owned()),
        frame: Some(Bytes::new(9000)),
        ..flow("h4", "h2")
    };
    let scenario = parse(vec![flow("h1", "h4"), second]).unwrap();
    let names: Vec<&str> = scenario.flows.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["first", "added-1", "second"]);
    let [_, one, two] = &scenario.flows[..] else {
        panic!("{names:?}");
    };
    let size = Bytes::new(5000);
    assert_eq!((one.from, one.to, one.class), (0, 3, 0));
    assert_eq!(one.pattern, Pattern::Burst { size });
    assert_eq!(one.start, Duration::from_micros(7));
    assert_eq!(one.transport, Transport::Open);
    assert_eq!((two.from, two.to, two.class), (3, 1, 1));
    assert_eq!(two.transport, Transport::Custom(0));
    // Buffers have room for the longest frame of all flows.
    let plain = parse(Vec::new()).unwrap();
    let length = |scenario: &Scenario| scenario.frames().frame_length_max();
    assert!(length(&scenario) > length(&plain));
}

#[test]
fn a_wrong_flow_is_named_with_its_number_and_key() {
    let wrong = |change: fn(&mut AddedFlow)| {
        let mut second = flow("h1", "h4");
        change(&mut second);
        parse(vec![flow("h2", "h3"), second]).unwrap_err()
    };
    for (change, told) in [
        (
            (|it| it.from = "h9".to_owned()) as fn(&mut AddedFlow),
            "flows.1.from: unknown host `h9`",
        ),
        (
            |it| it.to = "h1".to_owned(),
            "flows.1.to: must be another host",
        ),
        (
            |it| it.size = Bytes::ZERO,
            "flows.1.size: must be above zero",
        ),
        (
            |it| it.start = Duration::from_millis(1),
            "flows.1.start: must be before the end",
        ),
        (
            |it| it.name = Some("first".to_owned()),
            "flows.1.name: `first` is already used",
        ),
        (
            |it| it.name = Some("a b".to_owned()),
            "flows.1.name: invalid name",
        ),
        (
            |it| it.class = Some("c".to_owned()),
            "flows.1.class: unknown class `c`",
        ),
        (
            |it| it.transport = Some("mien".to_owned()),
            "did you mean `mine`?",
        ),
        (
            |it| it.frame = Some(Bytes::new(10)),
            "flows.1.frame: must be between",
        ),
    ] {
        let seen = wrong(change);
        assert!(seen.contains(told), "{seen}, not {told}");
    }
}

#[test]
fn not_all_of_many_wrong_flows_are_listed() {
    let told = parse(vec![flow("h1", "h9"); 1000]).unwrap_err();
    assert_eq!(told.lines().count(), 20, "{told}");
}
