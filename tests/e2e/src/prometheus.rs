//! Runs Prometheus and queries it.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use weir_lab::lab::process::Process;

use super::until;

/// Interval of scrapes and of the evaluation of rules.
const INTERVAL: &str = "1s";
/// Maximum number of other ports tried if the free one has been taken.
const START_ATTEMPTS: u32 = 5;

/// A running Prometheus; removed on drop.
pub struct Prometheus {
    address: SocketAddr,
    _process: Process,
    _directory: tempfile::TempDir,
}

impl Prometheus {
    /// Scrapes `targets` as job `weir`, each with its label `instance`, and evaluates the rules of a file.
    pub fn start(targets: &[(String, SocketAddr)], rules: &Path) -> Self {
        Self::start_with(targets, rules, "")
    }

    /// Starts it with additional YAML `job` for the scrape, indented by four.
    pub fn start_with(targets: &[(String, SocketAddr)], rules: &Path, job: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("prometheus.yml");
        std::fs::write(&file, configuration(targets, rules, job)).unwrap();
        for _ in 0..START_ATTEMPTS {
            let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let address = free.local_addr().unwrap();
            drop(free);
            let mut process = run(directory.path(), &file, address);
            let ready = until("Prometheus is ready or has ended", || {
                match get(address, "/-/ready") {
                    Some((200, _)) => Some(true),
                    _ => process.check().is_err().then_some(false),
                }
            });
            if ready {
                return Self {
                    address,
                    _process: process,
                    _directory: directory,
                };
            }
        }
        let log = std::fs::read_to_string(directory.path().join("log")).unwrap_or_default();
        panic!("Prometheus does not start:\n{log}");
    }

    /// Returns the data of a response of its API.
    pub fn api(&self, path: &str) -> Value {
        let (status, body) =
            get(self.address, path).unwrap_or_else(|| panic!("Prometheus is gone: {path}"));
        let answer: Value =
            serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
        assert!(
            status == 200 && answer["status"] == "success",
            "{path}: {body}"
        );
        answer["data"].clone()
    }

    /// Returns the current finite values of `expression`.
    pub fn values(&self, expression: &str) -> Vec<f64> {
        let data = self.api(&format!("/api/v1/query?query={}", encoded(expression)));
        let samples = data["result"].as_array().unwrap();
        let values = samples
            .iter()
            .map(|sample| sample["value"][1].as_str().unwrap());
        values
            .map(|text| text.parse().unwrap_or(f64::NAN))
            .filter(|value: &f64| value.is_finite())
            .collect()
    }
}

fn configuration(targets: &[(String, SocketAddr)], rules: &Path, job: &str) -> String {
    let mut text = format!(
        "global: {{scrape_interval: {INTERVAL}, scrape_timeout: {INTERVAL}, evaluation_interval: {INTERVAL}}}\n\
         rule_files: ['{}']\n\
         scrape_configs:\n  - job_name: weir\n{job}    static_configs:\n",
        rules.display()
    );
    for (instance, address) in targets {
        let _ = writeln!(
            text,
            "      - {{targets: ['{address}'], labels: {{instance: {instance}}}}}"
        );
    }
    text
}

fn run(directory: &Path, configuration: &Path, address: SocketAddr) -> Process {
    let there = Command::new("prometheus").arg("--version").output();
    there.expect("prometheus is missing: `cargo xtask setup` installs it");
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", "prometheus"])
        .arg(format!("--config.file={}", configuration.display()))
        .arg(format!(
            "--storage.tsdb.path={}",
            directory.join("data").display()
        ))
        .arg(format!("--web.listen-address={address}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    Process::start("prometheus", command, &directory.join("log")).unwrap()
}

/// Returns status and body; `None` without a response. HTTP/1.0, so that the body is not chunked.
fn get(address: SocketAddr, path: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: prometheus\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, body.to_owned()))
}

/// Encodes a URL's query.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}
