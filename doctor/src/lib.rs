//! What a host and its network devices say of themselves.
#![deny(unsafe_code)]

#[allow(unsafe_code)] // the edge to the kernel: ioctl(2)
pub mod ethtool;

mod privileges;

pub use privileges::NEEDED;
