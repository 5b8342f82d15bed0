//! All integration tests of the package in one executable, to link once; each test still has a separate process.

mod obeyed;
mod program;
mod push_back;
