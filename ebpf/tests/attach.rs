//! Attaching to a real device, pinning, and cleaning up after a process that died. Needs root.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use weir_ebpf::{
    ensure_bpffs, is_bpffs, remove_stale, unmount_bpffs, AttachMode, AttachedMode, EbpfError,
    Extras, PortProgram, PortSettings,
};

/// A veth pair and a bpffs of the test's own, removed again also when the test fails.
struct Bench {
    device: String,
    root: PathBuf,
}

impl Bench {
    fn new(name: &str) -> Self {
        let device = format!("wte{}{name}", std::process::id() % 100_000);
        run(
            "ip",
            &[
                "link",
                "add",
                &device,
                "type",
                "veth",
                "peer",
                "name",
                &format!("{device}p"),
            ],
        );
        run("ip", &["link", "set", &device, "up"]);
        let root = std::env::temp_dir().join(format!("weir-bpf-{device}"));
        ensure_bpffs(&root).unwrap();
        Self { device, root }
    }

    fn ifindex(&self) -> u32 {
        nix::net::if_::if_nametoindex(self.device.as_str()).unwrap()
    }

    fn pins(&self) -> PathBuf {
        self.root.join("port")
    }

    /// The id of the attached program, as ip(8) prints it.
    fn has_program(&self) -> bool {
        let output = Command::new("ip")
            .args(["-details", "link", "show", &self.device])
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).contains("prog/xdp")
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = remove_stale(&self.pins());
        let _ = unmount_bpffs(&self.root);
        let _ = Command::new("ip")
            .args(["link", "del", &self.device])
            .status();
    }
}

fn run(program: &str, arguments: &[&str]) {
    let status = Command::new(program).args(arguments).status().unwrap();
    assert!(
        status.success(),
        "{program} {arguments:?}: these tests need root"
    );
}

#[test]
#[ignore = "needs root"]
fn veth_runs_it_natively_and_detaching_leaves_nothing() {
    let bench = Bench::new("a");
    let mut program = PortProgram::load(&PortSettings::default()).unwrap();
    let mode = program
        .attach(bench.ifindex(), AttachMode::Auto, Some(&bench.pins()))
        .unwrap();
    assert_eq!(mode, AttachedMode::Native);
    assert!(bench.has_program());
    for name in ["link", "xsks", "settings", "traffic", "verdicts"] {
        assert!(bench.pins().join(name).exists(), "{name} is pinned");
    }
    program.detach().unwrap();
    assert!(!bench.has_program());
    assert!(!bench.pins().exists());
}

