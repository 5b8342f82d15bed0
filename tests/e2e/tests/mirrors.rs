//! Mirrors with real frames: the observer sees every frame as it arrived or left, and does not disturb anyone.

use std::path::Path;
use std::process::Command;

use weir_api::daemon::{MirrorState, Queue};
use weir_config::daemon::DaemonConfig;
use weir_lab::lab::process::Process;
use weir_tests::scapy::Scapy;
use weir_tests::switches::switchctl;
use weir_tests::{printed, until, Bench, LOSSLESS};

const THREE_HOSTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/three-hosts.toml");
const THERE: &str =
    "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:02') / Dot1Q(vlan=0, prio=3) / Raw(b'there' + bytes(995))";
const BACK: &str =
    "Ether(src='02:57:00:00:00:02', dst='02:57:00:00:00:01') / Dot1Q(vlan=0, prio=3) / Raw(b'back' + bytes(96))";

/// Builds a switch whose port h3 sends copies, configured by `mirrors`.
fn bench(rate: &str, mirrors: &str) -> Bench {
    Bench::of(THREE_HOSTS, &[rate], |config| {
        *config = with_mirrors(config, mirrors);
    })
}

fn with_mirrors(config: &DaemonConfig, mirrors: &str) -> DaemonConfig {
    let mut config = config.clone();
    let h3 = config.ports.iter().position(|port| port.name == "h3");
    let h3 = h3.and_then(weir_core::PortId::from_index).unwrap();
    config.routes.retain(|route| !route.ports.contains(&h3));
    let text = format!("{}{mirrors}", config.to_toml());
    DaemonConfig::parse(&text, Path::new("s1.toml")).unwrap_or_else(|error| panic!("{error}"))
}

fn mirror(select: &str) -> String {
    format!("\n[[mirror]]\nname = \"m\"\noutput-port = \"h3\"\n{select}\n")
}

fn mirrors(bench: &Bench) -> Vec<MirrorState> {
    bench.switch.get("/v1/mirrors").unwrap()
}

fn wait_for_copies(bench: &Bench, count: u64) {
    until("all are copied", || {
        let mirrors = mirrors(bench);
        (mirrors[0].sent_frames_total + mirrors[0].lost_frames_total >= count).then_some(())
    });
}

/// Records the frames that arrive at h3.
fn record(bench: &Bench) -> Process {
    let file = bench.file("h3.pcap");
    let file = file.to_str().unwrap();
    let device = bench.host_device();
    let tcpdump = bench.start("h3", &["tcpdump", "-i", device, "-U", "-w", file, "vlan"]);
    until("tcpdump listens", || {
        tcpdump.log_end().contains("listening on").then_some(())
    });
    tcpdump
}

/// Returns length, source and priority of the recorded frames.
fn recorded(bench: &Bench) -> Vec<String> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(bench.file("h3.pcap"));
    tshark.args([
        "-T",
        "fields",
        "-e",
        "frame.len",
        "-e",
        "eth.src",
        "-e",
        "vlan.priority",
    ]);
    let text = printed(&mut tshark);
    text.lines().map(str::to_owned).collect()
}

#[test]
fn who_looks_sees_both_directions_whole_and_in_order() {
    let select = "select-src-port = [\"h1\"]\nselect-dst-port = [\"h1\"]";
    let bench = bench("link-defaults.rate=100Mbit", &mirror(select));
    let tcpdump = record(&bench);
    let mut h1 = Scapy::start(&bench, "h1");
    let mut h2 = Scapy::start(&bench, "h2");
    let mut h3 = Scapy::start(&bench, "h3");
    let (there, back) = ("1018\t02:57:00:00:00:01\t3", "118\t02:57:00:00:00:02\t3");
    let mut expected = Vec::new();
    for round in 1..=10 {
        h1.send(5, THERE);
        wait_for_copies(&bench, 10 * round - 5);
        h2.send(5, BACK);
        wait_for_copies(&bench, 10 * round);
        expected.extend([there; 5]);
        expected.extend([back; 5]);
    }
    let seen = until("the record has all", || {
        let seen = recorded(&bench);
        (seen.len() >= expected.len()).then_some(seen)
    });
    assert_eq!(seen, expected);
    tcpdump.signal(nix::sys::signal::Signal::SIGINT);
    // Frames of h3 itself are dropped.
    h3.send(3, THERE);
    until("the frames of h3 are dropped", || {
        (bench.drops("h3", "mirror_port") >= 3).then_some(())
    });
    let state = mirrors(&bench).remove(0);
    assert_eq!((state.sent_frames_total, state.lost_frames_total), (100, 0));
    assert_eq!(
        bench.metric("weir_mirrored_frames_total{mirror=\"m\",outcome=\"sent\"}"),
        100
    );
    let shown = printed(switchctl(&bench.switch.config.api_socket).arg("mirrors"));
    assert!(shown.contains("in h1 out h1"), "{shown}");
    bench.end();
}

