//! The polling loop: one thread that drives the switch core over the rings of all ports.
//!
//! A round looks at requests, then takes what waits in every port's RX ring, then looks at time, then
//! sends a batch by every port, then takes completions and fills up the fill rings. Neither receiving
//! nor sending can starve the other: each has its bounded share of every round.
//!
//! The share of receiving is the larger one by far. What waits in an RX ring has been charged to no buffer:
//! it pauses nobody, and when the ring is full it is lost. So at overload frames have to queue in the
//! switch, where they count against xoff.
//!
//! The thread allocates nothing for a frame, takes no lock, and does no I/O but its rings'. It spins while
//! there is work and for a moment longer, then sleeps until a frame comes, a request comes, or the switch
//! core's next timeout.

mod hand_on;
mod taps;

use std::collections::VecDeque;

use crossbeam::channel::{Receiver, Sender};
use weir_core::wire::ecn::{mark_congestion, Marking};
use weir_core::wire::ethernet::{is_link_local, EthernetView};
use weir_core::{
    Bytes, Command, DropReason, Duration, Event, Frame, FrameHandle, Instant, MacAddress, PortId,
    Priority, Switch, Transmission,
};
use weir_ebpf::FrameClass;

use super::accounts::Accounts;
use super::io::{Batch, Io, BATCH, COMPLETION_WAIT, RECEIVE_BATCHES, WHOLE_MAX};
use super::messages::{Answer, LeftFrame, PortSnapshot, Request, RoundStats, Snapshot};
use super::pool::{Chunk, Pool};
use super::tap::Taps;
use super::wake::Wake;

/// Data and control frames that one round sends by a port at most: an eighth of what it takes from a port.
const TRANSMIT_FRAMES: usize = BATCH;
/// Requests that one round takes at most.
const REQUESTS_PER_ROUND: usize = 32;
/// A sleep shorter than this costs more than it saves.
const SLEEP_MIN: Duration = Duration::from_micros(20);
/// The switch is taken for drained once nothing was admitted for this long: a neighbour that was just told to pause may still
/// have frames on their way, and may be a program that has lost its CPU before it could send them.
const DRAIN_QUIET: Duration = Duration::from_millis(50);

/// What the loop needs to know of a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortLimits {
    pub(super) address: MacAddress,
    /// Descriptors that may be with the transmitter at a time: few, so that a pause acts soon.
    pub(super) outstanding_max: usize,
}

/// The loop's ends of the queues to the control plane.
#[derive(Debug)]
pub(super) struct Queues {
    pub(super) requests: Receiver<Request>,
    pub(super) events: Sender<Event>,
    pub(super) snapshots: Sender<Box<Snapshot>>,
    pub(super) answers: Sender<Answer>,
    /// Wakes this thread.
    pub(super) wake: Wake,
    /// Tells the control plane that events, snapshots or answers are there.
    pub(super) notify: Wake,
}

/// How the loop ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    /// Frames that are still with a transmitter.
    pub(super) held_frames: u64,
    /// Those that could not leave.
    pub(super) left: Vec<LeftFrame>,
}

/// The loop and all that it owns.
#[derive(Debug)]
pub(super) struct Worker<I> {
    io: I,
    switch: Switch,
    pool: Pool,
    ports: Vec<PortState>,
    accounts: Accounts,
    queues: Queues,
    taps: Taps,
    /// Where frames of several chunks are put together for taps.
    whole: Box<[u8]>,
    clock: fn() -> Instant,
    spin: Duration,
    stats: RoundStats,
    batch: Batch,
    last_work: Instant,
    last_admitted: Instant,
    deadline: Option<Instant>,
}

/// What became of a received frame.
#[derive(Clone, Copy, Debug)]
enum Taken {
    /// The switch has it, and its chunk; it is to be marked if it can be.
    Admitted { priority: Priority, mark: bool },
    /// It is dropped and counted.
    Dropped(DropReason),
    /// It was for this switch, and has been read.
    Read,
}

#[derive(Debug)]
struct PortState {
    limits: PortLimits,
    /// Chunks that the transmitter has, oldest first; room for as many as it may have.
    outstanding: VecDeque<Chunk>,
    /// Its device is gone.
    gone: bool,
    /// Frames that the device had when it went.
    lost_with_device: u64,
}

