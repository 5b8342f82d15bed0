//! All integration tests of the package, in one executable: one link, and each test has a process of its own all the same.

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
