//! Weir's files: the daemon's configuration, the scenarios of the lab and the simulator, and sweeps over these.
//!
//! All are TOML with units written as people write them (`"100Mbit"`, `"64KiB"`, `"20ms"`). Nothing is
//! silently ignored: a file gives a checked structure, or all that is wrong with it, each complaint with
//! file, line, key, and what would be legal.
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
