//! sFlow version 5 (<https://sflow.org/sflow_version_5.txt>) with discarded packets (<https://sflow.org/sflow_drops.txt>).
//!
//! Interfaces are written in the expanded form, which has room for any `ifIndex`.

mod reasons;

use std::net::IpAddr;

use weir_core::DropReason;

use crate::writer::{padding, Writer};
use crate::PAYLOAD_MAX;

pub use reasons::Code;

/// Maximum number of bytes of a frame in a sample.
pub const HEADER_MAX: usize = 512;

const VERSION: u32 = 5;
const ADDRESS_IPV4: u32 = 1;
const ADDRESS_IPV6: u32 = 2;
const FLOW_SAMPLE_EXPANDED: u32 = 3;
const COUNTERS_SAMPLE_EXPANDED: u32 = 4;
const DISCARDED_PACKET: u32 = 5;
const SAMPLED_HEADER: u32 = 1;
/// `extended_function`: the name of the function that dropped the frame.
const FUNCTION: u32 = 1038;
const GENERIC_COUNTERS: u32 = 1;
const ETHERNET_COUNTERS: u32 = 2;
/// `sFlowDataSource`: an index of SMIv2's ifTable.
const SOURCE_INTERFACE: u32 = 0;
/// Format of an interface given by one `ifIndex`.
const SINGLE_INTERFACE: u32 = 0;
const HEADER_ETHERNET: u32 = 1;
/// Bytes of a frame's checksum: they were on the line, but the switch never has them.
const CHECKSUM_BYTES: u32 = 4;
/// ethernetCsmacd of IANA's ifType.
const IF_TYPE_ETHERNET: u32 = 6;
const FULL_DUPLEX: u32 = 1;
const ADMINISTRATIVELY_UP: u32 = 1;
const OPERATIONALLY_UP: u32 = 2;
const UNKNOWN: u32 = u32::MAX;

/// Bytes of a sample before a frame's own: type and length, the fields, one record's type and length, and the fields
/// before the header.
const FLOW_FIELDS: usize = 8 + 44 + 8 + 16;
const DISCARDED_FIELDS: usize = 8 + 32 + 8 + 16 + 8 + 4;
const COUNTERS_BYTES: usize = 8 + 16 + (8 + 88) + (8 + 52);

/// A frame, or its beginning.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a> {
    /// The first bytes, without preamble; truncated to [`HEADER_MAX`].
    pub bytes: &'a [u8],
    /// Length of the whole frame without its checksum.
    pub length: usize,
}

/// A sampled frame that a port received and the switch admitted.
#[derive(Clone, Copy, Debug)]
pub struct PacketSample<'a> {
    /// Number of the port's packet sample, from 1.
    pub sequence: u32,
    /// The port's `ifIndex`.
    pub interface: u32,
    /// Mean number of frames per sample.
    pub rate: u32,
    /// Frames at this port from which samples were chosen so far.
    pub pool: u32,
    /// Samples of this port lost before they were written.
    pub lost: u32,
    /// The frame.
    pub header: Header<'a>,
}

/// A frame that was dropped.
#[derive(Clone, Copy, Debug)]
pub struct DiscardedPacket<'a> {
    /// Number of the port's report, from 1.
    pub sequence: u32,
    /// `ifIndex` of its ingress port.
    pub interface: u32,
    /// Drops at this port that were not reported, because of the rate limit or a lack of memory.
    pub unreported: u32,
    /// The reason.
    pub reason: DropReason,
    /// The frame.
    pub header: Header<'a>,
}

/// Counters of a port. `None`: not counted by the switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Number of the port's counter sample, from 1.
    pub sequence: u32,
    /// The port's `ifIndex`.
    pub interface: u32,
    /// Rate of its line in bit/s.
    pub speed: u64,
    /// True if the link is up.
    pub up: bool,
    /// Bytes of frames that were admitted.
    pub in_octets: u64,
    /// Frames admitted, to any address.
    pub in_frames: u64,
    /// Frames from the port that were dropped.
    pub in_discards: u64,
    /// Frames that the device received with errors.
    pub in_errors: Option<u64>,
    /// Bytes of frames that were sent.
    pub out_octets: u64,
    /// Frames sent, to any address.
    pub out_frames: u64,
    /// Frames that the device did not send.
    pub out_discards: u64,
    /// Frames with a wrong checksum.
    pub checksum_errors: Option<u64>,
    /// Frames that were misaligned.
    pub alignment_errors: Option<u64>,
    /// Frames too long for the device, or of an invalid length.
    pub length_errors: Option<u64>,
}

