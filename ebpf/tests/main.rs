//! All integration tests of the package in one executable, to link once; each test still has a separate process.

mod attach;
mod express;
mod freed;
mod slots;
mod verdicts;
