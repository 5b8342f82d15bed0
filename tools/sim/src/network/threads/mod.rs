//! One network on several threads, with the results of one.
//!
//! Each thread has a part of the network: switches, hosts, the lines that leave them, and what waits there. All threads
//! handle the same windows (`crate::schedule`): in a window nothing that happens in one part can reach another, so
//! they meet only between windows, where they exchange what has left for places of others and agree on the next window.
//! At each place events come in the order of (moment, moment at which they were pushed, place that pushed them, order of
//! pushing), which is the same whoever handled them; what is counted is summed, and what is told is sorted by moment
//! and switch. So a run depends neither on the number of threads nor on which part has which place.
//!
//! What concerns all places (faults, curves) every thread does to its own part, between two windows.

pub(super) mod mail;
mod meeting;
mod parts;

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use weir_core::Instant;

use super::{Imbalance, Network, Totals};
use mail::Letter;
use meeting::{Broken, Meeting, Membership};
use parts::Partition;

/// How a run stands.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Virtual time.
    pub now: Instant,
    /// Events that were handled.
    pub events: u64,
    /// Frames of hosts inside switches and on lines.
    pub frames: u64,
    /// Whether every frame is accounted for.
    pub balance: Result<(), Imbalance>,
}

/// Is told how a run stands, and may break it off.
pub type Watch<'a> = dyn FnMut(&Standing) -> ControlFlow<()> + 'a;

/// What the threads share.
#[derive(Debug)]
struct Shared<'a> {
    /// Moments at which somebody looks how the run stands, the last one its end.
    stops: &'a [Instant],
    meeting: Meeting,
    /// Two, for meetings in turns: who is about to leave the last one may still read what was laid out there, while
    /// another one lays out the next. None is two meetings ahead of another.
    desks: [Desk; 2],
    /// By part: what it has counted.
    sums: Vec<Mutex<(Totals, Imbalance)>>,
    is_over: AtomicBool,
}

/// What is laid out at a meeting.
#[derive(Debug)]
struct Desk {
    /// By part: the moment of its first event.
    firsts: Vec<AtomicU64>,
    /// By receiving part, by sending part.
    letters: Vec<Vec<Mutex<Vec<Letter>>>>,
}

impl Desk {
    fn new(parts: usize) -> Self {
        let row = || (0..parts).map(|_| Mutex::default()).collect();
        Self {
            firsts: (0..parts).map(|_| AtomicU64::new(u64::MAX)).collect(),
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
    /// Runs until each of `stops`, which rise, on `threads` threads, the caller's among them; there are no more of them
    /// than switches. At each stop `watch` is told how the run stands, and may break it off. Whatever the
    /// number of threads, the network is afterwards the same.
    ///
    /// # Errors
    ///
    /// The system starts no thread. The network has not moved.
    ///
    /// # Panics
    ///
    /// When a thread panics, after all of them have ended; the network is lost.
    pub fn run_on_threads(
        &mut self,
        threads: usize,
        stops: &[Instant],
        watch: &mut Watch<'_>,
    ) -> io::Result<()> {
        let threads = threads.min(self.nodes.len());
        if threads <= 1 {
            for stop in stops {
                self.run_until(*stop);
                if watch(&self.standing()).is_break() {
                    break;
                }
            }
            return Ok(());
        }
        // A window that was begun before is finished here: a limit is never below the one before.
        while let Some(at) = self.queue.pop_in_window() {
            self.happen(at, *self.queue.taken());
        }
        let partition = Partition::of(self, threads);
        let parts = self.split(&partition);
        let (parts, outcome) = run_parts(parts, stops, watch);
        self.join(parts, &partition);
        outcome
    }

    fn standing(&self) -> Standing {
        Standing {
            now: self.now,
            events: self.totals.events,
            frames: self.frames.len() as u64,
            balance: self.check_conservation(),
        }
    }

    /// Handles what concerns all places, in this part. It is one event, however many threads have a part in it.
    fn happen_everywhere(&mut self, is_first: bool) {
        if let Some(at) = self.queue.pop_everywhere() {
            let events = self.totals.events;
            self.happen(at, *self.queue.taken());
            self.totals.events = events + u64::from(is_first);
        }
    }
}

/// Runs all parts; gives them back with what became of it.
fn run_parts(
    parts: Vec<Network>,
    stops: &[Instant],
    watch: &mut Watch<'_>,
) -> (Vec<Network>, io::Result<()>) {
    let shared = &Shared::new(parts.len(), stops);
    std::thread::scope(|scope| {
        let mut others = Vec::new();
        let mut idle = Vec::new();
        let mut outcome = Ok(());
        let mut parts = parts.into_iter().enumerate();
        let first = parts.next();
        for (number, part) in parts {
            // A part comes back from its thread, or from here when there is none.
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
            back.push((number, Member::new(shared, number, part).run(Some(watch))));
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
    /// The first to go when the thread panics.
    _membership: Membership<'a>,
    shared: &'a Shared<'a>,
    number: usize,
    part: Network,
    /// Which of the two desks is next.
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

    /// To the last stop, or until the meeting breaks up. One member is told what to do at stops.
    fn run(mut self, mut watch: Option<&mut Watch<'_>>) -> Network {
        let shared = self.shared;
        for stop in shared.stops {
            let ended = self.run_until(*stop).and_then(|()| {
                self.stand(*stop, &mut watch)?;
                Ok(())
            });
            if ended.is_err() || shared.is_over.load(Ordering::Acquire) {
                break;
            }
        }
        self.part
    }

    fn run_until(&mut self, end: Instant) -> Result<(), Broken> {
        loop {
            self.give();
            self.shared.meeting.wait()?;
            let start = self.take();
            if self.proceed(start, end) {
                return Ok(());
            }
        }
    }

    /// Lays out what is for others, and the moment of the first event that this part knows of.
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

    /// All have given: takes what is for this part; gives the moment of the first event of all.
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

    /// Handles the window that begins with the first event of all, at `start`, or what concerns all places; true when
    /// neither is due until `end`. All members come to the same conclusion: each knows what concerns all places.
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

    /// All have come to `stop`.
    fn stand(&mut self, stop: Instant, watch: &mut Option<&mut Watch<'_>>) -> Result<(), Broken> {
        *lock(&self.shared.sums[self.number]) = (self.part.totals, self.part.balance());
        self.shared.meeting.wait()?;
        if let Some(watch) = watch {
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

/// Of a member that panics nobody needs anything any more.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
