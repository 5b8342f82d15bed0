//! Waiting and passing of descriptors between the dataplane's threads, checked by loom in all orders of threads and memory
//! accesses. The tested files are the daemon's own, compiled with loom's atomics. A lost wakeup is a thread that sleeps
//! forever, which loom detects.
//!
//! `LOOM_MAX_PREEMPTIONS` and the other variables of loom extend the search beyond the defaults.

#[path = "../../src/threads/doorway.rs"]
#[allow(dead_code)]
mod doorway;
#[path = "../../src/threads/hand_over.rs"]
#[allow(dead_code)]
mod hand_over;
#[path = "../../src/rings/lane.rs"]
#[allow(dead_code)]
mod lane;
#[path = "../../src/threads/sleeper.rs"]
mod sleeper;
#[path = "../../src/threads/socket_worker.rs"]
#[allow(dead_code)]
mod socket_worker;
mod sync;
mod wake;

use std::sync::atomic::{AtomicUsize, Ordering};

use loom::model::Builder;
use loom::thread;
use weir_core::{Duration, Instant};
use xsk_rs::FrameDesc;

use hand_over::{hand_over, CoreSide};
use lane::Lane;
use messages::{KernelLosses, Rings};
use sleeper::Sleeper;
use socket_worker::{SocketDoorway, SocketWorker, SocketWorkers};
use sync::{Arc, ArrayQueue};
use wake::Wake;

/// Smaller than the daemon's, so that few descriptors exceed a batch.
mod io {
    use weir_core::Duration;

    pub(super) const BATCH: usize = 2;
    pub(super) const RECEIVE_BATCHES: usize = 1;
    pub(super) const COMPLETION_WAIT: Duration = Duration::from_micros(200);
}

mod messages {
    pub(super) use weir_dataplane::messages::{KernelLosses, Rings};
}

const RING: usize = 2;
/// Maximum number of preemptions. More find nothing further in programs this small, and take longer.
const PREEMPTIONS: usize = 3;

fn in_every_order(test: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound.get_or_insert(PREEMPTIONS);
    let orders = std::sync::Arc::new(AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&orders);
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        test();
    });
    eprintln!("{} orders", orders.load(Ordering::Relaxed));
}

/// A device that immediately receives a frame into each chunk, and immediately sends.
#[derive(Debug, Default)]
struct Loopback {
    filled: Vec<FrameDesc>,
    sent: Vec<FrameDesc>,
    given: Vec<FrameDesc>,
}

impl Lane for Loopback {
    fn receive(&mut self, most: usize) -> &[FrameDesc] {
        let count = self.filled.len().min(most);
        self.given = self.filled.drain(..count).collect();
        &self.given
    }

    fn received_waiting(&mut self) -> usize {
        self.filled.len()
    }

    fn send(&mut self, frame: FrameDesc) -> bool {
        self.sent.push(frame);
        true
    }

    fn flush(&mut self) {}

    fn completed(&mut self) -> &[FrameDesc] {
        self.given = std::mem::take(&mut self.sent);
        &self.given
    }

    fn fill_room(&mut self) -> usize {
        RING - self.filled.len()
    }

    fn fill(&mut self, chunks: &[FrameDesc]) {
        self.filled.extend(chunks);
    }

    fn losses(&self) -> KernelLosses {
        KernelLosses::default()
    }

    fn rings(&mut self) -> Rings {
        Rings::default()
    }
}

struct Core {
    sleeper: Sleeper,
    wake: Wake,
}

impl Core {
    fn new() -> Self {
        let wake = Wake::new().unwrap();
        Self {
            sleeper: Sleeper::new(wake.clone(), []),
            wake,
        }
    }

    /// Like `Worker::sleep`.
    fn sleep(&mut self, has_requests: impl Fn() -> bool, lane: &CoreSide) {
        self.wake.clear();
        if !has_requests() {
            self.sleeper.sleep(None, || lane.has_news());
        }
    }
}

