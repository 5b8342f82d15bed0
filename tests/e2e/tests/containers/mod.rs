//! The image as run by containerlab: interfaces are moved into a running container, renamed and removed; four containers
//! form a ring that locks and is released. Uses an image of these tests' programs; `cargo xtask image --check` tests the
//! shipped one.

pub mod run;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use nix::sched::{unshare, CloneFlags};
use run::{Container, Image, CONFIGURATION};
use serde_json::json;
use weir_api::daemon::{EventPage, Pfc, Port, Status};
use weir_config::scenario::Scenario;
use weir_lab::lab::names::Names;
use weir_lab::lab::stage::HostProcess;
use weir_tests::metrics::relay;
use weir_tests::prometheus::Prometheus;
use weir_tests::{inline_scenario, printed, run_as_expected_and, scenario, until, LOSSLESS};

/// containerlab's default MTU of links.
const CLAB_MTU: &str = "9500";
/// Address from which the container is reached, like a container's management network.
const HERE: &str = "10.99.0.1/24";
const CONTAINER: &str = "10.99.0.2";
/// Hexadecimal mask of the kernel: CHOWN, KILL, SETGID, SETUID, NET_ADMIN, NET_RAW, IPC_LOCK, SYS_ADMIN, PERFMON, BPF. This process is the keeper, which
/// keeps all of the container's.
const CAPABILITIES: &str = "000000c0002070e1";

const TWO_HOSTS: &str = r#"
name = "two-hosts"
description = "One switch with two hosts"
duration = "600s"
seed = 1
[link-defaults]
# At this rate the container's headroom absorbs a processor that stalls for 0.3 s.
rate = "10Mbit"
[[class]]
name = "lossless"
priority = 3
mode = "pfc"
xoff = "60KiB"
xon = "52KiB"
headroom = "372KiB"
[deadlock]
detect = "400ms"
[topology]
kind = "line"
switches = 1
hosts = 2
[[flow]]
name = "there"
from = "h1"
to = "h2"
class = "lossless"
rate = "4Mbit"
[[flow]]
name = "back"
from = "h2"
to = "h1"
class = "lossless"
rate = "4Mbit"
[expect]
lost = 0
"#;

/// A container and two hosts around it. Removed on drop: the fields are dropped in this order.
struct Lab {
    hosts: Vec<HostProcess>,
    container: Container,
    names: Names,
    scenario: Scenario,
}

impl Lab {
    fn start(image: &Image) -> Self {
        let scenario = inline_scenario("two-hosts.toml", TWO_HOSTS);
        // Containerlab's host network, for this test only.
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        ip("link set lo up");
        let container = Container::start(
            image,
            "leaf1",
            &["CLAB_INTFS=3", "WEIR_RATE=25Mbit", "WEIR_UNPROTECTED=true"],
        );
        let lab = Self {
            hosts: Vec::new(),
            container,
            names: Names::new(),
            scenario,
        };
        std::fs::create_dir_all(lab.names.directory()).unwrap();
        for host in ["h1", "h2"] {
            let namespace = lab.names.namespace(host);
            ip(&format!("netns add {namespace}"));
            // Their kernels send nothing by themselves.
            let quiet = "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6";
            printed(Command::new("ip").args(["netns", "exec", &namespace, "sh", "-c", quiet]));
        }
        lab
    }

    /// Makes a link like containerlab: with a temporary name, which is changed in the container.
    fn link(&self, host: usize) {
        let (device, namespace) = (
            format!("eth{host}"),
            self.names.namespace(&format!("h{host}")),
        );
        let address = self.scenario.hosts[host - 1].address;
        let peer = self.names.host_device();
        ip(&format!(
            "link add clab-x type veth peer name {peer} address {address} mtu {CLAB_MTU} netns {namespace}"
        ));
        ip(&format!("link set clab-x mtu {CLAB_MTU}"));
        ip(&format!("-n {namespace} link set {peer} up"));
        ip(&format!("link set clab-x netns {}", self.container.pid()));
        self.container.ip(&format!("link set clab-x name {device}"));
        self.container.ip(&format!("link set {device} up"));
        until("the port is up", || {
            let port = self.container.port(&device);
            (port.link_up && !port.device_gone).then_some(())
        });
    }

