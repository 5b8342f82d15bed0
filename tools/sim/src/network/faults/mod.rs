//! Faults: actions on switches, hosts and links, and disturbances of frames on a line.

pub mod actions;
pub mod disturbance;
pub mod impairment;
