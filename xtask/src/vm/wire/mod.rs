//! The hosts at the switch's ports. Frames are exchanged with the emulated NICs as datagrams, so that nothing in between can
//! lose, change or reorder them.

pub mod control;
pub mod end;
pub mod frame;
pub mod run;

/// Returns the MAC address of the host at port `number`.
pub fn host(number: usize) -> [u8; 6] {
    [0x02, 0x57, 0, 0, 0x05, number as u8 + 1]
}
