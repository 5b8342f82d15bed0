//! VLANs with real frames: a switch's output matches a slow model of 802.1Q byte by byte, also for hostile double tags; and
//! Open vSwitch, configured alike, forwards the same frames.

#[path = "../../../crates/core/tests/switch/vlans/model.rs"]
mod model;
#[path = "../src/ovs.rs"]
mod ovs;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex};

use model::{Bridge, Kind, Settings};
use ovs::Ovs;
use weir_api::daemon::{Status, Vlans};
use weir_config::daemon::DaemonConfig;
use weir_core::random::SplitMix64;
use weir_core::{VlanId, VlanMode};
use weir_lab::lab::process::program;
use weir_tests::{printed, switches, until, Bench};

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/six-hosts.toml");
const HOSTS: [&str; 6] = ["h1", "h2", "h3", "h4", "h5", "h6"];
/// VLANs of frames: untagged, some of ports, a rare one, and the reserved one.
const NUMBERS: [u16; 6] = [0, 10, 20, 30, 4094, 4095];
/// Numbers of frames that only mark the arrival of all earlier ones.
const MARKS: u32 = 1_000_000;
const FRAMES: u32 = 1500;
/// Precedes the number in every frame.
const MARK: &[u8] = b"weir-vlan";

/// Sends each line of its input, in hexadecimal, as a frame, and prints each received frame with the mark, including the tag
/// removed by the kernel.
const PROGRAM: &str = r#"
import socket, struct, sys, threading
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
link.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)
link.setsockopt(263, 8, 1)
link.bind((sys.argv[1], 3))
def receive():
    while True:
        frame, extra, flags, address = link.recvmsg(4096, 256)
        if address[2] == socket.PACKET_OUTGOING or b"weir-vlan" not in frame:
            continue
        for level, kind, data in extra:
            if (level, kind) == (263, 8):
                status, _, _, _, _, tci, tpid = struct.unpack("=IIIHHHH", data[:20])
                if status & 0x10:
                    tpid = tpid if status & 0x40 else 0x8100
                    frame = frame[:12] + struct.pack("!HH", tpid, tci) + frame[12:]
        print(frame.hex(), flush=True)
