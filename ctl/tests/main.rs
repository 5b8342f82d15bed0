//! All integration tests of the package in one executable, to link once; each test still has a separate process.

mod config;
mod convert;
mod daemon;
mod flight;
mod generated;
mod init;
mod pfcwd;
mod plan;
mod reload;
mod restart;
mod routes;
mod support;
mod views;
mod watermarks;
mod xdp;
