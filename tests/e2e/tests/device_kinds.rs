//! Devices that lose frames: they are refused with the reason and the remedy, or their losses are counted.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use weir_lab::lab::process::{inside, program, Process};
use weir_tests::namespace::{Namespace, Visit};
use weir_tests::switches::switchctl;
use weir_tests::{printed, until, Bench, PATIENCE};

/// Two veth pairs; the first end of each is a port.
const PAIRS: &str = "ip link set lo up
for n in 1 2; do
    ip link add p$n type veth peer name q$n
    ethtool -K q$n tx off txvlan off gro on
    ip link set q$n up; ip link set p$n up
done";
const LOSSLESS: &str = "[[class]]\nname = \"storage\"\npriority = 3\nmode = \"pfc\"\nxoff = \"60KiB\"\nxon = \"52KiB\"\nheadroom = \"64KiB\"\n";

/// A network namespace for switches. Removed on drop.
struct Place {
    namespace: Namespace,
    directory: TempDir,
}

struct Switch {
    process: Process,
    socket: PathBuf,
}

impl Place {
    fn new(name: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        // The switch's user has its run directory there.
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let place = Self {
            namespace: Namespace::create(&format!("kind-{name}")),
            directory,
        };
        place.does(PAIRS);
        place
    }

    fn command(&self, program: &Path) -> Command {
        inside(self.namespace.name(), program)
    }

    /// Runs shell commands that must all succeed.
    fn does(&self, commands: &str) {
        let mut shell = self.command(Path::new("sh"));
        printed(shell.args(["-e", "-c", commands]));
    }

    fn file(&self, name: &str, devices: &[&str], more: &str) -> PathBuf {
        let run_dir = self.directory.path().join(name);
        let mut text = format!(
            "name = \"{name}\"\nrun-dir = \"{}\"\nmetrics = {{ listen = \"off\" }}\npage = {{ listen = \"off\" }}\n\
             [lldp]\nenabled = false\n[forwarding]\nlearning = true\n",
            run_dir.display()
        );
        text += more;
        for device in devices {
            text +=
                &format!("[[port]]\ndevice = \"{device}\"\nrole = \"edge\"\nrate = \"100Mbit\"\n");
        }
        let file = self.directory.path().join(format!("{name}.toml"));
        fs::write(&file, text).unwrap();
        file
    }

    fn daemon(&self, file: &Path) -> Command {
        let mut command = self.command(&program("weir-switchd").unwrap());
        command.arg("--config").arg(file);
        command
    }

    /// Returns exit status and output of a daemon that does not start.
    fn refused(&self, file: &Path) -> (i32, String) {
        let output = self.daemon(file).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code().unwrap(), text)
    }

    fn start(&self, name: &str, file: &Path) -> Switch {
        let log = self.directory.path().join(format!("{name}.log"));
        let switch = Switch {
            process: Process::start(name, self.daemon(file), &log).unwrap(),
            socket: self.directory.path().join(name).join("api.sock"),
        };
        until("the switch forwards", || {
            let text = fs::read_to_string(&log).unwrap_or_default();
            text.contains("ready").then_some(())
        });
        switch
    }

    fn doctor(&self, file: &Path) -> Vec<Value> {
        let mut command = self.command(&program("switchctl").unwrap());
        let command = command.args(["--json", "doctor", "--config"]).arg(file);
        let Output { stdout, .. } = command.output().unwrap();
        serde_json::from_slice(&stdout).unwrap()
    }
}

impl Switch {
    fn ask(&self, what: &str) -> Value {
        let output = switchctl(&self.socket)
            .args(["--json", what])
            .output()
            .unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }

    fn event(&self, kind: &str) -> Value {
        until(kind, || {
            let events = self.ask("events");
            let list = events
                .as_array()
                .or_else(|| events["events"].as_array())?
                .clone();
            list.into_iter().find(|event| event["kind"] == kind)
        })
    }

    fn has_event(&self, kind: &str) -> bool {
        self.ask("events")
            .to_string()
            .contains(&format!("\"{kind}\""))
    }

    fn health(&self, kind: &str, is_there: bool) -> String {
        until(&format!("health: {kind}: {is_there}"), || {
            let status = self.ask("status");
            let reasons = status["health"]["reasons"].as_array()?.clone();
            let text = |reason: &Value| reason["text"].as_str().unwrap_or_default().to_owned();
            let found = reasons
                .iter()
                .find(|reason| reason["kind"] == kind)
                .map(text);
            (found.is_some() == is_there).then(|| found.unwrap_or_default())
        })
    }

    fn end(self) {
        self.process.end(PATIENCE).unwrap();
    }
}

