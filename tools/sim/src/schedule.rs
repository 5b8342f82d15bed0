//! Event queue by place and time: handles the events of one place after another, in short windows of time.
//!
//! An event at one switch or host affects others no sooner than after the shortest line's delay. In a window that is no
//! longer (the lookahead of conservative parallel simulation: Chandy and Misra, IEEE TSE 1979; in windows: Lubachevsky, CACM
//! 1989) each place can therefore handle all its events before the next place does. Its state is then fetched into the
//! cache once per window, not once per event.
//!
//! At each place, events are sorted by (time, time of pushing, place that pushed them, order of pushing). That order does
//! not depend on the windows: a run depends only on the pushed events, not on the lookahead, nor on the times at which
//! the caller stops.

mod far;
mod moments;
mod wheel;

use std::collections::BTreeMap;

use weir_core::{Duration, Instant};

use crate::table::Table;
use far::Far;
use moments::Moments;
use wheel::Wheel;

/// Maximum length of a window in nanoseconds.
const WINDOW_MAX: u64 = wheel::SLOT_COUNT as u64;

/// Source of events pushed by the first place.
const FIRST_PLACE: u32 = 1 << 31;

/// The turn before that of the first place.
const NO_TURN_YET: usize = usize::MAX;

/// Number of windows after the current one whose events are examined in each turn; later events are kept apart, sorted.
const NEAR_WINDOWS: u64 = 4;

/// An event with its sort key at its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<T> {
    pub(crate) at: u64,
    pushed_at: u64,
    /// From [`FIRST_PLACE`] on: a place. Below: a step of an event that concerns all places.
    source: u32,
    pub(crate) event: T,
}

/// Pending events of one place.
#[derive(Debug)]
struct Waiting<T> {
    /// In order of pushing.
    near: Vec<Entry<T>>,
    far: Far<T>,
}

/// Events by place and time; in a part of a network only those of its places.
#[derive(Debug)]
pub struct Schedule<T> {
    places: Table<Waiting<T>>,
    /// By position in `places`: time of the first pending event.
    next: Moments,
    /// Events that concern all places, by time and order of pushing. All earlier events come first.
    everywhere: BTreeMap<(u64, u64), T>,
    pushed_everywhere: u64,
    /// Step of an event that concerns all places: events pushed in a later step come later.
    step: u32,
    lookahead: u64,
    /// First moment after the window; zero without a window.
    window_end: u64,
    /// Position of the place that has its turn; past the end if none has.
    turn: usize,
    /// Nothing of the turn has been requested yet.
    turn_is_new: bool,
    /// Events of that place in the window.
    wheel: Wheel<T>,
    /// Time of the event that was taken last.
    now: u64,
}

impl<T: Copy> Schedule<T> {
    /// Creates an empty schedule at the epoch. An event at one place may cause events elsewhere only `lookahead` later or
    /// more.
    pub fn new(place_count: usize, lookahead: Duration) -> Self {
        let waiting = || Waiting {
            near: Vec::new(),
            far: Far::new(),
        };
        Self {
            places: Table::whole(std::iter::repeat_with(waiting).take(place_count).collect()),
            next: (0..place_count).map(|_| u64::MAX).collect(),
            everywhere: BTreeMap::new(),
            pushed_everywhere: 0,
            step: 0,
            lookahead: lookahead.as_nanos().clamp(1, WINDOW_MAX),
            window_end: 0,
            turn: place_count,
            turn_is_new: false,
            wheel: Wheel::new(),
            now: 0,
        }
    }

    /// Pushes `event` for time `at` at the place with this index; at once if that is past. O(1).
    ///
    /// # Panics
    ///
    /// If another place's turn pushes it sooner than the lookahead permits.
    #[inline(always)]
    pub fn push(&mut self, place: u32, at: Instant, event: T) {
        let entry = self.entry(at, event);
        let position = self.places.position(place as usize);
        if entry.at < self.window_end {
            assert!(position == self.turn, "an event overtakes the lookahead");
            self.wheel.insert(entry);
            return;
        }
        self.add(position, entry);
    }

