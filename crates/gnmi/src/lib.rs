//! gNMI, OpenConfig's protocol for collectors of telemetry: Capabilities, Get and Subscribe. Set is refused.
//!
//! A request's paths ([`path`]) are matched against a [`tree`] made from the bodies of the switch's own API, so that
//! values are the same in both. The [`service`] answers HTTP/2 requests; its caller handles sockets, TLS and
//! authorisation.
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
