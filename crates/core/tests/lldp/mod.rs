//! LLDP, byte by byte, under any bytes whatever, and before tshark.

mod any_bytes;
mod frames;
mod layout;
mod optional;
mod tshark;
