//! LLDP, byte by byte, on any input, and against tshark.

mod any_bytes;
mod frames;
mod layout;
mod optional;
mod tshark;