    /// Returns an entry to be [taken in](Self::take_in) by another part.
    ///
    /// # Panics
    ///
    /// If it is due sooner than the lookahead permits.
    pub(crate) fn entry_elsewhere(&self, at: Instant, event: T) -> Entry<T> {
        let entry = self.entry(at, event);
        assert!(
            entry.at >= self.window_end,
            "an event overtakes the lookahead"
        );
        entry
    }

    /// Adds an entry from another part, between two windows.
    pub(crate) fn take_in(&mut self, place: u32, entry: Entry<T>) {
        self.add(self.places.position(place as usize), entry);
    }

    #[inline(always)]
    fn entry(&self, at: Instant, event: T) -> Entry<T> {
        let has_turn = self.turn < self.places.len();
        Entry {
            at: at.as_nanos().max(self.now),
            pushed_at: self.now,
            source: if has_turn {
                FIRST_PLACE + self.places.index_at(self.turn)
            } else {
                self.step
            },
            event,
        }
    }

    #[inline(always)]
    fn add(&mut self, position: usize, entry: Entry<T>) {
        self.next.lower(position, entry.at);
        let waiting = self.places.at_mut(position);
        let near_until = self.now + (NEAR_WINDOWS + 1) * self.lookahead;
        if entry.at < near_until {
            waiting.near.push(entry);
        } else {
            waiting.far.push(entry);
        }
    }

    /// Pushes `event` for all places: at each it precedes other events of the same time.
    ///
    /// # Panics
    ///
    /// If a place pushes it into the current window.
    pub fn push_everywhere(&mut self, at: Instant, event: T) {
        let at = at.as_nanos().max(self.now);
        assert!(at >= self.window_end, "an event overtakes the lookahead");
        self.everywhere.insert((at, self.pushed_everywhere), event);
        self.pushed_everywhere += 1;
    }

    /// Takes the next event, if it is due at `limit` or before, and returns its time; limits never decrease. When the turn
    /// passes to another place, time goes back by less than the lookahead. The event is [taken](Self::taken).
    #[inline]
    pub fn pop_until(&mut self, limit: Instant) -> Option<Instant> {
        loop {
            let at = self.pop_in_window();
            if at.is_some() {
                return at;
            }
            let (first, everywhere) = (self.first(), self.first_everywhere());
            if first < everywhere && first <= limit.as_nanos() {
                self.open_window(first, limit);
                continue;
            }
            return if everywhere <= limit.as_nanos() {
                self.pop_everywhere()
            } else {
                None
            };
        }
    }

    /// The event that was taken last. It is lent, not returned with its time: inside an `Option` it would be split and
    /// reassembled, and the processor stalls when bytes written separately are read as a whole.
    ///
    /// # Panics
    ///
    /// If none has been taken yet.
    #[inline]
    pub fn taken(&self) -> &T {
        self.wheel.taken()
    }

    /// Takes the next event of the window; `None` at its end.
    #[inline]
    pub(crate) fn pop_in_window(&mut self) -> Option<Instant> {
        loop {
            if let Some(at) = self.wheel.pop() {
                self.now = at;
                return Some(Instant::from_nanos(at));
            }
            if !self.pass_turn() {
                return None;
            }
        }
    }

    /// Gives the turn to the next place with events in the window; false if there is none.
    fn pass_turn(&mut self) -> bool {
        let end = self.window_end;
        let before = (self.turn != NO_TURN_YET).then_some(self.turn);
        let Some(turn) = self.next.next_turn(before, end) else {
            self.turn = self.next.len();
            self.window_end = 0;
            return false;
        };
        self.turn = turn;
        let waiting = self.places.at_mut(turn);
        let later = waiting.take(end, self.lookahead, &mut self.wheel);
        self.next.put_off(turn, later);
        self.turn_is_new = true;
        true
    }

    /// Returns the place that has its turn, once for each turn.
    #[inline]
    pub(crate) fn new_turn(&mut self) -> Option<u32> {
        if !std::mem::take(&mut self.turn_is_new) {
            return None;
        }
        Some(self.places.index_at(self.turn))
    }

    /// Returns the known events of the place that has its turn.
    pub(crate) fn of_turn(&self) -> impl Iterator<Item = &T> {
        self.wheel.events()
    }

