//! What a host and its network devices say of themselves, and what of it is wrong for a switch.
#![deny(unsafe_code)]
#![warn(clippy::too_many_lines)]

pub mod ask;
pub mod facts;
mod privileges;

pub use ask::{ethtool, link};
pub use privileges::NEEDED;
