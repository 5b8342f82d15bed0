//! Netlink, as far as Weir needs it: one question and its answer, orders, lists, and what several parts ask alike.
//!
//! Everything waits for the kernel, for ten seconds at most, and says what it answered. Numbers are those of this process's network
//! namespace. The kernel's answers are read as bytes from outside: what is cut or of another kind is an error, or ends a list.

#![forbid(unsafe_code)]

pub mod generic;
pub mod link;
pub mod message;
pub mod napi;
pub mod queueing;
pub mod socket;
