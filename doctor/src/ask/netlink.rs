//! One question by netlink, and its answer.

use std::io;
use std::os::fd::AsRawFd;

use nix::sys::socket::{
    recv, send, setsockopt, socket, sockopt, AddressFamily, MsgFlags, SockFlag, SockProtocol,
    SockType,
};
use nix::sys::time::TimeVal;

// linux/netlink.h
pub(super) const NLMSG_HEADER: usize = 16;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_ECHO: u16 = 8;
const NLA_TYPE_MASK: u16 = 0x3fff;
/// Netlink's own limit for one message to userspace is half of this.
const ANSWER_MAX: usize = 64 << 10;

/// Sends a request and gives the one message that answers it, with its header.
///
/// # Errors
///
/// What the kernel says.
pub(super) fn ask(protocol: SockProtocol, kind: u16, body: &[u8]) -> io::Result<Vec<u8>> {
    let answer = exchange(protocol, &message(kind, body))?;
    error_of(&answer).map_or(Ok(answer), Err)
}

/// The same of rtnetlink, for a question that the kernel answers as it tells of changes, to who asks as well (`NLM_F_ECHO`), or has
/// nothing to say to but that it has heard it: `None`.
///
/// # Errors
///
/// What the kernel says.
pub(super) fn ask_whether(kind: u16, body: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let question = with_flags(kind, NLM_F_REQUEST | NLM_F_ACK | NLM_F_ECHO, body);
    let answer = exchange(SockProtocol::NetlinkRoute, &question)?;
    match error_of(&answer) {
        Some(error) if error.raw_os_error() == Some(0) => Ok(None),
        Some(error) => Err(error),
        None => Ok(Some(answer)),
    }
}

/// Has rtnetlink do something, with these flags beside the usual ones.
///
/// # Errors
///
/// What the kernel says.
pub(super) fn order(kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
    let order = with_flags(kind, NLM_F_REQUEST | NLM_F_ACK | flags, body);
    let answer = exchange(SockProtocol::NetlinkRoute, &order)?;
    let error = error_of(&answer).filter(|error| error.raw_os_error() != Some(0));
    error.map_or(Ok(()), Err)
}

/// Sends a message and gives the one that answers it.
fn exchange(protocol: SockProtocol, message: &[u8]) -> io::Result<Vec<u8>> {
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        protocol,
    )?;
    setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::new(2, 0))?;
    send(socket.as_raw_fd(), message, MsgFlags::empty())?;
    let mut answer = vec![0u8; ANSWER_MAX];
    let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    answer.truncate(length);
    Ok(answer)
}

/// The error that a message tells; number 0 says that all went well.
fn error_of(message: &[u8]) -> Option<io::Error> {
    if u16_at(message, 4) != Some(NLMSG_ERROR) {
        return None;
    }
    // A negative number of errno.h.
    let code = u32_at(message, NLMSG_HEADER).unwrap_or(0) as i32;
    Some(io::Error::from_raw_os_error(-code))
}

/// A message of this type.
pub(super) fn message(kind: u16, body: &[u8]) -> Vec<u8> {
    with_flags(kind, NLM_F_REQUEST, body)
}

fn with_flags(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(NLMSG_HEADER + body.len());
    message.extend(((NLMSG_HEADER + body.len()) as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]); // sequence, port
    message.extend(body);
    message
}

/// What follows so many bytes of headers in an answer of this type; `None` for what is no such answer, or is cut.
pub(super) fn body(answer: &[u8], kind: u16, headers: usize) -> Option<&[u8]> {
    let length = u32_at(answer, 0)? as usize;
    let body = answer.get(headers..length)?;
    (u16_at(answer, 4)? == kind).then_some(body)
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

/// An attribute as it stands in a message.
pub(super) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The text in front of a NUL.
pub(super) fn text(value: &[u8]) -> String {
    let text = value.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}
