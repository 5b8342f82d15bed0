//! Sleeping and waking with the kernel's eventfd and this machine's memory model; `tests/interleavings` checks all
//! orders.

use std::sync::Arc;

use crossbeam::queue::ArrayQueue;

use super::sleeper::Sleeper;
use super::wake::Wake;

/// Has no timeout, so a lost wakeup hangs.
#[test]
fn no_wake_is_lost() {
    const ROUNDS: u32 = 20_000;
    let queue = Arc::new(ArrayQueue::new(1));
    let mut sleeper = Sleeper::new(Wake::new().unwrap(), []);
    let waker = sleeper.waker();
    let from = Arc::clone(&queue);
    let reader = std::thread::spawn(move || {
        for expected in 0..ROUNDS {
            let got = loop {
                if let Some(got) = from.pop() {
                    break got;
                }
                sleeper.clear();
                sleeper.sleep(None, || !from.is_empty());
            };
            assert_eq!(got, expected);
        }
    });
    for number in 0..ROUNDS {
        while queue.push(number).is_err() {
            std::thread::yield_now();
        }
        waker.wake();
    }
    reader.join().unwrap();
}
