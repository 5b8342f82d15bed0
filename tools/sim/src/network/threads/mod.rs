//! One network on several threads, with the result of one thread.
//!
//! Each thread has a part of the network: switches, hosts, the lines that leave them, and all pending events there. All
//! threads handle the same windows (`crate::schedule`): no event in a window can affect another part within it. So threads
//! meet only between windows, where they exchange arrivals at other parts' places and agree on the next window. At each
//! place, events are sorted by (time, time of pushing, place that pushed them, order of pushing), which is independent of
//! threads; counters are summed, and logs sorted by time and switch. So a run depends neither on the number of threads nor
//! on the partition.
//!
//! Events that concern all places (faults, curves) are handled by every thread for its part, between two windows.

pub(super) mod mail;
mod meeting;
mod parts;

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use weir_core::Instant;

use super::{Imbalance, Interrupt, Network, Totals};
use mail::Letter;
use meeting::{Broken, Meeting, Membership};
use parts::Partition;

/// State of a run.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Virtual time.
    pub now: Instant,
    /// Events that were handled.
    pub events: u64,
    /// Frames of hosts inside switches and on lines.
    pub frames: u64,
    /// Result of the check that every frame is accounted for.
    pub balance: Result<(), Imbalance>,
}

/// Receives the state of a run, and may abort it.
pub type Watch<'a> = dyn FnMut(&Standing) -> ControlFlow<()> + 'a;

/// What the caller's thread asks.
struct Callbacks<'a> {
    watch: &'a mut Watch<'a>,
    interrupt: &'a mut Interrupt<'a>,
}

/// Data shared by the threads.
#[derive(Debug)]
struct Shared<'a> {
    /// Times at which the run is observed; the last is its end.
    stops: &'a [Instant],
    meeting: Meeting,
    /// Two, used alternately: a thread leaving the last meeting may still read the hand-over there, while another
    /// prepares the next. None is two meetings ahead of another.
    desks: [Desk; 2],
    /// Counters by part.
    sums: Vec<Mutex<(Totals, Imbalance)>>,
    is_over: AtomicBool,
}

/// Data handed over at a meeting.
#[derive(Debug)]
struct Desk {
    /// By part: time of its first event.
    firsts: Vec<AtomicU64>,
    /// The run ends here.
    is_interrupted: AtomicBool,
    /// By receiving part, then by sending part.
    letters: Vec<Vec<Mutex<Vec<Letter>>>>,
}

impl Desk {
    fn new(parts: usize) -> Self {
        let row = || (0..parts).map(|_| Mutex::default()).collect();
        Self {
            firsts: (0..parts).map(|_| AtomicU64::new(u64::MAX)).collect(),
            is_interrupted: AtomicBool::new(false),
            letters: (0..parts).map(|_| row()).collect(),
        }
    }
}

impl<'a> Shared<'a> {
    fn new(parts: usize, stops: &'a [Instant]) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            stops,
            meeting: Meeting::new(parts, cores),
            desks: [Desk::new(parts), Desk::new(parts)],
            sums: (0..parts).map(|_| Mutex::default()).collect(),
            is_over: AtomicBool::new(false),
        }
    }
}

impl Network {
    /// Runs until each of `stops`, which ascend, on `threads` threads, including the caller's, but at most one for each
    /// switch. At each stop `watch` receives the state of the run, and may abort it. The result is the same for any number
    /// of threads.
    ///
    /// # Errors
    ///
    /// The system starts no thread. The network is unchanged.
    ///
    /// # Panics
    ///
    /// If a thread panics, after all have ended; the network is lost.
    pub fn run_on_threads(
        &mut self,
        threads: usize,
        stops: &[Instant],
        watch: &mut Watch<'_>,
    ) -> io::Result<()> {
        let ran = self.run_interruptibly(threads, stops, watch, &mut || false);
        ran.map(|_| ())
    }