    fn unlink(&self, host: usize) {
        let device = format!("eth{host}");
        self.container.ip(&format!("link delete {device}"));
        until("the switch knows that a device is gone", || {
            self.container.port(&device).device_gone.then_some(())
        });
    }

    /// Restarts the hosts, whose numbers begin at zero.
    fn start_hosts(&mut self) {
        until("the devices of the hosts before are free", || {
            // One may still use its device until it has ended.
            self.hosts.clear();
            let start = |index| HostProcess::start(&self.scenario, index, &self.names).unwrap();
            self.hosts = (0..2).map(start).collect();
            HostProcess::begin(&mut self.hosts).ok().map(drop)
        });
    }

    fn received(&mut self, host: usize) -> u64 {
        self.hosts[host - 1].snapshot().unwrap().received[0].frames
    }

    /// Waits until each host has received this many more frames.
    fn wait_for_more(&mut self, more: u64) {
        for host in [1, 2] {
            let wanted = self.received(host) + more;
            until("frames arrive", || {
                (self.received(host) >= wanted).then_some(())
            });
        }
    }

    /// Stops the hosts, and checks that all frames have arrived.
    fn assert_lossless(&mut self) {
        for host in &mut self.hosts {
            host.stop_sending().unwrap();
        }
        for (from, to) in [(1, 2), (2, 1)] {
            let sent = self.hosts[from - 1].snapshot().unwrap().sent[0].frames;
            until("all has arrived", || {
                let status: Status = self.container.get("/v1/status")?;
                let lost = (&status.drops_total, status.kernel_losses_total);
                assert_eq!(lost, (&BTreeMap::new(), 0), "frames that will not arrive");
                (self.received(to) == sent).then_some(())
            });
        }
    }

    fn pfc(&self, port: &str) -> Pfc {
        let all: Vec<Pfc> = self.container.get("/v1/pfc").unwrap();
        let mut all = all.into_iter();
        all.find(|pfc| pfc.port == port && pfc.priority == LOSSLESS)
            .unwrap()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.hosts.clear();
        for host in ["h1", "h2"] {
            let name = self.names.namespace(host);
            let _ = Command::new("ip").args(["netns", "delete", &name]).status();
        }
        let _ = std::fs::remove_dir_all(self.names.directory());
    }
}

fn ip(words: &str) {
    printed(Command::new("ip").args(words.split_whitespace()));
}

#[test]
fn a_container_takes_the_interfaces_that_it_is_given() {
    let image = Image::unpack();
    let mut lab = Lab::start(&image);
    lab.container.ready();
    let ports: Vec<Port> = lab.container.get("/v1/ports").unwrap();
    assert_eq!(ports.len(), 3, "as many as CLAB_INTFS");
    for port in ["eth1", "eth2", "eth3"] {
        assert!(lab.container.port(port).device_gone, "{port}");
    }
    assert_least_privileges(&lab.container);
    lab.link(1);
    lab.link(2);
    lab.start_hosts();
    lab.wait_for_more(100);

    assert_scraped_by_eth0(&lab.container);
    assert_pauses_work(&mut lab);
    lab.assert_lossless();
    let health = lab.container.exec("/usr/bin/switchctl status --probe live");
    assert!(health.status.success(), "the health check: {health:?}");

    lab.unlink(2);
    lab.link(2);
    lab.start_hosts();
    lab.wait_for_more(100);
    lab.container.ip("link set eth2 down");
    lab.container.ip("link set eth2 name uplink");
    lab.container.ip("link set uplink up");
    until("the port goes on with its device", || {
        let page: EventPage = lab.container.get("/v1/events?after=0")?;
        let is_told = page
            .events
            .iter()
            .any(|event| event.kind == "device_renamed");
        (is_told && lab.container.port("eth2").link_up).then_some(())
    });
    lab.wait_for_more(100);

    assert_eq!(lab.container.stop(), 0, "{}", lab.container.log());
}

