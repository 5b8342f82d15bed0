//! `switchctl plan` runs the `weir-plan` next to it, or else the one on PATH.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// Writes a fake planner that prints its name, caller and arguments, and exits with a distinct status.
fn planner(directory: &Path, name: &str) {
    let path = directory.join("weir-plan");
    let script = format!("#!/bin/sh\necho {name} \"$@\"\nexit 7\n");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
}

fn printed(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn the_planner_is_found_and_gets_every_word() {
    // There may be a planner next to the tested program, so link the program into a directory without one.
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (here, path) = (directory.path().join("bin"), directory.path().join("path"));
    fs::create_dir(&here).unwrap();
    fs::create_dir(&path).unwrap();
    let switchctl = here.join("switchctl");
    fs::hard_link(env!("CARGO_BIN_EXE_switchctl"), &switchctl).unwrap();
    let run = |words: &[&str]| {
        let mut command = Command::new(&switchctl);
        printed(&command.args(words).env("PATH", &path).output().unwrap())
    };

    let (code, _, told) = run(&["plan", "a.toml"]);
    assert_eq!(code, Some(1));
    assert!(told.contains("cargo build -p weir-plan"), "{told}");

    planner(&path, "elsewhere");
    let said = |words: &[&str]| match run(words) {
        (Some(7), stdout, stderr) if stderr.is_empty() => stdout,
        other => panic!("{words:?}: {other:?}"),
    };
    assert_eq!(said(&["plan", "a.toml"]), "elsewhere a.toml\n");
    planner(&here, "beside");
    for (words, expected) in [
        (&["plan"][..], "beside\n"),
        (&["plan", "--help"], "beside --help\n"),
        (&["plan", "-h"], "beside -h\n"),
        (&["--json", "plan", "a"], "beside --json a\n"),
        (&["plan", "--json", "a"], "beside --json a\n"),
        (&["plan", "a", "--json"], "beside a --json\n"),
        (
            &["--name", "s1", "plan", "--set", "a=1", "x"],
            "beside --set a=1 x\n",
        ),
        (&["plan", "compare", "--", "-a"], "beside compare -- -a\n"),
    ] {
        assert_eq!(said(words), expected, "{words:?}");
    }
    assert_eq!(run(&["--watch", "plan", "a"]).0, Some(2));
}

#[test]
fn the_help_names_the_planner() {
    let switchctl = env!("CARGO_BIN_EXE_switchctl");
    let help = |words: &[&str]| printed(&Command::new(switchctl).args(words).output().unwrap());
    let (code, listed, _) = help(&["--help"]);
    assert_eq!(code, Some(0));
    assert!(listed.contains("\n  plan  "), "{listed}");
    let (code, told, _) = help(&["help", "plan"]);
    assert_eq!(code, Some(0));
    assert!(told.contains("switchctl plan --help"), "{told}");
}
