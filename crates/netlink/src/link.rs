//! Rtnetlink messages about devices.

// linux/rtnetlink.h
/// Changes a device, or reports one.
pub const RTM_NEWLINK: u16 = 16;
/// Requests a device.
pub const RTM_GETLINK: u16 = 18;
/// Size of `struct ifinfomsg`, with which each of these messages begins.
pub const IFINFOMSG: usize = 16;

/// The header of a message about the device with this index.
pub fn ifinfomsg(ifindex: u32) -> Vec<u8> {
    let mut body = Vec::with_capacity(IFINFOMSG);
    body.extend([0; 4]); // family, padding, type
    body.extend(ifindex.to_ne_bytes());
    body.extend([0; 8]); // flags, change
    body
}
