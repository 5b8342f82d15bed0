//! All integration tests of the package, in one executable: one link, and each test has a process of its own all the same.

mod credits;
mod digest;
mod express;
mod small;
mod walk;
