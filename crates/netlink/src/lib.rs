//! A small netlink client: requests with one answer, commands, lists, and the queries that several packages share.
//!
//! Every call waits for the kernel, for at most ten seconds, and returns its answer. Numbers are those of this
//! process's network namespace. The kernel's answers are parsed as untrusted bytes: a truncated message, or one of
//! another type, is an error, or ends a list.

#![forbid(unsafe_code)]

pub mod generic;
pub mod link;
pub mod message;
pub mod napi;
pub mod queueing;
pub mod socket;
