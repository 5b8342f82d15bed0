//! Set-up of the guest: Debian packages, and the kernel, drivers and programs in them.

pub mod apt;
pub mod image;
pub mod lock;
pub mod packages;
pub mod programs;
