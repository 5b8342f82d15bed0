//! Netlink: questions and answers, and queueing disciplines and links by rtnetlink.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    recv, send, setsockopt, socket, sockopt, AddressFamily, MsgFlags, SockFlag, SockProtocol,
    SockType,
};
use nix::sys::time::TimeVal;

// linux/netlink.h
const HEADER: usize = 16;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
pub(super) const NLM_F_REPLACE: u16 = 0x100;
pub(super) const NLM_F_EXCL: u16 = 0x200;
pub(super) const NLM_F_CREATE: u16 = 0x400;
const NLM_F_DUMP: u16 = 0x300;
const NLA_TYPE_MASK: u16 = 0x3fff;
// linux/rtnetlink.h, linux/if_link.h, linux/pkt_sched.h
const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
pub(super) const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
pub(super) const RTM_GETQDISC: u16 = 38;
const IFINFOMSG: usize = 16;
const IFLA_GSO_MAX_SEGS: u16 = 40;
pub(super) const TCMSG: usize = 20;
pub(super) const TCA_KIND: u16 = 1;
pub(super) const TCA_OPTIONS: u16 = 2;
pub(super) const TC_H_ROOT: u32 = u32::MAX;
/// What one message of an answer may have; the kernel sends less.
pub(super) const ANSWER_MAX: usize = 64 << 10;

/// The queueing discipline at a device's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// As `tc` calls it.
    pub kind: String,
    /// The number in front of the colon; 0: the kernel has made it by itself.
    pub handle: u32,
}

/// What is at the root of a device; none while it is down.
///
/// # Errors
///
/// What the kernel says.
pub fn root(ifindex: u32) -> io::Result<Option<Root>> {
    let mut found = None;
    dump(RTM_GETQDISC, &tcmsg(ifindex, 0), |body| {
        if u32_at(body, 4) != Some(ifindex) || u32_at(body, 12) != Some(TC_H_ROOT) {
            return;
        }
        let rest = body.get(TCMSG..).unwrap_or_default();
        let kind = attributes(rest).find(|(kind, _)| *kind == TCA_KIND);
        found = Some(Root {
            kind: kind.map(|(_, value)| text(value)).unwrap_or_default(),
            handle: u32_at(body, 8).unwrap_or(0) >> 16,
        });
    })?;
    Ok(found)
}

/// Puts a queueing discipline of this kind at the root, in the place of what is there.
///
/// # Errors
///
/// What the kernel says.
pub fn replace_root(ifindex: u32, kind: &str) -> io::Result<()> {
    let mut body = tcmsg(ifindex, TC_H_ROOT);
    body.extend(attribute(TCA_KIND, &[kind.as_bytes(), &[0]].concat()));
    ask(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, &body)
}

/// Takes the queueing discipline at the root away; the kernel's default comes back.
///
/// # Errors
///
/// What the kernel says.
pub fn delete_root(ifindex: u32) -> io::Result<()> {
    ask(RTM_DELQDISC, 0, &tcmsg(ifindex, TC_H_ROOT))
}

/// The most segments that the stack hands to a device as one.
///
/// # Errors
///
/// What the kernel says.
pub fn gso_segments(ifindex: u32) -> io::Result<Option<u32>> {
    let mut found = None;
    dump(RTM_GETLINK, &ifinfomsg(ifindex), |body| {
        if u32_at(body, 4) != Some(ifindex) {
            return;
        }
        let rest = body.get(IFINFOMSG..).unwrap_or_default();
        let segments = attributes(rest).find(|(kind, _)| *kind == IFLA_GSO_MAX_SEGS);
        found = segments.and_then(|(_, value)| u32_at(value, 0));
    })?;
    Ok(found)
}

/// Sets that.
///
/// # Errors
///
/// What the kernel says.
pub fn set_gso_segments(ifindex: u32, segments: u32) -> io::Result<()> {
    let mut body = ifinfomsg(ifindex);
    body.extend(attribute(IFLA_GSO_MAX_SEGS, &segments.to_ne_bytes()));
    ask(RTM_NEWLINK, 0, &body)
}

fn tcmsg(ifindex: u32, parent: u32) -> Vec<u8> {
    message_of(ifindex, 0, parent, 0)
}