/// Each with commands that create it, the device, true if a class is lossless, and parts of the message.
const REFUSED: [(&str, &str, bool, [&str; 2]); 6] = [
    (
        "",
        "lo",
        false,
        ["is the loopback device", "come back to it"],
    ),
    (
        "ip link add br0 type bridge; ip link set br0 up",
        "br0",
        false,
        ["is a bridge of Linux", "nomaster"],
    ),
    (
        "ip link add br0 type bridge; ip link set p1 master br0",
        "p1",
        false,
        [
            "is a port of the bridge `br0`",
            "run `ip link set dev p1 nomaster`",
        ],
    ),
    (
        "ip link add f0 type ifb; ip link set f0 up",
        "f0",
        false,
        ["drops all that is sent", "ip link add f0 type veth"],
    ),
    (
        "ip link add v0 mtu 1500 type vxlan id 5 dstport 4789; ip link set v0 up",
        "v0",
        true,
        ["is a VXLAN tunnel", "no lossless class"],
    ),
    (
        "ip tuntap add dev t0 mode tun; ip link set t0 up",
        "t0",
        false,
        ["without Ethernet frames", "name a device"],
    ),
];

#[test]
fn a_device_that_loses_frames_is_refused_with_reason_and_remedy() {
    for (index, (make, device, is_lossless, parts)) in REFUSED.into_iter().enumerate() {
        let place = Place::new(&format!("refused{index}"));
        place.does(make);
        let more = if is_lossless { LOSSLESS } else { "" };
        let file = place.file("s1", &[device, "p2"], more);
        let (status, text) = place.refused(&file);
        assert_eq!(status, 2, "{text}");
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
        }
        let findings = place.doctor(&file);
        let is_it = |finding: &&Value| finding["check"] == "kind" && finding["grade"] == "problem";
        let finding = findings
            .iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("{findings:#?}"));
        assert_eq!(finding["device"], device);
        assert!(!finding["remedy"].is_null());
    }
}

#[test]
fn an_alternative_name_is_as_good_as_the_name() {
    let place = Place::new("alt");
    place.does("ip link property add dev p1 altname alt0");
    let switch = place.start("s1", &place.file("s1", &["alt0", "p2"], ""));
    place.does("ip link set p1 mtu 1600; ip link set q1 mtu 1600");
    place.does("ip link set p2 down");
    switch.event("link_down");
    assert!(!switch.has_event("device_renamed"));
    place.does("ip link set p1 down; ip link set p1 name other; ip link property del dev other altname alt0; ip link set other up");
    switch.event("device_renamed");
    switch.end();
}

