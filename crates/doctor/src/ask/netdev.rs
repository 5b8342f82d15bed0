//! XDP features of a driver, through the generic netlink family `netdev` (Linux 6.3).

use std::io;

use weir_netlink::generic::Family;
use weir_netlink::message::{attribute, find, u64_at};
use weir_netlink::napi::FAMILY;
use weir_netlink::socket::bad_answer;

// linux/netdev.h
const NETDEV_CMD_DEV_GET: u8 = 1;
const NETDEV_A_DEV_IFINDEX: u16 = 1;
const NETDEV_A_DEV_XDP_FEATURES: u16 = 3;
const BASIC_AND_REDIRECT: u64 = 3;
const ZERO_COPY: u64 = 8;
const SEVERAL_BUFFERS: u64 = 32;

/// Features that a driver reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct XdpFeatures {
    /// It supports native programs, and redirection of frames to sockets.
    pub native: bool,
    /// It can share memory with sockets.
    pub zero_copy: bool,
    /// It can receive a frame into several buffers.
    pub several_buffers: bool,
}

/// Returns the features of the device with this index.
///
/// # Errors
///
/// The kernel's error; an older kernel does not support the request.
pub fn xdp_features(ifindex: u32) -> io::Result<XdpFeatures> {
    let device = attribute(NETDEV_A_DEV_IFINDEX, &ifindex.to_ne_bytes());
    let answer = Family::find(FAMILY)?.ask(NETDEV_CMD_DEV_GET, &device)?;
    let bits = find(&answer, NETDEV_A_DEV_XDP_FEATURES).and_then(|value| u64_at(value, 0));
    let bits = bits.ok_or_else(bad_answer)?;
    Ok(XdpFeatures {
        native: bits & BASIC_AND_REDIRECT == BASIC_AND_REDIRECT,
        zero_copy: bits & ZERO_COPY != 0,
        several_buffers: bits & SEVERAL_BUFFERS != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loopback device has no native XDP. Kernels before 6.3 lack the family.
    #[test]
    fn the_loopback_device_runs_no_programs_itself() {
        if let Ok(features) = xdp_features(1) {
            assert!(!features.native && !features.zero_copy, "{features:?}");
        }
        assert!(xdp_features(u32::MAX >> 1).is_err());
    }
}
