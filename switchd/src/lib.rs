//! The Weir daemon: an AF_XDP dataplane thread that drives [`weir_core::Switch`], and a tokio
//! control plane that never blocks it.
//!
//! Its floors, of which each knows those below it alone (`tests/floors.rs`): [`model`] and [`os`];
//! the [`dataplane`]; the [`control`] plane; [`api`], [`metrics`], [`page`] and [`capture`], and
//! the [`keeper`]; the [`daemon`].
//!
//! [`daemon::run`] is the whole life of one daemon. The supervisor of [`control`] connects the
//! dataplane to everything else; [`api`] and [`metrics`] only read what it keeps. [`keeper`] is
//! another process, for restarts that lose nothing.
//!
//! Design: docs/src/internals/design/dataplane.md.
#![deny(unsafe_code)]
#![warn(clippy::too_many_lines)]

// A dataplane thread that panics has the daemon end, its programs detached. In a process that aborts, the ports would stay
// attached to a program without sockets.
#[cfg(not(panic = "unwind"))]
compile_error!(
    "weir-switchd detaches its XDP programs during unwinding: build it with panic = \"unwind\""
);

pub mod api;
pub mod capture;
pub mod cli;
pub mod control;
pub mod daemon;
#[allow(unsafe_code)] // the edge to the kernel: shared memory and sockets
pub mod dataplane;
pub mod export;
pub mod keeper;
pub mod logging;
pub mod metrics;
pub mod model;
pub mod os;
pub mod page;
