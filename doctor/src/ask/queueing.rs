//! The queueing discipline at the root of a device, by rtnetlink: what `tc qdisc` does.

use std::io;

use nix::errno::Errno;

use super::netlink::{ask_whether, attribute, attributes, body, order, text, u32_at, NLMSG_HEADER};

// linux/netlink.h
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_CREATE: u16 = 0x400;
// linux/rtnetlink.h, linux/pkt_sched.h
const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
const RTM_GETQDISC: u16 = 38;
const TCMSG: usize = 20;
const HANDLE_AT: usize = 8;
const TCA_KIND: u16 = 1;
const TC_H_ROOT: u32 = u32::MAX;
/// What a device has by default that hands on at once whatever it is given.
const KEEPS_NOTHING: &str = "noqueue";

/// The number of a discipline: what `tc` writes in front of the colon, in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number(pub u16);

/// The number of what somebody has put at the root, or of what keeps frames there by default (0); `None` where nothing keeps any.
///
/// # Errors
///
/// What the kernel says.
pub fn root(ifindex: u32) -> io::Result<Option<Number>> {
    let request = tcmsg(ifindex, Number(0));
    let parsed = |answer: Vec<u8>| parse(&answer).ok_or_else(|| io::ErrorKind::InvalidData.into());
    match ask_whether(RTM_GETQDISC, &request) {
        // Of what the kernel has made itself it says nothing, or that it is not there.
        Err(error) if is_none(&error) => Ok(None),
        answer => answer?.map_or(Ok(None), parsed),
    }
}

/// `None` for bytes that are no answer.
fn parse(answer: &[u8]) -> Option<Option<Number>> {
    let handle = u32_at(body(answer, RTM_NEWQDISC, NLMSG_HEADER)?, HANDLE_AT)?;
    let mut told = attributes(body(answer, RTM_NEWQDISC, NLMSG_HEADER + TCMSG)?);
    let kind = told.find(|(kind, _)| *kind == TCA_KIND);
    let keeps = text(kind?.1) != KEEPS_NOTHING;
    Some(keeps.then_some(Number((handle >> 16) as u16)))
}

/// Puts a first-in first-out queue at the root of a device at which there is nothing, under this number.
///
/// # Errors
///
/// What the kernel says; it knows no `pfifo` if it has no queueing disciplines at all.
pub fn add_fifo(ifindex: u32, number: Number) -> io::Result<()> {
    let mut body = tcmsg(ifindex, number);
    body.extend(attribute(TCA_KIND, b"pfifo\0"));
    order(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, &body)
}

/// Takes the discipline at the root away, if it has this number.
///
/// # Errors
///
/// What the kernel says.
pub fn remove(ifindex: u32, number: Number) -> io::Result<()> {
    order(RTM_DELQDISC, 0, &tcmsg(ifindex, number))
}

/// The head of a message on what is at the root.
fn tcmsg(ifindex: u32, number: Number) -> Vec<u8> {
    let mut body = Vec::with_capacity(TCMSG);
    body.extend([0; 4]); // family, padding
    body.extend(ifindex.to_ne_bytes());
    body.extend((u32::from(number.0) << 16).to_ne_bytes());
    body.extend(TC_H_ROOT.to_ne_bytes());
    body.extend([0; 4]); // info
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

    #[test]
    fn loopback_keeps_nothing() {
        assert_eq!(root(1).unwrap(), None);
    }

    #[test]
    fn a_device_that_is_not_there_is_an_error() {
        let error = root(u32::MAX / 2).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::ENODEV as i32), "{error}");
    }
}
