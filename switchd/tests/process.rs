//! The program from outside: exit status and messages.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use weir_switchd::cli;
use weir_switchd::os::run_dir::RunDir;

/// A device that does not exist.
const NO_DEVICE: &str = "weir-no-device";

struct Files {
    directory: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn run_dir(&self) -> PathBuf {
        self.directory.path().join("run")
    }

    fn config(&self, extra: &str) -> PathBuf {
        let path = self.directory.path().join("switch.toml");
        let text = format!(
            "name = \"s1\"\nrun-dir = \"{}\"\n{extra}\n[metrics]\nlisten = \"off\"\n[page]\nlisten = \"off\"\n\
             [[port]]\nname = \"a\"\ndevice = \"{NO_DEVICE}\"\nrole = \"edge\"\nrate = \"100Mbit\"\n",
            self.run_dir().display()
        );
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn weir_switchd(config: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weir-switchd"))
        .arg("--config")
        .arg(config)
        .args(arguments)
        .output()
        .unwrap()
}

fn status(output: &Output) -> u8 {
    let code = output.status.code();
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or_else(|| panic!("{output:?}"))
}

fn complaints(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn check_accepts_a_good_file_and_touches_nothing() {
    let files = Files::new();
    let output = weir_switchd(&files.config(""), &["--check"]);
    assert_eq!(status(&output), cli::EXIT_OK, "{output:?}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("valid"));
    assert!(!files.run_dir().exists());
}

#[test]
fn every_mistake_is_reported_with_its_line() {
    let files = Files::new();
    let path = files.config("colour = \"green\"\nspeed = 1");
    let output = weir_switchd(&path, &[]);
    assert_eq!(status(&output), cli::EXIT_CONFIG);
    let text = complaints(&output);
    for (line, key) in [(3, "colour"), (4, "speed")] {
        let place = format!("{}:{line}: {key}", path.display());
        assert!(text.contains(&place), "{place} is not in {text}");
    }
    let output = weir_switchd(&files.directory.path().join("missing.toml"), &[]);
    assert_eq!(status(&output), cli::EXIT_CONFIG);
}

#[test]
fn a_cpu_that_the_machine_does_not_have_is_refused() {
    let files = Files::new();
    let path = files.config("[dataplane]\nworker-cpus = [0, 1000000]");
    for arguments in [&[][..], &["--check"]] {
        let output = weir_switchd(&path, arguments);
        assert_eq!(status(&output), cli::EXIT_CONFIG, "{output:?}");
        assert!(
            complaints(&output).contains("no such CPU on this machine: [1000000]"),
            "{output:?}"
        );
    }
}

#[test]
fn packet_memory_that_the_machine_does_not_have_is_refused() {
    let files = Files::new();
    let class = "[[class]]\nname = \"huge\"\npriorities = [3]\nmode = \"pfc\"\nxoff = \"200GB\"\nxon = \"100GB\"\nheadroom = \"1GB\"";
    let path = files.config(class);
    for arguments in [&[][..], &["--check"]] {
        let output = weir_switchd(&path, arguments);
        assert_eq!(status(&output), cli::EXIT_CONFIG, "{output:?}");
        let text = complaints(&output);
        assert!(
            text.contains("packet memory is ") && text.contains(": lower the buffers"),
            "{text}"
        );
    }
}

#[test]
fn a_wrong_log_level_is_a_wrong_command_line() {
    let files = Files::new();
    let output = weir_switchd(&files.config(""), &["--log-level", "weir=loud"]);
    assert_eq!(status(&output), cli::EXIT_CONFIG);
    assert!(complaints(&output).contains("`weir=loud` is not a log level"));
}

#[test]
fn a_held_run_directory_is_left_alone() {
    let files = Files::new();
    let ours = RunDir::take(&files.run_dir()).unwrap();
    let output = weir_switchd(&files.config(""), &[]);
    assert_eq!(status(&output), cli::EXIT_IN_USE, "{output:?}");
    let text = complaints(&output);
    assert!(text.contains(&std::process::id().to_string()), "{text}");
    assert!(files.run_dir().exists());
    ours.release(&[]);
}

#[test]
fn a_device_that_is_missing_is_named_and_nothing_is_left() {
    let files = Files::new();
    let output = weir_switchd(&files.config(""), &[]);
    assert_eq!(status(&output), cli::EXIT_FAILURE, "{output:?}");
    assert!(complaints(&output).contains("cannot start the dataplane"));
    assert!(!files.run_dir().exists());
}
