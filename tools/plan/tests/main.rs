//! All integration tests of the package in one executable, to link once; each test still has a separate process.

mod against_simulator;
mod capture;
mod files;
mod generated;
mod support;
