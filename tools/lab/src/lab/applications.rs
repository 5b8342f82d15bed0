//! Applications of a scenario, on hosts with an ordinary kernel.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use weir_api::run::ApplicationResult;
use weir_config::scenario::Scenario;

use super::interrupt::wait_for;
use super::names::Names;
use super::process::{inside, Process};

const SERVER_LIMIT: Duration = Duration::from_secs(10);
const END_LIMIT: Duration = Duration::from_secs(5);
/// Maximum length of a program's output in the result, in bytes.
const OUTPUT_MAX: u64 = 64 << 10;

#[derive(Debug)]
struct Running {
    client: Option<Process>,
    server: Option<Process>,
    started: Option<Instant>,
    /// Exit status and run time, once it has ended.
    ended: Option<(Option<i32>, Duration)>,
}

/// All applications; dropping this ends them.
#[derive(Debug)]
pub struct Applications {
    all: Vec<Running>,
    directory: PathBuf,
}

impl Applications {
    /// Starts the servers and waits until those that have a port listen on it.
    ///
    /// # Errors
    ///
    /// When a server cannot be started, ends, or does not listen in time.
    pub fn start_servers(scenario: &Scenario, names: &Names) -> Result<Self> {
        let mut applications = Self {
            all: Vec::new(),
            directory: names.directory().to_owned(),
        };
        for (index, application) in scenario.applications.iter().enumerate() {
            let server = application.server.as_ref().map(|template| {
                let words = scenario.expanded(index, template);
                let namespace = names.namespace(&scenario.hosts[application.to].name);
                applications.spawn(&format!("{}-server", application.name), &namespace, &words)
            });
            let mut server = server.transpose()?;
            let has_port = |words: &Vec<String>| words.iter().any(|word| word.contains("{port}"));
            if let Some(process) = &mut server {
                if application.server.as_ref().is_some_and(has_port) {
                    let port = scenario.expanded(index, &["{port}".to_owned()]);
                    let port = port[0].parse().context("a port")?;
                    let namespace = names.namespace(&scenario.hosts[application.to].name);
                    wait_until_it_listens(process, &namespace, port)?;
                }
            }
            applications.all.push(Running {
                client: None,
                server,
                started: None,
                ended: None,
            });
        }
        Ok(applications)
    }

    /// Starts the applications due at `since` after the beginning of the run, and records those that have ended. Returns
    /// true once all have.
    ///
    /// # Errors
    ///
    /// When one cannot be started.
    pub fn poll(&mut self, scenario: &Scenario, names: &Names, since: Duration) -> Result<bool> {
        let mut is_over = true;
        for (index, application) in scenario.applications.iter().enumerate() {
            let due = since >= Duration::from_nanos(application.start.as_nanos());
            if self.all[index].started.is_none() && due {
                let words = scenario.expanded(index, &application.command);
                let namespace = names.namespace(&scenario.hosts[application.from].name);
                self.all[index].client = Some(self.spawn(&application.name, &namespace, &words)?);
                self.all[index].started = Some(Instant::now());
            }
            is_over &= self.all[index].has_ended()?;
        }
        Ok(is_over)
    }

    /// Ends the applications that still run, clients first; returns the results of all.
    ///
    /// # Errors
    ///
    /// When interrupted, or an output cannot be read.
    pub fn finish(mut self, scenario: &Scenario) -> Result<Vec<ApplicationResult>> {
        let mut results = Vec::new();
        for (index, application) in scenario.applications.iter().enumerate() {
            let running = &mut self.all[index];
            if !running.has_ended()? {
                running.end()?;
            }
            let (exit_status, seconds) = running.ended.unwrap_or((None, Duration::ZERO));
            let printed = read(
                &self.directory.join(format!("{}.out", application.name)),
                u64::MAX,
            )?;
            let errors = read(
                &self.directory.join(format!("{}.log", application.name)),
                OUTPUT_MAX,
            )?;
            let report = application.is_iperf3().then(|| iperf3(&printed)).flatten();
            let (bits_per_second, retransmitted) = report.unwrap_or((None, None));
            let mut output = printed + &errors;
            truncate(&mut output, OUTPUT_MAX as usize);
            results.push(ApplicationResult {
                name: application.name.clone(),
                from: scenario.hosts[application.from].name.clone(),
                to: scenario.hosts[application.to].name.clone(),
                command: scenario.expanded(index, &application.command),
                exit_status,
                seconds: seconds.as_secs_f64(),
                output,
                bits_per_second,
                retransmitted,
            });
        }
        for running in &mut self.all {
            if let Some(server) = &mut running.server {
                server.ask_to_end();
                server.wait(END_LIMIT)?;
            }
        }
        Ok(results)
    }

