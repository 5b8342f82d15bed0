//! All integration tests of the package, in one executable: one link, and each test has a process of its own all the same.

mod filters;
mod house;
mod times;
mod tree;
mod vm_test;
