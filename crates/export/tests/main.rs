//! All integration tests of the package, in one executable.

mod book;
mod sflow;
