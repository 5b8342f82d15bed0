//! Frames of a measurement, and packet sockets for them.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    bind, setsockopt, socket, sockopt, AddressFamily, LinkAddr, SockFlag, SockProtocol, SockType,
    SockaddrLike as _,
};
use weir_core::wire::ethernet::MAC_CONTROL_ADDRESS;
use weir_core::wire::mac_control::MacControl;
use weir_core::{MacAddress, Priority, Quanta};

use crate::device::Device;

/// IEEE's second EtherType for local experiments.
pub const LOAD_TYPE: u16 = 0x88b6;
/// EtherType of MAC control frames.
pub const MAC_CONTROL_TYPE: u16 = 0x8808;
/// Nobody's address: locally administered. The receiver is promiscuous.
const NOBODY: [u8; 6] = [0x02, b'w', b'e', b'i', b'r', 1];
const US: [u8; 6] = [0x02, b'w', b'e', b'i', b'r', 2];
/// An Ethernet header.
const HEADER_BYTES: usize = 14;
/// The shortest frame, without FCS.
pub const SHORTEST_BYTES: usize = 60;

/// A PFC frame for one priority. 0 quanta: XON.
pub fn pfc(priority: Priority, quanta: u16) -> [u8; SHORTEST_BYTES] {
    let mut frame = [0; SHORTEST_BYTES];
    let mut times = [None; Priority::ALL.len()];
    if let Some(time) = times.get_mut(priority.index()) {
        *time = Some(Quanta(quanta));
    }
    MacControl::Pfc { times }.emit(MacAddress(US), &mut frame);
    frame
}

/// A frame of load: its number behind the header.
pub fn load(length: usize) -> Vec<u8> {
    let mut frame = [&NOBODY[..], &US, &LOAD_TYPE.to_be_bytes()].concat();
    frame.resize(length.max(SHORTEST_BYTES), 0);
    frame
}

/// Numbers a frame of load.
pub fn set_number(frame: &mut [u8], number: u64) {
    if let Some(place) = frame.get_mut(HEADER_BYTES..HEADER_BYTES + 8) {
        place.copy_from_slice(&number.to_be_bytes());
    }
}

/// The number of a frame of load; none for another frame.
pub fn number(frame: &[u8]) -> Option<u64> {
    if frame.get(12..HEADER_BYTES)? != LOAD_TYPE.to_be_bytes() {
        return None;
    }
    frame
        .get(HEADER_BYTES..)?
        .first_chunk()
        .map(|bytes| u64::from_be_bytes(*bytes))
}

/// A packet socket at a device. Protocol 0 receives nothing.
pub fn open(device: &Device, protocol: u16) -> io::Result<OwnedFd> {
    let family = AddressFamily::Packet;
    let none: Option<SockProtocol> = None;
    let socket = socket(family, SockType::Raw, SockFlag::SOCK_CLOEXEC, none)?;
    // Before the first frame can come: what a small buffer has no room for would count as missing.
    if protocol != 0 {
        enlarge(&socket);
    }
    bind(socket.as_raw_fd(), &address(device, protocol)?)?;
    Ok(socket)
}

/// The address of a device for a packet socket.
#[allow(unsafe_code)] // nix has no safe constructor of it
fn address(device: &Device, protocol: u16) -> io::Result<LinkAddr> {
    let raw = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as libc::sa_family_t,
        sll_protocol: protocol.to_be(),
        sll_ifindex: device.ifindex as libc::c_int,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let length = size_of_val(&raw) as libc::socklen_t;
    // SAFETY: it is a whole socket address, of the length that is given.
    let address = unsafe { LinkAddr::from_raw((&raw const raw).cast(), Some(length)) };
    address.ok_or_else(|| io::Error::other("no link address"))
}

/// Has a socket's frames go to the driver past the queue, which may be paused itself.
#[allow(unsafe_code)] // nix has no such option
pub fn past_the_queue(socket: &OwnedFd) -> io::Result<()> {
    let yes: libc::c_int = 1;
    // SAFETY: the value is valid for the call and of the size that is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_QDISC_BYPASS,
            std::ptr::from_ref(&yes).cast(),
            size_of_val(&yes) as libc::socklen_t,
        )
    };
    Errno::result(result).map(drop).map_err(io::Error::from)
}

/// Has a socket's device receive frames for everybody, for as long as the socket is open.
pub fn promiscuous(socket: RawFd, device: &Device) -> io::Result<()> {
    member(socket, device, libc::PACKET_MR_PROMISC, 0, [0; 8])
}

/// Has a socket's device receive MAC control frames, for as long as the socket is open.
pub fn join_pauses(socket: &OwnedFd, device: &Device) -> io::Result<()> {
    let mut address = [0; 8];
    let (place, _) = address.split_at_mut(MAC_CONTROL_ADDRESS.0.len());
    place.copy_from_slice(&MAC_CONTROL_ADDRESS.0);
    let length = MAC_CONTROL_ADDRESS.0.len() as u16;
    let kind = libc::PACKET_MR_MULTICAST;
    member(socket.as_raw_fd(), device, kind, length, address)
}

#[allow(unsafe_code)] // nix has no such option
fn member(
    socket: RawFd,
    device: &Device,
    kind: i32,
    length: u16,
    address: [u8; 8],
) -> io::Result<()> {
    let request = libc::packet_mreq {
        mr_ifindex: device.ifindex as libc::c_int,
        mr_type: kind as libc::c_ushort,
        mr_alen: length,
        mr_address: address,
    };
    // SAFETY: the value is valid for the call and of the size that is given.
    let result = unsafe {
        libc::setsockopt(
            socket,
            libc::SOL_PACKET,
            libc::PACKET_ADD_MEMBERSHIP,
            std::ptr::from_ref(&request).cast(),
            size_of_val(&request) as libc::socklen_t,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Room for what comes in while we are not scheduled.
fn enlarge(socket: &OwnedFd) {
    const ROOM_BYTES: usize = 64 << 20;
    // Without CAP_NET_ADMIN: what the system allows everybody.
    if setsockopt(socket, sockopt::RcvBufForce, &ROOM_BYTES).is_err() {
        let _ = setsockopt(socket, sockopt::RcvBuf, &ROOM_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_names_its_priority_alone() {
        let frame = pfc(Priority::ALL[3], 0x1234);
        assert_eq!(frame[12..18], [0x88, 0x08, 1, 1, 0, 8]);
        assert_eq!(
            frame[18..34],
            [0, 0, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 0, 0, 0, 0, 0, 0]
        );
        assert!(frame[34..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_number_comes_back_and_other_frames_have_none() {
        let mut frame = load(100);
        set_number(&mut frame, 7);
        assert_eq!((frame.len(), number(&frame)), (100, Some(7)));
        assert_eq!(number(&pfc(Priority::ALL[0], 1)), None);
        assert_eq!(number(&frame[..20]), None);
        assert_eq!(load(0).len(), SHORTEST_BYTES);
    }
}
