//! What happens next, and where: events of one place after the other, a short window of time at a time.
//!
//! What happens at one switch or host reaches another one no sooner than by the shortest line. Within a window
//! that is no longer (the lookahead of conservative parallel simulation: Chandy and Misra, IEEE TSE 1979; in
//! windows: Lubachevsky, CACM 1989) each place can therefore handle all its events before the next place
//! does: its state is fetched into the cache once for a window, not once for an event.
//!
//! At each place events happen in the order of (moment, moment at which they were pushed, place that pushed them,
//! order of pushing). That order is the same whatever the windows are: a run depends on nothing but what was
//! pushed, not on the lookahead, nor on where the caller stops between.

mod wheel;

use std::collections::BTreeMap;

use weir_core::{Duration, Instant};

use wheel::Wheel;

/// No window is longer, in nanoseconds.
const WINDOW_MAX: u64 = wheel::SLOT_COUNT as u64;

/// Windows after the present one whose events are looked at in each turn; later ones lie apart.
const NEAR_WINDOWS: u64 = 4;

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    at: u64,
    pushed_at: u64,
    /// Zero: no place.
    source: u32,
    event: T,
}

/// What waits at one place, in the order of pushing.
#[derive(Debug)]
struct Waiting<T> {
    near: Vec<Entry<T>>,
    far: Vec<Entry<T>>,
    /// The first of `far`.
    far_from: u64,
}

/// Events by place and time.
#[derive(Debug)]
pub struct Schedule<T> {
    places: Vec<Waiting<T>>,
    /// By place: the first event that waits.
    next: Vec<u64>,
    /// Events that concern all places, by moment and order of pushing. All that is earlier happens before.
    everywhere: BTreeMap<(u64, u64), T>,
    pushed_everywhere: u64,
    lookahead: u64,
    /// First moment after the window; zero while there is none.
    window_end: u64,
    /// The place whose turn it is; their number while it is nobody's.
    turn: usize,
    /// What happens at that place in the window.
    wheel: Wheel<T>,
    /// The moment of the event that was taken last.
    now: u64,
}

impl<T: Copy> Schedule<T> {
    /// Nothing yet, at the epoch. An event at one place that makes another one happen elsewhere does so
    /// `lookahead` later at least.
    pub fn new(place_count: usize, lookahead: Duration) -> Self {
        let waiting = || Waiting {
            near: Vec::new(),
            far: Vec::new(),
            far_from: u64::MAX,
        };
        Self {
            places: std::iter::repeat_with(waiting).take(place_count).collect(),
            next: vec![u64::MAX; place_count],
            everywhere: BTreeMap::new(),
            pushed_everywhere: 0,
            lookahead: lookahead.as_nanos().clamp(1, WINDOW_MAX),
            window_end: 0,
            turn: place_count,
            wheel: Wheel::new(),
            now: 0,
        }
    }

    /// `event` happens at `at` at the place of this index; at once when that is past. O(1).
    ///
    /// # Panics
    ///
    /// When another place's turn makes it happen sooner than the lookahead allows.
    #[inline]
    pub fn push(&mut self, place: u32, at: Instant, event: T) {
        let index = place as usize;
        let has_turn = self.turn < self.places.len();
        let entry = Entry {
            at: at.as_nanos().max(self.now),
            pushed_at: self.now,
            source: if has_turn { self.turn as u32 + 1 } else { 0 },
            event,
        };
        if entry.at < self.window_end {
            assert!(index == self.turn, "an event overtakes the lookahead");
            self.wheel.insert(entry);
            return;
        }
        self.next[index] = self.next[index].min(entry.at);
        let waiting = &mut self.places[index];
        let near_until = self.now + (NEAR_WINDOWS + 1) * self.lookahead;
        if entry.at < near_until {
            waiting.near.push(entry);
        } else {
            waiting.far_from = waiting.far_from.min(entry.at);
            waiting.far.push(entry);
        }
    }

    /// `event` concerns all places: at each of them it comes before what else happens at that moment.
    ///
    /// # Panics
    ///
    /// When a place pushes it into the present window.
    pub fn push_everywhere(&mut self, at: Instant, event: T) {
        let at = at.as_nanos().max(self.now);
        assert!(at >= self.window_end, "an event overtakes the lookahead");
        self.everywhere.insert((at, self.pushed_everywhere), event);
        self.pushed_everywhere += 1;
    }

    /// The next event, if it is due at `limit` or before; a limit is never below the one before. Moments go
    /// back when the turn passes to another place, by less than the lookahead.
    #[inline]
    pub fn pop_until(&mut self, limit: Instant) -> Option<(Instant, T)> {
        loop {
            if let Some((at, event)) = self.wheel.pop() {
                self.now = at;
                return Some((Instant::from_nanos(at), event));
            }
            if !self.pass_turn() && !self.open_window(limit.as_nanos()) {
                return self.pop_everywhere(limit.as_nanos());
            }
        }
    }

    /// The next place with something to do in the window has its turn; false when there is none.
    fn pass_turn(&mut self) -> bool {
        let first = (self.turn + 1).min(self.places.len());
        let end = self.window_end;
        let step = self.next[first..].iter().position(|next| *next < end);
        let Some(step) = step else {
            self.turn = self.places.len();
            self.window_end = 0;
            return false;
        };
        self.turn = first + step;
        self.next[self.turn] = self.places[self.turn].take(end, self.lookahead, &mut self.wheel);
        true
    }

    /// A window from the next event on, whose first turn is still to be passed; false when something else is
    /// to happen before, or nothing until `limit`.
    fn open_window(&mut self, limit: u64) -> bool {
        let start = self.next.iter().copied().min().unwrap_or(u64::MAX);
        let stop = self
            .everywhere
            .keys()
            .next()
            .map_or(u64::MAX, |(at, _)| *at);
        if start >= stop || start > limit {
            return false;
        }
        self.window_end = (start + self.lookahead)
            .min(stop)
            .min(limit.saturating_add(1));
        self.wheel.begin(start);
        let first = self.next.iter().position(|next| *next < self.window_end);
        self.turn = first.unwrap_or(0);
        self.next[self.turn] =
            self.places[self.turn].take(self.window_end, self.lookahead, &mut self.wheel);
        true
    }

    fn pop_everywhere(&mut self, limit: u64) -> Option<(Instant, T)> {
        let first = self.everywhere.first_entry()?;
        let at = first.key().0;
        let is_next = at <= limit && self.next.iter().all(|next| *next >= at);
        let event = is_next.then(|| first.remove())?;
        self.now = at;
        Some((Instant::from_nanos(at), event))
    }
}

impl<T: Copy> Waiting<T> {
    /// Puts what is due before `end` on the wheel; gives the moment of the first event after that.
    fn take(&mut self, end: u64, lookahead: u64, wheel: &mut Wheel<T>) -> u64 {
        if self.far_from < end + lookahead {
            self.bring_near(end + NEAR_WINDOWS * lookahead);
        }
        let mut next = self.far_from;
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
        let Self {
            near,
            far,
            far_from,
        } = self;
        *far_from = u64::MAX;
        far.retain(|entry| {
            let is_near = entry.at < until;
            if is_near {
                near.push(*entry);
            } else {
                *far_from = entry.at.min(*far_from);
            }
            !is_near
        });
    }
}

#[cfg(test)]
mod tests;
