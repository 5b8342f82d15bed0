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
/// An unused, locally administered address. The receiver is promiscuous.
const NOBODY: [u8; 6] = [0x02, b'w', b'e', b'i', b'r', 1];
const US: [u8; 6] = [0x02, b'w', b'e', b'i', b'r', 2];
/// Length of an Ethernet header.
const HEADER_BYTES: usize = 14;
/// linux/if_packet.h
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
/// Minimum frame length, without FCS.
pub const SHORTEST_BYTES: usize = 60;

/// Builds a PFC frame for one priority; 0 quanta are XON.
pub fn pfc(priority: Priority, quanta: u16) -> [u8; SHORTEST_BYTES] {
    let mut frame = [0; SHORTEST_BYTES];
    let mut times = [None; Priority::ALL.len()];
    if let Some(time) = times.get_mut(priority.index()) {
        *time = Some(Quanta(quanta));
    }
    MacControl::Pfc { times }.emit(MacAddress(US), &mut frame);
    frame
}

/// Builds a frame of load with its number behind the header.
pub fn load(length: usize) -> Vec<u8> {
    let mut frame = [&NOBODY[..], &US, &LOAD_TYPE.to_be_bytes()].concat();
    frame.resize(length.max(SHORTEST_BYTES), 0);
    frame
}

/// Sets the number of a frame of load.
pub fn set_number(frame: &mut [u8], number: u64) {
    if let Some(place) = frame.get_mut(HEADER_BYTES..HEADER_BYTES + 8) {
        place.copy_from_slice(&number.to_be_bytes());
    }
}

/// Returns the number of a frame of load; `None` for another frame.
pub fn number(frame: &[u8]) -> Option<u64> {
    if frame.get(12..HEADER_BYTES)? != LOAD_TYPE.to_be_bytes() {
        return None;
    }
    frame
        .get(HEADER_BYTES..)?
        .first_chunk()
        .map(|bytes| u64::from_be_bytes(*bytes))
}

/// Opens a packet socket. It receives nothing before it is bound.
fn raw() -> io::Result<OwnedFd> {
    let family = AddressFamily::Packet;
    let none: Option<SockProtocol> = None;
    Ok(socket(family, SockType::Raw, SockFlag::SOCK_CLOEXEC, none)?)
}

/// Opens a socket for the neighbour's MAC control frames. For tagged frames and other destinations than 01-80-C2-00-00-01 it
/// receives only the header, which is not a pause: any station may have sent them.
pub fn open_control(device: &Device) -> io::Result<OwnedFd> {
    // A socket for this EtherType alone would receive a priority-tagged frame without any sign of its tag.
    const ALL: u16 = libc::ETH_P_ALL as u16;
    let socket = raw()?;
    enlarge(&socket);
    set(&socket, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1i32)?;
    let program = of_the_neighbour();
    let filter = libc::sock_fprog {
        len: program.len() as libc::c_ushort,
        filter: program.as_ptr().cast_mut(),
    };
    set(&socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter)?;
    bind(socket.as_raw_fd(), &address(device, ALL)?)?;
    Ok(socket)
}

/// Classic BPF filter that returns the number of bytes to receive of a frame.
fn of_the_neighbour() -> [libc::sock_filter; 11] {
    const LOAD_16: u32 = libc::BPF_LD | libc::BPF_H | libc::BPF_ABS;
    const LOAD_32: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    const IS_TAGGED: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_VLAN_TAG_PRESENT) as u32;
    let [a, b, c, d, e, f] = MAC_CONTROL_ADDRESS.0;
    let step = |code: u32, k: u32, jt, jf| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    [
        step(LOAD_16, 12, 0, 0),
        step(IF_EQUAL, u32::from(MAC_CONTROL_TYPE), 0, 8),
        step(LOAD_32, IS_TAGGED, 0, 0),
        step(IF_EQUAL, 0, 0, 5),
        step(LOAD_32, 0, 0, 0),
        step(IF_EQUAL, u32::from_be_bytes([a, b, c, d]), 0, 3),
        step(LOAD_16, 4, 0, 0),
        step(IF_EQUAL, u32::from(u16::from_be_bytes([e, f])), 0, 1),
        step(RETURN, u32::from(u16::MAX), 0, 0),
        step(RETURN, HEADER_BYTES as u32, 0, 0),
        step(RETURN, 0, 0, 0),
    ]
}

/// Opens a packet socket at a device. Protocol 0 receives nothing.
pub fn open(device: &Device, protocol: u16) -> io::Result<OwnedFd> {
    let socket = raw()?;
    // Before the first frame: a small buffer could lose frames, which would count as missing.
    if protocol != 0 {
        enlarge(&socket);
    }
    bind(socket.as_raw_fd(), &address(device, protocol)?)?;
    Ok(socket)
}

