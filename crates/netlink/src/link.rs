//! Messages on devices, by rtnetlink.

// linux/rtnetlink.h
/// Changes a device, or reports one.
pub const RTM_NEWLINK: u16 = 16;
/// Asks for a device.
pub const RTM_GETLINK: u16 = 18;
/// Bytes of `struct ifinfomsg`, which each of these messages begins with.
pub const IFINFOMSG: usize = 16;

/// The head of a message on the device with this index.
pub fn ifinfomsg(ifindex: u32) -> Vec<u8> {
    let mut body = Vec::with_capacity(IFINFOMSG);
    body.extend([0; 4]); // family, padding, type
    body.extend(ifindex.to_ne_bytes());
    body.extend([0; 8]); // flags, change
    body
}
