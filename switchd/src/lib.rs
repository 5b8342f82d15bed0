//! The Weir daemon: an AF_XDP dataplane ([`weir_dataplane`]) whose thread drives [`weir_core::Switch`], and a tokio
//! control plane that never blocks it.
//!
//! Its floors; each uses only those below it (`tests/floors.rs`): [`model`] and [`os`]; the [`control`] plane; [`api`], [`metrics`], [`page`] and [`capture`], and the [`keeper`]; the [`daemon`].
//!
//! [`daemon::run`] runs one daemon from start to end. The supervisor of [`control`] connects the dataplane to everything
//! else; [`api`] and [`metrics`] only read its state. [`keeper`] is another process, for lossless restarts.
//!
//! Design: docs/src/internals/design/dataplane.md.
#![deny(unsafe_code)]
#![warn(clippy::too_many_lines)]

// When a dataplane thread panics, the daemon detaches its programs and ends. A process that aborts would leave ports
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
pub mod export;
pub mod keeper;
pub mod logging;
pub mod metrics;
pub mod model;
pub mod os;
pub mod page;
