//! A switch with TLS and a token, and discovery by a real Prometheus by file and by HTTP.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use weir_config::daemon::MetricsConfig;
use weir_lab::lab::process::{program, Process};
use weir_tests::metrics::relay;
use weir_tests::prometheus::Prometheus;
use weir_tests::{until, Bench};

use super::text;
use crate::certificate;

#[test]
fn prometheus_discovers_a_protected_switch() {
    let secrets = tempfile::tempdir().unwrap();
    let files = certificate::make(secrets.path(), "s1");
    let token = secrets.path().join("token");
    fs::write(&token, "0123456789abcdef0123456789abcdef\n").unwrap();
    fs::set_permissions(&token, Permissions::from_mode(0o600)).unwrap();
    let bench = Bench::new(&[], |config| {
        config.metrics = MetricsConfig {
            tls_certificate: Some(files.certificate.clone()),
            tls_key: Some(files.key.clone()),
            token_file: Some(token.clone()),
            ..config.metrics.clone()
        };
    });
    let address = relay(bench.namespace("s1"));
    let list = secrets.path().join("switches.toml");
    let named = |name: &str| {
        format!(
            "[[switch]]\nname = \"{name}\"\nurl = \"https://127.0.0.1:{}\"\n",
            address.port()
        )
    };
    fs::write(&list, named("leaf1")).unwrap();

    // Without the authority no server is trusted, without the token no answer is given.
    let once = |arguments: &[&Path]| {
        let mut command = Command::new(program("weir-page").unwrap());
        command
            .arg("--once")
            .arg("--switches")
            .arg(&list)
            .args(arguments);
        let output = command.output().unwrap();
        let state: Value = serde_json::from_slice(&output.stdout).unwrap();
        let one = &state["switches"][0];
        (
            text(&one["condition"]),
            text(&one["text"]) + "; " + &text(&one["reasons"][0]),
        )
    };
    let (ca, token_file) = (Path::new("--ca"), Path::new("--token-file"));
    let (condition, told) = once(&[]);
    assert!(
        condition == "unreachable" && told.contains("no TLS") && told.contains("--ca must name"),
        "{told}"
    );
    let (condition, told) = once(&[ca, &files.certificate]);
    assert!(
        condition == "unreachable"
            && told.contains("HTTP 401")
            && told.contains("--token-file must name"),
        "{told}"
    );
    let (condition, told) = once(&[ca, &files.certificate, token_file, &token]);
    assert_eq!(condition, "well", "{told}");

    let discovered = secrets.path().join("weir.json");
    let mut command = Command::new(program("weir-page").unwrap());
    command
        .args(["--listen", "127.0.0.1:0", "--switches"])
        .arg(&list);
    command
        .arg("--ca")
        .arg(&files.certificate)
        .arg("--token-file")
        .arg(&token);
    command.arg("--prometheus-sd").arg(&discovered);
    let log = secrets.path().join("weir-page.log");
    let page = Process::start("weir-page", command, &log).unwrap();
    let port = until("the page says where it is", || {
        let log = fs::read_to_string(&log).unwrap_or_default();
        let (_, rest) = log.split_once("the page is at http://127.0.0.1:")?;
        rest.split('/').next().map(str::to_owned)
    });
    until("the file is written", || discovered.exists().then_some(()));

    for discovery in [
        format!(
            "    file_sd_configs: [{{files: ['{}']}}]\n",
            discovered.display()
        ),
        format!("    http_sd_configs: [{{url: 'http://127.0.0.1:{port}/prometheus-sd'}}]\n"),
    ] {
        let job = format!(
            "    tls_config: {{ca_file: '{}'}}\n    authorization: {{credentials_file: '{}'}}\n{discovery}",
            files.certificate.display(),
            token.display()
        );
        let rules =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/prometheus/weir.rules.yml");
        let prometheus = Prometheus::start_with(&[], &rules.canonicalize().unwrap(), &job);
        until("Prometheus has scraped what it has discovered", || {
            let up = prometheus.values("up{job=\"weir\",instance=\"leaf1\"} == 1");
            (up.len() == 1).then_some(())
        });
        until("and the switch's own figures", || {
            let told = prometheus.values("weir_uptime_seconds{instance=\"leaf1\"}");
            (!told.is_empty()).then_some(())
        });
    }
    page.end(Duration::from_secs(10)).unwrap();
    bench.end();
}
