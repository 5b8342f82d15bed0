//! What the dataplane's threads share things with: the standard library's and crossbeam's.
//!
//! Whoever uses it from here is also compiled with loom's, under which a test goes through the orders in which threads can
//! run and memory can be seen (`switchd/tests/interleavings.rs`).

pub(super) use std::sync::atomic::{fence, AtomicBool, Ordering};
pub(super) use std::sync::Arc;
pub(super) use std::thread;

pub(super) use crossbeam::atomic::AtomicCell;
pub(super) use crossbeam::queue::ArrayQueue;
