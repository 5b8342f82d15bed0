//! Hosts with an ordinary kernel that look for each other in a ring: with `multicast.suppress` no host receives requests for
//! another, and messages for all still reach all.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use weir_api::counters::Counters;
use weir_config::daemon::DaemonConfig;
use weir_config::scenario::Scenario;
use weir_core::MacAddress;
use weir_lab::lab::names::Names;
use weir_lab::lab::process::inside;
use weir_lab::lab::stage::Stage;
use weir_tests::{printed, scenario, tear_down, until};

/// `watch`: prints a line for each received request, `ask SENDER TARGET`, until its input ends. `send`: sends each line of
/// its input, in hexadecimal, as a frame.
const PROGRAM: &str = r#"
import ipaddress, select, socket, sys
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
link.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)
link.bind((sys.argv[1], 3))
if sys.argv[2] == "send":
    for line in sys.stdin:
        link.send(bytes.fromhex(line.strip()))
    sys.exit()
print("ready", flush=True)
while True:
    ready, _, _ = select.select([link, sys.stdin], [], [])
    if sys.stdin in ready:
        break
    frame, address = link.recvfrom(2048)
    if address[2] == socket.PACKET_OUTGOING:
        continue
    if frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\x01":
        ends = frame[28:32], frame[38:42]
    elif frame[12:14] == b"\x86\xdd" and frame[20] == 58 and frame[54] == 135:
        ends = frame[22:38], frame[62:78]
    else:
        continue
    if all(len(end) in (4, 16) for end in ends):
        print("ask", *map(ipaddress.ip_address, ends), flush=True)
"#;

fn python(names: &Names, host: &str, what: &str) -> Command {
    let mut command = inside(&names.namespace(host), Path::new("python3"));
    command.args(["-c", PROGRAM, names.host_device(), what]);
    command
}

type Ask = (IpAddr, IpAddr);

struct Watch {
    children: Vec<Child>,
    heard: Arc<Mutex<BTreeMap<String, BTreeSet<Ask>>>>,
}

impl Watch {
    fn start(scenario: &Scenario, names: &Names) -> Self {
        let heard = Arc::new(Mutex::new(BTreeMap::<String, BTreeSet<Ask>>::new()));
        let mut children = Vec::new();
        for host in &scenario.hosts {
            let mut child = python(names, &host.name, "watch")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            assert_eq!(lines.next().unwrap().unwrap(), "ready");
            let (name, heard) = (host.name.clone(), Arc::clone(&heard));
            std::thread::spawn(move || {
                for line in lines.map_while(Result::ok) {
                    let words: Vec<&str> = line.split_whitespace().collect();
                    let [_, from, target] = words[..] else {
                        continue;
                    };
                    let ask = (from.parse().unwrap(), target.parse().unwrap());
                    let mut heard = heard.lock().unwrap();
                    heard.entry(name.clone()).or_default().insert(ask);
                }
            });
            children.push(child);
        }
        Self { children, heard }
    }

    /// Waits until every host but `from` has received `ask`.
    fn wait_for(&self, scenario: &Scenario, from: usize, ask: Ask) {
        let hosts = scenario.hosts.iter().enumerate();
        for (_, host) in hosts.filter(|(index, _)| *index != from) {
            until(&format!("{} hears {ask:?}", host.name), || {
                let heard = self.heard.lock().unwrap();
                heard.get(&host.name)?.contains(&ask).then_some(())
            });
        }
    }

