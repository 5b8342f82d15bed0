//! Set-up shared by the tests. `weir-switchd` compiles the same files for its own tests.

pub mod network;
pub mod rooms;