impl PortState {
    fn new(limits: PortLimits) -> Self {
        Self {
            limits,
            outstanding: VecDeque::with_capacity(limits.outstanding_max),
            gone: false,
            lost_with_device: 0,
        }
    }

    /// The transmitter says that it is done with a chunk; false when it does not have it. It mostly is the oldest.
    fn take_completed(&mut self, chunk: Chunk) -> bool {
        let at = self.outstanding.iter().position(|known| *known == chunk);
        at.and_then(|at| self.outstanding.remove(at)).is_some()
    }
}

impl<I: Io> Worker<I> {
    /// A loop over `io`; `pool` has every chunk of its memory.
    pub(super) fn new(
        io: I,
        switch: Switch,
        pool: Pool,
        ports: Vec<PortLimits>,
        queues: Queues,
        clock: fn() -> Instant,
        spin: Duration,
    ) -> Self {
        let now = clock();
        Self {
            io,
            switch,
            accounts: Accounts::new(ports.len(), pool.count()),
            pool,
            ports: ports.into_iter().map(PortState::new).collect(),
            queues,
            taps: Taps::default(),
            whole: vec![0; WHOLE_MAX].into_boxed_slice(),
            clock,
            spin,
            stats: RoundStats::default(),
            batch: Batch::new(),
            last_work: now,
            last_admitted: now,
            deadline: None,
        }
    }

    /// Runs until a [`Request::Stop`] is done, or a thread that serves its sockets is gone.
    pub(super) fn run(mut self) -> Ended {
        let mut began = (self.clock)();
        loop {
            let busy = self.round(began);
            let now = (self.clock)();
            self.note_round(began, now, busy);
            began = now;
            // A thread that served sockets has panicked: what ends the daemon is better than ports that are dead.
            if self.is_finished(now) || !self.io.is_served() {
                let left = self.take_left(now);
                return Ended {
                    held_frames: self.switch.held_frames() as u64,
                    left,
                };
            }
            if now.saturating_since(self.last_work) >= self.spin {
                self.sleep(now);
                began = (self.clock)();
            }
        }
    }

    /// One round; true when there was anything to do.
    fn round(&mut self, now: Instant) -> bool {
        let mut busy = self.take_requests(now);
        for port in 0..self.ports.len() {
            busy |= self.receive(now, port);
        }
        if self.switch.next_timeout().is_some_and(|due| due <= now) {
            self.switch.handle_timeout(now);
        }
        self.take_discarded(now);
        for port in 0..self.ports.len() {
            busy |= self.transmit(now, port);
        }
        for port in 0..self.ports.len() {
            busy |= self.complete(now, port);
        }
        self.fill_rings();
        busy |= self.publish_events();
        busy
    }

    /// Takes back the memory of frames that the switch has dropped where they waited.
    fn take_discarded(&mut self, now: Instant) {
        while let Some(discarded) = self.switch.poll_discarded() {
            if self.taps.is_on() {
                self.show_discarded(now, &discarded);
            }
            self.accounts
                .note_given_up(discarded.handle.0, discarded.reason);
            self.give_back(discarded.handle.0);
        }
    }

    /// Puts a data frame's chunks where the free ones are.
    fn give_back(&mut self, first: Chunk) {
        let mut part = Some(first);
        while let Some(chunk) = part {
            part = self.io.next(chunk);
            if let Some(further) = part {
                self.accounts.unload_further(further);
            }
            self.pool.give_back(chunk);
        }
    }

    fn take_requests(&mut self, now: Instant) -> bool {
        let mut any = false;
        for _ in 0..REQUESTS_PER_ROUND {
            let Ok(request) = self.queues.requests.try_recv() else {
                break;
            };
            any = true;
            match request {
                Request::Command(command) => {
                    // The control plane asks again for as long as the suspicion lasts.
                    if self.switch.apply(now, command).is_err() {
                        self.stats.commands_refused += 1;
                    }
                    if let Command::DeviceGone { port } = command {
                        self.give_up_port(now, port);
                    }
                }
                Request::Ask { id, command } => self.answer(now, id, command),
                Request::Snapshot(snapshot) => self.fill_snapshot(now, snapshot),
                Request::Tap { place, tap } => self.taps.set(place, tap),
                Request::Inject(frames) => self.inject(now, frames),
                Request::Stop { drain } => {
                    let _ = self.switch.apply(now, Command::Drain);
                    self.last_admitted = now;
                    self.deadline = Some(now + drain);
                }
            }
        }
        any
    }

