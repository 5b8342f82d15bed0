//! Tasks of a round besides frames: memory for the kernel, reports to the control plane, and sleep.

use weir_core::event::EventKind;
use weir_core::{Duration, Event, Instant, PortId, Priority};

use super::Worker;
use crate::exchange::messages::{PortSnapshot, Snapshot};
use crate::exchange::vlan_tables::BlockedIn;
use crate::rings::io::{Io, BATCH, COMPLETION_WAIT};

/// A sleep shorter than this costs more than it saves.
pub(super) const SLEEP_MIN: Duration = Duration::from_micros(20);
/// Interval between beats; programs treat a switch as stopped after five times as long. Gates are checked at the same
/// interval.
const BEAT: Duration = Duration::from_millis(10);
/// Longest sleep. The thread is on time if it wakes up by then; a stopped process shows as a longer sleep.
pub(super) const SLEEP_MAX: Duration = Duration::from_millis(250);
/// Shortest time without housekeeping that is reported as a stall, since RX rings may overflow in such a time.
pub(super) const STALL_MIN: Duration = Duration::from_millis(500);
/// The switch counts as drained once nothing was admitted for this long. A neighbour that was just paused may still have
/// frames in flight, and may be a program that lost its CPU before sending them.
pub(super) const DRAIN_QUIET: Duration = Duration::from_millis(40);

impl<I: Io> Worker<I> {
    /// Refills every fill ring in turn, by a bounded number of chunks at a time. Call it once before frames can arrive;
    /// every round calls it again.
    pub(crate) fn fill_rings(&mut self) {
        for port in 0..self.ports.len() {
            loop {
                let room = self.io.fill_room(port).min(BATCH);
                // Small refills would cost a memory barrier each.
                if room < BATCH / 2 {
                    break;
                }
                self.batch.clear();
                for _ in 0..room {
                    let Some(chunk) = self.pool.take_for_receive() else {
                        break;
                    };
                    self.batch.push(chunk);
                }
                if self.batch.is_empty() {
                    break;
                }
                self.accounts.lend(port, self.batch.as_slice());
                self.io.fill(port, self.batch.as_slice());
            }
            // Also before the first frame: without a limit only frames with a credit would be admitted.
            if self.has_slots && self.io.keeps_slots(port) {
                self.io.settle_slots(port);
            }
        }
    }

    pub(super) fn publish_events(&mut self) -> bool {
        let mut any = false;
        while let Some(event) = self.switch.poll_event() {
            any = true;
            if self.queues.events.try_send(event).is_err() {
                self.stats.counters.events_lost += 1;
            }
        }
        if any {
            self.queues.notify.signal();
        }
        any
    }

    pub(super) fn fill_snapshot(&mut self, now: Instant, mut snapshot: Box<Snapshot>) {
        if snapshot.tables.accounts {
            // Frames dropped by a command of this round are neither held nor returned yet.
            self.take_discarded(now);
            let outstanding = self.ports.iter().map(|state| {
                let oldest = state.outstanding.front().map(|oldest| oldest.sent_at);
                (state.outstanding.len(), oldest)
            });
            snapshot
                .accounts
                .fill(&self.accounts, &self.pool, outstanding);
        }
        snapshot.at = now;
        snapshot.mirrors = self.mirroring.counters;
        let held = self.switch.held_frames();
        snapshot.held_frames = held as u64;
        snapshot.held_frames_max = std::mem::replace(&mut self.held_max, held).max(held) as u64;
        snapshot.learning_capacity = self.switch.learning_capacity() as u64;
        snapshot.umem_frames = self.pool.count() as u64;
        snapshot.umem_frames_free = self.pool.free_count() as u64;
        snapshot.rounds = self.stats;
        snapshot.rounds.counters.events_lost += self.switch.events_lost();
        snapshot.level_table.fill(&self.switch);
        if snapshot.tables.routes {
            snapshot.routes.fill(&self.switch);
        }
        let question = snapshot.tables.question;
        snapshot.explanation = question.map(|asked| {
            self.switch
                .explain_tagged(now, asked.port, &asked.frame, asked.tag)
        });
        snapshot.vlans.fill_traffic(&self.switch);
        if snapshot.tables.vlans {
            snapshot.vlans.fill(now, &self.switch);
        }
        if snapshot.tables.flows {
            snapshot.flows.fill(now, &self.switch);
        }
        // Allocates only when a snapshot is first used.
        snapshot
            .ports
            .resize_with(self.ports.len(), PortSnapshot::default);
        for (index, state) in snapshot.ports.iter_mut().enumerate() {
            let Some(port) = PortId::from_index(index) else {
                break;
            };
            state.counters = *self.switch.counters(port);
            for priority in Priority::ALL {
                state.gauges[priority.index()] = self.switch.gauges(now, port, priority);
            }
            state.watchdog = self.switch.watchdog(port);
            let config = self.switch.config().ports.get(index);
            state.pool_thresholds = config.map_or_else(Default::default, |it| it.pool_thresholds);
            state.credits = Priority::ALL.map(|priority| self.switch.credit_gauges(port, priority));
            state.credit_slots = self.ports.get(index).map_or(0, |it| it.credit_slots);
            state.cable = self.switch.cable_gauges(port);
            state.blocked = BlockedIn::of(&self.switch, port);
            state.learned = self.switch.learnt_at(port);
            state.stuck = self.ports.get(index).is_some_and(|it| it.stuck);
            state.kernel = self.losses(index);
            let book = self.accounts.of(index);
            (state.received, state.completed) = (book.received, book.completed);
            state.rings = self.io.rings(index);
            state.express = self.express.state(now, index, self.looks_on());
            self.add_express_out(index, state);
        }
        let pools = (0..).map_while(|pool| self.switch.pool_gauges(pool));
        snapshot.pools.clear();
        snapshot.pools.extend(pools);
        snapshot.markings = self.switch.config().classes.map(|class| class.ecn);
        snapshot.shares = self.switch.config().classes.map(|class| class.pool);
        // This snapshot has taken the peaks.
        self.switch.restart_peaks();
        // After the counts of sent frames, which include all received ones.
        for (index, state) in snapshot.ports.iter_mut().enumerate() {
            self.add_express_in(index, state);
        }
        // The control plane has at most one snapshot in flight; if it is gone, the box is dropped.
        let _ = self.queues.snapshots.try_send(snapshot);
        self.queues.notify.signal();
    }

