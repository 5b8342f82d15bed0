//! Maximum number of segments per GSO frame, by rtnetlink.

use std::io;

use nix::errno::Errno;
use weir_netlink::link::{ifinfomsg, IFINFOMSG, RTM_GETLINK, RTM_NEWLINK};
use weir_netlink::message::{attribute, body, find, u32_at, HEADER};
use weir_netlink::socket::{ask, order, Protocol};

// linux/if_link.h
const IFLA_GSO_MAX_SEGS: u16 = 40;

/// Returns the maximum; `None` without the device.
///
/// # Errors
///
/// The kernel's error.
pub fn gso_segments(ifindex: u32) -> io::Result<Option<u32>> {
    let answer = match ask(Protocol::NetlinkRoute, RTM_GETLINK, &ifinfomsg(ifindex)) {
        Err(error) if error.raw_os_error() == Some(Errno::ENODEV as i32) => return Ok(None),
        answer => answer?,
    };
    let attributes = body(&answer, RTM_NEWLINK, HEADER + IFINFOMSG).unwrap_or_default();
    let segments = find(attributes, IFLA_GSO_MAX_SEGS);
    Ok(segments.and_then(|value| u32_at(value, 0)))
}

/// Sets the maximum.
///
/// # Errors
///
/// The kernel's error.
pub fn set_gso_segments(ifindex: u32, segments: u32) -> io::Result<()> {
    let mut body = ifinfomsg(ifindex);
    body.extend(attribute(IFLA_GSO_MAX_SEGS, &segments.to_ne_bytes()));
    order(Protocol::NetlinkRoute, RTM_NEWLINK, 0, &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_takes_segments() {
        let segments = gso_segments(1).unwrap();
        assert!(segments.is_some_and(|segments| segments > 0));
        assert_eq!(gso_segments(u32::MAX / 2).unwrap(), None);
    }
}
