//! Fill levels of the UDP sockets of this network namespace, by NETLINK_SOCK_DIAG.

use std::io;
use std::os::fd::OwnedFd;

use nix::sys::socket::AddressFamily;
use weir_netlink::message::{find, u32_at};
use weir_netlink::socket::{dump_on, open, Protocol, ANSWER_MAX};

use crate::push_back::fill::Reading;

// linux/sock_diag.h, linux/inet_diag.h
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_SKMEMINFO: u16 = 7;
const REQUEST: usize = 56;
const REQUEST_PORT: usize = 8;
const MESSAGE: usize = 72;
const MESSAGE_COOKIE: usize = 44;
/// Words of SKMEMINFO.
const RMEM_ALLOC: usize = 0;
const RCVBUF: usize = 1;
const DROPS: usize = 8;
/// IPv6 sockets may also receive IPv4.
const FAMILIES: [AddressFamily; 2] = [AddressFamily::Inet, AddressFamily::Inet6];
/// Maximum number of sockets read; further ones are counted.
pub const SOCKETS_MAX: usize = 4096;

/// A repeated query for sockets.
#[derive(Debug)]
pub struct Sockets {
    fd: OwnedFd,
    requests: Vec<[u8; REQUEST]>,
    buffer: Vec<u8>,
    readings: Vec<Reading>,
    /// Sockets beyond [`SOCKETS_MAX`] in the last query.
    pub unwatched: usize,
}

impl Sockets {
    /// Prepares a query for the sockets bound to these ports, or for all if `ports` is empty. The kernel selects them by
    /// port, with one list each.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn of_ports(ports: &[u16]) -> io::Result<Self> {
        let all = [0];
        let ports = if ports.is_empty() { &all } else { ports };
        let of_port = |port: &u16| FAMILIES.map(|family| request(family, *port));
        Ok(Self {
            fd: open(Protocol::NetlinkSockDiag)?,
            requests: ports.iter().flat_map(of_port).collect(),
            buffer: vec![0; ANSWER_MAX],
            readings: Vec::with_capacity(SOCKETS_MAX),
            unwatched: 0,
        })
    }

    /// Reads all selected sockets.
    ///
    /// # Errors
    ///
    /// The kernel's error; `NotFound` without UDP_DIAG.
    pub fn read(&mut self) -> io::Result<&[Reading]> {
        self.readings.clear();
        self.unwatched = 0;
        let (readings, unwatched) = (&mut self.readings, &mut self.unwatched);
        for body in &self.requests {
            dump_on(
                &self.fd,
                &mut self.buffer,
                SOCK_DIAG_BY_FAMILY,
                body,
                |message| match reading_of(message) {
                    Some(reading) if readings.len() < SOCKETS_MAX => readings.push(reading),
                    Some(_) => *unwatched += 1,
                    None => {}
                },
            )?;
        }
        Ok(&self.readings)
    }
}

/// struct inet_diag_req_v2.
fn request(family: AddressFamily, port: u16) -> [u8; REQUEST] {
    let mut body = [0; REQUEST];
    body[0] = family as u8;
    body[1] = libc::IPPROTO_UDP as u8;
    body[2] = 1 << (INET_DIAG_SKMEMINFO - 1);
    body[4..8].copy_from_slice(&u32::MAX.to_ne_bytes()); // in any state
    body[REQUEST_PORT..REQUEST_PORT + 2].copy_from_slice(&port.to_be_bytes());
    body
}

/// struct inet_diag_msg, and the attribute with its memory.
fn reading_of(message: &[u8]) -> Option<Reading> {
    let low = u64::from(u32_at(message, MESSAGE_COOKIE)?);
    let high = u64::from(u32_at(message, MESSAGE_COOKIE + 4)?);
    let memory = find(message.get(MESSAGE..)?, INET_DIAG_SKMEMINFO)?;
    let word = |number: usize| u32_at(memory, 4 * number);
    Some(Reading {
        socket: high << 32 | low,
        used_bytes: word(RMEM_ALLOC)?,
        room_bytes: word(RCVBUF)?,
        drops: word(DROPS)?,
    })
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use nix::sys::socket::{getsockopt, sockopt};

    use super::*;

    #[test]
    fn a_socket_is_read_as_it_fills_and_is_dropped_at() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let also = UdpSocket::bind("[::1]:0").unwrap();
        let port_of = |socket: &UdpSocket| socket.local_addr().unwrap().port();
        let mut sockets = Sockets::of_ports(&[port_of(&socket), port_of(&also)]).unwrap();
        let room = getsockopt(&socket, sockopt::RcvBuf).unwrap();
        let empty = sockets.read().unwrap().to_vec();
        assert_eq!(empty.len(), 2);
        assert_ne!(empty[0].socket, empty[1].socket);
        let one = empty[0];
        assert_eq!(
            (one.used_bytes, one.room_bytes as usize, one.drops),
            (0, room, 0)
        );
        let mut before = one;
        while before.drops == 0 {
            socket
                .send_to(&[0; 1000], socket.local_addr().unwrap())
                .unwrap();
            let now = sockets.read().unwrap()[0];
            assert_eq!(now.socket, one.socket);
            assert!(
                now.used_bytes > before.used_bytes || now.drops == 1,
                "{now:?} after {before:?}"
            );
            before = now;
        }
        // Older kernels accept one frame more than fits, newer ones one less.
        assert!(before.used_bytes > before.room_bytes - 4096);
        let all = Sockets::of_ports(&[]).unwrap().read().unwrap().to_vec();
        assert!(all.iter().any(|other| other.socket == one.socket));
        assert_eq!(sockets.unwatched, 0);
    }

    #[test]
    fn a_truncated_message_is_invalid() {
        assert_eq!(reading_of(&[0; MESSAGE - 1]), None);
        assert_eq!(reading_of(&[0; MESSAGE]), None);
    }
}