    /// As [`run_on_threads`](Self::run_on_threads), but asks `interrupt` on the caller's thread: on one thread after every few
    /// thousand events, on several before every window. False if it ended the run, perhaps between two stops.
    ///
    /// # Errors
    ///
    /// The system starts no thread. The network is unchanged.
    ///
    /// # Panics
    ///
    /// If a thread panics, after all have ended; the network is lost.
    pub(crate) fn run_interruptibly(
        &mut self,
        threads: usize,
        stops: &[Instant],
        watch: &mut Watch<'_>,
        interrupt: &mut Interrupt<'_>,
    ) -> io::Result<bool> {
        let threads = threads.min(self.nodes.len());
        if threads <= 1 {
            for stop in stops {
                if !self.run_until_interrupted(*stop, interrupt) {
                    return Ok(false);
                }
                if watch(&self.standing()).is_break() {
                    break;
                }
            }
            return Ok(true);
        }
        // Finishes a window begun before: limits never decrease.
        while let Some(at) = self.queue.pop_in_window() {
            self.happen(at, *self.queue.taken());
        }
        let partition = Partition::of(self, threads);
        let parts = self.split(&partition);
        let mut is_interrupted = false;
        let mut asked = || {
            is_interrupted = interrupt();
            is_interrupted
        };
        let callbacks = Callbacks {
            watch,
            interrupt: &mut asked,
        };
        let (parts, outcome) = run_parts(parts, stops, callbacks);
        self.join(parts, &partition);
        outcome.map(|()| !is_interrupted)
    }

    fn standing(&self) -> Standing {
        Standing {
            now: self.now,
            events: self.totals.events,
            frames: self.frames.len() as u64,
            balance: self.check_conservation(),
        }
    }

    /// Handles an event that concerns all places in this part. It counts as one event, however many threads take part.
    fn happen_everywhere(&mut self, is_first: bool) {
        if let Some(at) = self.queue.pop_everywhere() {
            let events = self.totals.events;
            self.happen(at, *self.queue.taken());
            self.totals.events = events + u64::from(is_first);
        }
    }
}

