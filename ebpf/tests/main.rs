//! All integration tests of the package, in one executable: one link, and each test has a process of its own all the same.

mod attach;
mod express;
mod slots;
mod verdicts;
