//! Set-up of the guest: packages of Debian, and a kernel, drivers and programs out of them.

pub mod apt;
pub mod image;
pub mod packages;
pub mod programs;
