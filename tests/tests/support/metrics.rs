//! What a switch of a lab tells Prometheus.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;

use nix::sched::{setns, CloneFlags};
use weir_lab::lab::stage::Stage;
use weir_lab::lab::switches::METRICS_ADDRESS;

use super::LOSSLESS;

/// One answer to `GET /metrics`.
pub struct Metrics(String);

impl Metrics {
    /// Asks a switch, which listens in its own namespace.
    pub fn of(stage: &Stage, switch: &str) -> Self {
        let namespace = format!("/run/netns/{}", stage.names().namespace(switch));
        // Another thread, because a namespace is entered for good.
        let asked = std::thread::spawn(move || {
            setns(File::open(namespace)?, CloneFlags::CLONE_NEWNET)?;
            let mut stream = TcpStream::connect(METRICS_ADDRESS)?;
            stream
                .write_all(b"GET /metrics HTTP/1.1\r\nHost: switch\r\nConnection: close\r\n\r\n")?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            Ok::<_, std::io::Error>(text)
        });
        Self(asked.join().unwrap().unwrap())
    }

    /// A value of the lossless priority at `port`, if there is one.
    pub fn lossless(&self, name: &str, port: &str, labels: &[(&str, &str)]) -> Option<u64> {
        let priority = LOSSLESS.to_string();
        let all = [("port", port), ("priority", &priority)];
        let all: Vec<String> = all
            .iter()
            .chain(labels)
            .map(|(label, value)| format!("{label}=\"{value}\""))
            .collect();
        let line = self.0.lines().find(|line| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('{'))
                && all.iter().all(|label| line.contains(label.as_str()))
        })?;
        let value = line.rsplit(' ').next().and_then(|text| text.parse().ok());
        Some(value.unwrap_or_else(|| panic!("no number: {line}")))
    }
}
