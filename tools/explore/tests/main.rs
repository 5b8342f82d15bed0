//! All integration tests of the package in one executable, to link once; each test still has a separate process.

mod credits;
mod digest;
mod express;
mod small;
mod walk;