    /// Standard output goes to `NAME.out`, standard error to `NAME.log`.
    fn spawn(&self, name: &str, namespace: &str, words: &[String]) -> Result<Process> {
        let (program, arguments) = words.split_first().context("an empty command")?;
        let out = self.directory.join(format!("{name}.out"));
        let file = File::create(&out).with_context(|| out.display().to_string())?;
        let mut command = inside(namespace, Path::new(program));
        command
            .args(arguments)
            .stdin(std::process::Stdio::null())
            .stdout(file);
        Process::start(name, command, &self.directory.join(format!("{name}.log")))
    }
}

impl Running {
    fn has_ended(&mut self) -> Result<bool> {
        if let (None, Some(client), Some(started)) = (&self.ended, &mut self.client, self.started) {
            if let Some(status) = client.child().try_wait()? {
                self.ended = Some((status.code(), started.elapsed()));
            }
        }
        Ok(self.ended.is_some())
    }

    fn end(&mut self) -> Result<()> {
        if let (Some(mut client), Some(started)) = (self.client.take(), self.started) {
            client.ask_to_end();
            let status = client.wait(END_LIMIT)?;
            self.ended = Some((status.and_then(|status| status.code()), started.elapsed()));
        }
        Ok(())
    }
}

/// Waits until a socket of the namespace listens on the port, of TCP or of UDP.
fn wait_until_it_listens(server: &mut Process, namespace: &str, port: u16) -> Result<()> {
    let wanted = std::fs::metadata(Path::new("/run/netns").join(namespace))?.ino();
    let proc = PathBuf::from(format!("/proc/{}", server.id()));
    let listens = wait_for(SERVER_LIMIT, || {
        server.check()?;
        // Before it has entered the namespace, it sees the sockets of another.
        let is_inside = std::fs::metadata(proc.join("ns/net")).is_ok_and(|at| at.ino() == wanted);
        let tables = ["tcp", "tcp6", "udp", "udp6"].map(|table| {
            let text = std::fs::read_to_string(proc.join("net").join(table)).unwrap_or_default();
            is_bound(&text, port, table.starts_with("tcp"))
        });
        Ok((is_inside && tables.contains(&true)).then_some(()))
    })?;
    if listens.is_none() {
        bail!(
            "a server does not listen on port {port} in {namespace}:\n{}",
            server.log_end()
        );
    }
    Ok(())
}

/// Returns true if a table of sockets under `/proc/PID/net` has one on the port; of TCP, one that
/// listens.
fn is_bound(table: &str, port: u16, must_listen: bool) -> bool {
    const LISTEN: &str = "0A";
    let local = format!(":{port:04X}");
    table.lines().skip(1).any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let is_local = fields
            .next()
            .is_some_and(|address| address.ends_with(&local));
        let state = fields.nth(1);
        is_local && (!must_listen || state == Some(LISTEN))
    })
}

/// Parses bits per second at the receiver, and retransmitted segments, from a client's report.
fn iperf3(report: &str) -> Option<(Option<f64>, Option<u64>)> {
    let report: serde_json::Value = serde_json::from_str(report).ok()?;
    let end = &report["end"];
    // For UDP, the client's summary is the server's report.
    let received = match end["sum_received"].is_object() {
        true => &end["sum_received"],
        false => &end["sum"],
    };
    Some((
        received["bits_per_second"].as_f64(),
        end["sum_sent"]["retransmits"].as_u64(),
    ))
}

/// Reads the beginning of a file; empty if it is missing.
fn read(path: &Path, most: u64) -> Result<String> {
    let Ok(file) = File::open(path) else {
        return Ok(String::new());
    };
    let mut bytes = Vec::new();
    file.take(most)
        .read_to_end(&mut bytes)
        .with_context(|| path.display().to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn truncate(text: &mut String, most: usize) {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_found_where_something_listens_on_it() {
        let tcp = "  sl  local_address rem_address   st tx_queue rx_queue\n   0: 00000000:1451 00000000:0000 0A 0:0 0\n   1: 0100007F:1452 0100007F:C001 01 0:0 0\n";
        assert!(is_bound(tcp, 5201, true));
        assert!(!is_bound(tcp, 5202, true), "a connection is no server");
        assert!(is_bound(tcp, 5202, false));
        assert!(!is_bound(tcp, 5203, false));
    }

    #[test]
    fn a_report_contains_arrivals_and_repetitions() {
        let tcp =
            r#"{"end":{"sum_sent":{"retransmits":7},"sum_received":{"bits_per_second":9.5e7}}}"#;
        assert_eq!(iperf3(tcp), Some((Some(9.5e7), Some(7))));
        let udp = r#"{"end":{"sum":{"bits_per_second":1e6}}}"#;
        assert_eq!(iperf3(udp), Some((Some(1e6), None)));
        assert_eq!(iperf3("iperf3: error"), None);
    }
}