/// The head of a message on a queueing discipline or a filter. `info`: a filter's order and protocol.
pub(super) fn message_of(ifindex: u32, handle: u32, parent: u32, info: u32) -> Vec<u8> {
    let mut body = vec![0; 4]; // family, padding
    body.extend(ifindex.to_ne_bytes());
    body.extend(handle.to_ne_bytes());
    body.extend(parent.to_ne_bytes());
    body.extend(info.to_ne_bytes());
    body
}

fn ifinfomsg(ifindex: u32) -> Vec<u8> {
    let mut body = vec![0; 4]; // family, padding, type
    body.extend(ifindex.to_ne_bytes());
    body.extend([0; 8]); // flags, change
    body
}

/// A netlink socket. An answer that does not come in ten seconds is an error.
pub(super) fn open(protocol: SockProtocol) -> io::Result<OwnedFd> {
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        protocol,
    )?;
    setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::new(10, 0))?;
    Ok(socket)
}

/// A request that the kernel does or refuses.
pub(super) fn ask(kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
    let socket = open(SockProtocol::NetlinkRoute)?;
    let request = message(kind, NLM_F_REQUEST | NLM_F_ACK | flags, body);
    send(socket.as_raw_fd(), &request, MsgFlags::empty())?;
    let mut answer = vec![0u8; ANSWER_MAX];
    let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    answer.truncate(length);
    match u16_at(&answer, 4) {
        Some(NLMSG_ERROR) => error_of(&answer),
        _ => Ok(()),
    }
}

/// A question whose answer is a list; `each` gets every message's body.
pub(super) fn dump(kind: u16, body: &[u8], each: impl FnMut(&[u8])) -> io::Result<()> {
    let socket = open(SockProtocol::NetlinkRoute)?;
    dump_on(&socket, &mut vec![0u8; ANSWER_MAX], kind, body, each)
}

/// The same for who asks again and again: with a socket and a buffer of [`ANSWER_MAX`] that are there already.
pub(super) fn dump_on(
    socket: &OwnedFd,
    buffer: &mut [u8],
    kind: u16,
    body: &[u8],
    mut each: impl FnMut(&[u8]),
) -> io::Result<()> {
    let request = message(kind, NLM_F_REQUEST | NLM_F_DUMP, body);
    send(socket.as_raw_fd(), &request, MsgFlags::empty())?;
    loop {
        let length = recv(socket.as_raw_fd(), buffer, MsgFlags::empty())?;
        let mut rest = buffer.get(..length).unwrap_or_default();
        if rest.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        while let Some(length) = u32_at(rest, 0) {
            let length = length as usize;
            let Some(one) = rest.get(..length).filter(|_| length >= HEADER) else {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "netlink: bad answer",
                ));
            };
            match u16_at(one, 4) {
                Some(NLMSG_DONE) => return Ok(()),
                Some(NLMSG_ERROR) => return error_of(one),
                _ => each(one.get(HEADER..).unwrap_or_default()),
            }
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

/// What an NLMSG_ERROR says: 0 is an acknowledgement.
fn error_of(message: &[u8]) -> io::Result<()> {
    // A negative number of errno.h.
    match u32_at(message, HEADER).unwrap_or(0) as i32 {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(-code)),
    }
}

fn message(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEADER + body.len());
    message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]); // sequence, port
    message.extend(body);
    message
}

/// Type and value of each attribute; ends at the first that does not fit.
pub(super) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & NLA_TYPE_MASK;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

pub(super) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

pub(super) fn text(value: &[u8]) -> String {
    let text = value.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_is_read_as_it_is_written_and_a_cut_one_ends_the_list() {
        let mut bytes = attribute(TCA_KIND, b"prio\0");
        bytes.extend(attribute(40, &7u32.to_ne_bytes()));
        let read: Vec<(u16, &[u8])> = attributes(&bytes).collect();
        assert_eq!(read, [(1, &b"prio\0"[..]), (40, &7u32.to_ne_bytes()[..])]);
        assert_eq!(text(read[0].1), "prio");
        assert_eq!(attributes(&bytes[..bytes.len() - 1]).count(), 1);
        assert_eq!(attributes(&[3, 0, 1, 0]).count(), 0);
    }

    #[test]
    fn loopback_has_a_root_that_nobody_has_set() {
        let root = root(1).unwrap();
        assert!(root.is_none_or(|root| root.handle == 0));
        assert!(gso_segments(1)
            .unwrap()
            .is_some_and(|segments| segments > 0));
        assert_eq!(gso_segments(u32::MAX / 2).unwrap(), None);
    }
}
