//! All integration tests of the package, in one executable.

mod book;
mod capture;
mod ipfix;
mod sflow;
