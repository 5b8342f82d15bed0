//! Runs a scenario with real frames: every switch is a daemon, every host an endpoint or an ordinary kernel, each in a
//! separate network namespace.

pub mod applications;
pub mod balance;
pub mod configuration;
pub mod faults;
pub mod interrupt;
pub mod kernel;
pub mod measure;
pub mod names;
pub mod placement;
pub mod process;
pub mod run;
pub mod stage;
pub mod switches;
pub mod topology;
