//! Prometheus metrics of a lab's switch.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};

use weir_lab::lab::configuration::METRICS_ADDRESS;
use weir_lab::lab::stage::Stage;

use super::namespace::Visit;
use super::LOSSLESS;

/// Connects to the metrics of the switch in `namespace`, from any thread of any namespace.
fn connect(namespace: &str) -> io::Result<TcpStream> {
    let _there = Visit::to(namespace)?;
    TcpStream::connect(METRICS_ADDRESS)
}

/// Makes the metrics of the switch in `namespace` reachable from here until the process ends; returns the address. Every
/// connection is forwarded to the switch's listener.
pub fn relay(namespace: String) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            // If the switch has ended, the connection ends too.
            if let Ok(switch) = connect(&namespace) {
                pass_on(client.try_clone().unwrap(), switch.try_clone().unwrap());
                pass_on(switch, client);
            }
        }
    });
    address
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
}

/// A response to `GET /metrics`.
pub struct Metrics(String);

impl Metrics {
    /// Reads those of a switch, which listens in its namespace.
    pub fn of(stage: &Stage, switch: &str) -> Self {
        let mut stream = connect(&stage.names().namespace(switch)).unwrap();
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        Self(text)
    }

    /// Returns a value of the lossless priority at `port`, if present.
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