#[test]
fn a_second_switch_names_the_first_and_its_process_at_once() {
    let place = Place::new("second");
    let first = place.start("first", &place.file("first", &["p1", "p2"], ""));
    let pid = first.ask("status")["pid"].to_string();
    let (status, text) = place.refused(&place.file("other", &["p1"], ""));
    assert_eq!(status, 3, "{text}");
    for part in [
        "device `p1` is a port of the switch `first`",
        &format!("process {pid}"),
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The first one has lost nothing.
    assert_eq!(first.ask("status")["health"]["verdict"], "ok");
    first.end();
}

#[test]
fn an_mtu_that_is_lowered_is_reported_until_it_is_raised() {
    let place = Place::new("mtu");
    place.does("for n in 1 2; do ip link set p$n mtu 2000; ip link set q$n mtu 2000; done");
    let file = place.file("s1", &["p1", "p2"], "[dataplane]\nmtu = \"2000B\"\n");
    let switch = place.start("s1", &file);
    assert!(!switch.has_event("mtu_too_small"));
    place.does("ip link set p2 mtu 1500");
    let event = switch.event("mtu_too_small");
    let details = event.to_string();
    assert!(
        details.contains("1500") && details.contains("2000"),
        "{details}"
    );
    let text = switch.health("mtu_too_small", true);
    assert!(
        text.contains("MTU of 1500 B and the switch of 2000 B"),
        "{text}"
    );
    place.does("ip link set p2 mtu 2000");
    switch.event("mtu_fits");
    switch.health("mtu_too_small", false);
    switch.end();
}

#[test]
fn a_device_that_goes_into_a_bridge_is_reported_and_is_not_gone() {
    let place = Place::new("bridge");
    let switch = place.start("s1", &place.file("s1", &["p1", "p2"], ""));
    place.does("ip link add br0 type bridge; ip link set br0 up; ip link set p2 master br0");
    let event = switch.event("device_unfit");
    assert!(
        event.to_string().contains("a port of the bridge `br0`"),
        "{event}"
    );
    switch.health("device_unfit", true);
    place.does("ip link set p2 nomaster");
    switch.event("device_fits");
    switch.health("device_unfit", false);
    assert!(!switch.has_event("device_gone"));
    switch.end();
}

/// A tunnel counts its frames until its route is removed: then it drops all, without an error to the sender.
#[test]
fn frames_that_a_device_does_not_count_are_lost_and_reported() {
    let place = Place::new("missing");
    place.does(
        "ip addr add 10.77.0.1/24 dev q2
         ip link add v0 mtu 1500 type vxlan id 5 dstport 4789 local 10.77.0.1
         sysctl -q net.ipv6.conf.v0.disable_ipv6=1
         ip link set v0 up
         ip neigh add 10.77.0.9 lladdr 02:00:00:00:00:09 dev q2
         bridge fdb append 00:00:00:00:00:00 dev v0 dst 10.77.0.9",
    );
    // Probes of the switch and frames of v0's own would leave by the tunnel as well, counted at one end only.
    let without_probes = "loop-detection = false\n";
    let switch = place.start("s1", &place.file("s1", &["p1", "v0"], without_probes));
    // Broadcasts, which a learning switch floods.
    let send = |count: u32| {
        place.does(&format!(
            "ip addr replace 10.78.0.1/24 brd 10.78.0.255 dev q1; ping -q -b -c {count} -i 0.01 -W 1 10.78.0.255 > /dev/null 2>&1 || true"
        ));
    };
    send(100);
    let port = |name: &str| {
        let ports = switch.ask("ports");
        let ports = ports.as_array().cloned().unwrap_or_default();
        ports.into_iter().find(|port| port["name"] == name).unwrap()
    };
    until("the tunnel has sent them", || {
        (port("v0")["tx_frames_total"].as_u64()? >= 100).then_some(())
    });
    until("its count is compared", || {
        port("v0")["compares_sent"].as_bool()?.then_some(())
    });
    let lost = |port: &Value| {
        port["kernel_losses"]["tx_missing_total"]
            .as_u64()
            .unwrap_or(0)
    };
    assert_eq!(lost(&port("v0")), 0);
    let sent = || port("v0")["tx_frames_total"].as_u64().unwrap();
    // A host kernel's own frame may leave while the route is removed.
    let before = sent();
    place.does("bridge fdb del 00:00:00:00:00:00 dev v0 dst 10.77.0.9");
    let behind = sent();
    send(50);
    let event = switch.event("frames_missing");
    assert!(event.to_string().contains("tx_missing"), "{event}");
    switch.health("kernel_losses", true);
    let all_missing = until("all are counted", || {
        let port = port("v0");
        let all = port["tx_frames_total"].as_u64()?;
        let missing = all - behind..=all - before;
        eprintln!("{missing:?} are missing, {} counted", lost(&port));
        (*missing.start() >= 50 && missing.contains(&lost(&port))).then_some(lost(&port))
    });
    assert!(all_missing >= 50);
    assert_eq!(lost(&port("p1")), 0);
    switch.end();
}

/// The kernel merges frames of TCP at the device below; the port's own would receive them as one that is too long.
#[test]
fn merging_below_a_device_is_refused_or_switched_off() {
    let place = Place::new("merging");
    place.does("ethtool -K p1 gro on; ip link add v1 link p1 type macvlan mode passthru; ip link set v1 up");
    let (_, text) = place.refused(&place.file("s1", &["v1", "p2"], ""));
    for part in ["gro of device `p1` is on", "ethtool -K p1 gro off"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let managed = "[dataplane]\noffloads = \"manage\"\n";
    let switch = place.start("s1", &place.file("s1", &["v1", "p2"], managed));
    place.does("ethtool -k p1 | grep -q 'generic-receive-offload: off'");
    switch.end();
    place.does("ethtool -k p1 | grep -q 'generic-receive-offload: on'");
}

/// Hosts made by `ip link` leave checksums to the device.
#[test]
fn hosts_that_leave_checksums_open_have_tcp() {
    let bench = Bench::new(&[], weir_tests::keep_off_the_express_path);
    let device = bench.host_device();
    for (host, address) in [("h1", "10.99.0.1/24"), ("h2", "10.99.0.2/24")] {
        bench.output(host, &["ethtool", "-K", device, "tx", "on"]);
        let features = bench.output(host, &["ethtool", "-k", device]);
        assert!(features.contains("tx-checksumming: on"), "{features}");
        bench.output(host, &["ip", "address", "add", address, "dev", device]);
    }
    // Nothing is flooded here, so ARP is impossible.
    for (host, other, mac) in [
        ("h1", "10.99.0.2", "02:57:00:00:00:02"),
        ("h2", "10.99.0.1", "02:57:00:00:00:01"),
    ] {
        let add = ["ip", "neigh", "replace", other, "lladdr", mac];
        bench.output(host, &[&add[..], &["dev", device]].concat());
    }
    let listener = {
        let _there = Visit::to(&bench.namespace("h2")).unwrap();
        TcpListener::bind("10.99.0.2:7000").unwrap()
    };
    let sent: Vec<u8> = (0..200_000u32).map(|n| (n * 7) as u8).collect();
    let receiver = std::thread::spawn(move || {
        let mut received = Vec::new();
        listener
            .accept()
            .unwrap()
            .0
            .read_to_end(&mut received)
            .unwrap();
        received
    });
    {
        let _there = Visit::to(&bench.namespace("h1")).unwrap();
        let to = "10.99.0.2:7000".parse().unwrap();
        let mut stream = TcpStream::connect_timeout(&to, PATIENCE).unwrap();
        stream.write_all(&sent).unwrap();
    }
    assert!(receiver.join().unwrap() == sent);
    assert!(bench.metric("weir_dataplane_checksums_finished_total") > 100);
    bench.end();
}
