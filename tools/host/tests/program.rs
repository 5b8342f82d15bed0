//! The program as called by a user: help, manual pages, completions, and refusals.

use std::path::Path;
use std::process::{Command, Output};

use libbpf_rs::btf::types::Struct;
use libbpf_rs::btf::Btf;

fn run(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weir-host"))
        .args(words)
        .output()
        .unwrap()
}

fn error(words: &[&str]) -> String {
    let output = run(words);
    assert_eq!(output.status.code(), Some(1), "{words:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn kernel_can() -> bool {
    let btf = Btf::from_vmlinux();
    btf.is_ok_and(|btf| {
        btf.type_by_name::<Struct<'_>>("bpf_struct_ops_Qdisc_ops")
            .is_some()
    })
}

#[test]
fn completions_and_manual_pages_are_of_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let made = run(&["completions", shell]);
        assert!(made.status.success());
        let text = String::from_utf8(made.stdout).unwrap();
        for word in ["attach", "detach", "measure", "push-back", "gso-segments"] {
            assert!(text.contains(word), "{shell}: {word}");
        }
        assert!(!text.contains("weir__host__man"), "{shell}");
    }
    let directory = tempfile::tempdir().unwrap();
    assert!(run(&["man", directory.path().to_str().unwrap()])
        .status
        .success());
    let pages = std::fs::read_dir(&directory).unwrap();
    let mut pages: Vec<_> = pages.map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    assert_eq!(pages.len(), 10, "{pages:?}");
    for page in pages {
        let lint = Command::new("mandoc")
            .args(["-T", "lint", "-W", "error"])
            .arg(&page)
            .output()
            .unwrap_or_else(|error| panic!("mandoc: {error}; `cargo xtask setup` installs it"));
        let told = String::from_utf8_lossy(&lint.stdout);
        assert!(lint.status.success(), "{}: {told}", page.display());
    }
}

#[test]
fn a_device_that_is_not_there_is_named() {
    for words in [
        &["attach", "nowhere0"][..],
        &["detach", "nowhere0"],
        &["status", "nowhere0"],
    ] {
        let told = error(words);
        assert!(
            told.contains("nowhere0") && told.contains("ip link"),
            "{told}"
        );
    }
}

/// On a kernel with support, the guest's test attaches it.
#[test]
fn a_kernel_without_bpf_qdiscs_is_refused_with_what_it_lacks() {
    if kernel_can() {
        return;
    }
    let told = error(&["attach", "lo", "--rate", "1Gbit"]);
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    for word in [
        "lo",
        release.trim(),
        "Linux 6.16",
        "CONFIG_NET_SCH_BPF",
        "weir-host plug lo",
    ] {
        assert!(told.contains(word), "{word}: {told}");
    }
}

#[test]
fn what_is_wrong_on_the_command_line_is_named() {
    let output = run(&["attach", "lo", "--obey", "3,8"]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("invalid priority `8`"), "{told}");
}

#[test]
fn metrics_go_to_a_file_all_at_once() {
    if std::fs::File::open("/proc/1/mem").is_err() {
        // Querying a device's programs requires root.
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("weir_host.prom");
    let made = run(&["metrics", "--out", file.to_str().unwrap()]);
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    let text = std::fs::read_to_string(&file).unwrap();
    for family in [
        "weir_host_pauses_total counter",
        "weir_host_attached gauge",
        "weir_host_paused_seconds_total counter",
    ] {
        assert!(
            text.contains(&format!("# TYPE {family}\n")),
            "{family}: {text}"
        );
    }
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1);
    let nowhere = directory.path().join("no/such/weir_host.prom");
    assert!(error(&["metrics", "--out", nowhere.to_str().unwrap()]).contains("no/such"));
}

#[test]
fn systemd_understands_the_units() {
    let directory = tempfile::tempdir().unwrap();
    let units = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd");
    for (name, exposure_max) in [("weir-host@", "55"), ("weir-host-plug@", "45")] {
        let text = std::fs::read_to_string(units.join(format!("{name}.service"))).unwrap();
        let here = text.replace("/usr/sbin/weir-host", env!("CARGO_BIN_EXE_weir-host"));
        assert_ne!(here, text);
        let unit = directory.path().join(format!("{name}eth1.service"));
        std::fs::write(&unit, here).unwrap();
        let analyze = |words: &[&str]| {
            let mut command = Command::new("systemd-analyze");
            command
                .args(words)
                .arg(&unit)
                .output()
                .unwrap_or_else(|error| {
                    panic!("systemd-analyze: {error}; `cargo xtask setup` installs it")
                })
        };
        let verified = analyze(&["verify", "--man=no"]);
        let told = String::from_utf8_lossy(&verified.stderr).into_owned();
        // An unknown setting is only a warning; warnings about other units of this machine are ignored.
        assert!(
            verified.status.success() && !told.contains("weir"),
            "{name}: {told}"
        );
        // In tenths; below 5 it reports OK.
        let rated = analyze(&["security", "--offline=true", "--threshold", exposure_max]);
        let told = String::from_utf8_lossy(&rated.stdout).into_owned();
        assert!(rated.status.success(), "{name}: {told}");
    }
}