    fn answer(&mut self, now: Instant, id: u64, command: Command) {
        let outcome = self.switch.apply(now, command);
        self.stats.commands_refused += u64::from(outcome.is_err());
        // There is room for as many answers as requests; whoever waits is told when one is lost.
        let _ = self.queues.answers.try_send(Answer { id, outcome });
        self.queues.notify.signal();
    }

    fn receive(&mut self, now: Instant, port: usize) -> bool {
        let mut any = false;
        for _ in 0..RECEIVE_BATCHES {
            self.batch.clear();
            self.io.receive(port, &mut self.batch);
            let count = self.batch.len();
            if count == 0 {
                break;
            }
            any = true;
            self.stats.batches.observe(count as u64);
            self.take_batch(now, port);
            if count < BATCH {
                break;
            }
        }
        any
    }

    fn take_batch(&mut self, now: Instant, port: usize) {
        for at in 0..self.batch.len() {
            let Some(chunk) = self.batch.get(at) else {
                break;
            };
            self.stats.rx_frames += 1;
            self.note_parts(port, chunk);
            let taken = self.take_frame(now, port, chunk);
            if self.taps.is_on() {
                self.show_received(now, port, chunk, taken);
            }
            match taken {
                Taken::Admitted { priority, mark } => {
                    self.accounts.note_admitted(port, chunk);
                    if mark {
                        if let Some(id) = PortId::from_index(port) {
                            self.mark(id, priority, chunk);
                        }
                    }
                }
                Taken::Dropped(reason) => {
                    self.accounts.note_refused(port, reason);
                    self.give_back(chunk);
                }
                Taken::Read => {
                    self.accounts.note_read(port);
                    self.give_back(chunk);
                }
            }
        }
    }

    /// Of a frame that is longer than its first chunk.
    fn note_parts(&mut self, port: usize, first: Chunk) {
        let mut at = first;
        while let Some(further) = self.io.next(at) {
            self.accounts.note_further(port, further);
            at = further;
        }
    }

    fn take_frame(&mut self, now: Instant, port: usize, chunk: Chunk) -> Taken {
        let Some(id) = PortId::from_index(port) else {
            return Taken::Dropped(DropReason::Unclassified);
        };
        let (meta, bytes) = self.io.frame(chunk);
        let (Some(meta), Ok(ethernet)) = (meta, EthernetView::new_checked(bytes)) else {
            self.switch.count_drop(id, DropReason::Unclassified);
            return Taken::Dropped(DropReason::Unclassified);
        };
        let read = match meta.class {
            FrameClass::Data => {
                let behind = self.io.length_behind(chunk);
                let frame = Frame {
                    handle: FrameHandle(chunk),
                    length: Bytes::new((bytes.len() + behind) as u64),
                    priority: Priority::from_low_bits(meta.priority),
                    destination: ethernet.destination(),
                    source: ethernet.source(),
                    flow_hash: meta.flow_hash,
                };
                if is_link_local(frame.destination) {
                    self.switch.count_drop(id, DropReason::ReservedDestination);
                    return Taken::Dropped(DropReason::ReservedDestination);
                }
                return match self.switch.receive(now, id, frame) {
                    Ok(admitted) => {
                        self.last_admitted = now;
                        Taken::Admitted {
                            priority: frame.priority,
                            mark: admitted.mark,
                        }
                    }
                    Err(reason) => Taken::Dropped(reason),
                };
            }
            // What is wrong with them has been counted by the core.
            FrameClass::MacControl => self.switch.receive_mac_control(now, id, bytes),
            FrameClass::Clcm => self.switch.receive_clcm(now, id, bytes),
            // The XDP program gives it to the kernel: the control plane has sockets of its own.
            FrameClass::Lldp => Ok(()),
        };
        read.map_or_else(Taken::Dropped, |()| Taken::Read)
    }

    /// A frame whose transport does not know ECN stays as it is, until there is no more room for it.
    /// True when it was marked.
    fn mark(&mut self, port: PortId, priority: Priority, chunk: Chunk) -> bool {
        let mut marking = Marking::NotCapable;
        self.io
            .edit(chunk, &mut |frame| marking = mark_congestion(frame));
        let marked = marking == Marking::Marked;
        if marked {
            self.switch.count_mark(port, priority);
        }
        marked
    }

