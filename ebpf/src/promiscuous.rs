//! Promiscuous mode: the program must see frames for all destinations, including pauses.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{socket, AddressFamily, SockFlag, SockType};

/// A packet socket that receives nothing and keeps one device promiscuous. The kernel reverts this when the socket is
/// closed, even if the process is killed.
#[derive(Debug)]
pub struct Promiscuous {
    _socket: OwnedFd,
}

impl Promiscuous {
    /// Opens a socket for the device with this index, in the calling thread's network namespace.
    ///
    /// # Errors
    ///
    /// Without CAP_NET_RAW, or without such a device.
    pub fn new(ifindex: u32) -> io::Result<Self> {
        // Without a protocol nothing is received.
        let family = AddressFamily::Packet;
        let socket = socket(family, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)?;
        let request = libc::packet_mreq {
            mr_ifindex: ifindex as libc::c_int,
            mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        // SAFETY: the value is valid for the call and of the given size.
        let result = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_ADD_MEMBERSHIP,
                std::ptr::from_ref(&request).cast(),
                size_of_val(&request) as libc::socklen_t,
            )
        };
        Errno::result(result)?;
        Ok(Self { _socket: socket })
    }
}