fn clock() -> Instant {
    Instant::ZERO
}

fn served(core: &Core) -> (SocketWorkers, CoreSide) {
    let sleeper = Sleeper::new(Wake::new().unwrap(), []);
    let (lane, side) = hand_over(Loopback::default(), RING, RING, sleeper.waker());
    let worker = SocketWorker {
        sockets: vec![(0, side)],
        sleeper,
        doorway: SocketDoorway::default(),
        core: core.sleeper.waker(),
        clock,
        spin: Duration::ZERO,
    };
    let mut workers = SocketWorkers::default();
    workers.start(worker, || ()).unwrap();
    (workers, lane)
}

/// One thread sleeps while two add work.
fn work_from_two_threads() {
    let mut sleeper = Sleeper::new(Wake::new().unwrap(), []);
    let queues: Vec<_> = (0..2).map(|_| Arc::new(ArrayQueue::new(1))).collect();
    let writers: Vec<_> = queues
        .iter()
        .map(|queue| {
            let (queue, waker) = (Arc::clone(queue), sleeper.waker());
            thread::spawn(move || {
                queue.push(()).unwrap();
                waker.wake();
            })
        })
        .collect();
    let mut left = queues.len();
    while left > 0 {
        left -= queues.iter().filter_map(|queue| queue.pop()).count();
        if left > 0 {
            sleeper.clear();
            sleeper.sleep(None, || queues.iter().any(|queue| !queue.is_empty()));
        }
    }
    for writer in writers {
        writer.join().unwrap();
    }
}

#[test]
fn no_wake_is_lost() {
    in_every_order(work_from_two_threads);
}

/// Proves that these tests can fail: without fences the tested code would sometimes hang.
#[test]
#[should_panic(expected = "deadlock")]
fn without_fences_a_wake_is_lost() {
    sync::leave_out_fences();
    in_every_order(work_from_two_threads);
}

/// Chunks to receive into return filled and frames to send return completed, in any order of sleeps.
#[test]
fn what_is_handed_over_comes_back() {
    in_every_order(|| {
        let mut core = Core::new();
        let (workers, mut lane) = served(&core);
        lane.fill(&[FrameDesc::default()]);
        assert!(lane.send(FrameDesc::default()));
        lane.flush();
        let (mut received, mut completed) = (0, 0);
        loop {
            received += lane.receive(io::BATCH).len();
            completed += lane.completed().len();
            if received == 1 && completed == 1 {
                break;
            }
            assert!(lane.is_served());
            core.sleep(|| false, &lane);
        }
        assert_eq!(lane.fill_room(), RING);
        workers.stop().unwrap();
        assert!(!lane.is_served());
    });
}

/// A core about to sleep notices a thread that ends, as after a panic.
#[test]
fn the_end_of_a_thread_is_noticed() {
    in_every_order(|| {
        let mut core = Core::new();
        let (workers, lane) = served(&core);
        let ender = thread::spawn(move || workers.stop().unwrap());
        while lane.is_served() {
            core.sleep(|| false, &lane);
        }
        ender.join().unwrap();
    });
}

/// The control plane's requests use another channel, with one signal each.
#[test]
fn no_request_is_slept_through() {
    in_every_order(|| {
        let mut core = Core::new();
        let wakes = Sleeper::new(Wake::new().unwrap(), []);
        let (lane, side) = hand_over(Loopback::default(), RING, RING, wakes.waker());
        let requests = Arc::new(ArrayQueue::new(2));
        let (to_core, wake) = (Arc::clone(&requests), core.wake.clone());
        let control = thread::spawn(move || {
            for request in 0..2 {
                to_core.push(request).unwrap();
                wake.signal();
            }
        });
        for expected in 0..2 {
            let request = loop {
                match requests.pop() {
                    Some(request) => break request,
                    None => core.sleep(|| !requests.is_empty(), &lane),
                }
            };
            assert_eq!(request, expected);
        }
        control.join().unwrap();
        drop(side);
    });
}
