//! Packet sockets (packet(7)), the slow path around the switch: for LLDP, which the XDP program passes to the kernel, and
//! for pauses while no switch runs.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::sys::socket::{setsockopt, socket, sockopt, AddressFamily, SockFlag, SockType};
use weir_core::wire::ethernet::{ETHERTYPE_MAC_CONTROL, NEAREST_BRIDGE_ADDRESS};
use weir_core::wire::lldp::ETHERTYPE_LLDP;

/// Receive buffer of one socket in bytes, as the kernel accounts memory: a few dozen frames. Further frames are dropped
/// and counted.
const RECEIVE_BUFFER: usize = 64 * 1024;

/// Opens a socket that sends and receives LLDP frames, Ethernet headers included, on one device.
/// Frames that the host itself sends there are not received.
///
/// # Errors
///
/// The kernel's error; CAP_NET_RAW is required.
pub(crate) fn open(ifindex: u32) -> io::Result<OwnedFd> {
    let socket = unbound()?;
    setsockopt(&socket, sockopt::RcvBuf, &RECEIVE_BUFFER)?;
    let mut multicast = libc::packet_mreq {
        mr_ifindex: ifindex as libc::c_int,
        mr_type: libc::PACKET_MR_MULTICAST as libc::c_ushort,
        mr_alen: NEAREST_BRIDGE_ADDRESS.0.len() as libc::c_ushort,
        mr_address: [0; 8],
    };
    multicast.mr_address[..6].copy_from_slice(&NEAREST_BRIDGE_ADDRESS.0);
    let on: libc::c_int = 1;
    set_option(&socket, libc::PACKET_IGNORE_OUTGOING, &on)?;
    set_option(&socket, libc::PACKET_ADD_MEMBERSHIP, &multicast)?;
    bind(&socket, ifindex, ETHERTYPE_LLDP.to_be())?;
    Ok(socket)
}

/// Opens a socket that sends whole frames on one device and receives none.
///
/// # Errors
///
/// The kernel's error: ENODEV without such a device; CAP_NET_RAW is required.
pub fn open_for_sending(ifindex: u32) -> io::Result<OwnedFd> {
    let socket = unbound()?;
    bind(&socket, ifindex, 0)?;
    Ok(socket)
}

/// Opens a socket that counts frames passed to the kernel on one device: those that no XDP program
/// has taken. Frames for the device or an LLDP agent (MAC control, LLDP) are not counted, nor are
/// those that the host itself sends.
///
/// # Errors
///
/// The kernel's error: ENODEV without such a device; CAP_NET_RAW is required.
pub fn open_for_counting(ifindex: u32) -> io::Result<OwnedFd> {
    let socket = unbound()?;
    // Frames are not read: the kernel also counts those without room, and raises this to its minimum.
    setsockopt(&socket, sockopt::RcvBuf, &0)?;
    let on: libc::c_int = 1;
    set_option(&socket, libc::PACKET_IGNORE_OUTGOING, &on)?;
    count_data_only(&socket)?;
    bind(&socket, ifindex, (libc::ETH_P_ALL as u16).to_be())?;
    Ok(socket)
}

/// Refuses MAC control and LLDP by a classic BPF filter, and keeps one byte of all other frames.
fn count_data_only(socket: &OwnedFd) -> io::Result<()> {
    const ETHERTYPE_AT: u32 = 12;
    let load = (libc::BPF_LD | libc::BPF_H | libc::BPF_ABS) as u16;
    let jump = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let end = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, k, jt| libc::sock_filter { code, jt, jf: 0, k };
    let mut steps = [
        step(load, ETHERTYPE_AT, 0),
        step(jump, u32::from(ETHERTYPE_MAC_CONTROL), 2),
        step(jump, u32::from(ETHERTYPE_LLDP), 1),
        step(end, 1, 0),
        step(end, 0, 0),
    ];
    let program = libc::sock_fprog {
        len: steps.len() as libc::c_ushort,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: program and steps are valid for the call and of the sizes that are given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            std::ptr::from_ref(&program).cast(),
            size_of_val(&program) as libc::socklen_t,
        )
    };
    Errno::result(result)?;
    Ok(())
}

/// Returns the number of frames that found the receive buffer full since the last read of the statistics; zero for another
/// kind of socket.
pub fn take_lost(socket: RawFd) -> u64 {
    take_statistics(socket).map_or(0, |statistics| u64::from(statistics.tp_drops))
}

/// Returns the number of frames received since the last read of the statistics, with or without room; zero for another kind
/// of socket.
pub fn take_count(socket: RawFd) -> u64 {
    take_statistics(socket).map_or(0, |statistics| u64::from(statistics.tp_packets))
}

fn take_statistics(socket: RawFd) -> Option<libc::tpacket_stats> {
    let mut statistics = libc::tpacket_stats {
        tp_packets: 0,
        tp_drops: 0,
    };
    let mut length = size_of_val(&statistics) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into the value, which lives through the call.
    let result = unsafe {
        libc::getsockopt(
            socket,
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            std::ptr::from_mut(&mut statistics).cast(),
            &mut length,
        )
    };
    (result == 0).then_some(statistics)
}

/// Opens a socket with protocol zero, so that no other device's frame arrives before it is bound.
fn unbound() -> io::Result<OwnedFd> {
    Ok(socket(
        AddressFamily::Packet,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        None,
    )?)
}

/// Binds to one device and one protocol, in network byte order; zero for none.
fn bind(socket: &OwnedFd, ifindex: u32, protocol: u16) -> io::Result<()> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as libc::c_ushort,
        sll_protocol: protocol,
        sll_ifindex: ifindex as libc::c_int,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    // SAFETY: the address is valid for the call and of the size that is given.
    let result = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            std::ptr::from_ref(&address).cast(),
            size_of_val(&address) as libc::socklen_t,
        )
    };
    Errno::result(result)?;
    Ok(())
}

fn set_option<T>(socket: &OwnedFd, name: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the value is valid for the call and of the size that is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            name,
            std::ptr::from_ref(value).cast(),
            size_of_val(value) as libc::socklen_t,
        )
    };
    Errno::result(result)?;
    Ok(())
}