/// Checks that the container keeps only the needed capabilities, and cannot get more.
fn assert_least_privileges(container: &Container) {
    let path = format!("/proc/{}/status", container.pid());
    let status = std::fs::read_to_string(path).unwrap();
    let value = |key: &str| {
        let mut lines = status.lines();
        let line = lines.find_map(|line| line.strip_prefix(key)).unwrap();
        line.trim_start_matches(':').trim().to_owned()
    };
    for set in ["CapBnd", "CapEff", "CapPrm"] {
        assert_eq!(value(set), CAPABILITIES, "{set}");
    }
    assert_eq!(value("NoNewPrivs"), "1");
}

/// Checks that metrics can be read through `eth0`, which is not a port.
fn assert_scraped_by_eth0(container: &Container) {
    ip("link add mgmt type veth peer name clab-m");
    ip(&format!("address add {HERE} dev mgmt"));
    ip("link set mgmt up");
    ip(&format!("link set clab-m netns {}", container.pid()));
    container.ip("link set clab-m name eth0");
    container.ip(&format!("address add {CONTAINER}/24 dev eth0"));
    container.ip("link set eth0 up");
    let metrics = until("the metrics are there", || {
        let mut stream = TcpStream::connect((CONTAINER, 9464)).ok()?;
        write!(stream, "GET /metrics HTTP/1.0\r\nHost: {CONTAINER}\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        Some(text)
    });
    assert!(metrics.contains("port=\"eth1\""), "{metrics}");
    assert!(!metrics.contains("eth0"), "{metrics}");
}

/// Checks that a host that pauses its port holds its frames, and that the switch holds the sender, until the host resumes.
fn assert_pauses_work(lab: &mut Lab) {
    // Its frames fill 60 KiB, for 120 ms, before the other port pauses. After 200 ms the pause would be a storm.
    let said = lab.container.exec("/usr/bin/switchctl pfcwd stop eth2");
    assert!(said.status.success(), "{said:?}");
    until("both pauses hold", || {
        lab.hosts[1].tell("pfc 3 65535").unwrap();
        let held = lab.pfc("eth2").paused && lab.pfc("eth1").pausing;
        let is_obeyed = lab.hosts[0].snapshot().unwrap().paused.contains(&LOSSLESS);
        (held && is_obeyed).then_some(())
    });
    lab.hosts[1].tell("pfc 3 0").unwrap();
    until("both have ended", || {
        let free = !lab.pfc("eth2").paused && !lab.pfc("eth1").pausing;
        free.then_some(())
    });
    lab.wait_for_more(100);
}

#[test]
fn four_containers_lock_and_are_released() {
    let image = Image::unpack();
    let bind = |source: &str, destination: &str, access: &str| json!({"destination": destination, "type": "bind", "source": source, "options": ["bind", access]});
    let mounts = [
        bind("@CONFIG@", CONFIGURATION, "ro"),
        bind("@DIRECTORY@", "@DIRECTORY@", "rw"),
    ];
    let _bundles = image.replace_daemons(&mounts);

    let ring = scenario("ring4.toml", &["deadlock.policy=breaker", "duration=4s"]);
    run_as_expected_and(&ring, |stage| {
        for switch in &stage.switches {
            // In its process namespace it is the keeper's first child.
            let status = switch.status().unwrap();
            assert!(status.pid < 10, "{}: {}", switch.name, status.pid);
        }
        let targets: Vec<_> = ring
            .switches
            .iter()
            .map(|name| (name.clone(), relay(stage.names().namespace(name))))
            .collect();
        let rules = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../packaging/prometheus/weir.rules.yml")
            .canonicalize()
            .unwrap();
        let prometheus = Prometheus::start(&targets, &rules);
        let releases = until("all are scraped, and at least one has released", || {
            let up = prometheus.values("up{job=\"weir\"} == 1").len();
            let released = prometheus.values("sum(weir_deadlock_release_seconds_count)");
            let released = released.first().copied().filter(|count| *count > 0.0);
            released.filter(|_| up == targets.len())
        });
        println!("Prometheus sees {releases} releases of four containers");
    });
}
