//! Times of tests, recorded by a program that the build has replaced.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// A replacement for cargo: its build removes the program that called it, and its cargo-nextest runs one test through the
/// runner.
const CARGO: &str = r#"#!/bin/sh
case "$1 $2" in
    "build "*) rm "$PROGRAM" ;;
    "nextest run") $(env | sed -n 's/^CARGO_TARGET_.*_RUNNER=//p') sh -c 'echo ran > "$DONE"' ;;
esac
"#;

#[test]
fn a_test_is_timed_after_the_build_has_replaced_the_program() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("times");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir(&directory).unwrap();
    let [program, cargo, done, table] =
        ["xtask", "cargo", "done", "table.md"].map(|it| directory.join(it));
    fs::copy(env!("CARGO_BIN_EXE_xtask"), &program).unwrap();
    fs::write(&cargo, CARGO).unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let status = Command::new(&program)
        .args(["test", "--times"])
        .arg(&table)
        .env("CARGO", &cargo)
        .env("PROGRAM", &program)
        .env("DONE", &done)
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
    assert!(!program.exists(), "the build left the program");
    assert_eq!(fs::read_to_string(&done).unwrap(), "ran\n");
    assert!(table.exists());
}
