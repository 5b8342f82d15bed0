//! The hosts at the switch's ports: frames go to and from the emulated NICs as datagrams, so that nothing between this test
//! and the NIC can lose, change or reorder one.

pub mod control;
pub mod end;
pub mod frame;
pub mod run;

/// The MAC address of the host at port `number`.
pub fn host(number: usize) -> [u8; 6] {
    [0x02, 0x57, 0, 0, 0x05, number as u8 + 1]
}
