//! The core's path does not become dearer unnoticed.

use std::path::Path;
use std::process::Command;

/// Counted in an optimised build, as a dataplane runs it.
#[test]
fn no_case_costs_five_percent_more_than_its_baseline() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO"))
        .args([
            "run",
            "--release",
            "--quiet",
            "--package",
            "weir-core-bench",
        ])
        .args(["--bin", "weir-instructions", "--", "check"])
        .current_dir(repository)
        .output()
        .expect("cargo starts");
    let told = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}{errors}");
    println!("{told}");
}
