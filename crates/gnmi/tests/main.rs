//! All integration tests of the package, in one executable: linked once, while each test still runs in a separate
//! process.

mod book;
mod paths;