/// A datagram to which samples are added.
#[derive(Clone, Debug)]
pub struct Datagram {
    writer: Writer,
    agent: IpAddr,
    sequence: u32,
    samples: u32,
    samples_at: usize,
}

impl Datagram {
    /// Creates an empty datagram of the agent with this address.
    pub fn new(agent: IpAddr) -> Self {
        Self {
            writer: Writer::new(),
            agent,
            sequence: 0,
            samples: 0,
            samples_at: 0,
        }
    }

    /// Number of its samples.
    pub fn samples(&self) -> u32 {
        self.samples
    }

    /// Begins the next datagram. `uptime_ms` is the time since the agent started in milliseconds.
    pub fn begin(&mut self, uptime_ms: u32) {
        self.sequence = self.sequence.wrapping_add(1);
        self.samples = 0;
        let writer = &mut self.writer;
        writer.clear();
        writer.put_u32(VERSION);
        match self.agent {
            IpAddr::V4(address) => {
                writer.put_u32(ADDRESS_IPV4);
                writer.put(&address.octets());
            }
            IpAddr::V6(address) => {
                writer.put_u32(ADDRESS_IPV6);
                writer.put(&address.octets());
            }
        }
        // Sub-agent.
        writer.put_u32(0);
        writer.put_u32(self.sequence);
        writer.put_u32(uptime_ms);
        self.samples_at = writer.len();
        writer.put_u32(0);
    }

    /// The complete datagram.
    pub fn bytes(&self) -> &[u8] {
        self.writer.bytes()
    }

    /// Adds a packet sample. Returns false if there is no room for it.
    #[must_use]
    pub fn add_packet(&mut self, sample: &PacketSample<'_>) -> bool {
        if !self.has_room(FLOW_FIELDS, &sample.header) {
            return false;
        }
        let writer = &mut self.writer;
        writer.put_u32(FLOW_SAMPLE_EXPANDED);
        let start = writer.open();
        writer.put_u32(sample.sequence);
        put_source(writer, sample.interface);
        writer.put_u32(sample.rate);
        writer.put_u32(sample.pool);
        writer.put_u32(sample.lost);
        // Input; then the output, which is unknown on arrival.
        for interface in [sample.interface, 0] {
            writer.put_u32(SINGLE_INTERFACE);
            writer.put_u32(interface);
        }
        writer.put_u32(1);
        put_header(writer, &sample.header);
        self.end_sample(start);
        true
    }

    /// Adds a report of a dropped frame. Returns false if there is no room for it.
    #[must_use]
    pub fn add_discarded(&mut self, report: &DiscardedPacket<'_>) -> bool {
        let reason = report.reason.name().as_bytes();
        let fields = DISCARDED_FIELDS + reason.len() + padding(reason.len());
        if !self.has_room(fields, &report.header) {
            return false;
        }
        let writer = &mut self.writer;
        writer.put_u32(DISCARDED_PACKET);
        let start = writer.open();
        writer.put_u32(report.sequence);
        put_source(writer, report.interface);
        writer.put_u32(report.unreported);
        // Input; then the output, which most dropped frames do not have.
        writer.put_u32(report.interface);
        writer.put_u32(0);
        writer.put_u32(Code::of(report.reason).number());
        writer.put_u32(2);
        put_header(writer, &report.header);
        // The switch's own name of the reason: several share a code.
        writer.put_u32(FUNCTION);
        let function = writer.open();
        writer.put_opaque(reason);
        writer.close(function);
        self.end_sample(start);
        true
    }

