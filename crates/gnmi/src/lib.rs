//! gNMI, OpenConfig's protocol for collectors of telemetry: Capabilities, Get and Subscribe. Changes are refused.
//!
//! A request's paths ([`path`]) are matched against a [`tree`] made of the bodies of the switch's own API, so that a value is
//! the same in both. The [`service`] answers requests of HTTP/2; its caller handles sockets, TLS and authorisation.
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
