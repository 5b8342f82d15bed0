//! All integration tests of the package in one executable, to link once; each test still has a separate process.

mod filters;
mod house;
mod times;
mod tree;
mod vm_test;