/// Returns the address of a device for a packet socket.
#[allow(unsafe_code)] // nix lacks a safe constructor for it
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
    // SAFETY: it is a complete socket address of the given length.
    let address = unsafe { LinkAddr::from_raw((&raw const raw).cast(), Some(length)) };
    address.ok_or_else(|| io::Error::other("no link address"))
}

/// Makes a socket's frames bypass the queue, which may be paused itself.
pub fn past_the_queue(socket: &OwnedFd) -> io::Result<()> {
    set(socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1i32)
}

/// Makes a socket's device receive frames for all destinations while the socket is open.
pub fn promiscuous(socket: RawFd, device: &Device) -> io::Result<()> {
    member(socket, device, libc::PACKET_MR_PROMISC, 0, [0; 8])
}

/// Makes a socket's device receive MAC control frames while the socket is open.
pub fn join_pauses(socket: &OwnedFd, device: &Device) -> io::Result<()> {
    let mut address = [0; 8];
    let (place, _) = address.split_at_mut(MAC_CONTROL_ADDRESS.0.len());
    place.copy_from_slice(&MAC_CONTROL_ADDRESS.0);
    let length = MAC_CONTROL_ADDRESS.0.len() as u16;
    let kind = libc::PACKET_MR_MULTICAST;
    member(socket.as_raw_fd(), device, kind, length, address)
}

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
    set(
        &socket,
        libc::SOL_PACKET,
        libc::PACKET_ADD_MEMBERSHIP,
        &request,
    )
}

/// Sets a socket option that nix lacks.
#[allow(unsafe_code)]
fn set<T>(socket: &impl AsRawFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    // SAFETY: the value, and for a filter the program that it points to, are valid for the call and of the given size.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    Errno::result(result).map(drop).map_err(io::Error::from)
}

/// Enlarges the receive buffer for times at which this process is not scheduled.
fn enlarge(socket: &OwnedFd) {
    const ROOM_BYTES: usize = 64 << 20;
    // Without CAP_NET_ADMIN, up to the system's limit.
    if setsockopt(socket, sockopt::RcvBufForce, &ROOM_BYTES).is_err() {
        let _ = setsockopt(socket, sockopt::RcvBuf, &ROOM_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use nix::sched::{unshare, CloneFlags};
    use nix::sys::socket::{recv, send, MsgFlags};
    use weir_core::wire::mac_control::MacControl;

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

    /// Sends frames from the other end of a cable; returns those that the socket receives, in order.
    fn received(frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
        // On a separate thread, whose namespace ends with it.
        let thread = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                unshare(CloneFlags::CLONE_NEWNET).unwrap();
                for words in [
                    "link add a type veth peer name b",
                    "link set a up",
                    "link set b up",
                ] {
                    let done = Command::new("ip").args(words.split(' ')).status().unwrap();
                    assert!(done.success(), "ip {words}");
                }
                let [from, to] = ["a", "b"].map(|name| Device::find(name).unwrap());
                let control = open_control(&to).unwrap();
                join_pauses(&control, &to).unwrap();
                let sender = open(&from, 0).unwrap();
                let mut all = Vec::new();
                for frame in frames.iter().chain([&pfc(Priority::ALL[7], 1).to_vec()]) {
                    send(sender.as_raw_fd(), frame, MsgFlags::empty()).unwrap();
                }
                // The last frame is a valid pause.
                loop {
                    let mut bytes = [0; 128];
                    let length = recv(control.as_raw_fd(), &mut bytes, MsgFlags::empty()).unwrap();
                    let frame = bytes[..length].to_vec();
                    if frame == pfc(Priority::ALL[7], 1) {
                        break all;
                    }
                    all.push(frame);
                }
            });
            thread.join()
        });
        thread.unwrap()
    }

    #[test]
    fn only_untagged_pauses_to_the_reserved_address_are_received_whole() {
        if std::fs::File::open("/proc/1/mem").is_err() {
            // Packet sockets and namespaces require root.
            return;
        }
        let pause = pfc(Priority::ALL[3], 5).to_vec();
        let with_address = |address: [u8; 6]| [&address[..], &pause[6..]].concat();
        let with_tag = [&pause[..12], &[0x81, 0, 0, 0], &pause[12..]].concat();
        let all = received(&[
            load(60),
            with_tag,
            with_address([0x01, 0x80, 0xc2, 0, 0, 2]),
            with_address([0xff; 6]),
            pause.clone(),
        ]);
        let obeyed: Vec<bool> = all
            .iter()
            .map(|frame| MacControl::parse(frame).is_ok())
            .collect();
        assert_eq!(obeyed, [false, false, false, true], "{all:x?}");
        assert_eq!(all[3], pause);
    }
}
