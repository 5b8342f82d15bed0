//! Contents of the Debian package besides the programs: systemd units and the default configuration.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Limit of `systemd-analyze security` for the units, in tenths; below 5 it reports OK.
const EXPOSURE_LIMIT: &str = "40";

fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging")
}

fn systemd_analyze(arguments: &[&str], unit: &Path) -> Output {
    Command::new("systemd-analyze")
        .args(arguments)
        .arg(unit)
        .output()
        .unwrap_or_else(|error| panic!("systemd-analyze: {error}; `cargo xtask setup` installs it"))
}

/// Writes the unit `name` with this build's programs into `directory`; returns its path.
fn unit(name: &str, directory: &Path) -> PathBuf {
    let text = std::fs::read_to_string(packaging().join("systemd").join(name)).unwrap();
    assert!(text.contains("/usr/sbin/weir-switchd"));
    let here = text.replace("/usr/sbin/weir-switchd", env!("CARGO_BIN_EXE_weir-switchd"));
    let path = directory.join(name.replace('@', "@s1"));
    std::fs::write(&path, here).unwrap();
    path
}

#[test]
fn systemd_understands_the_units_and_their_sandbox_is_tight() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["weir-switchd.service", "weir-switchd@.service"] {
        let unit = unit(name, directory.path());
        let verified = systemd_analyze(&["verify", "--man=no"], &unit);
        let told = String::from_utf8_lossy(&verified.stderr).into_owned();
        assert!(verified.status.success(), "{name}: {told}");
        // An unknown setting is only a warning; warnings about other units of this machine are ignored.
        assert!(!told.contains("weir"), "{name}: {told}");
        let rated = systemd_analyze(
            &["security", "--offline=true", "--threshold", EXPOSURE_LIMIT],
            &unit,
        );
        assert!(rated.status.success(), "{name}: {rated:?}");
    }
}

/// For a late device of a port without `wait = true`, the switch is restarted until the device exists. Only an error that no
/// restart can fix ends the restarts.
#[test]
fn units_start_a_switch_for_as_long_as_a_device_is_missing() {
    for name in ["weir-switchd.service", "weir-switchd@.service"] {
        let text = std::fs::read_to_string(packaging().join("systemd").join(name)).unwrap();
        let values = |key: &str| -> Vec<&str> {
            let lines = text.lines();
            lines
                .filter_map(|line| line.strip_prefix(key)?.strip_prefix('='))
                .collect()
        };
        assert_eq!(values("StartLimitIntervalSec"), ["0"], "{name}: no limit");
        assert_eq!(values("StartLimitBurst"), [""; 0], "{name}");
        assert_eq!(values("Restart"), ["on-failure"], "{name}");
        let ends = [
            weir_switchd::cli::EXIT_CONFIG,
            weir_switchd::cli::EXIT_IN_USE,
        ];
        let ends = ends.map(|status| status.to_string()).join(" ");
        assert_eq!(values("RestartPreventExitStatus"), [ends], "{name}");
    }
}

#[test]
fn both_units_are_the_same_but_for_the_file_they_name() {
    let read = |name: &str| {
        let text = std::fs::read_to_string(packaging().join("systemd").join(name)).unwrap();
        let settings: Vec<String> = text
            .lines()
            .filter(|line| !line.starts_with(['#', 'D']))
            .map(|line| line.replace("%i.toml", "switchd.toml"))
            .collect();
        settings
    };
    assert_eq!(read("weir-switchd.service"), read("weir-switchd@.service"));
}

#[test]
fn the_default_configuration_is_legal_once_ports_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("switchd.toml");
    let check = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Command::new(env!("CARGO_BIN_EXE_weir-switchd"))
            .args(["--check", "--config"])
            .arg(&path)
            .output()
            .unwrap()
    };
    let text = std::fs::read_to_string(packaging().join("etc/switchd.toml")).unwrap();
    let without = check(&text);
    assert_eq!(without.status.code(), Some(2), "{without:?}");
    assert!(String::from_utf8_lossy(&without.stderr).contains("port"));

    // A line that starts with `#` and no space is a setting; other comments are prose.
    let is_setting = |line: &&str| line.starts_with('#') && !line.starts_with("# ") && *line != "#";
    assert_eq!(text.lines().filter(is_setting).count(), 11);
    let all: String = text
        .lines()
        .map(|line| {
            line.strip_prefix('#')
                .filter(|_| is_setting(&line))
                .unwrap_or(line)
        })
        .flat_map(|line| [line, "\n"])
        .collect();
    let with = check(&all);
    assert!(with.status.success(), "{with:?}");
}

#[test]
fn the_manual_page_has_every_option() {
    let output = Command::new(env!("CARGO_BIN_EXE_weir-switchd"))
        .arg("--manual")
        .output()
        .unwrap();
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.contains(".TH weir-switchd 8"), "{page}");
    for option in [
        "config",
        "check",
        "prepare",
        "log\\-level",
        "drain\\-timeout",
    ] {
        assert!(
            page.contains(&format!("\\-\\-{option}")),
            "{option}: {page}"
        );
    }
}
