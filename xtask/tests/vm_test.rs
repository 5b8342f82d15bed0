//! A test on emulated NICs that cannot run reports this, and does not count as passed.

use std::path::Path;
use std::process::Command;

#[test]
fn without_network_the_test_does_not_take_place() {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("vm-without-network");
    let _ = std::fs::remove_dir_all(&cache);
    // Nothing listens on the discard port.
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args([
            "vm-test",
            "--mirror",
            "http://127.0.0.1:9/debian",
            "--cache",
        ])
        .arg(&cache)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("did NOT take place"), "{said}");
    assert_eq!(output.status.code(), Some(3), "{said}");
}
