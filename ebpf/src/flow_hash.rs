//! The program's flow hash, for callers that must know a flow's group member in advance.

use std::net::Ipv4Addr;

const UDP: u32 = 17;

/// Returns the program's hash of an unfragmented UDP datagram over IPv4 on this machine; like the program, it reads words in
/// the host's byte order.
pub fn udp_flow_hash(
    source: Ipv4Addr,
    destination: Ipv4Addr,
    source_port: u16,
    destination_port: u16,
) -> u32 {
    const OFFSET: u32 = 0x811c_9dc5;
    let port = |port: u16| u32::from(u16::from_ne_bytes(port.to_be_bytes()));
    let words = [
        u32::from_ne_bytes(source.octets()),
        u32::from_ne_bytes(destination.octets()),
        UDP,
        port(source_port) << 16 | port(destination_port),
    ];
    spread(
        words
            .into_iter()
            .fold(OFFSET, |hash, word| (hash ^ word).wrapping_mul(0x0100_0193)),
    )
}

/// `hash_end()` of the program.
fn spread(mut hash: u32) -> u32 {
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x7feb_352d);
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x846c_a68b);
    hash ^ hash >> 16
}