/// Runs all parts; returns them with the outcome.
fn run_parts(
    parts: Vec<Network>,
    stops: &[Instant],
    callbacks: Callbacks<'_>,
) -> (Vec<Network>, io::Result<()>) {
    let shared = &Shared::new(parts.len(), stops);
    std::thread::scope(|scope| {
        let mut others = Vec::new();
        let mut idle = Vec::new();
        let mut outcome = Ok(());
        let mut parts = parts.into_iter().enumerate();
        let first = parts.next();
        for (number, part) in parts {
            // A part comes back from its thread, or from here if there is none.
            let slot = std::sync::Arc::new(Mutex::new(Some(part)));
            let given = std::sync::Arc::clone(&slot);
            let thread = std::thread::Builder::new().name(format!("weir-sim-{number}"));
            let started = thread.spawn_scoped(scope, move || {
                let part = given
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take()?;
                Some(Member::new(shared, number, part).run(None))
            });
            match started {
                Ok(thread) => others.push((number, thread)),
                Err(error) => {
                    outcome = Err(error);
                    shared.meeting.break_up();
                    let part = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
                    idle.extend(part.map(|part| (number, part)));
                }
            }
        }
        let mut back: Vec<(usize, Network)> = idle;
        if let Some((number, part)) = first {
            back.push((
                number,
                Member::new(shared, number, part).run(Some(callbacks)),
            ));
        }
        for (number, thread) in others {
            match thread.join() {
                Ok(part) => back.extend(part.map(|part| (number, part))),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        back.sort_by_key(|(number, _)| *number);
        (back.into_iter().map(|(_, part)| part).collect(), outcome)
    })
}

/// A thread with its part.
struct Member<'a> {
    /// Dropped first if the thread panics.
    _membership: Membership<'a>,
    shared: &'a Shared<'a>,
    number: usize,
    part: Network,
    /// Index of the next desk.
    desk: usize,
}

impl<'a> Member<'a> {
    fn new(shared: &'a Shared<'a>, number: usize, part: Network) -> Self {
        Self {
            _membership: Membership(&shared.meeting),
            shared,
            number,
            part,
            desk: 0,
        }
    }

    /// Runs to the last stop, or until the meeting breaks. One member has `callbacks`, which decide.
    fn run(mut self, mut callbacks: Option<Callbacks<'_>>) -> Network {
        let shared = self.shared;
        for stop in shared.stops {
            let ended = self
                .run_until(*stop, &mut callbacks)
                .and_then(|()| self.stand(*stop, &mut callbacks));
            if ended.is_err() || shared.is_over.load(Ordering::Acquire) {
                break;
            }
        }
        self.part
    }

    fn run_until(
        &mut self,
        end: Instant,
        callbacks: &mut Option<Callbacks<'_>>,
    ) -> Result<(), Broken> {
        loop {
            if callbacks.as_mut().is_some_and(|it| (it.interrupt)()) {
                let desk = &self.shared.desks[self.desk];
                desk.is_interrupted.store(true, Ordering::Relaxed);
            }
            self.give();
            self.shared.meeting.wait()?;
            // All read the same desk: all leave here, or none.
            let is_interrupted = &self.shared.desks[self.desk].is_interrupted;
            let is_interrupted = is_interrupted.load(Ordering::Relaxed);
            let start = self.take();
            if is_interrupted {
                return Err(Broken);
            }
            if self.proceed(start, end) {
                return Ok(());
            }
        }
    }

    /// Hands over letters for others, and the time of this part's first event.
    fn give(&mut self) {
        let desk = &self.shared.desks[self.desk];
        let mut first = self.part.queue.first();
        if let Some(outbox) = &mut self.part.outbox {
            first = first.min(outbox.first());
            for (letters, there) in outbox.letters.iter_mut().zip(&desk.letters) {
                if !letters.is_empty() {
                    std::mem::swap(letters, &mut lock(&there[self.number]));
                }
            }
        }
        desk.firsts[self.number].store(first, Ordering::Relaxed);
    }

    /// After all have given: takes the letters for this part; returns the time of the first event of all.
    fn take(&mut self) -> u64 {
        let desk = &self.shared.desks[self.desk];
        self.desk = 1 - self.desk;
        for letters in &desk.letters[self.number] {
            self.part.take_in(&mut lock(letters));
        }
        let firsts = desk.firsts.iter();
        let first = firsts.map(|first| first.load(Ordering::Relaxed)).min();
        first.unwrap_or(u64::MAX)
    }

    /// Handles the window that begins with the first event of all, at `start`, or an event that concerns all places; true if
    /// neither is due until `end`. All members decide the same: each has all events that concern all places.
    fn proceed(&mut self, start: u64, end: Instant) -> bool {
        let part = &mut self.part;
        let everywhere = part.queue.first_everywhere();
        if start < everywhere && start <= end.as_nanos() {
            part.queue.open_window(start, end);
            while let Some(at) = part.queue.pop_in_window() {
                part.happen(at, *part.queue.taken());
            }
            return false;
        }
        if everywhere <= end.as_nanos() {
            part.happen_everywhere(self.number == 0);
            return false;
        }
        part.now = part.now.max(end);
        true
    }

    /// All have reached `stop`.
    fn stand(
        &mut self,
        stop: Instant,
        callbacks: &mut Option<Callbacks<'_>>,
    ) -> Result<(), Broken> {
        *lock(&self.shared.sums[self.number]) = (self.part.totals, self.part.balance());
        self.shared.meeting.wait()?;
        if let Some(Callbacks { watch, .. }) = callbacks {
            let mut totals = Totals::default();
            let mut balance = Imbalance::default();
            for sums in &self.shared.sums {
                let sums = lock(sums);
                totals.add(&sums.0);
                balance.add(sums.1);
            }
            let standing = Standing {
                now: stop,
                events: totals.events,
                frames: balance.inside,
                balance: balance.check(),
            };
            if watch(&standing).is_break() {
                self.shared.is_over.store(true, Ordering::Release);
            }
        }
        self.shared.meeting.wait()
    }
}

/// Ignores poisoning: if a member has panicked, its data are no longer needed.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
