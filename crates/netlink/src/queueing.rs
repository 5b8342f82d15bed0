//! The queueing discipline at the root of a device, over rtnetlink, as with `tc qdisc`.

use std::io;

use nix::errno::Errno;

use crate::message::{attribute, body, find, text, u32_at, HEADER};
use crate::socket::{
    ask_whether, bad_answer, order, Protocol, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE,
};

// linux/rtnetlink.h, linux/pkt_sched.h
/// Creates or changes a queueing discipline, or reports one.
pub const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
/// Requests queueing disciplines.
pub const RTM_GETQDISC: u16 = 38;
/// Size of `struct tcmsg`, with which each of these messages begins.
pub const TCMSG: usize = 20;
const HANDLE_AT: usize = 8;
/// Attribute with the name of the kind.
pub const TCA_KIND: u16 = 1;
/// Attribute with the options of the kind.
pub const TCA_OPTIONS: u16 = 2;
/// Parent of the root.
pub const TC_H_ROOT: u32 = u32::MAX;
/// Default discipline of a device without a queue.
const KEEPS_NOTHING: &str = "noqueue";

/// Queueing discipline at a device's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Name in `tc`.
    pub kind: String,
    /// Number before the colon in `tc`, in hexadecimal; 0 if the kernel created it.
    pub handle: u32,
}

/// Returns the queueing discipline at the root of a device; `None` if it has none, such as while it is down.
///
/// # Errors
///
/// The kernel's error.
pub fn root(ifindex: u32) -> io::Result<Option<Root>> {
    let answer = match ask_whether(RTM_GETQDISC, &tcmsg(ifindex, 0, TC_H_ROOT, 0)) {
        // The kernel does not report its own default without a queue, or reports that it does not exist.
        Err(error) if is_none(&error) => None,
        answer => answer?,
    };
    let parsed = answer.map(|answer| parse(&answer).ok_or_else(bad_answer));
    let root = parsed.transpose()?;
    Ok(root.filter(|root| root.kind != KEEPS_NOTHING))
}

/// Returns `None` for bytes that are not an answer.
fn parse(answer: &[u8]) -> Option<Root> {
    let handle = u32_at(body(answer, RTM_NEWQDISC, HEADER)?, HANDLE_AT)?;
    let kind = find(body(answer, RTM_NEWQDISC, HEADER + TCMSG)?, TCA_KIND)?;
    Some(Root {
        kind: text(kind),
        handle: handle >> 16,
    })
}

/// Adds a queueing discipline of this kind with this handle at the root of a device that has no configured one.
///
/// # Errors
///
/// The kernel's error; `NotFound` if it lacks the kind.
pub fn add(ifindex: u32, kind: &str, handle: u32) -> io::Result<()> {
    make(ifindex, kind, handle, NLM_F_CREATE | NLM_F_EXCL)
}

/// Replaces the existing queueing discipline; the kernel chooses the handle.
///
/// # Errors
///
/// The kernel's error.
pub fn replace(ifindex: u32, kind: &str) -> io::Result<()> {
    make(ifindex, kind, 0, NLM_F_CREATE | NLM_F_REPLACE)
}

fn make(ifindex: u32, kind: &str, handle: u32, flags: u16) -> io::Result<()> {
    let mut body = tcmsg(ifindex, handle << 16, TC_H_ROOT, 0);
    body.extend(attribute(TCA_KIND, &[kind.as_bytes(), &[0]].concat()));
    order(Protocol::NetlinkRoute, RTM_NEWQDISC, flags, &body)
}

/// Removes the queueing discipline at the root if it has this handle, or any (0); the kernel restores its default.
///
/// # Errors
///
/// The kernel's error.
pub fn remove(ifindex: u32, handle: u32) -> io::Result<()> {
    let body = tcmsg(ifindex, handle << 16, TC_H_ROOT, 0);
    order(Protocol::NetlinkRoute, RTM_DELQDISC, 0, &body)
}

/// The header of a message about a queueing discipline or a filter (`struct tcmsg`). `info`: a filter's order and
/// protocol.
pub fn tcmsg(ifindex: u32, handle: u32, parent: u32, info: u32) -> Vec<u8> {
    let mut body = vec![0; 4]; // family, padding
    for word in [ifindex, handle, parent, info] {
        body.extend(word.to_ne_bytes());
    }
    body
}

fn is_none(error: &io::Error) -> bool {
    [Errno::ENOENT, Errno::EINVAL]
        .iter()
        .any(|errno| error.raw_os_error() == Some(*errno as i32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::message;

    #[test]
    fn loopback_has_no_root_discipline() {
        assert_eq!(root(1).unwrap(), None);
    }

    #[test]
    fn a_missing_device_is_an_error() {
        let error = root(u32::MAX / 2).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::ENODEV as i32), "{error}");
    }

    #[test]
    fn cut_answers_are_refused() {
        let mut body = tcmsg(7, 0x5745_0000, TC_H_ROOT, 0);
        body.extend(attribute(TCA_KIND, b"pfifo\0"));
        let whole = message(RTM_NEWQDISC, 0, &body);
        let root = Root {
            kind: "pfifo".to_owned(),
            handle: 0x5745,
        };
        assert_eq!(parse(&whole), Some(root));
        for length in 0..whole.len() {
            assert_eq!(parse(&whole[..length]), None, "{length}");
        }
    }
}
