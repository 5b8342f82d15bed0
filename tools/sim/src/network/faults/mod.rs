//! What goes wrong: what is done to switches, hosts and links, and what becomes of frames on a line.

pub mod actions;
pub mod disturbance;
pub mod impairment;
