//! All integration tests of the package in one executable: one link, and each test still has a separate process.

mod parsers;
mod switch;
