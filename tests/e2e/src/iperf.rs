//! Runs iperf3.

use super::Bench;

/// Returns the bytes received by the server from an iperf3 client in `h1`; `None` while there is no server.
pub fn received_bytes(bench: &Bench, server: &str, options: &[&str]) -> Option<u64> {
    let mut client = bench.command("h1", "iperf3");
    client.args(["--client", server, "--json"]).args(options);
    let output = client.output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    if let Some(error) = report["error"].as_str() {
        assert!(
            error.contains("refused") || error.contains("busy"),
            "{error}"
        );
        return None;
    }
    let end = &report["end"];
    // For UDP, the client's summary is the server's report.
    let sum = if end["sum_received"].is_object() {
        &end["sum_received"]
    } else {
        &end["sum"]
    };
    sum["bytes"].as_u64()
}