threading.Thread(target=receive, daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    link.send(bytes.fromhex(line.strip()))
"#;

fn mac(host: usize) -> [u8; 6] {
    [2, 0x57, 0, 0, 7, host as u8]
}

struct Host {
    child: Child,
    input: ChildStdin,
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Host {
    fn start(bench: &Bench, name: &str) -> Self {
        let mut child = bench
            .command(name, "python3")
            .args(["-c", PROGRAM, bench.host_device()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&heard);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                into.lock().unwrap().push(from_hex(&line));
            }
        });
        Self {
            child,
            input,
            heard,
        }
    }

    fn send(&mut self, frame: &[u8]) {
        writeln!(self.input, "{}", hex(frame)).unwrap();
    }

    /// Returns received frames by number.
    fn heard(&self) -> BTreeMap<u32, Vec<u8>> {
        let heard = self.heard.lock().unwrap();
        let mut by_number = BTreeMap::new();
        for frame in heard.iter() {
            let before = by_number.insert(number_of(frame), frame.clone());
            assert!(before.is_none(), "twice: {}", hex(frame));
        }
        by_number
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

fn number_of(frame: &[u8]) -> u32 {
    let at = frame.windows(MARK.len()).position(|it| it == MARK).unwrap() + MARK.len();
    u32::from_be_bytes(frame[at..at + 4].try_into().unwrap())
}

fn frame(destination: [u8; 6], source: [u8; 6], tags: &[(u16, u16)], number: u32) -> Vec<u8> {
    let mut bytes = [destination, source].concat();
    for (ethertype, tci) in tags {
        bytes.extend(ethertype.to_be_bytes());
        bytes.extend(tci.to_be_bytes());
    }
    bytes.extend([0x88, 0xb6]);
    bytes.extend(MARK);
    bytes.extend(number.to_be_bytes());
    bytes.resize(80, 0);
    bytes
}

/// The ports, in the model's form.
fn settings() -> Vec<Settings> {
    let port = |kind, tag, trunks: Option<&[u16]>| Settings {
        kind,
        tag,
        trunks: trunks.map(|numbers| numbers.iter().copied().collect()),
    };
    vec![
        port(Kind::Access, 10, None),
        port(Kind::Access, 20, None),
        port(Kind::Trunk, 0, Some(&[0, 10, 20, 21, 22])),
        port(Kind::NativeUntagged, 10, Some(&[20])),
        port(Kind::NativeTagged, 20, Some(&[10, 30])),
        port(Kind::Trunk, 0, None),
    ]
}

fn configure(config: &mut DaemonConfig) {
    config.forwarding.learning = true;
    config.routes.clear();
    for (port, settings) in config.ports.iter_mut().zip(settings()) {
        let trunks = settings
            .trunks
            .map(|set| set.into_iter().filter_map(VlanId::new).collect());
        let (mode, tag) = match settings.kind {
            Kind::Access => (None, true),
            Kind::Trunk => (None, false),
            Kind::NativeTagged => (Some(VlanMode::NativeTagged), true),
            Kind::NativeUntagged => (Some(VlanMode::NativeUntagged), true),
        };
        port.vlan_mode = mode;
        port.tag = VlanId::new(settings.tag).filter(|_| tag);
        port.trunks = trunks;
    }
}

/// Returns announcements of each host in every VLAN that it can name: after these all addresses are learned.
fn announcements() -> Vec<(usize, Vec<u8>)> {
    let mut all = Vec::new();
    for host in 0..HOSTS.len() {
        for number in NUMBERS {
            let tags = [(0x8100, number)];
            let tags = if number == 0 { &[][..] } else { &tags };
            all.push((host, frame([0xff; 6], mac(host), tags, all.len() as u32)));
        }
    }
    all
}

fn random_frames() -> Vec<(usize, Vec<u8>)> {
    let mut random = SplitMix64::new(42);
    let mut below = move |bound: usize| (random.next_u64() % bound as u64) as usize;
    let first = announcements().len() as u32;
    (first..first + FRAMES)
        .map(|number| {
            let host = below(HOSTS.len());
            let destination = match below(8) {
                6 => [0xff; 6],
                // An unused address.
                7 => mac(99),
                other => mac(other),
            };
            let tags: Vec<(u16, u16)> = (0..[0, 1, 1, 1, 2, 2][below(6)])
                .map(|_| {
                    let ethertype = [0x8100, 0x8100, 0x8100, 0x88a8][below(4)];
                    // Priorities of lossy classes.
                    let pcp = [0u16, 1, 5][below(3)];
                    (ethertype, pcp << 13 | NUMBERS[below(NUMBERS.len())])
                })
                .collect();
            (host, frame(destination, mac(host), &tags, number))
        })
        .collect()
}

/// Returns by host and number the frames sent by the model.
fn expected(frames: &[(usize, Vec<u8>)]) -> Vec<BTreeMap<u32, Vec<u8>>> {
    let mut model = Bridge::new(settings(), &[]);
    let mut all = vec![BTreeMap::new(); HOSTS.len()];
    for (host, bytes) in frames {
        for (egress, mut left) in model.forward(*host, bytes) {
            // The model's untagged frames have priority 3; here they have the port's, 0. A frame without a C-tag that gets
            // one has that priority in it, or that of its S-tag.
            let is_pushed = left[12..14] == [0x81, 0] && bytes[12..14] != [0x81, 0];
            if is_pushed && bytes[12..14] != [0x88, 0xa8] {
                left[14] &= 0x1f;
            }
            all[egress].insert(number_of(bytes), left);
        }
    }
    all
}

/// Sends all, waits for the expected frames, and then until all sent frames have come through.
fn send_and_hear(
    hosts: &mut [Host],
    frames: &[(usize, Vec<u8>)],
    expected: &[BTreeMap<u32, Vec<u8>>],
    mark: &mut u32,
    is_empty: impl Fn() -> bool,
) -> Vec<BTreeMap<u32, Vec<u8>>> {
    for (host, bytes) in frames {
        hosts[*host].send(bytes);
    }
    for (host, expected) in hosts.iter().zip(expected) {
        until("all that is expected has come", || {
            let heard = host.heard();
            expected
                .keys()
                .all(|number| heard.contains_key(number))
                .then_some(())
        });
    }
    until("nothing waits any more", || is_empty().then_some(()));
    let first = *mark;
    for number in [10u16, 20] {
        hosts[5].send(&frame([0xff; 6], mac(5), &[(0x8100, number)], *mark));
        *mark += 1;
    }
    for host in &hosts[..5] {
        until("a mark has come", || {
            host.heard()
                .last_key_value()
                .is_some_and(|(number, _)| *number >= first)
                .then_some(())
        });
    }
    let of_batch: BTreeSet<u32> = frames.iter().map(|(_, bytes)| number_of(bytes)).collect();
    let heard = hosts.iter().map(Host::heard);
    heard
        .map(|all| {
            all.into_iter()
                .filter(|(number, _)| of_batch.contains(number))
                .collect()
        })
        .collect()
}

fn assert_same(found: &[BTreeMap<u32, Vec<u8>>], expected: &[BTreeMap<u32, Vec<u8>>], by: &str) {
    for ((found, expected), host) in found.iter().zip(expected).zip(HOSTS) {
        let numbers = |map: &BTreeMap<u32, Vec<u8>>| map.keys().copied().collect::<Vec<_>>();
        assert_eq!(numbers(found), numbers(expected), "{by} at {host}");
        for (number, bytes) in expected {
            assert_eq!(
                hex(&found[number]),
                hex(bytes),
                "{by}: frame {number} at {host}"
            );
        }
    }
}

/// Ignores differences of Open vSwitch: it treats an S-tag like any other tag and the reserved number as a VLAN, and may
/// keep a tag without a VLAN (seen with 3.1: between trunks, and in front of another tag).
fn is_alike(bytes: &[u8]) -> bool {
    let number = u16::from_be_bytes([bytes[14] & 0xf, bytes[15]]);
    match [bytes[12], bytes[13]] {
        [0x88, 0xa8] => false,
        [0x81, 0] => number != 0xfff && number != 0,
        _ => true,
    }
}

/// Returns true if another tag follows one of the port's own VLAN: Weir drops such a frame, and Open vSwitch forwards it.
fn is_nested(host: usize, bytes: &[u8]) -> bool {
    let number = u16::from_be_bytes([bytes[14] & 0xf, bytes[15]]);
    let is_tag = |at: usize| [[0x81, 0], [0x88, 0xa8]].contains(&[bytes[at], bytes[at + 1]]);
    is_tag(12) && is_tag(16) && number == settings()[host].tag
}

/// Removes the priority, which Open vSwitch sets differently in tags that it adds.
fn without_priority(map: &BTreeMap<u32, Vec<u8>>) -> BTreeMap<u32, Vec<u8>> {
    let mut map = map.clone();
    for bytes in map.values_mut().filter(|bytes| bytes[12..14] == [0x81, 0]) {
        bytes[14] &= 0x0f;
    }
    map
}

#[test]
fn frames_leave_where_and_how_a_slow_model_says_and_as_by_open_vswitch() {
    let mut bench = Bench::of(SCENARIO, &[], configure);
    let mut hosts: Vec<Host> = HOSTS.iter().map(|host| Host::start(&bench, host)).collect();
    let mut mark = MARKS;
    let is_empty = || {
        let status: Status = bench.switch.get("/v1/status").unwrap();
        status.held_frames == 0
    };
    let first = announcements();
    let all = [first.clone(), random_frames()].concat();
    let every = expected(&all);
    let of = |range: std::ops::Range<u32>| -> Vec<BTreeMap<u32, Vec<u8>>> {
        let of_host = |map: &BTreeMap<u32, Vec<u8>>| {
            map.range(range.clone())
                .map(|(number, bytes)| (*number, bytes.clone()))
                .collect()
        };
        every.iter().map(of_host).collect()
    };
    let count = first.len() as u32;
    let batches = [
        (first.as_slice(), of(0..count)),
        (&all[first.len()..], of(count..MARKS)),
    ];
    for (frames, expected) in &batches {
        let found = send_and_hear(&mut hosts, frames, expected, &mut mark, is_empty);
        assert_same(&found, expected, "Weir");
    }
    shows_what_it_did(&bench, &every);
    drop(hosts);
    switches::end(&mut bench.switch);

    let ovs = Ovs::start(&bench.namespace("s1"), &bench.file("ovs"));
    for (host, settings) in HOSTS.iter().zip(settings()) {
        let mode = match settings.kind {
            Kind::Access => "access",
            Kind::Trunk => "trunk",
            Kind::NativeTagged => "native-tagged",
            Kind::NativeUntagged => "native-untagged",
        };
        let tag = (settings.kind != Kind::Trunk).then_some(settings.tag);
        ovs.add_port(host, mode, tag, settings.trunks.as_ref());
    }
    let mut hosts: Vec<Host> = HOSTS.iter().map(|host| Host::start(&bench, host)).collect();
    for (frames, expected) in &batches {
        let frames: Vec<_> = frames
            .iter()
            .filter(|(host, bytes)| is_alike(bytes) && !is_nested(*host, bytes))
            .cloned()
            .collect();
        let numbers: BTreeSet<u32> = frames.iter().map(|(_, bytes)| number_of(bytes)).collect();
        let alike = |map: &BTreeMap<u32, Vec<u8>>| {
            let mut map = without_priority(map);
            map.retain(|number, _| numbers.contains(number));
            map
        };
        let expected: Vec<_> = expected.iter().map(alike).collect();
        let found = send_and_hear(&mut hosts, &frames, &expected, &mut mark, || true);
        let found: Vec<_> = found.iter().map(without_priority).collect();
        assert_same(&found, &expected, "Open vSwitch");
    }
}

/// Checks the output of the API and of the command.
fn shows_what_it_did(bench: &Bench, every: &[BTreeMap<u32, Vec<u8>>]) {
    let vlans: Vlans = bench.switch.get("/v1/vlans").unwrap();
    assert!(vlans.vlan_aware);
    let modes: Vec<&str> = vlans.ports.iter().map(|port| port.mode.as_str()).collect();
    let expected = [
        "access",
        "access",
        "trunk",
        "native-untagged",
        "native-tagged",
        "trunk",
    ];
    assert_eq!(modes, expected);
    // The marks are also counted.
    let sent: u64 = vlans.vlans.iter().map(|vlan| vlan.tx_frames_total).sum();
    let left: usize = every.iter().map(BTreeMap::len).sum();
    assert!(sent >= left as u64, "{sent} of {left}");
    assert!(vlans
        .vlans
        .iter()
        .all(|vlan| vlan.copies_dropped_total == 0));
    let ten = vlans
        .vlans
        .iter()
        .find(|vlan| vlan.vlan == Some(10))
        .unwrap();
    assert_eq!(ten.tagged, ["h3", "h5", "h6"]);
    assert_eq!(ten.untagged, ["h1", "h4"]);
    let known = |vlan: u16, host: usize| {
        let address: String = mac(host).map(|byte| format!("{byte:02x}")).join(":");
        vlans
            .learnt
            .iter()
            .any(|entry| entry.vlan == vlan && entry.address == address)
    };
    assert!(known(10, 0) && !known(20, 0) && known(20, 1) && known(10, 2) && known(0, 5));

    let socket = bench.switch.config.api_socket.to_str().unwrap();
    let said = |words: &[&str]| {
        let program = program("switchctl").unwrap();
        let mut command = bench.command("s1", program.to_str().unwrap());
        printed(command.args(["--socket", socket]).args(words))
    };
    let text = said(&["vlans"]);
    assert!(
        text.contains("native-untagged") && text.contains("4094"),
        "{text}"
    );
    let text = said(&["trace", "h1", "dl_dst=02:57:00:00:07:02"]);
    assert!(
        text.contains("VLAN            10\n") && text.contains("h3 with a tag"),
        "{text}"
    );
    let text = said(&["trace", "h1", "dl_dst=02:57:00:00:07:02,dl_vlan=20"]);
    assert!(text.contains("dropped: vlan"), "{text}");
    let text = said(&["trace", "h6", "dl_dst=02:57:00:00:07:00,vlan_tci=0x100a"]);
    assert!(text.contains("h1 without a tag"), "{text}");
    said(&["route", "set", "02:57:00:00:07:63", "h1", "--vlan", "10"]);
    let text = said(&["route", "list", "02:57:00:00:07:63", "--vlan", "10"]);
    assert!(text.contains("h1"), "{text}");
    let text = said(&["route", "list"]);
    assert!(text.contains("02:57:00:00:07:63 in VLAN 10"), "{text}");
    said(&["route", "remove", "02:57:00:00:07:63", "--vlan", "10"]);
    let metrics = "weir_vlan_frames_total{vlan=\"10\",direction=\"tx\"}";
    if bench.switch.config.metrics.listen.is_some() {
        assert!(bench.metric(metrics) > 0);
    }
}
