//! gNMI, the protocol of OpenConfig by which collectors of telemetry ask switches, as far as a switch shows something:
//! Capabilities, Get and Subscribe. Changes are refused.
//!
//! What is asked for is matched ([`path`]) against a [`tree`] that is made of the bodies of the switch's own API, so that a
//! value is the same wherever it is read. The [`service`] answers requests of HTTP/2; sockets, TLS and who may ask are its
//! caller's.
//!
//! Design: docs/src/internals/design/api.md.
#![forbid(unsafe_code)]

pub mod encode;
pub mod figures;
pub mod limits;
pub mod models;
pub mod path;
pub mod refusal;
pub mod service;
pub mod tree;
pub mod wire;

#[cfg(test)]
mod samples;

pub use figures::Figures;
pub use refusal::Refusal;
pub use service::{Gnmi, Source};
