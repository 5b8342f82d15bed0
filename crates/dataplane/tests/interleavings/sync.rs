//! Synchronisation of the dataplane's threads under loom: each test runs in all orders of the threads, and every load
//! returns each value that the memory model permits.

use std::cell::Cell;
use std::mem::MaybeUninit;

use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicUsize;
pub(super) use loom::sync::atomic::{AtomicBool, Ordering};
pub(super) use loom::sync::Arc;
use loom::sync::Mutex;
pub(super) use loom::thread;

thread_local! {
    static WITHOUT_FENCES: Cell<bool> = const { Cell::new(false) };
}

/// A fence, unless this test demonstrates its effect.
pub(super) fn fence(order: Ordering) {
    if !WITHOUT_FENCES.get() {
        loom::sync::atomic::fence(order);
    }
}

/// Disables fences in this test. Its threads all run on one thread of the machine.
pub(super) fn leave_out_fences() {
    WITHOUT_FENCES.set(true);
}

/// A queue of one writer and one reader that guarantees less than crossbeam's and rtrb's: taking an element makes the
/// writer's earlier stores visible, and checking for an element orders nothing.
#[derive(Debug)]
pub(super) struct ArrayQueue<T> {
    places: Box<[UnsafeCell<MaybeUninit<T>>]>,
    written: AtomicUsize,
    taken: AtomicUsize,
}

// SAFETY: an element is accessed by its writer until it is counted as written, and then by its reader until it is counted as
// taken. Loom fails the test on concurrent access.
unsafe impl<T: Send> Sync for ArrayQueue<T> {}

impl<T: Copy> ArrayQueue<T> {
    pub(super) fn new(length: usize) -> Self {
        let places = (0..length).map(|_| UnsafeCell::new(MaybeUninit::uninit()));
        Self {
            places: places.collect(),
            written: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
        }
    }

    pub(super) fn push(&self, element: T) -> Result<(), T> {
        let at = self.written.load(Ordering::Relaxed);
        if at - self.taken.load(Ordering::Acquire) == self.places.len() {
            return Err(element);
        }
        self.places[at % self.places.len()].with_mut(|place| {
            // SAFETY: the place belongs to the writer.
            unsafe { (*place).write(element) };
        });
        self.written.store(at + 1, Ordering::Release);
        Ok(())
    }

    pub(super) fn pop(&self) -> Option<T> {
        let at = self.taken.load(Ordering::Relaxed);
        if at == self.written.load(Ordering::Acquire) {
            return None;
        }
        let element = self.places[at % self.places.len()].with(|place| {
            // SAFETY: the place belongs to the reader and was written.
            unsafe { (*place).assume_init() }
        });
        self.taken.store(at + 1, Ordering::Release);
        Some(element)
    }

    pub(super) fn len(&self) -> usize {
        self.written.load(Ordering::Relaxed) - self.taken.load(Ordering::Relaxed)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Both ends of a ring, as in rtrb. A batch is written and read element by element, which permits more orders than a single
/// store.
pub(super) struct RingBuffer;

impl RingBuffer {
    #[allow(clippy::new_ret_no_self)]
    pub(super) fn new<T: Copy>(length: usize) -> (Producer<T>, Consumer<T>) {
        let queue = Arc::new(ArrayQueue::new(length));
        (Producer(Arc::clone(&queue)), Consumer(queue))
    }
}

#[derive(Debug)]
pub(super) struct Producer<T>(Arc<ArrayQueue<T>>);

impl<T: Copy> Producer<T> {
    pub(super) fn push(&mut self, element: T) -> Result<(), T> {
        self.0.push(element)
    }

    pub(super) fn push_entire_slice(&mut self, elements: &[T]) -> Result<(), T> {
        elements.iter().try_for_each(|element| self.push(*element))
    }

    pub(super) fn slots(&self) -> usize {
        self.0.places.len() - self.0.len()
    }
}

#[derive(Debug)]
pub(super) struct Consumer<T>(Arc<ArrayQueue<T>>);

impl<T: Copy> Consumer<T> {
    pub(super) fn pop_partial_slice<'a>(
        &mut self,
        places: &'a mut [T],
    ) -> (&'a mut [T], &'a mut [T]) {
        let mut count = 0;
        while let Some(place) = places.get_mut(count) {
            let Some(element) = self.0.pop() else { break };
            *place = element;
            count += 1;
        }
        places.split_at_mut(count)
    }

    pub(super) fn slots(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Mailbox of occasional messages, unused in these tests.
#[derive(Debug)]
pub(super) struct Mailbox<T>(std::sync::Mutex<Vec<T>>);

impl<T> Mailbox<T> {
    pub(super) fn new(_: usize) -> Self {
        Self(std::sync::Mutex::new(Vec::new()))
    }

    pub(super) fn push(&self, element: T) -> Result<(), T> {
        self.0.lock().unwrap().push(element);
        Ok(())
    }

    pub(super) fn pop(&self) -> Option<T> {
        self.0.lock().unwrap().pop()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().unwrap().is_empty()
    }
}

/// Figures that no test here reads from two threads.
#[derive(Debug, Default)]
pub(super) struct AtomicCell<T>(Mutex<T>);

impl<T: Copy> AtomicCell<T> {
    pub(super) fn load(&self) -> T {
        *self.0.lock().unwrap()
    }

    pub(super) fn store(&self, value: T) {
        *self.0.lock().unwrap() = value;
    }
}
