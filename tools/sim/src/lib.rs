//! `weir-sim`: a deterministic discrete-event network of [`weir_core`] switches.
//!
//! The switches are the ones that the daemon runs, not a model of them: each is a [`weir_core::Switch`] with its
//! [`ControlPlane`](weir_core::control::ControlPlane), driven in virtual time. Control frames cross the links as the
//! bytes that a wire would carry. The same plan gives the same run on any machine.
//!
//! Design: docs/src/internals/design/simulator.md.
#![forbid(unsafe_code)]

pub mod fairness;
pub mod import;
pub mod network;
pub mod random;
pub mod reproduce;
pub mod scenario;
pub mod schedule;
pub mod search;
pub mod sweep;
mod table;
pub mod transport;
pub mod trial;
