//! The kernel side, end to end: a program on the test's own veth, listed and detached by `switchctl` while its loader runs
//! and after it has ended. Needs root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{run, switchctl, text_of, Run};
use libbpf_rs::query::ProgInfoIter;
use nix::net::if_::if_nametoindex;
use serde_json::Value;
use weir_ebpf::{
    ensure_bpffs, remove_stale, unmount_bpffs, AttachMode, Fallback, PortProgram, PortSettings,
};

/// A veth pair and a run directory with a bpffs, removed even if the test fails.
struct Bench {
    device: String,
    run_dir: PathBuf,
}

impl Bench {
    fn new(letter: char) -> Self {
        let device = format!("wtc{}{letter}", std::process::id() % 1_000_000);
        let peer = format!("{device}p");
        ip(&[
            "link", "add", &device, "type", "veth", "peer", "name", &peer,
        ]);
        let run_dir = std::env::temp_dir().join(format!("weir-ctl-{device}"));
        let bench = Self { device, run_dir };
        ip(&["link", "set", &bench.device, "up"]);
        ensure_bpffs(&bench.bpf_dir()).unwrap();
        bench
    }

    fn bpf_dir(&self) -> PathBuf {
        self.run_dir.join("bpf")
    }

    fn port_dir(&self) -> PathBuf {
        self.bpf_dir().join("left")
    }

    fn attach(&self, mode: AttachMode) -> PortProgram {
        let settings = PortSettings {
            fallback: Fallback::Drop,
            ..PortSettings::default()
        };
        let mut program = PortProgram::load(&settings).unwrap();
        let ifindex = if_nametoindex(self.device.as_str()).unwrap();
        program
            .attach(ifindex, mode, Some(&self.port_dir()))
            .unwrap();
        program
    }

    fn leave_behind(&self, mode: AttachMode) {
        drop(self.attach(mode));
        assert!(self.has_program(), "a pinned link outlives its owner");
    }

    fn has_program(&self) -> bool {
        let output = Command::new("ip")
            .args(["-details", "link", "show", &self.device])
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).contains("prog/xdp")
    }

    fn xdp(&self, arguments: &[&str]) -> Run {
        let run_dir = text_of(&self.run_dir);
        let mut all = vec!["xdp"];
        all.extend(arguments);
        all.extend(["--run-dir", &run_dir]);
        run(&all)
    }

    fn json(&self) -> Value {
        let run = self.xdp(&["status", "--json"]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
        serde_json::from_str(&run.stdout).unwrap()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = remove_stale(&self.port_dir());
        let _ = unmount_bpffs(&self.bpf_dir());
        let _ = fs::remove_dir_all(&self.run_dir);
        let _ = Command::new("ip")
            .args(["link", "del", &self.device])
            .status();
    }
}

fn ip(arguments: &[&str]) {
    let status = Command::new("ip").args(arguments).status().unwrap();
    assert!(status.success(), "ip {arguments:?}: these tests need root");
}

#[test]
#[ignore = "needs root"]
fn status_tells_what_the_kernel_has() {
    let bench = Bench::new('a');
    let program = bench.attach(AttachMode::Native);
    let port = bench.json()[0].clone();
    assert_eq!(port["name"], "left");
    assert_eq!(port["device"], bench.device.as_str());
    assert_eq!(port["mode"], "native");
    assert_eq!(port["fallback"], "drop");
    assert_eq!(port["held_by"][0]["pid"], std::process::id());
    assert_eq!(port["problems"], Value::Array(Vec::new()));

    // The same as another library reports.
    let id = port["program"]["id"].as_u64().unwrap();
    let kernel = ProgInfoIter::default()
        .find(|program| u64::from(program.id) == id)
        .unwrap();
    let name = kernel.name.to_str().unwrap();
    assert_eq!(port["program"]["name"], name);
    let tag: String = kernel.tag.0.iter().map(|it| format!("{it:02x}")).collect();
    assert_eq!(port["program"]["tag"], tag);
    drop(program);

    assert_eq!(bench.json()[0]["held_by"], Value::Array(Vec::new()));
    let table = bench.xdp(&["status"]).stdout;
    for word in [
        bench.device.as_str(),
        "native",
        "weir_xdp",
        "drop",
        "nobody",
    ] {
        assert!(table.contains(word), "{word} in\n{table}");
    }
}

