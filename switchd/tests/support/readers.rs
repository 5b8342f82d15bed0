//! Third-party programs that read metrics.

use std::io::Write;
use std::process::{Command, Stdio};

/// Parses the whole text with Python's official client library, which is strict. Returns the samples in the older format and
/// the metadata, one per line.
pub fn read_by_the_official_parser(openmetrics: &str) -> String {
    const SCRIPT: &str = "\
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
for family in parse(sys.stdin.read()):
    print('family', family.name, family.type, family.unit)
    for sample in family.samples:
        # Bounds are strings there and here.
        labels = ','.join(f'{name}={value!r}' for name, value in sorted(sample.labels.items()))
        print('sample', sample.name, labels, repr(float(sample.value)))
";
    // The package is installed for the system's Python.
    let child = Command::new("/usr/bin/python3")
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.expect("python3 is missing: `cargo xtask setup` installs it");
    let mut input = child.stdin.take().unwrap();
    let text = openmetrics.to_owned();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "`cargo xtask setup` installs python3-prometheus-client: {errors}\n{openmetrics}"
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Fails even on a warning.
pub fn promtool_accepts(text: &str) {
    let mut child = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool is missing: `cargo xtask setup` installs it");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success() && said.trim().is_empty(), "{said}");
}
