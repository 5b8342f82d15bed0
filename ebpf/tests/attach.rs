//! Attaching to a real device, pinning, and cleaning up after a killed process. Needs root.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use weir_ebpf::{
    ensure_bpffs, is_bpffs, remove_stale, unmount_bpffs, AttachMode, AttachedMode, EbpfError,
    ExpressMaps, Extras, Fallback, FrameClass, PortProgram, PortSettings, Verdict,
};

/// The test's own veth pair and bpffs, removed even if the test fails.
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

    /// Returns true if ip(8) prints an attached program.
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
    // The kernel releases a closed link some time later.
    let limit = Instant::now() + Duration::from_secs(60);
    while bench.has_program() {
        assert!(
            Instant::now() < limit,
            "an unpinned link ends with its owner"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Loads a program that records the device's arrival time.
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
    let (bench, other) = (Bench::new("i"), Bench::new("j"));
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

    // A program without the request replaces it without a gap, and vice versa.
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
    assert!(said.contains("remove hardware-time"), "{said}");
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

/// Returns the ID of the link to a device that this process has open.
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

/// Returns the ID of the attached program, as printed by ip(8).
fn program_number(bench: &Bench) -> String {
    let output = Command::new("ip")
        .args(["-details", "link", "show", &bench.device])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words.iter().position(|word| word.starts_with("prog/xdp"));
    let at = at.unwrap_or_else(|| panic!("no program: {text}"));
    format!("{} {}", words[at + 1], words[at + 2])
}

/// A frame to which the fallback applies.
const FRAME: [u8; 60] = [2; 60];

/// Replacing it would take a grace period while neighbours wait. It gets the new owner's settings, and the old owner's
/// counts are excluded.
#[test]
#[ignore = "needs root"]
fn the_same_program_stays_with_its_maps() {
    let bench = Bench::new("e");
    let attach = |fallback| {
        let mut program = PortProgram::load(&PortSettings {
            fallback,
            ..PortSettings::default()
        })
        .unwrap();
        let pins = bench.pins();
        program
            .attach(bench.ifindex(), AttachMode::Auto, Some(&pins))
            .unwrap();
        program
    };
    let first = attach(Fallback::Drop);
    let number = program_number(&bench);
    first.test_run(&FRAME).unwrap();
    assert_eq!(first.verdict_counters().unwrap().get(Verdict::Dropped), 1);

    let mut second = attach(Fallback::Pass);
    assert_eq!(program_number(&bench), number);
    assert_eq!(second.verdict_counters().unwrap(), Default::default());
    assert_eq!(second.class_counters().unwrap(), Default::default());
    second.test_run(&FRAME).unwrap();
    // The running program and its settings, which are the same by now.
    first.test_run(&FRAME).unwrap();
    let passed = |program: &PortProgram| program.verdict_counters().unwrap().get(Verdict::Passed);
    assert_eq!((passed(&first), passed(&second)), (2, 2));
    let data = second.class_counters().unwrap().of_class(FrameClass::Data);
    assert_eq!((data.frames, data.bytes), (2, 120));
    second.forget_counters().unwrap();
    assert_eq!(passed(&second), 0);

    drop(first);
    second.detach().unwrap();
    assert!(!bench.has_program());
    assert!(!bench.pins().exists());
}

/// Its maps are shared with others, which the next owner does not have.
#[test]
#[ignore = "needs root"]
fn another_program_is_replaced() {
    let bench = Bench::new("f");
    let attach = |mut program: PortProgram| {
        let pins = bench.pins();
        program
            .attach(bench.ifindex(), AttachMode::Auto, Some(&pins))
            .unwrap();
        let link = link_number(bench.ifindex()).unwrap();
        (program_number(&bench), link, program)
    };
    let plain = || PortProgram::load(&PortSettings::default()).unwrap();
    let express = || {
        let maps = ExpressMaps::new().unwrap();
        let extras = Extras {
            express: Some(&maps),
            ..Extras::default()
        };
        PortProgram::load_with(&PortSettings::default(), &extras).unwrap()
    };
    let mut numbers = Vec::new();
    let mut links = Vec::new();
    let mut last = None;
    let bound = load_for(bench.ifindex()).unwrap();
    for program in [plain(), express(), express(), bound, plain()] {
        let (number, link, program) = attach(program);
        links.push(link);
        assert!(!numbers.contains(&number), "{number} of {numbers:?}");
        numbers.push(number);
        last = Some(program);
    }
    links.dedup();
    assert_eq!(links.len(), 1, "replaced at its link");
    let last = last.unwrap();
    last.test_run(&FRAME).unwrap();
    assert_eq!(last.verdict_counters().unwrap().get(Verdict::Passed), 1);
    last.detach().unwrap();
    assert!(!bench.has_program());
}

/// State of a process killed after attaching its program and before pinning the maps.
#[test]
#[ignore = "needs root"]
fn a_program_whose_maps_are_not_pinned_is_replaced() {
    let bench = Bench::new("g");
    let other = Bench::new("h");
    let attach = |bench: &Bench, pins: &Path| {
        let mut program = PortProgram::load(&PortSettings::default()).unwrap();
        program
            .attach(bench.ifindex(), AttachMode::Auto, Some(pins))
            .unwrap();
        program
    };
    let pins = bench.pins();
    let elsewhere = bench.root.join("other");
    for pin in ["xsks", "settings", "traffic", "verdicts"] {
        let first = attach(&bench, &pins);
        let number = program_number(&bench);
        drop(first);
        let strange = attach(&other, &elsewhere);
        std::fs::remove_file(pins.join(pin)).unwrap();
        std::fs::rename(elsewhere.join(pin), pins.join(pin)).unwrap();
        strange.detach().unwrap();

        let second = attach(&bench, &pins);
        assert_ne!(program_number(&bench), number, "{pin} is another's");
        let number = program_number(&bench);
        drop(second);
        std::fs::remove_file(pins.join(pin)).unwrap();
        let third = attach(&bench, &pins);
        assert_ne!(program_number(&bench), number, "{pin} is missing");
        third.test_run(&FRAME).unwrap();
        assert_eq!(third.verdict_counters().unwrap().get(Verdict::Passed), 1);
        third.detach().unwrap();
    }
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
