//! Completions and manual pages, and the program name set by `switchctl plan`.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::support::run;

#[test]
fn completions_and_manual_pages_are_of_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let made = run(&["completions", shell]);
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        for word in ["compare", "reproduce", "round-trip", "from-capture"] {
            assert!(made.stdout.contains(word), "{shell}: {word}");
        }
        assert!(!made.stdout.contains("weir__plan__man"), "{shell}");
    }
    let directory = tempfile::tempdir().unwrap();
    let made = run(&["man", directory.path().to_str().unwrap()]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let pages = std::fs::read_dir(&directory).unwrap();
    let mut pages: Vec<_> = pages.map(|entry| entry.unwrap().file_name()).collect();
    pages.sort();
    let expected = [
        "weir-plan-buffers.1",
        "weir-plan-compare.1",
        "weir-plan-completions.1",
        "weir-plan-reproduce.1",
        "weir-plan.1",
    ];
    assert_eq!(pages, expected);
    for page in expected {
        let page = directory.path().join(page);
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
fn usage_and_errors_repeat_what_was_typed() {
    for (called, usage, error) in [
        (
            "switchctl plan",
            "Usage: switchctl plan ",
            "switchctl: nowhere.toml: ",
        ),
        (
            "/usr/bin/weir-plan",
            "Usage: weir-plan ",
            "weir-plan: nowhere.toml: ",
        ),
    ] {
        let told = |words: &[&str], code| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_weir-plan"));
            let output = command.arg0(called).args(words).output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{words:?}");
            String::from_utf8(output.stderr).unwrap()
        };
        assert!(told(&["--nothing"], 2).contains(usage), "{called}");
        assert!(told(&["nowhere.toml"], 1).starts_with(error), "{called}");
    }
}

/// Before a command and after it.
#[test]
fn json_is_for_every_command() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    let words = ["reproduce", "fig3", "--out", out];
    let (before, behind) = ([&["--json"], &words[..]], [&words[..], &["--json"]]);
    let before = run(&before.concat());
    assert_eq!(before.code, Some(0), "{}", before.stderr);
    assert!(before.stdout.starts_with('{'), "{}", before.stdout);
    assert_eq!(before.stdout, run(&behind.concat()).stdout);
}
