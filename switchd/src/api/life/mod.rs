//! Another configuration file, another program.

pub(super) mod reload;
pub(super) mod restart;
