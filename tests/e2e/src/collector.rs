//! Collectors of sFlow and IPFIX in a switch's namespace, and sums over the IPFIX that they have received.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};
use weir_config::daemon::DaemonConfig;
use weir_lab::lab::names::PREFIX;

use super::capture::{tshark, udp, write_capture};
use super::namespace::Visit;

/// Port of IPFIX.
pub const IPFIX_PORT: u16 = 4_739;
/// Port of sFlow.
pub const SFLOW_PORT: u16 = 6_343;

/// Enterprise-specific elements of an IPFIX record.
const OWN_ELEMENTS: usize = 11;
/// Room for the datagrams of some seconds, while this machine does something else.
const BUFFER_BYTES: usize = 64 << 20;
/// Time between two looks at whether the collector is to end.
const LOOK: Duration = Duration::from_millis(100);

/// Address of a collector in the switch's own namespace.
pub fn address(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Returns the namespace of a lab's switch before there is a switch: its run directory has the lab's name.
pub fn namespace_of(config: &DaemonConfig) -> String {
    let lab = config.run_dir.parent().and_then(Path::file_name).unwrap();
    let tag = lab.to_str().unwrap().strip_prefix("lab-").unwrap();
    format!("{PREFIX}{tag}-{}", config.name)
}

/// A UDP socket at `port` in `namespace`.
///
/// # Errors
///
/// When the namespace is not there, or the port is taken.
pub fn bind(namespace: &str, port: u16) -> io::Result<UdpSocket> {
    let _there = Visit::to(namespace)?;
    UdpSocket::bind(address(port))
}

/// A collector that keeps all that comes.
pub struct Collector {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Vec<u8>>>,
}

impl Collector {
    /// Listens at `port` in `namespace` from now on.
    pub fn start(namespace: &str, port: u16) -> Self {
        let socket = bind(namespace, port).unwrap();
        setsockopt(&socket, sockopt::RcvBufForce, &BUFFER_BYTES).unwrap();
        socket.set_read_timeout(Some(LOOK)).unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let mut datagrams = Vec::new();
            let mut buffer = [0; 2_048];
            loop {
                match socket.recv(&mut buffer) {
                    Ok(length) => datagrams.push(buffer[..length].to_vec()),
                    // Nothing waits any more.
                    Err(_) if over.load(Ordering::Relaxed) => return datagrams,
                    Err(_) => {}
                }
            }
        });
        Self { is_over, thread }
    }

    /// Ends it, and returns the payloads in their order.
    pub fn end(self) -> Vec<Vec<u8>> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// Sums over an IPFIX stream, and its last values.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// Messages.
    pub messages: u64,
    /// Records.
    pub records: u64,
    /// By port and priority; 255 stands for frames without one.
    pub queues: BTreeMap<(String, u8), Sums>,
}

/// Of one port and priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Nanoseconds and number of pauses by the neighbour.
    pub received: (u64, u64),
    /// Nanoseconds and number of pauses by the switch.
    pub sent: (u64, u64),
    /// Dropped frames.
    pub drops: u64,
    /// The largest queue depth.
    pub egress_max: u64,
    /// The most credits used, and the last limit.
    pub credits: (u64, u64),
}

impl Stream {
    /// Reads the messages of one observation domain by tshark: all in their order, and none missing.
    pub fn of(directory: &Path, payloads: &[Vec<u8>], domain: u32) -> Self {
        let capture = directory.join(format!("ipfix-{domain}.pcap"));
        write_capture(&capture, &udp(IPFIX_PORT, payloads));
        let complaint = "_ws.malformed || _ws.expert.severity >= 6291456";
        let complaints = tshark(&capture, complaint, &["frame.number"]);
        assert_eq!(complaints, "", "tshark objects to messages");
        let fields = [
            "cflow.sequence",
            "cflow.od_id",
            "cflow.if_name",
            "cflow.enterprise_private_entry",
            "cflow.drop_packets",
        ];
        let mut stream = Self::default();
        let mut next = None;
        for line in tshark(&capture, "cflow", &fields).lines() {
            let cells: Vec<&str> = line.split('\t').collect();
            assert_eq!(cells[1], domain.to_string());
            let sequence: u32 = cells[0].parse().unwrap();
            assert_eq!(sequence, next.unwrap_or(sequence), "messages are missing");
            let records = stream.add(cells[2], cells[3], cells[4]);
            next = Some(sequence.wrapping_add(records));
        }
        std::fs::remove_file(capture).unwrap();
        assert_eq!(stream.messages, payloads.len() as u64);
        stream
    }

    fn add(&mut self, names: &str, own: &str, drops: &str) -> u32 {
        self.messages += 1;
        if names.is_empty() {
            return 0;
        }
        let number = |hex: &str| u64::from_str_radix(hex, 16).unwrap();
        let own: Vec<u64> = own.split(';').map(number).collect();
        let drops: Vec<u64> = drops.split(';').map(|text| text.parse().unwrap()).collect();
        let names: Vec<&str> = names.split(';').collect();
        assert_eq!(own.len(), OWN_ELEMENTS * names.len());
        assert_eq!(drops.len(), names.len());
        for ((name, own), drops) in names.iter().zip(own.chunks(OWN_ELEMENTS)).zip(drops) {
            let key = ((*name).to_owned(), own[0] as u8);
            let sums = self.queues.entry(key).or_default();
            sums.egress_max = sums.egress_max.max(own[2]);
            sums.received.0 += own[3];
            sums.received.1 += own[4];
            sums.sent.0 += own[5];
            sums.sent.1 += own[6];
            sums.credits = (sums.credits.0.max(own[8]), own[9]);
            sums.drops += drops;
        }
        self.records += names.len() as u64;
        names.len() as u32
    }
}
