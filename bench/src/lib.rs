//! Weir wire to wire: how many frames a second go through it without loss, what is left at
//! overload, how long a frame is on its way and what it costs, side by side with a bare forwarder,
//! Open vSwitch and the kernel's bridge, in one run on one machine.
//!
//! [`rounds::Plan`] selects the measurements; [`report`] makes tables and pictures of it. The
//! book's page "Wire to wire" explains the figures.

pub mod cpu;
pub mod forwarder;
pub mod frame;
pub mod histogram;
pub mod measure;
pub mod programs;
pub mod report;
pub mod rounds;
pub mod sender;
pub mod stage;
pub mod system;
pub mod xsk;
