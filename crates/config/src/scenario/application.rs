//! Programs that run on hosts with an ordinary kernel.

use std::net::Ipv4Addr;

use weir_core::{Duration, Priority};

use super::Scenario;

/// Kind of the hosts in a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostKind {
    /// Endpoints that number each frame, obey PFC and check arrivals: they send flows.
    #[default]
    Endpoint,
    /// Namespaces with an address and the kernel's own protocols: they run applications.
    Kernel,
}

impl HostKind {
    /// All kinds, with their names in files.
    pub const NAMED: [(&'static str, Self); 2] =
        [("endpoint", Self::Endpoint), ("kernel", Self::Kernel)];
}

/// A client program on a host, and its server on another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// Its name.
    pub name: String,
    /// The host that runs the client.
    pub from: usize,
    /// The host that runs the server.
    pub to: usize,
    /// The class of its frames, for `{priority}`, `{tos}` and `{dscp}`. `None`: priority 0.
    pub class: Option<usize>,
    /// Program and arguments, with placeholders.
    pub command: Vec<String>,
    /// The server's command, started before the client and ended after it; `None` for no server.
    pub server: Option<Vec<String>>,
    /// Start of the client, from the beginning of the run.
    pub start: Duration,
}

/// Placeholders of commands, without the braces.
pub const PLACEHOLDERS: [&str; 6] = ["from", "to", "port", "priority", "tos", "dscp"];

/// The first network address of a scenario's hosts, all of which are in one network of [`PREFIX_LENGTH`] bits.
const NETWORK: [u8; 2] = [10, 87];

/// Prefix length of the hosts' network.
pub const PREFIX_LENGTH: u8 = 16;

/// Maximum number of hosts: the first and last addresses of the network are not used.
pub const HOSTS_MAX: usize = (1 << (32 - PREFIX_LENGTH)) - 2;

/// The port of the first application; each further one has the next port.
const PORT_FIRST: usize = 5201;

impl Application {
    /// Returns true if the client is iperf3, whose report is then parsed.
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

    /// Replaces the placeholders in `words` of an application's command.
    pub fn expanded(&self, application: usize, words: &[String]) -> Vec<String> {
        let Application { from, to, .. } = self.applications[application];
        let priority = self.application_priority(application).get();
        // The class selector of the priority (RFC 2474, section 4.2.2), as used by switches.
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
