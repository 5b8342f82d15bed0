//! Probes: frames of the sending host.

/// Ethernet, IPv4, UDP, and the record read by the receiving program.
pub const PROBE_LENGTH_MIN: usize = PROBE_AT + 16;

/// Frame check sequence, which RFC 2544 counts as part of a frame but veth devices lack.
pub const FCS_BYTES: usize = 4;

const IP_AT: usize = 14;
const UDP_AT: usize = IP_AT + 20;
const PROBE_AT: usize = UDP_AT + 8;
/// As in `bpf/probe.h`.
const PROBE_UDP_PORT: u16 = 42424;
/// As in `bpf/probe.h`.
const FLOW_PORT_FIRST: u16 = 10000;

/// Returns a probe of `length` bytes (without FCS) from one address to another, with an empty record.
///
/// # Panics
///
/// If the headers do not fit into the length.
pub fn template(source: [u8; 6], destination: [u8; 6], length: usize) -> Vec<u8> {
    assert!(length >= PROBE_LENGTH_MIN, "probes have headers");
    let mut frame = vec![0u8; length];
    frame[..6].copy_from_slice(&destination);
    frame[6..12].copy_from_slice(&source);
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    let ip = &mut frame[IP_AT..UDP_AT];
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&((length - IP_AT) as u16).to_be_bytes());
    ip[8] = 64;
    ip[9] = 17;
    ip[12..16].copy_from_slice(&[198, 18, 0, 1]);
    ip[16..20].copy_from_slice(&[198, 19, 0, 1]);
    let checksum = internet_checksum(ip);
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());
    let udp = &mut frame[UDP_AT..PROBE_AT];
    udp[..2].copy_from_slice(&FLOW_PORT_FIRST.to_be_bytes());
    udp[2..4].copy_from_slice(&PROBE_UDP_PORT.to_be_bytes());
    udp[4..6].copy_from_slice(&((length - UDP_AT) as u16).to_be_bytes());
    frame
}

/// Writes the record; the flow is the UDP source port (there is no UDP checksum).
pub fn stamp(frame: &mut [u8], trial: u32, sequence: u32, flow_mask: u32, sent_nanos: u64) {
    let port = FLOW_PORT_FIRST.wrapping_add((sequence & flow_mask) as u16);
    frame[UDP_AT..UDP_AT + 2].copy_from_slice(&port.to_be_bytes());
    frame[PROBE_AT..PROBE_AT + 4].copy_from_slice(&trial.to_ne_bytes());
    frame[PROBE_AT + 4..PROBE_AT + 8].copy_from_slice(&sequence.to_ne_bytes());
    frame[PROBE_AT + 8..PROBE_AT + 16].copy_from_slice(&sent_nanos.to_ne_bytes());
}

/// RFC 1071.
fn internet_checksum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_has_its_length_and_a_sound_header_checksum() {
        let frame = template([2; 6], [4; 6], 60);
        assert_eq!(frame.len(), 60);
        assert_eq!(internet_checksum(&frame[IP_AT..UDP_AT]), 0);
        assert_eq!(frame[..6], [4; 6]);
    }

    #[test]
    fn flows_take_turns() {
        let mut frame = template([2; 6], [4; 6], 60);
        let mut ports = Vec::new();
        for sequence in 0..6 {
            stamp(&mut frame, 1, sequence, 3, 0);
            ports.push(u16::from_be_bytes([frame[UDP_AT], frame[UDP_AT + 1]]) - FLOW_PORT_FIRST);
        }
        assert_eq!(ports, [0, 1, 2, 3, 0, 1]);
    }
}
