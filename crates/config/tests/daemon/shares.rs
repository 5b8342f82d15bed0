//! Schedulers that classes have by default, and the shares that hosts get of a line with them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use weir_config::daemon::DaemonConfig;
use weir_core::{
    Algorithm, Bytes, Duration, Frame, FrameHandle, Instant, MacAddress, PortId, Priority, Switch,
    Transmission,
};

use super::{parse, GOOD};

const RECEIVER: PortId = PortId::new(0);
const HONEST: PortId = PortId::new(1);
const GREEDY: PortId = PortId::new(2);
const LENGTH: u64 = 1000;
const LOSSLESS: usize = 3;
/// Nothing but what a file must have.
const PLAIN: &str = "name = \"s1\"\n[forwarding]\nlearning = true\n";

fn algorithms(file: &str) -> BTreeMap<String, Algorithm> {
    let classes = parse(file).unwrap().classes.into_iter();
    classes
        .map(|class| (class.name, class.scheduler.algorithm))
        .collect()
}

#[test]
fn a_class_shares_by_port_unless_it_sets_a_share() {
    let found = algorithms(GOOD);
    assert_eq!(found["lossless"], Algorithm::Ports);
    assert_eq!(found["bulk"], Algorithm::Ets, "it has a weight");
    let class = "name = \"lossless\"\n";
    for (line, expected) in [
        ("weight = 1", Algorithm::Ets),
        ("min-rate = \"10Mbit\"", Algorithm::Ets),
        ("max-rate = \"60Mbit\"", Algorithm::Ets),
        ("scheduler = \"ets\"", Algorithm::Ets),
        ("scheduler = \"ports\"", Algorithm::Ports),
        ("scheduler = \"strict\"", Algorithm::Strict),
    ] {
        let file = GOOD.replacen(class, &format!("{class}{line}\n"), 1);
        assert_eq!(algorithms(&file)["lossless"], expected, "{line}");
    }
    for line in ["weight = 2", "min-rate = \"10Mbit\""] {
        let lines = format!("{class}scheduler = \"ports\"\n{line}\n");
        let error = parse(&GOOD.replacen(class, &lines, 1)).unwrap_err();
        let key = line.split(' ').next().unwrap();
        let complaint =
            format!("class.lossless.scheduler: `ports` does not go with `{key}`; write `\"ets\"`");
        assert!(error.contains(&complaint), "{error}");
    }
}

/// The file with an edge port of 1 Gbit/s for the receiver and each host.
fn with_ports(file: &str) -> DaemonConfig {
    let mut text = file.to_owned();
    for number in 0..3 {
        let _ = writeln!(
            text,
            "[[port]]\ndevice = \"eth{number}\"\nrole = \"edge\"\nrate = \"1Gbit\""
        );
    }
    let config = DaemonConfig::parse(&text, Path::new("switchd.toml"));
    config.unwrap_or_else(|error| panic!("{error}"))
}

fn address(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, number])
}

struct Line {
    switch: Switch,
    now: Instant,
    free: Vec<FrameHandle>,
    /// By port and priority: frames inside; by frame: both.
    inside: BTreeMap<(PortId, usize), u64>,
    of: BTreeMap<FrameHandle, (PortId, usize)>,
    sent: BTreeMap<PortId, u64>,
}

impl Line {
    fn new(config: &DaemonConfig) -> Self {
        let addresses: Vec<_> = (0..3).map(|port| address(0x80 + port)).collect();
        let config = config.core(&addresses);
        let free = (0..config.frame_count as u32).map(FrameHandle).collect();
        let mut line = Self {
            switch: Switch::new(config).unwrap(),
            now: Instant::from_nanos(1_000_000),
            free,
            inside: BTreeMap::new(),
            of: BTreeMap::new(),
            sent: BTreeMap::new(),
        };
        // The switch learns where the receiver is.
        line.receive(RECEIVER, 0, MacAddress::BROADCAST);
        line.run(&[], Duration::from_millis(1));
        line.sent.clear();
        line
    }

    fn receive(&mut self, port: PortId, priority: usize, destination: MacAddress) {
        let handle = self.free.pop().expect("a frame for each cell");
        let frame = Frame {
            handle,
            length: Bytes::new(LENGTH),
            priority: Priority::ALL[priority],
            destination,
            source: address(port.get()),
            flow_hash: 0,
        };
        let outcome = self.switch.receive(self.now, port, frame);
        assert!(outcome.is_ok(), "{outcome:?}");
        self.of.insert(handle, (port, priority));
        *self.inside.entry((port, priority)).or_default() += 1;
    }

    /// Keeps three frames of each of `offers`, by port and priority, waiting.
    fn run(&mut self, offers: &[(PortId, usize)], span: Duration) {
        let end = self.now + span;
        while self.now < end {
            for (port, priority) in offers {
                while self
                    .inside
                    .get(&(*port, *priority))
                    .is_none_or(|it| *it < 3)
                {
                    self.receive(*port, *priority, address(0));
                }
            }
            for port in [RECEIVER, HONEST, GREEDY] {
                while let Some(sent) = self.switch.transmit(self.now, port) {
                    if let Transmission::Data { handle, .. } = sent {
                        self.complete(handle);
                    }
                }
            }
            self.now = self.now + Duration::from_micros(4);
        }
    }

    fn complete(&mut self, handle: FrameHandle) {
        if let Some(handle) = self.switch.complete(handle) {
            let (ingress, priority) = self.of.remove(&handle).expect("inside");
            *self.inside.entry((ingress, priority)).or_default() -= 1;
            *self.sent.entry(ingress).or_default() += 1;
            self.free.push(handle);
        }
    }
}

/// Frames of the greedy host, in all priorities but the honest one's or in all, for 100 of the honest host's.
fn taken(config: &DaemonConfig, priority: usize, also: bool) -> u64 {
    let mut line = Line::new(config);
    let mut offers = vec![(HONEST, priority)];
    let greedy = (0..8).filter(|other| also || *other != priority);
    offers.extend(greedy.map(|priority| (GREEDY, priority)));
    line.run(&offers, Duration::from_millis(100));
    line.sent[&GREEDY] * 100 / line.sent[&HONEST]
}

/// With shares by priority it would be 700 % and 1,500 %: `crates/core/tests/switch/port_shares.rs`.
#[test]
fn a_host_gets_no_more_by_several_priorities_with_the_shipped_configuration_and_a_plain_one() {
    let shipped = include_str!("../../../../packaging/etc/switchd.toml");
    for file in [shipped, PLAIN] {
        let config = with_ports(file);
        for priority in [0, LOSSLESS] {
            for also in [false, true] {
                let taken = taken(&config, priority, also);
                assert!((99..=101).contains(&taken), "{priority}, {also}: {taken} %");
            }
        }
    }
}

/// The same file with a weight for the lossless class: a class with a share of its own keeps it, against any number of
/// priorities.
#[test]
fn a_class_with_a_weight_has_its_share() {
    let shipped = include_str!("../../../../packaging/etc/switchd.toml");
    let file = shipped.replacen("priority = 3\n", "priority = 3\nweight = 3\n", 1);
    let config = with_ports(&file);
    let taken = taken(&config, LOSSLESS, false);
    assert!((33..=34).contains(&taken), "{taken} %");
}
