//! Programs that run on hosts with an ordinary kernel.

use std::net::Ipv4Addr;

use weir_core::{Duration, Priority};

use super::Scenario;

/// What the hosts of a scenario are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostKind {
    /// Endpoints that number each frame, obey PFC and know what arrives: they send flows.
    #[default]
    Endpoint,
    /// Namespaces with an address and the kernel's own protocols: they run applications.
    Kernel,
}

impl HostKind {
    /// Each with its name in files.
    pub const NAMED: [(&'static str, Self); 2] =
        [("endpoint", Self::Endpoint), ("kernel", Self::Kernel)];
}

/// One program on a host, and its server on another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// Its name.
    pub name: String,
    /// The host that it runs on.
    pub from: usize,
    /// The host that it talks to.
    pub to: usize,
    /// The class of its frames: what `{priority}`, `{tos}` and `{dscp}` say. `None`: priority 0.
    pub class: Option<usize>,
    /// Program and arguments, with placeholders.
    pub command: Vec<String>,
    /// The same of what runs on `to` before it begins, and is ended after it; `None` for nothing.
    pub server: Option<Vec<String>>,
    /// When it is started, after the beginning of the run.
    pub start: Duration,
}

/// What stands in commands for something of the run, without the braces.
pub const PLACEHOLDERS: [&str; 6] = ["from", "to", "port", "priority", "tos", "dscp"];

/// The first network address of a scenario's hosts, all of which are in one network of [`PREFIX_LENGTH`] bits.
const NETWORK: [u8; 2] = [10, 87];

/// Of the hosts' network.
pub const PREFIX_LENGTH: u8 = 16;

/// Hosts that the network has addresses for: neither the first nor the last one is a host's.
pub const HOSTS_MAX: usize = (1 << (32 - PREFIX_LENGTH)) - 2;

/// The port of the first application; each of the others has the next one.
const PORT_FIRST: usize = 5201;

impl Application {
    /// Whether the client is iperf3, whose report is then read.
    pub fn is_iperf3(&self) -> bool {
        let program = self.command.first().map(String::as_str);
        program.is_some_and(|program| program.rsplit('/').next() == Some("iperf3"))
    }
}

impl Scenario {
    /// The IPv4 address of a host with an ordinary kernel: 10.87.0.1 for the first one.
    pub fn host_ip(&self, host: usize) -> Ipv4Addr {
        let [high, low] = (host as u16 + 1).to_be_bytes();
        Ipv4Addr::new(NETWORK[0], NETWORK[1], high, low)
    }

    /// The priority of an application's frames.
    pub fn application_priority(&self, application: usize) -> Priority {
        let class = self.applications[application].class;
        class.map_or(Priority::ALL[0], |class| self.classes[class].priorities[0])
    }

    /// `words` of an application's command with what they stand for.
    pub fn expanded(&self, application: usize, words: &[String]) -> Vec<String> {
        let Application { from, to, .. } = self.applications[application];
        let priority = self.application_priority(application).get();
        // The class selector of the priority (RFC 2474, section 4.2.2), as switches read it.
        let dscp = priority << 3;
        let values = [
            self.host_ip(from).to_string(),
            self.host_ip(to).to_string(),
            (PORT_FIRST + application).to_string(),
            priority.to_string(),
            (dscp << 2).to_string(),
            dscp.to_string(),
        ];
        let expand = |word: &String| {
            let pairs = PLACEHOLDERS.iter().zip(&values);
            pairs.fold(word.clone(), |word, (name, value)| {
                word.replace(&format!("{{{name}}}"), value)
            })
        };
        words.iter().map(expand).collect()
    }
}
