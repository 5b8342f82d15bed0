//! Netlink, as far as Weir needs it: a request and its answer, commands, lists, and common requests
//! of several parts.
//!
//! All functions wait for the kernel, for ten seconds at most, and return its answer. Numbers are
//! those of this process's network namespace. The kernel's answers are read as bytes from outside:
//! a truncated answer or one of another kind is an error, or ends a list.

#![forbid(unsafe_code)]

pub mod generic;
pub mod link;
pub mod message;
pub mod napi;
pub mod queueing;
pub mod socket;
