//! Requests, commands and lists.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    recv, send, setsockopt, socket, sockopt, AddressFamily, MsgFlags, SockFlag, SockType,
};
use nix::sys::time::TimeVal;

pub use nix::sys::socket::SockProtocol as Protocol;

use crate::message::{kind, message, messages, u32_at, HEADER};

// linux/netlink.h
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_ECHO: u16 = 8;
const NLM_F_DUMP: u16 = 0x300;
/// A command replaces an existing object.
pub const NLM_F_REPLACE: u16 = 0x100;
/// A command fails if the object exists.
pub const NLM_F_EXCL: u16 = 0x200;
/// A command creates a missing object.
pub const NLM_F_CREATE: u16 = 0x400;
/// Maximum size of one message of an answer; the kernel sends at most half of it.
pub const ANSWER_MAX: usize = 64 << 10;
const PATIENCE_SECONDS: i64 = 10;

/// Opens a netlink socket.
///
/// # Errors
///
/// The kernel's error.
pub fn open(protocol: Protocol) -> io::Result<OwnedFd> {
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        protocol,
    )?;
    let patience = TimeVal::new(PATIENCE_SECONDS, 0);
    setsockopt(&socket, sockopt::ReceiveTimeout, &patience)?;
    Ok(socket)
}

/// Sends a request and returns its one answer, with its header.
///
/// # Errors
///
/// The kernel's error.
pub fn ask(protocol: Protocol, kind: u16, body: &[u8]) -> io::Result<Vec<u8>> {
    let answer = exchange(protocol, &message(kind, NLM_F_REQUEST, body))?;
    match said(&answer) {
        Some(Err(error)) => Err(error),
        _ => Ok(answer),
    }
}

/// Sends a request to rtnetlink, which the kernel either answers with a notification (`NLM_F_ECHO`), or only
/// acknowledges: `None`.
///
/// # Errors
///
/// The kernel's error.
pub fn ask_whether(kind: u16, body: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_ECHO;
    let answer = exchange(Protocol::NetlinkRoute, &message(kind, flags, body))?;
    match said(&answer) {
        Some(said) => said.map(|()| None),
        None => Ok(Some(answer)),
    }
}

/// Sends a command, with these flags in addition to the usual ones.
///
/// # Errors
///
/// The kernel's error.
pub fn order(protocol: Protocol, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
    let flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    let answer = exchange(protocol, &message(kind, flags, body))?;
    said(&answer).unwrap_or(Ok(()))
}

/// Sends a request whose answer is a list; `each` gets every message's body.
///
/// # Errors
///
/// The kernel's error.
pub fn dump(protocol: Protocol, kind: u16, body: &[u8], each: impl FnMut(&[u8])) -> io::Result<()> {
    let socket = open(protocol)?;
    dump_on(&socket, &mut vec![0u8; ANSWER_MAX], kind, body, each)
}

/// [`dump`] for repeated requests, with an existing socket and a buffer of [`ANSWER_MAX`].
///
/// # Errors
///
/// The kernel's error.
pub fn dump_on(
    socket: &OwnedFd,
    buffer: &mut [u8],
    of_kind: u16,
    body: &[u8],
    mut each: impl FnMut(&[u8]),
) -> io::Result<()> {
    let request = message(of_kind, NLM_F_REQUEST | NLM_F_DUMP, body);
    send(socket.as_raw_fd(), &request, MsgFlags::empty())?;
    loop {
        let length = recv(socket.as_raw_fd(), buffer, MsgFlags::empty())?;
        let mut all = messages(buffer.get(..length).unwrap_or_default()).peekable();
        if all.peek().is_none() {
            return Err(bad_answer());
        }
        for one in all {
            match said(one) {
                Some(said) => return said,
                None if kind(one) == Some(NLMSG_DONE) => return Ok(()),
                None => each(one.get(HEADER..).unwrap_or_default()),
            }
        }
    }
}

/// Returns the error for an unreadable answer.
pub fn bad_answer() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "netlink: bad answer")
}

fn exchange(protocol: Protocol, message: &[u8]) -> io::Result<Vec<u8>> {
    let socket = open(protocol)?;
    send(socket.as_raw_fd(), message, MsgFlags::empty())?;
    let mut answer = vec![0u8; ANSWER_MAX];
    let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    answer.truncate(length);
    Ok(answer)
}

/// Returns the result that a message reports. `None` for other messages.
fn said(message: &[u8]) -> Option<io::Result<()>> {
    if kind(message) != Some(NLMSG_ERROR) {
        return None;
    }
    // A negative number of errno.h; 0 is an acknowledgement.
    Some(match u32_at(message, HEADER).unwrap_or(0) as i32 {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code.wrapping_neg())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_errors_acknowledgements_or_neither() {
        let of = |code: i32| message(NLMSG_ERROR, 0, &code.to_ne_bytes());
        assert!(matches!(said(&of(0)), Some(Ok(()))));
        let error = said(&of(-19)).unwrap().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(19));
        assert!(said(&of(i32::MIN)).unwrap().is_err());
        assert!(said(&message(30, 0, &[0; 4])).is_none());
        assert!(said(&[]).is_none());
    }
}
