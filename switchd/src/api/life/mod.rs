//! Life cycle: reload of the configuration, restart of the program.

pub(super) mod reload;
pub(super) mod restart;
