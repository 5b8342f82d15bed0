//! All integration tests of the package in one executable, to link once; each test still has a separate process.

mod express;
mod express_path;
mod floors;
mod ports;
mod support;
mod veth;
