//! Synchronisation of the dataplane's threads: the standard library's, crossbeam's, and rtrb's
//! rings of one writer and one reader.
//!
//! Users of this module are also compiled with loom's, with which a test explores all orders of threads and memory accesses
//! (`switchd/tests/interleavings/main.rs`).

pub(in crate::dataplane) use std::sync::atomic::{fence, AtomicBool, Ordering};
pub(in crate::dataplane) use std::sync::Arc;
pub(in crate::dataplane) use std::thread;

pub(in crate::dataplane) use crossbeam::atomic::AtomicCell;
/// For occasional messages of any type.
pub(in crate::dataplane) use crossbeam::queue::ArrayQueue as Mailbox;
pub(in crate::dataplane) use rtrb::{Consumer, Producer, RingBuffer};
