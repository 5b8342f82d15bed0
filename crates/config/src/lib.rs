//! Weir's files: the daemon's configuration, the scenarios of the lab and the simulator, and sweeps over these.
//!
//! All are TOML with human-readable units (`"100Mbit"`, `"64KiB"`, `"20ms"`). Nothing is silently ignored: a file
//! yields a checked structure, or all of its problems, each with file, line, key, and legal values.
//!
//! Design: docs/src/internals/design/configuration.md.
#![forbid(unsafe_code)]

pub mod daemon;
mod document;
pub mod drivers;
mod entries;
pub mod files;
pub mod fraction;
pub mod frames;
mod names;
mod reader;
pub mod scenario;
pub mod settings;
pub mod sweep;
pub mod switch;
mod told;
pub mod units;

pub use document::Override;
pub use drivers::kernels;
pub use fraction::Fraction;
pub use reader::{FileError, Problem};
pub use told::told;