    fn transmit(&mut self, now: Instant, port: usize) -> bool {
        let Some(id) = PortId::from_index(port) else {
            return false;
        };
        if self.ports.get(port).is_none_or(|state| state.gone) {
            return false;
        }
        let mut any = false;
        for _ in 0..TRANSMIT_FRAMES {
            if !self.has_room(port) || self.pool.free_count() == 0 {
                break;
            }
            let Some(transmission) = self.switch.transmit(now, id) else {
                break;
            };
            any = true;
            self.send(now, port, id, &transmission);
        }
        self.io.flush(port);
        any
    }

    fn has_room(&self, port: usize) -> bool {
        self.ports
            .get(port)
            .is_some_and(|state| state.outstanding.len() < state.limits.outstanding_max)
    }

    fn send(&mut self, now: Instant, port: usize, id: PortId, transmission: &Transmission) {
        let mut data = None;
        let chunk = match transmission {
            Transmission::Data {
                handle,
                priority,
                mark,
                ..
            } => {
                let marked = *mark && self.mark(id, *priority, handle.0);
                data = Some((*priority, marked));
                Some(handle.0)
            }
            Transmission::Control(frame) => {
                let source = self
                    .ports
                    .get(port)
                    .map_or_else(MacAddress::default, |state| state.limits.address);
                let chunk = self.pool.take();
                if let Some(chunk) = chunk {
                    self.io
                        .write(chunk, &mut |buffer| frame.emit(source, buffer));
                    self.accounts.load_control(chunk);
                }
                chunk
            }
        };
        let Some(chunk) = chunk else { return };
        if self.taps.is_on() {
            self.show_sent(now, id, chunk, data);
        }
        if self.io.send(port, chunk) {
            self.stats.tx_frames += 1;
            match data {
                Some(_) => self.accounts.note_sent_data(port),
                None => self.accounts.note_sent_control(port),
            }
            if let Some(state) = self.ports.get_mut(port) {
                state.outstanding.push_back(chunk);
            }
        } else {
            // The ring is longer than what may be outstanding.
            debug_assert!(false, "the TX ring is full");
            self.accounts.note_not_sent(port);
            self.take_back(now, id, chunk);
        }
    }

    fn complete(&mut self, now: Instant, port: usize) -> bool {
        let Some(id) = PortId::from_index(port) else {
            return false;
        };
        self.batch.clear();
        self.io.completed(port, &mut self.batch);
        let count = self.batch.len();
        for at in 0..count {
            let Some(chunk) = self.batch.get(at) else {
                break;
            };
            // A device that is gone may still say of a frame what was said for it.
            let state = self.ports.get_mut(port);
            if state.is_some_and(|state| state.take_completed(chunk)) {
                self.accounts.note_completed(port, 1);
                self.take_back(now, id, chunk);
            }
        }
        count > 0
    }

    /// Takes back what the transmitter of a device that is gone will never say that it is done with.
    fn give_up_port(&mut self, now: Instant, id: PortId) {
        let port = id.index();
        if let Some(state) = self.ports.get_mut(port) {
            state.gone = true;
        }
        while let Some(chunk) = self.take_outstanding(port) {
            self.accounts.note_completed(port, 1);
            self.take_back(now, id, chunk);
        }
    }

    fn take_outstanding(&mut self, port: usize) -> Option<Chunk> {
        let state = self.ports.get_mut(port)?;
        let chunk = state.outstanding.pop_front()?;
        state.lost_with_device += 1;
        Some(chunk)
    }

    /// A transmitter is done with a chunk.
    fn take_back(&mut self, now: Instant, id: PortId, chunk: Chunk) {
        if self.accounts.unload_control(chunk) {
            self.pool.give_back(chunk);
        } else if let Some(handle) = self.switch.complete(now, id, FrameHandle(chunk)) {
            self.accounts.note_delivered(handle.0);
            self.give_back(handle.0);
        }
    }