    /// Adds express frames, which the core has not seen.
    fn add_express_out(&self, port: usize, state: &mut PortSnapshot) {
        let Some((words, port)) = self.express.words().zip(u8::try_from(port).ok()) else {
            return;
        };
        state.kernel.tx_redirect_total = words.lost(port);
        state.counters.express_no_room = words.no_room(port);
        for (priority, counters) in (0..).zip(&mut state.counters.priority) {
            let went = words.went_out(port, priority);
            counters.express_tx_frames = went.frames;
            counters.tx_frames += went.frames;
            counters.tx_bytes += went.bytes;
        }
    }

    fn add_express_in(&self, port: usize, state: &mut PortSnapshot) {
        let Some((words, port)) = self.express.words().zip(u8::try_from(port).ok()) else {
            return;
        };
        for (priority, counters) in (0..).zip(&mut state.counters.priority) {
            let came = words.came_in(port, priority);
            counters.express_rx_frames = came.frames;
            counters.rx_frames += came.frames;
            counters.rx_bytes += came.bytes;
        }
    }

    pub(super) fn note_round(&mut self, began: Instant, now: Instant, busy: bool) {
        let took = now.saturating_since(began);
        self.stats.counters.rounds += 1;
        if busy {
            self.stats.counters.busy_rounds += 1;
            self.stats.round_times.observe(took.as_nanos());
        } else {
            self.stats.counters.idle_nanos += took.as_nanos();
        }
        self.stats.round_max = self.stats.round_max.max(took);
        self.note_delay(now, took);
    }

    /// Records a delay of the thread.
    fn note_delay(&mut self, now: Instant, lasted: Duration) {
        self.stats.delay_max = self.stats.delay_max.max(lasted);
        if lasted < STALL_MIN {
            return;
        }
        self.stats.counters.stalls += 1;
        self.stats.counters.stall_nanos += lasted.as_nanos();
        let kind = EventKind::DataplaneStalled { lasted };
        if self
            .queues
            .events
            .try_send(Event { at: now, kind })
            .is_err()
        {
            self.stats.counters.events_lost += 1;
        }
        self.queues.notify.signal();
    }

    pub(super) fn is_finished(&self, now: Instant) -> bool {
        let Some(deadline) = self.deadline else {
            return false;
        };
        let is_sent =
            self.leaves_the_rest(now) || self.switch.held_frames() == 0 && self.is_quiet(now);
        (is_sent && !self.awaits_completions()) || now >= deadline
    }

    /// Returns true when nothing may be sent any longer, because another switch will send it and neighbours wait for
    /// that switch.
    pub(super) fn leaves_the_rest(&self, now: Instant) -> bool {
        self.hands_on && self.is_quiet(now)
    }

    /// Returns true if no more frames arrived during draining.
    fn is_quiet(&self, now: Instant) -> bool {
        now.saturating_since(self.last_admitted) >= DRAIN_QUIET
    }

    /// Returns true if some transmitter has frames that it will complete.
    pub(super) fn awaits_completions(&self) -> bool {
        let mut ports = self.ports.iter();
        ports.any(|state| !state.stuck && !state.outstanding.is_empty())
    }

    /// Sleeps, unless there is something to do soon. Returns the time at which the sleep ended.
    pub(super) fn sleep(&mut self, now: Instant) -> Instant {
        let mut timeout = self
            .switch
            .next_timeout()
            .map(|due| due.saturating_since(now));
        if self.awaits_completions() {
            // A port that could send but whose transmitter is full has a timeout in the past.
            let soonest = timeout.filter(|span| !span.is_zero());
            timeout = Some(soonest.map_or(COMPLETION_WAIT, |span| span.min(COMPLETION_WAIT)));
        }
        if let Some(due) = self.impairing.next_due() {
            let span = due.saturating_since(now);
            timeout = Some(timeout.map_or(span, |soonest| soonest.min(span)));
        }
        if let Some(due) = self.readers.wake_at() {
            let span = due.saturating_since(now);
            timeout = Some(timeout.map_or(span, |soonest| soonest.min(span)));
        }
        if self.deadline.is_some() {
            timeout = Some(timeout.map_or(DRAIN_QUIET, |span| span.min(DRAIN_QUIET)));
        }
        if self.express.is_on() {
            timeout = Some(timeout.map_or(BEAT, |span| span.min(BEAT)));
        }
        let timeout = timeout.map_or(SLEEP_MAX, |span| span.min(SLEEP_MAX));
        if timeout < SLEEP_MIN {
            return now;
        }
        self.queues.wake.clear();
        if !self.queues.requests.is_empty() {
            return now;
        }
        self.stats.counters.sleeps += 1;
        self.spin.note_sleep(now);
        self.io.wait(Some(timeout));
        let awake = (self.clock)();
        self.spin.note_awake(awake);
        self.stats.counters.sleep_nanos += awake.saturating_since(now).as_nanos();
        self.note_delay(awake, awake.saturating_since(now + timeout));
        awake
    }
}