    /// Adds a counter sample. Returns false if there is no room for it.
    #[must_use]
    pub fn add_counters(&mut self, counters: &PortCounters) -> bool {
        if self.writer.room() < COUNTERS_BYTES {
            return false;
        }
        let writer = &mut self.writer;
        writer.put_u32(COUNTERS_SAMPLE_EXPANDED);
        let start = writer.open();
        writer.put_u32(counters.sequence);
        put_source(writer, counters.interface);
        writer.put_u32(2);
        put_generic(writer, counters);
        put_ethernet(writer, counters);
        self.end_sample(start);
        true
    }

    fn has_room(&self, fields: usize, header: &Header<'_>) -> bool {
        let length = header.bytes.len().min(HEADER_MAX);
        self.writer.room() >= fields + length + padding(length)
    }

    fn end_sample(&mut self, start: usize) {
        self.writer.close(start);
        self.samples += 1;
        self.writer.set_u32(self.samples_at, self.samples);
        debug_assert!(self.writer.len() <= PAYLOAD_MAX);
    }
}

fn put_source(writer: &mut Writer, interface: u32) {
    writer.put_u32(SOURCE_INTERFACE);
    writer.put_u32(interface);
}

fn put_header(writer: &mut Writer, header: &Header<'_>) {
    writer.put_u32(SAMPLED_HEADER);
    let start = writer.open();
    writer.put_u32(HEADER_ETHERNET);
    let length = u32::try_from(header.length).unwrap_or(u32::MAX);
    writer.put_u32(length.saturating_add(CHECKSUM_BYTES));
    writer.put_u32(CHECKSUM_BYTES);
    let kept = header.bytes.get(..HEADER_MAX).unwrap_or(header.bytes);
    writer.put_opaque(kept);
    writer.close(start);
}

/// 32-bit counters wrap around; all ones means unknown.
fn put_counter(writer: &mut Writer, count: Option<u64>) {
    writer.put_u32(count.map_or(UNKNOWN, |count| count as u32));
}

/// `if_counters`.
fn put_generic(writer: &mut Writer, counters: &PortCounters) {
    writer.put_u32(GENERIC_COUNTERS);
    let start = writer.open();
    writer.put_u32(counters.interface);
    writer.put_u32(IF_TYPE_ETHERNET);
    writer.put_u64(counters.speed);
    writer.put_u32(FULL_DUPLEX);
    let operational = if counters.up { OPERATIONALLY_UP } else { 0 };
    writer.put_u32(ADMINISTRATIVELY_UP | operational);
    writer.put_u64(counters.in_octets);
    put_counter(writer, Some(counters.in_frames));
    // Multicast and broadcast: the switch does not count them separately.
    put_counter(writer, None);
    put_counter(writer, None);
    put_counter(writer, Some(counters.in_discards));
    put_counter(writer, counters.in_errors);
    // Unknown protocols.
    put_counter(writer, None);
    writer.put_u64(counters.out_octets);
    put_counter(writer, Some(counters.out_frames));
    put_counter(writer, None);
    put_counter(writer, None);
    put_counter(writer, Some(counters.out_discards));
    // Errors of transmission.
    put_counter(writer, None);
    // Promiscuous: a switch accepts frames to any address.
    writer.put_u32(1);
    writer.close(start);
}

/// `ethernet_counters`: those of dot3StatsTable.
fn put_ethernet(writer: &mut Writer, counters: &PortCounters) {
    writer.put_u32(ETHERNET_COUNTERS);
    let start = writer.open();
    put_counter(writer, counters.alignment_errors);
    put_counter(writer, counters.checksum_errors);
    // Collisions (single, multiple), SQE, deferred, late and excessive collisions: a full-duplex line has none.
    for _ in 0..6 {
        put_counter(writer, Some(0));
    }
    // Internal transmit errors, and lost carrier.
    put_counter(writer, None);
    put_counter(writer, None);
    put_counter(writer, counters.length_errors);
    // Internal receive errors, and symbol errors.
    put_counter(writer, None);
    put_counter(writer, None);
    writer.close(start);
}
