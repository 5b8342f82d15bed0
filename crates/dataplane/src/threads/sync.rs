//! Synchronisation of the dataplane's threads: the standard library's, crossbeam's, and rtrb's
//! rings of one writer and one reader.
//!
//! Users of this module are also compiled with loom's, with which a test explores all orders of threads and memory accesses
//! (`crates/dataplane/tests/interleavings/main.rs`).

pub(crate) use std::sync::atomic::{fence, AtomicBool, Ordering};
pub(crate) use std::sync::Arc;
pub(crate) use std::thread;

pub(crate) use crossbeam::atomic::AtomicCell;
/// For occasional messages of any type.
pub(crate) use crossbeam::queue::ArrayQueue as Mailbox;
pub(crate) use rtrb::{Consumer, Producer, RingBuffer};
