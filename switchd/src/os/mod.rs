//! The daemon's use of the operating system and its service manager.

pub mod device_losses;
pub mod memory;
pub mod privileges;
pub mod reader;
pub mod run_dir;
pub mod secret;
pub mod service;
pub mod stack_drops;
pub mod user;