    /// Returns the time of the first pending event at a place, while no window is open. O(places / 64).
    pub(crate) fn first(&self) -> u64 {
        self.next.first()
    }

    /// Returns the time of the first event that concerns all places.
    pub(crate) fn first_everywhere(&self) -> u64 {
        let first = self.everywhere.first_key_value();
        first.map_or(u64::MAX, |((at, _), _)| *at)
    }

    /// Opens the window from `start` on, the time of the first event of all places, and before
    /// [`first_everywhere`](Self::first_everywhere).
    pub(crate) fn open_window(&mut self, start: u64, limit: Instant) {
        self.window_end = (start + self.lookahead)
            .min(self.first_everywhere())
            .min(limit.as_nanos().saturating_add(1));
        self.wheel.begin(start);
        self.turn = NO_TURN_YET;
    }

    /// Takes the first event that concerns all places, which must be the next of all.
    pub(crate) fn pop_everywhere(&mut self) -> Option<Instant> {
        let ((at, _), event) = self.everywhere.pop_first()?;
        self.now = at;
        self.begin_step();
        let at = Instant::from_nanos(at);
        self.wheel.take_at_once(self.entry(at, event));
        Some(at)
    }

    /// Begins the step of the next place in an event that concerns all places: pushes there come after earlier ones,
    /// whichever part makes them.
    pub(crate) fn begin_step(&mut self) {
        self.step += 1;
    }

    /// Changes all pending events at places, while no window is open.
    pub(crate) fn change_events(&mut self, mut change: impl FnMut(&mut T)) {
        for place in self.places.iter_mut() {
            for entry in &mut place.near {
                change(&mut entry.event);
            }
            place.far.change_events(&mut change);
        }
    }

    /// Splits a schedule without an open window by place, as given by `owner`.
    pub(crate) fn split(self, count: usize, owner: impl Fn(usize) -> usize) -> Vec<Self> {
        debug_assert!(self.window_end == 0, "a window is handled by one thread");
        let parts = self
            .places
            .split(count, |index, _| owner(index), |_, _| None);
        let part = |places: Table<Waiting<T>>| Self {
            next: (0..places.len())
                .map(|position| self.next.at(places.index_at(position) as usize))
                .collect(),
            turn: places.len(),
            turn_is_new: false,
            places,
            everywhere: self.everywhere.clone(),
            pushed_everywhere: self.pushed_everywhere,
            step: self.step,
            lookahead: self.lookahead,
            window_end: 0,
            wheel: Wheel::new(),
            now: self.now,
        };
        parts.into_iter().map(part).collect()
    }

    pub(crate) fn join(parts: Vec<Self>, owner: impl Fn(usize) -> usize) -> Self {
        let mut whole = Self::new(0, Duration::ZERO);
        let mut places = Vec::with_capacity(parts.len());
        for part in parts {
            whole.lookahead = part.lookahead;
            whole.now = whole.now.max(part.now);
            whole.everywhere = part.everywhere;
            whole.pushed_everywhere = part.pushed_everywhere;
            whole.step = part.step;
            places.push(part.places);
        }
        whole.places = Table::join(places, |index, _| owner(index), |_, _| {});
        whole.next = whole.places.iter().map(Waiting::first).collect();
        whole.turn = whole.next.len();
        whole
    }
}

impl<T: Copy> Waiting<T> {
    fn first(&self) -> u64 {
        let near = self.near.iter().map(|entry| entry.at).min();
        near.map_or(self.far.first(), |near| near.min(self.far.first()))
    }

    /// Puts events before `end` on the wheel; returns the time of the first later event.
    fn take(&mut self, end: u64, lookahead: u64, wheel: &mut Wheel<T>) -> u64 {
        if self.far.first() < end + lookahead {
            self.bring_near(end + NEAR_WINDOWS * lookahead);
        }
        let mut next = self.far.first();
        self.near.retain(|entry| {
            let is_due = entry.at < end;
            if is_due {
                wheel.insert(*entry);
            } else {
                next = next.min(entry.at);
            }
            !is_due
        });
        next
    }

    #[cold]
    fn bring_near(&mut self, until: u64) {
        while let Some(entry) = self.far.take_before(until) {
            self.near.push(entry);
        }
    }
}

#[cfg(test)]
mod tests;