#[test]
#[ignore = "needs root"]
fn generic_mode_can_be_asked_for() {
    let bench = Bench::new("b");
    let mut program = PortProgram::load(&PortSettings::default()).unwrap();
    let mode = program
        .attach(bench.ifindex(), AttachMode::Generic, None)
        .unwrap();
    assert_eq!(mode, AttachedMode::Generic);
    assert!(bench.has_program());
    drop(program);
    // The kernel lets go of a closed link when it has time for it.
    let limit = Instant::now() + Duration::from_secs(60);
    while bench.has_program() {
        assert!(
            Instant::now() < limit,
            "an unpinned link ends with its owner"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A program that asks its device when frames came in.
fn load_for(ifindex: u32) -> Result<PortProgram, EbpfError> {
    let extras = Extras {
        hardware_time_of: Some(ifindex),
        ..Extras::default()
    };
    PortProgram::load_with(&PortSettings::default(), &extras)
}

#[test]
#[ignore = "needs root"]
fn a_program_that_asks_its_device_is_good_for_no_other() {
    let (bench, other) = (Bench::new("e"), Bench::new("f"));
    let mut program = load_for(bench.ifindex()).expect("a veth has what is asked for");
    for (ifindex, mode) in [
        (other.ifindex(), AttachMode::Native),
        (bench.ifindex(), AttachMode::Generic),
    ] {
        let refused = program.attach(ifindex, mode, None);
        assert!(
            matches!(refused, Err(EbpfError::Attach { .. })),
            "{refused:?}"
        );
    }
    let mode = program.attach(bench.ifindex(), AttachMode::Auto, Some(&bench.pins()));
    assert_eq!(mode.unwrap(), AttachedMode::Native);

    // One that asks nobody takes its place without a moment between the two, and back.
    let mut plain = PortProgram::load(&PortSettings::default()).unwrap();
    plain
        .attach(bench.ifindex(), AttachMode::Auto, Some(&bench.pins()))
        .unwrap();
    let mut again = load_for(bench.ifindex()).unwrap();
    again
        .attach(bench.ifindex(), AttachMode::Auto, Some(&bench.pins()))
        .unwrap();
    again.detach().unwrap();
    assert!(!bench.has_program());

    let loopback = load_for(1);
    let said = loopback
        .expect_err("a loopback device has no clock")
        .to_string();
    assert!(said.contains("take hardware-time away"), "{said}");
}

#[test]
#[ignore = "needs root"]
fn what_a_dead_process_left_is_taken_away() {
    let bench = Bench::new("c");
    let mut program = PortProgram::load(&PortSettings::default()).unwrap();
    program
        .attach(bench.ifindex(), AttachMode::Auto, Some(&bench.pins()))
        .unwrap();
    drop(program);
    assert!(bench.has_program(), "a pinned link outlives its owner");

    let mut second = PortProgram::load(&PortSettings::default()).unwrap();
    let busy = second.attach(bench.ifindex(), AttachMode::Auto, None);
    assert!(matches!(busy, Err(EbpfError::Busy { .. })), "{busy:?}");

    second
        .attach(bench.ifindex(), AttachMode::Auto, Some(&bench.pins()))
        .expect("the stale link is in the pin directory that is taken over");
    second.detach().unwrap();
    assert!(!bench.has_program());
    assert!(!remove_stale(&bench.pins()).unwrap(), "nothing is left");
}

/// The number of the link to a device that this process has open.
fn link_number(ifindex: u32) -> Option<String> {
    let files = std::fs::read_dir("/proc/self/fdinfo").unwrap();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.ok()?.path()).ok());
    let has = |text: &String| {
        text.lines()
            .any(|line| line == format!("ifindex:\t{ifindex}"))
    };
    let number = |text: String| {
        let line = text.lines().find(|line| line.starts_with("link_id:"));
        line.map(str::to_owned)
    };
    texts.filter(has).find_map(number)
}

/// Detaching and attaching would reset the link of many devices twice.
#[test]
#[ignore = "needs root"]
fn the_link_of_a_dead_process_gets_the_new_program() {
    let bench = Bench::new("d");
    let attach = |mode| {
        let mut program = PortProgram::load(&PortSettings::default()).unwrap();
        let attached = program.attach(bench.ifindex(), mode, Some(&bench.pins()));
        (
            attached.unwrap(),
            link_number(bench.ifindex()).unwrap(),
            program,
        )
    };
    let (_, first, program) = attach(AttachMode::Auto);
    drop(program);
    let (mode, second, program) = attach(AttachMode::Auto);
    assert_eq!((mode, &second), (AttachedMode::Native, &first));
    drop(program);
    let (mode, third, mut program) = attach(AttachMode::Generic);
    assert_eq!(mode, AttachedMode::Generic);
    assert_ne!(third, second, "another mode takes another link");

    let native = AttachedMode::Native;
    program.attach_again(bench.ifindex(), native).unwrap();
    assert!(bench.has_program() && bench.pins().join("link").exists());
    program.detach().unwrap();
    assert!(!bench.has_program());
}

#[test]
#[ignore = "needs root"]
fn a_missing_device_is_named() {
    let mut program = PortProgram::load(&PortSettings::default()).unwrap();
    let error = program.attach(999_999, AttachMode::Auto, None).unwrap_err();
    assert!(error.to_string().contains("999999"), "{error}");
}

#[test]
#[ignore = "needs root"]
fn a_bpffs_is_mounted_once_and_unmounted() {
    let root = std::env::temp_dir().join(format!("weir-bpf-mount-{}", std::process::id()));
    ensure_bpffs(&root).unwrap();
    ensure_bpffs(&root).unwrap();
    assert!(is_bpffs(&root));
    unmount_bpffs(&root).unwrap();
    assert!(!root.exists());
    unmount_bpffs(&root).unwrap();
}
