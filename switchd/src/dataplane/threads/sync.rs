//! Synchronisation of the dataplane's threads: the standard library's, crossbeam's, and rtrb's
//! rings of one writer and one reader.
//!
//! Users of this module are also compiled with loom's, under which a test goes through the orders
//! in which threads can run and memory can be seen (`switchd/tests/interleavings/main.rs`).

pub(in crate::dataplane) use std::sync::atomic::{fence, AtomicBool, Ordering};
pub(in crate::dataplane) use std::sync::Arc;
pub(in crate::dataplane) use std::thread;

pub(in crate::dataplane) use crossbeam::atomic::AtomicCell;
/// For occasional objects of any kind.
pub(in crate::dataplane) use crossbeam::queue::ArrayQueue as Mailbox;
pub(in crate::dataplane) use rtrb::{Consumer, Producer, RingBuffer};
