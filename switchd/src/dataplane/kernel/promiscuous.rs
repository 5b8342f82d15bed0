//! Promiscuous mode for as long as a port lives: a switch takes frames for everybody.

use std::io;
use std::os::fd::OwnedFd;

use super::packet_socket::{set_option, unbound};

/// A packet socket that receives nothing and keeps one device promiscuous. The kernel undoes it when the
/// socket is closed, also when the process is killed.
#[derive(Debug)]
pub(in crate::dataplane) struct Promiscuous {
    _socket: OwnedFd,
}

impl Promiscuous {
    pub(in crate::dataplane) fn new(ifindex: u32) -> io::Result<Self> {
        let socket = unbound()?;
        let request = libc::packet_mreq {
            mr_ifindex: ifindex as libc::c_int,
            mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set_option(&socket, libc::PACKET_ADD_MEMBERSHIP, &request)?;
        Ok(Self { _socket: socket })
    }
}
