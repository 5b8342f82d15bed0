//! Wire-to-wire benchmark: throughput without loss, goodput at overload, latency and CPU time of Weir, a bare forwarder, Open
//! vSwitch and the kernel's bridge, in one run on one machine.
//!
//! [`rounds::Plan`] selects the measurements; [`report`] makes tables and pictures. The book's page "Wire to wire" explains
//! the figures.
//!
//! Design: docs/src/internals/design/labs.md.

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
