//! What a driver can do with XDP, asked by the generic netlink family `netdev` (Linux 6.3).

use std::io;

use nix::sys::socket::SockProtocol;

use super::netlink::{ask, attribute, attributes, body, u16_at, u64_at, NLMSG_HEADER};

// linux/genetlink.h, linux/netdev.h
const GENL_HEADER: usize = 4;
const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const NETDEV_CMD_DEV_GET: u8 = 1;
const NETDEV_A_DEV_IFINDEX: u16 = 1;
const NETDEV_A_DEV_XDP_FEATURES: u16 = 3;
const BASIC_AND_REDIRECT: u64 = 3;
const ZERO_COPY: u64 = 8;
const SEVERAL_BUFFERS: u64 = 32;

/// What a driver says it can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct XdpFeatures {
    /// It runs programs itself, and can redirect frames to sockets.
    pub native: bool,
    /// It can share memory with sockets.
    pub zero_copy: bool,
    /// It can receive a frame into several buffers.
    pub several_buffers: bool,
}

/// Those of the device with this index.
///
/// # Errors
///
/// What the kernel says; an older one does not know the question.
pub fn xdp_features(ifindex: u32) -> io::Result<XdpFeatures> {
    let bad = || io::Error::new(io::ErrorKind::InvalidData, "netdev: bad answer");
    let name = attribute(CTRL_ATTR_FAMILY_NAME, b"netdev\0");
    let answer = generic(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, &name)?;
    let family = find(&answer, GENL_ID_CTRL, CTRL_ATTR_FAMILY_ID, |value| {
        u16_at(value, 0)
    });
    let family = family.ok_or_else(bad)?;
    let device = attribute(NETDEV_A_DEV_IFINDEX, &ifindex.to_ne_bytes());
    let answer = generic(family, NETDEV_CMD_DEV_GET, &device)?;
    let bits = find(&answer, family, NETDEV_A_DEV_XDP_FEATURES, |value| {
        u64_at(value, 0)
    });
    let bits = bits.ok_or_else(bad)?;
    Ok(XdpFeatures {
        native: bits & BASIC_AND_REDIRECT == BASIC_AND_REDIRECT,
        zero_copy: bits & ZERO_COPY != 0,
        several_buffers: bits & SEVERAL_BUFFERS != 0,
    })
}

fn generic(family: u16, command: u8, attribute: &[u8]) -> io::Result<Vec<u8>> {
    let header = [command, 1, 0, 0]; // command, version, reserved
    ask(
        SockProtocol::NetlinkGeneric,
        family,
        &[&header, attribute].concat(),
    )
}

fn find<T>(answer: &[u8], family: u16, kind: u16, read: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
    let body = body(answer, family, NLMSG_HEADER + GENL_HEADER)?;
    let found = attributes(body).find(|(it, _)| *it == kind)?;
    read(found.1)
}

#[cfg(test)]
mod tests {
    use super::super::netlink::message;
    use super::*;

    #[test]
    fn a_feature_is_found_among_others_and_nothing_in_another_answer() {
        let all = [
            attribute(NETDEV_A_DEV_IFINDEX, &7u32.to_ne_bytes()),
            attribute(NETDEV_A_DEV_XDP_FEATURES, &11u64.to_ne_bytes()),
        ];
        let answer = message(30, &[&[1, 1, 0, 0][..], &all.concat()].concat());
        let bits = |family| find(&answer, family, NETDEV_A_DEV_XDP_FEATURES, |v| u64_at(v, 0));
        assert_eq!((bits(30), bits(31)), (Some(11), None));
    }

    /// The loopback device has no native XDP. Kernels before 6.3 do not know the family.
    #[test]
    fn the_loopback_device_runs_no_programs_itself() {
        if let Ok(features) = xdp_features(1) {
            assert!(!features.native && !features.zero_copy, "{features:?}");
        }
        assert!(xdp_features(u32::MAX >> 1).is_err());
    }
}
