//! gNMI, OpenConfig's protocol for collectors of telemetry, in its read-only part: Capabilities,
//! Get and Subscribe. Changes are refused.
//!
//! Requested paths are matched ([`path`]) against a [`tree`] that is made of the bodies of the
//! switch's own API, so that a value is the same wherever it is read. The [`service`] answers
//! requests of HTTP/2; sockets, TLS and access control are its caller's.
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