    /// Tops up every fill ring, a bounded number of chunks at a time, in turns. To be called once before
    /// frames can arrive; every round does it again.
    pub(super) fn fill_rings(&mut self) {
        for port in 0..self.ports.len() {
            loop {
                let room = self.io.fill_room(port).min(BATCH);
                // Few at a time would cost a memory barrier each.
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
                self.accounts.note_lent(port, self.batch.len());
                self.io.fill(port, self.batch.as_slice());
            }
        }
    }

    fn publish_events(&mut self) -> bool {
        let mut any = false;
        while let Some(event) = self.switch.poll_event() {
            any = true;
            if self.queues.events.try_send(event).is_err() {
                self.stats.events_lost += 1;
            }
        }
        if any {
            self.queues.notify.signal();
        }
        any
    }

    fn fill_snapshot(&mut self, now: Instant, mut snapshot: Box<Snapshot>) {
        if snapshot.tables.accounts {
            // What a command of this round had dropped is neither held nor back yet.
            self.take_discarded(now);
            let outstanding = self.ports.iter().map(|state| state.outstanding.len());
            snapshot
                .accounts
                .fill(&self.accounts, &self.pool, outstanding);
        }
        snapshot.at = now;
        snapshot.held_frames = self.switch.held_frames() as u64;
        snapshot.umem_frames = self.pool.count() as u64;
        snapshot.umem_frames_free = self.pool.free_count() as u64;
        snapshot.rounds = self.stats;
        snapshot.rounds.events_lost += self.switch.events_lost();
        snapshot.level_table.fill(&self.switch);
        if snapshot.tables.routes {
            snapshot.routes.fill(&self.switch);
        }
        if snapshot.tables.flows {
            snapshot.flows.fill(now, &self.switch);
        }
        // Allocates the first time that a snapshot comes by, never again.
        snapshot
            .ports
            .resize_with(self.ports.len(), PortSnapshot::default);
        for (index, state) in snapshot.ports.iter_mut().enumerate() {
            let Some(port) = PortId::from_index(index) else {
                break;
            };
            let here = self.ports.get(index);
            state.counters = *self.switch.counters(port);
            for priority in Priority::ALL {
                state.gauges[priority.index()] = self.switch.gauges(now, port, priority);
            }
            state.watchdog = self.switch.watchdog(port);
            state.kernel = self.io.losses(index);
            state.kernel.tx_device_drops += here.map_or(0, |port| port.lost_with_device);
            state.rings = self.io.rings(index);
        }
        // The control plane has at most one snapshot on its way; were it gone, the box is dropped.
        let _ = self.queues.snapshots.try_send(snapshot);
        self.queues.notify.signal();
    }

    fn note_round(&mut self, began: Instant, now: Instant, busy: bool) {
        let took = now.saturating_since(began);
        self.stats.rounds += 1;
        if busy {
            self.stats.busy_rounds += 1;
            self.stats.round_times.observe(took.as_nanos());
            self.last_work = now;
        } else {
            self.stats.idle += took;
        }
        self.stats.round_max = self.stats.round_max.max(took);
    }

    fn is_finished(&self, now: Instant) -> bool {
        let Some(deadline) = self.deadline else {
            return false;
        };
        let empty = self.switch.held_frames() == 0 && self.outstanding() == 0;
        let quiet = now.saturating_since(self.last_admitted) >= DRAIN_QUIET;
        (empty && quiet) || now >= deadline
    }

    fn outstanding(&self) -> usize {
        self.ports.iter().map(|state| state.outstanding.len()).sum()
    }

    fn sleep(&mut self, now: Instant) {
        let mut timeout = self
            .switch
            .next_timeout()
            .map(|due| due.saturating_since(now));
        if self.outstanding() > 0 {
            // A port that could send but whose transmitter is full has a timeout in the past.
            let soonest = timeout.filter(|span| !span.is_zero());
            timeout = Some(soonest.map_or(COMPLETION_WAIT, |span| span.min(COMPLETION_WAIT)));
        }
        if self.deadline.is_some() {
            timeout = Some(timeout.map_or(DRAIN_QUIET, |span| span.min(DRAIN_QUIET)));
        }
        if timeout.is_some_and(|span| span < SLEEP_MIN) {
            return;
        }
        self.queues.wake.clear();
        if !self.queues.requests.is_empty() {
            return;
        }
        self.stats.sleeps += 1;
        self.io.wait(timeout);
        self.stats.slept += (self.clock)().saturating_since(now);
    }
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;
