//! LLDP, byte by byte, on random input, and compared with tshark.

mod any_bytes;
mod credits;
mod frames;
mod layout;
mod optional;
mod tshark;