#[test]
#[ignore = "needs root"]
fn counters_are_summed_over_cpus() {
    let bench = Bench::new('b');
    let program = bench.attach(AttachMode::Generic);
    // The kernel's own frames on the pair are counted as well; only priority 5 is the test's.
    let mut frame = vec![
        0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2, 0x81, 0, 0xa0, 0, 0x08, 0,
    ];
    frame.resize(64, 0);
    for _ in 0..7 {
        program.test_run(&frame).unwrap();
    }
    let port = bench.json()[0].clone();
    assert_eq!(port["mode"], "generic");
    let ours = port["traffic"]
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["class"] == "data" && entry["priority"] == 5)
        .unwrap();
    assert_eq!(
        (&ours["frames"], &ours["bytes"]),
        (&7.into(), &(7 * 64).into())
    );
    assert!(port["verdicts"]["dropped"].as_u64().unwrap() >= 7);
}

#[test]
#[ignore = "needs root"]
fn what_a_dead_daemon_left_is_detached() {
    let bench = Bench::new('c');
    bench.leave_behind(AttachMode::Auto);
    // Without a port: all programs without a holder.
    let run = bench.xdp(&["detach"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(
        run.stdout.starts_with("left: detached (link "),
        "{}",
        run.stdout
    );
    assert!(!bench.has_program());
    assert!(!bench.port_dir().exists());
    let again = bench.xdp(&["detach", "--all"]);
    assert_eq!(
        (again.code, again.stdout.as_str()),
        (Some(0), "nothing is pinned\n")
    );
    let status = bench.xdp(&["status"]);
    assert_eq!(
        (status.code, status.stdout.as_str()),
        (Some(0), "nothing is pinned\n")
    );
}

#[test]
#[ignore = "needs root"]
fn pins_are_found_beside_the_socket_that_is_named() {
    let bench = Bench::new('k');
    let program = bench.attach(AttachMode::Auto);
    let of_socket = |socket: &Path| -> Run {
        let mut command = switchctl();
        command.env("WEIR_SOCKET", socket);
        command.args(["xdp", "status"]).output().unwrap().into()
    };
    let socket = bench.run_dir.join("api.sock");
    let told = of_socket(&socket);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
    assert!(told.stdout.contains("left"), "{}", told.stdout);
    let told = run(&["--socket", &text_of(&socket), "xdp", "status"]);
    assert!(told.stdout.contains("left"), "{}", told.stdout);
    drop(program);
    // A forwarded socket has no relation to this machine's pins.
    let told = of_socket(Path::new("/nowhere/api.sock"));
    assert_eq!((told.code, told.stdout.as_str()), (Some(1), ""));
    assert!(
        told.stderr.contains("no switch has pins under /nowhere"),
        "{}",
        told.stderr
    );
}

#[test]
#[ignore = "needs root"]
fn a_link_in_use_is_refused_and_taken_by_force() {
    let bench = Bench::new('d');
    let program = bench.attach(AttachMode::Auto);
    let refused = bench.xdp(&["detach", "left"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    let own = format!("(pid {})", std::process::id());
    assert!(
        refused.stderr.contains(&own) && refused.stderr.contains("--force"),
        "{}",
        refused.stderr
    );
    assert!(bench.has_program() && bench.port_dir().join("link").exists());

    let forced = bench.xdp(&["detach", "left", "--force"]);
    assert_eq!((forced.code, forced.stderr.as_str()), (Some(0), ""));
    assert!(forced.stdout.contains(&own), "{}", forced.stdout);
    assert!(!bench.has_program(), "though its loader has the link open");
    assert!(!bench.port_dir().exists());
    drop(program);
}

#[test]
#[ignore = "needs root"]
fn an_unknown_port_leaves_the_others_alone() {
    let bench = Bench::new('e');
    bench.leave_behind(AttachMode::Auto);
    let run = bench.xdp(&["detach", "left", "right"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("no port right") && run.stderr.contains("there are: left"),
        "{}",
        run.stderr
    );
    assert!(bench.has_program());
}

#[test]
#[ignore = "needs root"]
fn a_link_that_is_pinned_elsewhere_too_is_told_to_be_attached_still() {
    let bench = Bench::new('f');
    bench.leave_behind(AttachMode::Auto);
    let elsewhere = bench.bpf_dir().join("elsewhere");
    fs::hard_link(bench.port_dir().join("link"), &elsewhere).unwrap();
    let run = bench.xdp(&["detach", "--all"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.contains("STILL ATTACHED"), "{}", run.stdout);
    assert!(bench.has_program());
    fs::remove_file(elsewhere).unwrap();
}

#[test]
#[ignore = "needs root"]
fn half_pinned_ports_are_shown_with_what_is_missing_and_can_be_detached() {
    let bench = Bench::new('g');
    bench.leave_behind(AttachMode::Auto);
    fs::remove_file(bench.port_dir().join("traffic")).unwrap();
    fs::create_dir(bench.bpf_dir().join("empty")).unwrap();
    let status = bench.xdp(&["status"]);
    assert_eq!(status.code, Some(1));
    assert!(status.stdout.contains(&bench.device), "{}", status.stdout);
    let missing = text_of(&bench.port_dir().join("traffic"));
    assert!(status.stdout.contains(&missing), "{}", status.stdout);

    let run = bench.xdp(&["detach", "--all"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(!bench.has_program());
    assert!(!bench.bpf_dir().join("empty").exists());
}

#[test]
#[ignore = "needs root"]
fn only_pins_of_ours_are_removed() {
    let bench = Bench::new('h');
    bench.leave_behind(AttachMode::Auto);
    let foreign = bench.bpf_dir().join("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::rename(bench.port_dir().join("verdicts"), foreign.join("map")).unwrap();
    let other = bench.port_dir().join("other");
    fs::rename(bench.port_dir().join("traffic"), &other).unwrap();

    let run = bench.xdp(&["detach", "--all"]);
    assert_eq!(run.code, Some(1), "something is left");
    assert!(run.stdout.contains(&text_of(&other)), "{}", run.stdout);
    assert!(!run.stdout.contains("foreign"), "{}", run.stdout);
    assert!(!bench.has_program());
    assert!(other.exists() && foreign.join("map").exists());
    fs::remove_dir_all(foreign).unwrap();
}

#[test]
fn files_outside_a_bpf_file_system_are_never_touched() {
    let directory = tempfile::tempdir().unwrap();
    let port = directory.path().join("left");
    fs::create_dir(&port).unwrap();
    fs::write(port.join("link"), "precious").unwrap();
    let place = text_of(directory.path());
    for arguments in [
        &["xdp", "detach", "--all", "--force", "--bpf-dir", &place][..],
        &["xdp", "status", "--bpf-dir", &place],
    ] {
        let run = run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
        assert!(
            run.stderr.contains("not on a BPF file system"),
            "{}",
            run.stderr
        );
    }
    assert_eq!(fs::read_to_string(port.join("link")).unwrap(), "precious");
}

#[test]
#[ignore = "needs root"]
fn a_device_of_another_namespace_is_not_mistaken_for_one_of_ours() {
    let bench = Bench::new('i');
    bench.leave_behind(AttachMode::Auto);
    let namespace = bench.device.clone();
    ip(&["netns", "add", &namespace]);
    let moved = Command::new("nsenter")
        .arg(format!("--net=/run/netns/{namespace}"))
        .arg(env!("CARGO_BIN_EXE_switchctl"))
        .args(["--json", "xdp", "status", "--run-dir"])
        .arg(&bench.run_dir)
        .output();
    ip(&["netns", "del", &namespace]);
    let run: Run = moved.unwrap().into();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let port = serde_json::from_str::<Value>(&run.stdout).unwrap()[0].clone();
    assert_eq!(
        (&port["device"], &port["mode"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        port["ifindex"],
        if_nametoindex(bench.device.as_str()).unwrap()
    );
}