/// h1 is in VLAN 10 without tags, h2 behind a trunk: a mirror of VLAN 10 only copies frames of both.
#[test]
fn who_looks_at_a_vlan_sees_nothing_of_others() {
    let select = mirror("select-all = true\nselect-vlan = [10, \"30-39\"]");
    let bench = Bench::of(THREE_HOSTS, &["link-defaults.rate=100Mbit"], |config| {
        let h1 = config.ports.iter_mut().find(|port| port.name == "h1");
        h1.unwrap().tag = weir_core::VlanId::new(10);
        *config = with_mirrors(config, &select);
    });
    let tcpdump = record(&bench);
    let mut h1 = Scapy::start(&bench, "h1");
    let mut h2 = Scapy::start(&bench, "h2");
    let mut expected = Vec::new();
    let mut copies = 0;
    for vlan in [10, 20, 30, 40] {
        h1.send(3, THERE);
        let tagged = format!(
            "Ether(src='02:57:00:00:00:02', dst='02:57:00:00:00:01') / Dot1Q(vlan={vlan}, prio=3) / Raw(b'back' + bytes(96))"
        );
        expected.extend(["1018\t02:57:00:00:00:01\t3"; 3]);
        copies += 3;
        wait_for_copies(&bench, copies);
        h2.send(3, &tagged);
        if matches!(vlan, 10 | 30) {
            expected.extend(["118\t02:57:00:00:00:02\t3"; 3]);
            copies += 3;
            wait_for_copies(&bench, copies);
        }
    }
    let seen = until("the record has all", || {
        let seen = recorded(&bench);
        (seen.len() >= expected.len()).then_some(seen)
    });
    assert_eq!(seen, expected);
    tcpdump.signal(nix::sys::signal::Signal::SIGINT);
    let state = mirrors(&bench).remove(0);
    assert_eq!((state.sent_frames_total, state.lost_frames_total), (18, 0));
    assert_eq!(state.select_vlan, ["10", "30-39"]);
    let shown = printed(switchctl(&bench.switch.config.api_socket).arg("mirrors"));
    assert!(shown.contains("all vlan 10,30-39"), "{shown}");
    bench.end();
}

#[test]
fn a_slow_monitor_delays_no_one_else() {
    let select = mirror("select-all = true");
    let bench = Bench::of(THREE_HOSTS, &["link-defaults.rate=100Mbit"], |config| {
        *config = with_mirrors(config, &select);
        let slow = config.ports.iter_mut().find(|port| port.name == "h3");
        slow.unwrap().rate = weir_core::BitRate::from_mbit(1);
    });
    let mut h1 = Scapy::start(&bench, "h1");
    let count = 2_000;
    h1.send(count, THERE);
    let queue = |port: &str| {
        let queues: Vec<Queue> = bench.switch.get("/v1/queues").unwrap();
        let mut queues = queues.into_iter();
        let found = queues.find(|queue| queue.port == port && queue.priority == LOSSLESS);
        found.unwrap()
    };
    until("all have left", || {
        (queue("h2").tx_frames_total >= u64::from(count)).then_some(())
    });
    wait_for_copies(&bench, count.into());
    let state = mirrors(&bench).remove(0);
    assert!(state.lost_frames_total > 0, "{state:?}");
    assert_eq!(bench.port("h1").drops_total.values().sum::<u64>(), 0);
    // A reload removes the mirror, and the port is normal again.
    let mut config = bench.switch.config.clone();
    config.mirrors.clear();
    std::fs::write(bench.switch.config_file(), config.to_toml()).unwrap();
    printed(switchctl(&bench.switch.config.api_socket).arg("reload"));
    assert_eq!(mirrors(&bench), []);
    let route = ["route", "set", "02:57:00:00:00:03", "h3"];
    printed(switchctl(&bench.switch.config.api_socket).args(route));
    // It cannot become a mirror again while a route leads there.
    std::fs::write(bench.switch.config_file(), bench.switch.config.to_toml()).unwrap();
    let output = switchctl(&bench.switch.config.api_socket)
        .arg("reload")
        .output()
        .unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(
        !output.status.success() && told.contains("is in a route"),
        "{told}"
    );
    bench.end();
}
