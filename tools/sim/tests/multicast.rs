//! Frames to group addresses over a scenario's tree, in the simulator's switches: every host gets one copy from any sender,
//! and none loops, in rings, tori, fabrics with equal-cost paths and networks with failed links.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use weir_config::scenario::Scenario;
use weir_core::{
    Bytes, DropReason, Duration, Frame, FrameHandle, Instant, MacAddress, PortId, Priority, Switch,
    Transmission,
};
use weir_sim::network::plan::{host_address, End, NetworkPlan};
use weir_sim::scenario::plan;

/// Every host sends to every other: switches only have routes to hosts whose frames they see.
const TRAFFIC: &str = r#"
[[traffic]]
kind = "all-to-all"
class = "lossless"
"#;

const CLASS: &str = r#"
[[class]]
name = "lossless"
priority = 3
mode = "pfc"
xoff = "60KiB"
xon = "52KiB"
headroom = "512KiB"
"#;

fn scenario(topology: &str, multicast: &str) -> Scenario {
    let text = format!(
        "name = \"n\"\nduration = \"1s\"\n[routing]\nmode = \"ecmp\"\n{multicast}\n[topology]\n{topology}\n{CLASS}{TRAFFIC}"
    );
    Scenario::parse(&text, Path::new("n.toml"), &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// The switches of a plan without traffic, one frame at a time.
struct Network {
    switches: Vec<Switch>,
    /// By (switch, port): the other end.
    peers: BTreeMap<(usize, u8), End>,
    /// By host: its switch and port.
    doors: BTreeMap<u32, (usize, PortId)>,
    now: Instant,
    drops: Vec<DropReason>,
}

impl Network {
    fn of(scenario: &Scenario) -> Self {
        let NetworkPlan {
            switches, links, ..
        } = plan(scenario).unwrap_or_else(|error| panic!("{error}"));
        let mut peers = BTreeMap::new();
        let mut doors = BTreeMap::new();
        for link in &links {
            let [a, b] = link.ends;
            for (end, other) in [(a, b), (b, a)] {
                let End::Port { switch, port } = end else {
                    continue;
                };
                peers.insert((switch as usize, port.get()), other);
                if let End::Host(host) = other {
                    doors.insert(host, (switch as usize, port));
                }
            }
        }
        let switches = switches.into_iter().map(|plan| Switch::new(plan.config));
        Self {
            switches: switches
                .map(|switch| switch.expect("a valid switch"))
                .collect(),
            peers,
            doors,
            now: Instant::from_nanos(1_000_000_000),
            drops: Vec::new(),
        }
    }

    /// Sends one frame; returns the number of copies by host.
    fn send(&mut self, from: u32, to: MacAddress) -> BTreeMap<u32, usize> {
        let mut copies = BTreeMap::new();
        let mut under_way = VecDeque::from([self.doors[&from]]);
        let mut steps = 0;
        while let Some((at, by)) = under_way.pop_front() {
            steps += 1;
            assert!(steps <= self.switches.len(), "a frame goes round");
            self.now = self.now + Duration::from_millis(1);
            let frame = Frame {
                handle: FrameHandle(0),
                length: Bytes::new(100),
                priority: Priority::ALL[0],
                destination: to,
                source: host_address(from),
                flow_hash: from,
            };
            let switch = &mut self.switches[at];
            if let Err(reason) = switch.receive(self.now, by, frame) {
                self.drops.push(reason);
                continue;
            }
            for port in (0..switch.config().ports.len()).filter_map(PortId::from_index) {
                while let Some(sent) = switch.transmit(self.now, port) {
                    let Transmission::Data { handle, .. } = sent else {
                        continue;
                    };
                    let _ = switch.complete(handle);
                    match self.peers[&(at, port.get())] {
                        End::Host(host) => *copies.entry(host).or_default() += 1,
                        End::Port { switch, port } => under_way.push_back((switch as usize, port)),
                    }
                }
            }
            assert_eq!(switch.held_frames(), 0);
        }
        copies
    }

    /// Every host broadcasts, and sends a frame to every other one.
    fn check(&mut self, name: &str) {
        let hosts: Vec<u32> = self.doors.keys().copied().collect();
        assert!(hosts.len() >= 2, "{name}: too few hosts to tell anything");
        for from in &hosts {
            let others = || hosts.iter().filter(|host| *host != from);
            let once: BTreeMap<u32, usize> = others().map(|host| (*host, 1)).collect();
            assert_eq!(self.send(*from, MacAddress::BROADCAST), once, "{name}");
            for to in others() {
                let only = BTreeMap::from([(*to, 1)]);
                assert_eq!(self.send(*from, host_address(*to)), only, "{name}");
            }
        }
        assert!(self.drops.is_empty(), "{name}: {:?}", self.drops);
    }
}

#[test]
fn every_host_of_rings_and_fabrics_gets_each_broadcast_once() {
    let networks = [
        ("kind = \"ring\"\nswitches = 3", "[multicast]"),
        (
            "kind = \"ring\"\nswitches = 6",
            "[multicast]\nroot = \"s4\"",
        ),
        (
            "kind = \"ring\"\nswitches = 4",
            "[multicast]\nlinks = [\"s1-s2\", \"s4-s3\", \"s4-s1\"]",
        ),
        (
            "kind = \"leaf-spine\"\nleaves = 4\nspines = 3\nhosts = 2",
            "[multicast]",
        ),
        ("kind = \"fat-tree\"\nk = 4", "[multicast]"),
        ("kind = \"torus\"\nrows = 3\ncolumns = 3", "[multicast]"),
        (
            "kind = \"leaf-spine\"\nleaves = 4\nspines = 3\nhosts = 2\nfailed = 2",
            "[multicast]",
        ),
    ];
    for (topology, multicast) in networks {
        let scenario = scenario(topology, multicast);
        Network::of(&scenario).check(topology);
    }
}

/// Control: without a tree a broadcast goes nowhere.
#[test]
fn without_a_tree_nothing_is_flooded() {
    let scenario = scenario("kind = \"ring\"\nswitches = 3", "");
    let mut network = Network::of(&scenario);
    assert_eq!(network.send(0, MacAddress::BROADCAST), BTreeMap::new());
    assert_eq!(network.drops, [DropReason::NoRoute]);
}
