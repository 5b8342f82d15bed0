//! Classifies a frame like the XDP program, for frames that no port has received. `tests/classification.rs` compares both on
//! the same frames.

use weir_config::daemon::{Port, Trust};
use weir_core::wire::ethernet::{ETHERTYPE_CLCM, ETHERTYPE_MAC_CONTROL};
use weir_core::Priority;
use weir_ebpf::FrameClass;

use super::headers::{Headers, Kind};

const HEADER_LENGTH: usize = 14;
const TAG_LENGTH: usize = 4;
const TAGS_MAX: usize = 2;
const FRAGMENT_HEADER: u8 = 44;
/// TCP, UDP and SCTP, whose headers begin with ports.
const WITH_PORTS: [u8; 3] = [6, 17, 132];

/// Fields that a port trusts for the priority of its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trusted {
    /// Priority of frames without a trusted field.
    pub default: Priority,
    /// Priority by PCP, if the port trusts it.
    pub pcp: Option<[Priority; 8]>,
    /// Priority by DSCP, if the port trusts it.
    pub dscp: Option<[Priority; 64]>,
}

/// All frames have priority 0.
impl Default for Trusted {
    fn default() -> Self {
        Self {
            default: Priority::ALL[0],
            pcp: None,
            dscp: None,
        }
    }
}

impl From<&Port> for Trusted {
    fn from(port: &Port) -> Self {
        let pcp = matches!(port.trust, Trust::Pcp | Trust::PcpDscp);
        let dscp = matches!(port.trust, Trust::Dscp | Trust::PcpDscp);
        Self {
            default: port.default_priority,
            pcp: pcp.then_some(port.pcp_map),
            dscp: dscp.then_some(port.dscp_map),
        }
    }
}

/// Field that determined a frame's priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorityBy {
    /// The outermost tag's PCP.
    Pcp(u8),
    /// The IP header's DSCP.
    Dscp(u8),
    /// The port's default.
    Port,
}

/// Properties of a frame determined before the switch core processes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classification {
    /// Data, or the control protocol.
    pub class: FrameClass,
    /// Its priority.
    pub priority: Priority,
    /// Field that determined the priority.
    pub by: PriorityBy,
    /// Offset of the network header, in bytes.
    pub l3_offset: usize,
    /// Equal for all frames of one flow.
    pub flow_hash: u32,
}

impl Classification {
    /// Classifies `frame`, which has at least an Ethernet header, for a port with these trusted fields.
    pub fn of(frame: &[u8], headers: &Headers, trusted: &Trusted) -> Self {
        let class = match headers.kind {
            // Behind a tag, where it is not valid.
            Kind::Data if headers.ethertype == ETHERTYPE_MAC_CONTROL => FrameClass::MacControl,
            Kind::Data => FrameClass::Data,
            Kind::Pause(_) | Kind::Pfc(_) => FrameClass::MacControl,
            Kind::Clcm(_) | Kind::Echo(_) => FrameClass::Clcm,
            Kind::Lldp => FrameClass::Lldp,
            Kind::BadControl if headers.ethertype == ETHERTYPE_CLCM => FrameClass::Clcm,
            Kind::BadControl => FrameClass::MacControl,
        };
        let l3_offset = network_offset(frame);
        let tag = frame.get(HEADER_LENGTH).copied().unwrap_or_default();
        let pcp = headers.vlan.map(|_| tag >> 5);
        let (priority, by) = match (pcp, trusted.pcp, headers.ip, trusted.dscp) {
            (Some(pcp), Some(map), ..) => (map[usize::from(pcp)], PriorityBy::Pcp(pcp)),
            (_, _, Some(ip), Some(map)) => (map[usize::from(ip.dscp)], PriorityBy::Dscp(ip.dscp)),
            _ => (trusted.default, PriorityBy::Port),
        };
        Self {
            class,
            priority,
            by,
            l3_offset,
            flow_hash: flow_hash(frame, headers, l3_offset),
        }
    }
}

/// Returns the offset behind the header and at most two whole tags.
fn network_offset(frame: &[u8]) -> usize {
    let mut at = HEADER_LENGTH;
    let is_tag = |at: usize| {
        let ethertype = frame.get(at - 2..at);
        ethertype == Some(&[0x81, 0x00]) || ethertype == Some(&[0x88, 0xa8])
    };
    while is_tag(at) && at < HEADER_LENGTH + TAGS_MAX * TAG_LENGTH && frame.len() >= at + TAG_LENGTH
    {
        at += TAG_LENGTH;
    }
    at
}

/// FNV-1a on words in the host's byte order, over the fields that identify a flow; then two rounds that spread it
/// (`hash_word` and `hash_end` of `weir_xdp.bpf.c`).
fn flow_hash(frame: &[u8], headers: &Headers, l3_offset: usize) -> u32 {
    let byte = |at: usize| frame.get(at).copied().unwrap_or_default();
    let half = |at: usize| u32::from(u16::from_ne_bytes([byte(at), byte(at + 1)]));
    let word = |at: usize| half(at) | half(at + 2) << 16;
    let pair = |at: usize| half(at) << 16 | half(at + 2);
    let mut words = Vec::new();
    let ports_at = match headers.ip {
        None => {
            words.extend([pair(0), pair(4), pair(8), half(l3_offset - 2)]);
            None
        }
        Some(ip) if ip.source.is_ipv4() => {
            words.extend([word(l3_offset + 12), word(l3_offset + 16)]);
            words.push(u32::from(ip.protocol));
            let fragment = u16::from_be_bytes([byte(l3_offset + 6), byte(l3_offset + 7)]);
            let length = usize::from(byte(l3_offset) & 0x0f) * 4;
            (fragment & 0x3fff == 0).then_some((ip.protocol, l3_offset + length))
        }
        Some(ip) => {
            for index in 0..4 {
                words.push(word(l3_offset + 8 + 4 * index));
                words.push(word(l3_offset + 24 + 4 * index));
            }
            if ip.protocol == FRAGMENT_HEADER {
                None
            } else {
                words.push(u32::from(ip.protocol));
                Some((ip.protocol, l3_offset + 40))
            }
        }
    };
    if let Some((protocol, at)) = ports_at {
        if WITH_PORTS.contains(&protocol) && frame.len() >= at + 4 {
            words.push(pair(at));
        }
    }
    let mut hash = words.into_iter().fold(0x811c_9dc5_u32, |hash, word| {
        (hash ^ word).wrapping_mul(0x0100_0193)
    });
    for (shift, factor) in [(16, 0x7feb_352d), (15, 0x846c_a68b)] {
        hash ^= hash >> shift;
        hash = hash.wrapping_mul(factor);
    }
    hash ^ hash >> 16
}