    /// Returns by host the received requests, without those about their sender itself.
    fn asks_for(&self) -> BTreeMap<String, BTreeSet<Ask>> {
        let mut heard = self.heard.lock().unwrap().clone();
        for asks in heard.values_mut() {
            asks.retain(|(from, target)| from != target && !from.is_unspecified());
        }
        heard
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        for child in &mut self.children {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

fn v6(host: usize) -> Ipv6Addr {
    Ipv6Addr::new(0xFD87, 0, 0, 0, 0, 0, 0, host as u16 + 1)
}

/// Returns the address that a kernel derives from a MAC address (RFC 4291, appendix A).
fn link_local(MacAddress([a, b, c, d, e, f]): MacAddress) -> Ipv6Addr {
    let word = |high: u8, low: u8| u16::from_be_bytes([high, low]);
    let own = [word(a ^ 2, b), word(c, 0xFF), word(0xFE, d), word(e, f)];
    Ipv6Addr::new(0xFE80, 0, 0, 0, own[0], own[1], own[2], own[3])
}

/// A ring of four with hosts that also use IPv6.
struct Ring {
    scenario: Scenario,
    stage: Stage,
    watch: Watch,
}

impl Ring {
    fn set_up(suppress: bool) -> Self {
        let suppress = format!("multicast.suppress={suppress}");
        let scenario = scenario("kernel/ring4-kernel.toml", &["application=", &suppress]);
        let hosts = scenario.hosts.len();
        let add_v6 = |config: &mut DaemonConfig| {
            for (host, station) in config.stations.iter_mut().enumerate() {
                let more = [v6(host), link_local(station.mac)];
                station.addresses.extend(more.map(IpAddr::V6));
            }
        };
        let stage = Stage::set_up_with(&scenario, false, add_v6);
        let stage = stage.unwrap_or_else(|error| panic!("{error:#}"));
        let watch = Watch::start(&scenario, stage.names());
        let ring = Self {
            scenario,
            stage,
            watch,
        };
        (0..hosts).for_each(|host| ring.give_v6(host));
        ring
    }

    fn shell(&self, host: usize, script: &str) -> String {
        let namespace = self.names().namespace(&self.scenario.hosts[host].name);
        printed(inside(&namespace, Path::new("sh")).args(["-c", script]))
    }

    fn names(&self) -> &Names {
        self.stage.names()
    }

    /// Gives a host an address; its kernel detects duplicates with a message that all others receive.
    fn give_v6(&self, host: usize) {
        let (device, own) = (self.names().host_device(), v6(host));
        self.shell(host, &format!(
            "echo 0 > /proc/sys/net/ipv6/conf/{device}/disable_ipv6 && ip -6 address add {own}/64 dev {device}"
        ));
        let probe = (Ipv6Addr::UNSPECIFIED.into(), own.into());
        self.watch.wait_for(&self.scenario, host, probe);
        until("no duplicate is found", || {
            let unsure = self.shell(host, "ip -6 address show tentative");
            unsure.is_empty().then_some(())
        });
    }

    /// Every host pings every other one, whose address it has forgotten.
    fn ping_all(&self) {
        let hosts = self.scenario.hosts.len();
        for from in 0..hosts {
            self.shell(from, "ip neighbour flush all");
            for to in (0..hosts).filter(|to| *to != from) {
                for address in [IpAddr::from(self.scenario.host_ip(to)), v6(to).into()] {
                    self.shell(from, &format!("ping -c 1 -W 10 {address}"));
                }
            }
        }
    }

    fn send(&self, host: usize, frames: &[Vec<u8>]) {
        let mut child = python(self.names(), &self.scenario.hosts[host].name, "send")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        for frame in frames {
            let digits: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(input, "{digits}").unwrap();
        }
        drop(input);
        assert!(child.wait().unwrap().success());
    }

    /// Returns an ARP request from `host`.
    fn arp(&self, host: usize, sender: [u8; 4], target: [u8; 4]) -> Vec<u8> {
        let own = self.scenario.hosts[host].address.0;
        let head = [&[0xFF; 6][..], &own, &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1]].concat();
        [&head[..], &own, &sender, &[0; 6], &target].concat()
    }

    /// Announces that `host` has an unused address: when it arrives, all earlier frames have arrived.
    fn announce(&self, host: usize) {
        let address = [10, 87, 99, host as u8 + 1];
        self.send(host, &[self.arp(host, address, address)]);
        let told = (address.into(), address.into());
        self.watch.wait_for(&self.scenario, host, told);
    }

    /// Returns requests for others that hosts received.
    fn overheard(&self) -> BTreeMap<String, BTreeSet<Ask>> {
        (0..self.scenario.hosts.len()).for_each(|host| self.announce(host));
        let mut heard = self.watch.asks_for();
        for (index, host) in self.scenario.hosts.iter().enumerate() {
            let own: [IpAddr; 3] = [
                self.scenario.host_ip(index).into(),
                v6(index).into(),
                link_local(host.address).into(),
            ];
            let asks = heard.entry(host.name.clone()).or_default();
            let is_own = |(_, target): &Ask| own.contains(target);
            assert!(asks.iter().any(|ask| is_own(ask) && ask.1.is_ipv4()));
            assert!(asks.iter().any(|ask| is_own(ask) && ask.1.is_ipv6()));
            asks.retain(|ask| !is_own(ask));
        }
        heard.retain(|_, asks| !asks.is_empty());
        heard
    }

    /// Returns totals of all switches: directed requests, and those for unknown addresses.
    fn counted(&self) -> [u64; 2] {
        let keys = [
            "dataplane_address_requests_directed_total",
            "dataplane_address_requests_unknown_total",
        ];
        let of_switch = |counters: Vec<Counters>| keys.map(|key| counters[0].counters[key]);
        let switches = self.stage.switches.iter();
        let all = switches.map(|switch| of_switch(switch.get("/v1/counters").unwrap()));
        all.fold([0; 2], |sum, own| [sum[0] + own[0], sum[1] + own[1]])
    }

    fn tear_down(self) {
        drop(self.watch);
        tear_down(self.stage);
    }
}

#[test]
fn requests_reach_whom_they_are_for_and_nobody_else() {
    let ring = Ring::set_up(true);
    ring.ping_all();
    assert_eq!(ring.overheard(), BTreeMap::new());
    let hosts = ring.scenario.hosts.len() as u64;
    let [directed, unknown] = ring.counted();
    // Once for each pair and family: what leaves the first switch is no longer for a group.
    assert!(directed >= 2 * hosts * (hosts - 1), "{directed}");
    assert_eq!(unknown, 0);
    // A probe for an address of another host, and a request for an unused one.
    let ([a, b], nobody) = (
        [0, 1].map(|host| ring.scenario.host_ip(host)),
        [10, 87, 77, 7],
    );
    ring.send(0, &[ring.arp(0, [0; 4], b.octets())]);
    ring.watch
        .wait_for(&ring.scenario, 0, ([0; 4].into(), b.into()));
    ring.send(0, &[ring.arp(0, a.octets(), nobody)]);
    ring.watch
        .wait_for(&ring.scenario, 0, (a.into(), nobody.into()));
    // At least its own switch: the others also flood it, and each counts it.
    assert!(ring.counted()[1] >= 1);
    frames_of_every_size_do_no_harm(&ring);
    ring.tear_down();
}

/// Truncated or overlong requests may be forwarded or not, but the switches continue.
fn frames_of_every_size_do_no_harm(ring: &Ring) {
    let [a, b] = [0, 2].map(|host| ring.scenario.host_ip(host).octets());
    let arp = ring.arp(0, a, b);
    let mut solicitation = [&[0x33, 0x33, 0xFF, 0, 0, 3][..], &arp[6..12]].concat();
    solicitation.extend([0x86, 0xDD, 0x60, 0, 0, 0, 0, 24, 58, 255]);
    solicitation.extend(v6(0).octets());
    solicitation.extend([0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF, 0, 0, 3]);
    solicitation.extend([135, 0, 0, 0, 0, 0, 0, 0]);
    solicitation.extend(v6(2).octets());
    let mut frames = Vec::new();
    for whole in [arp, solicitation] {
        for length in (15..whole.len()).chain((whole.len()..1514).step_by(97)) {
            let mut frame = whole.clone();
            frame.resize(length, 0xFF);
            frames.push(frame);
        }
    }
    ring.send(0, &frames);
    ring.announce(0);
    ring.ping_all();
}

/// Control: without it the same hosts receive all of them.
#[test]
fn without_suppression_everybody_hears_all_requests() {
    let ring = Ring::set_up(false);
    ring.ping_all();
    let overheard = ring.overheard();
    assert_eq!(overheard.len(), ring.scenario.hosts.len(), "{overheard:?}");
    for asks in overheard.values() {
        assert!(asks.iter().any(|(_, target)| target.is_ipv4()), "{asks:?}");
        assert!(asks.iter().any(|(_, target)| target.is_ipv6()), "{asks:?}");
    }
    assert_eq!(ring.counted(), [0, 0]);
    ring.tear_down();
}
