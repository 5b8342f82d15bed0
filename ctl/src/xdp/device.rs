//! The network device behind an index, asked of the kernel by rtnetlink.
//!
//! A link tells the index of its device but not the network namespace, and two namespaces use the same
//! indexes. Only a device that runs the link's own program is the one that is meant.

use std::io;
use std::os::fd::AsRawFd;

use nix::sys::socket::{
    recv, send, setsockopt, socket, sockopt, AddressFamily, MsgFlags, SockFlag, SockProtocol,
    SockType,
};
use nix::sys::time::TimeVal;

// linux/netlink.h, linux/rtnetlink.h, linux/if_link.h
const NLMSG_HEADER: usize = 16;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const IFINFO: usize = 16;
const IFLA_IFNAME: u16 = 3;
const IFLA_XDP: u16 = 43;
const IFLA_XDP_DRV_PROG_ID: u16 = 5;
const IFLA_XDP_SKB_PROG_ID: u16 = 6;
const IFLA_XDP_HW_PROG_ID: u16 = 7;
const NLA_TYPE_MASK: u16 = 0x3fff;

/// A device, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Ids of its XDP programs and how each is attached: `native`, `generic` or `offloaded`.
    pub programs: Vec<(u32, &'static str)>,
}

impl Device {
    /// How the program `id` is attached to this device, if it is.
    pub fn mode_of(&self, id: u32) -> Option<&'static str> {
        self.programs
            .iter()
            .find(|(program, _)| *program == id)
            .map(|(_, mode)| *mode)
    }
}

/// The device with this index in this process's network namespace.
///
/// # Errors
///
/// When the kernel does not answer. No such device is `None`.
pub fn find(ifindex: u32) -> io::Result<Option<Device>> {
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::new(2, 0))?;
    send(socket.as_raw_fd(), &request(ifindex), MsgFlags::empty())?;
    let mut answer = vec![0u8; 64 << 10];
    let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    parse(&answer[..length])
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "rtnetlink: bad answer"))
}

fn request(ifindex: u32) -> Vec<u8> {
    let mut message = Vec::with_capacity(NLMSG_HEADER + IFINFO);
    message.extend(((NLMSG_HEADER + IFINFO) as u32).to_ne_bytes());
    message.extend(RTM_GETLINK.to_ne_bytes());
    message.extend(NLM_F_REQUEST.to_ne_bytes());
    message.extend([0; 8]); // sequence, port
    message.extend([0; 4]); // family, type
    message.extend(ifindex.to_ne_bytes());
    message.extend([0; 8]); // flags, change
    message
}

/// `None` for bytes that are no answer; `Some(None)` where there is no such device.
fn parse(answer: &[u8]) -> Option<Option<Device>> {
    let kind = u16_at(answer, 4)?;
    if kind == NLMSG_ERROR {
        return Some(None);
    }
    let length = u32_at(answer, 0)? as usize;
    let body = answer.get(NLMSG_HEADER + IFINFO..length)?;
    if kind != RTM_NEWLINK {
        return None;
    }
    let mut device = Device::default();
    for (kind, value) in attributes(body) {
        match kind {
            IFLA_IFNAME => {
                let name = value.split(|byte| *byte == 0).next().unwrap_or_default();
                device.name = String::from_utf8_lossy(name).into_owned();
            }
            IFLA_XDP => {
                device.programs = attributes(value)
                    .filter_map(|(kind, value)| {
                        let mode = match kind {
                            IFLA_XDP_DRV_PROG_ID => "native",
                            IFLA_XDP_SKB_PROG_ID => "generic",
                            IFLA_XDP_HW_PROG_ID => "offloaded",
                            _ => return None,
                        };
                        Some((u32_at(value, 0)?, mode))
                    })
                    .collect();
            }
            _ => {}
        }
    }
    Some(Some(device))
}

/// Type and value of each attribute; ends at the first that does not fit.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & NLA_TYPE_MASK;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn answer() -> Vec<u8> {
        let xdp = [
            attribute(2, &[1]),
            attribute(IFLA_XDP_DRV_PROG_ID, &42u32.to_ne_bytes()),
        ]
        .concat();
        let body = [
            attribute(IFLA_IFNAME, b"eth7\0"),
            attribute(IFLA_XDP | 0x8000, &xdp),
        ]
        .concat();
        let mut message = request(7);
        let length = (message.len() + body.len()) as u32;
        message[..4].copy_from_slice(&length.to_ne_bytes());
        message[4..6].copy_from_slice(&RTM_NEWLINK.to_ne_bytes());
        message.extend(body);
        message
    }

    #[test]
    fn name_and_programs_are_read() {
        let device = parse(&answer()).unwrap().unwrap();
        assert_eq!(device.name, "eth7");
        assert_eq!(device.mode_of(42), Some("native"));
        assert_eq!(device.mode_of(43), None);
    }

    #[test]
    fn cut_answers_are_refused() {
        let whole = answer();
        for length in 0..whole.len() {
            // What the header promises is not there.
            assert_eq!(parse(&whole[..length]), None, "{length}");
        }
    }

    #[test]
    fn loopback_is_there_and_has_no_program() {
        let loopback = find(1).unwrap().unwrap();
        assert_eq!(loopback.name, "lo");
        assert_eq!(find(u32::MAX >> 1).unwrap(), None);
    }
}
