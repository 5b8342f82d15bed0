//! `weir-host`: a Linux host that obeys PFC and PAUSE in software.
//!
//! Design: docs/src/internals/design/hosts.md.
#![deny(unsafe_code)]

pub mod attach;
pub mod cli;
pub mod device;
mod error;
pub mod kernel;
pub mod measure;
pub mod plug;
pub mod push_back;
mod run;
pub mod settings;
pub mod state;
pub mod status;

pub use error::Error;
pub use run::run;
