//! The polling loop: one thread that drives the switch core over the rings of all ports.
//!
//! A round handles requests, receives from every port's RX ring, handles timers, sends a batch on every port that has
//! frames, then takes completions and refills the fill rings. Receiving and sending cannot starve each other, since each has
//! a bounded share of every round.
//!
//! Receiving has by far the larger share. Frames in an RX ring are charged to no buffer: they pause no neighbour, and are
//! lost when the ring is full. At overload, frames therefore have to queue in the switch, where they count towards xoff.
//! While the rings are nearly empty both shares are small, so that a frame does not wait for a batch of others.
//!
//! The thread allocates nothing per frame, takes no lock, and does no I/O except on its rings. It [spins](spin) while there
//! is work and for a moment longer, then sleeps until a frame, a request or the switch core's next timeout.

mod express;
mod hand_on;
mod housekeeping;
mod impair;
mod mirrors;
mod parting;
mod receive;
mod send;
mod slots;
mod spin;
mod stations;
mod taps;
mod turns;
mod vlans;

use std::collections::VecDeque;
use std::sync::Arc;

use crossbeam::channel::{Receiver, Sender};
use weir_api::words::Express as State;
use weir_core::{
    Bytes, Command, CommandError, DropReason, Duration, Event, Instant, MacAddress, PortId,
    Priority, Switch,
};

use crate::exchange::accounts::Accounts;
use crate::exchange::express::ExpressParts;
use crate::exchange::messages::{Answer, KernelLosses, LeftFrame, Request, RoundStats, Snapshot};
use crate::exchange::series::Readers;
use crate::exchange::stations::Stations;
use crate::exchange::tap::{Fate, Taps};
use crate::memory::pool::{Chunk, Pool};
use crate::rings::io::{Batch, Io, WHOLE_MAX};
use crate::threads::wake::Wake;
use express::Express;
use impair::Impairing;
use mirrors::Mirroring;
use spin::Spin;
use turns::Turns;

/// Maximum number of requests per round.
const REQUESTS_PER_ROUND: usize = 32;

/// Minimum frame length without the FCS; shorter frames are padded.
const FRAME_MIN: Bytes = Bytes::new(60);
/// A device that has frames to send and completes none for this long is stuck. Longer than any frame takes, and than a link
/// partner may pause it in hardware between two refreshes at a rate that carries traffic.
const COMPLETION_STALL: Duration = Duration::from_secs(1);
/// FCS, preamble, start delimiter and interpacket gap.
const LINE_OVERHEAD: Bytes = Bytes::new(4 + 8 + 12);

/// The loop's settings of a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortLimits {
    pub(super) address: MacAddress,
    /// True if received checksums may be unfinished: the device is virtual, with a kernel at its other end.
    pub(super) finishes: bool,
    /// Maximum number of frames held by the transmitter.
    pub(super) outstanding_max: usize,
    /// Maximum number of bytes held by the transmitter, as counted on the line; few, so that a pause acts soon.
    pub(super) outstanding_bytes: Bytes,
}

/// The loop's ends of the queues to the control plane.
#[derive(Debug)]
pub(super) struct Queues {
    pub(super) requests: Receiver<Request>,
    pub(super) events: Sender<Event>,
    pub(super) snapshots: Sender<Box<Snapshot>>,
    pub(super) answers: Sender<Answer>,
    pub(super) wake: Wake,
    /// Signals the control plane that events, snapshots or answers are available.
    pub(super) notify: Wake,
}

/// Result of the loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    /// Frames still held by a transmitter.
    pub(super) held_frames: u64,
    /// Frames that could not be sent.
    pub(super) left: Vec<LeftFrame>,
    /// Frames of lossy classes received during draining.
    pub(super) refused: u64,
}

/// The polling loop.
#[derive(Debug)]
pub(super) struct Worker<I> {
    io: I,
    switch: Switch,
    pool: Pool,
    ports: Vec<PortState>,
    accounts: Accounts,
    queues: Queues,
    taps: Taps,
    readers: Readers,
    /// Stations whose addresses may be requested.
    stations: Arc<Stations>,
    /// With VLANs: the form of the last received frame, and chunks that hold copies.
    forms: vlans::Forms,
    mirroring: Mirroring,
    impairing: Impairing,
    /// Buffer in which frames of several chunks are assembled for taps and mirrors.
    whole: Box<[u8]>,
    clock: fn() -> Instant,
    spin: Spin,
    turns: Turns,
    express: Express,
    /// Time at which the switch core's next timer is due, or earlier.
    timer: Option<Instant>,
    /// True if some port reserves slots for frames with a credit.
    has_slots: bool,
    slots_searched: Instant,
    /// True if some RX ring had more frames for this round than a small share.
    is_filling: bool,
    stats: RoundStats,
    /// Maximum number of frames inside the switch in any round since the last snapshot.
    held_max: usize,
    batch: Batch,
    last_admitted: Instant,
    deadline: Option<Instant>,
    /// True if another switch takes the buffered frames at the end.
    hands_on: bool,
}

/// Fate of a received frame.
#[derive(Clone, Copy, Debug)]
enum Taken {
    /// The switch has the frame and its chunk. It is to be marked if possible, and redirected to the requested station.
    Admitted {
        priority: Priority,
        mark: bool,
        station: Option<MacAddress>,
    },
    /// Dropped and counted.
    Dropped(DropReason),
    /// It was for this switch, and has been processed.
    Read,
}

#[derive(Debug)]
struct PortState {
    limits: PortLimits,
    /// Frames held by the transmitter, oldest first; has room for the maximum number.
    outstanding: VecDeque<Outstanding>,
    /// Their total length on the line.
    on_line: Bytes,
    /// Time at which the transmitter last completed a frame, or got the oldest one that it holds.
    progress_at: Instant,
    /// True if it has completed none for [`COMPLETION_STALL`].
    stuck: bool,
    /// True if all frames that it holds are charged to this port, because it accepts no more.
    charged: bool,
    /// True if its device is gone.
    gone: bool,
    /// True if it has no rings.
    parted: bool,
    /// Credits certainly covered by its ring, as last reported to the core.
    credit_slots: u32,
    /// Frames held by devices when they were removed.
    lost_with_device: u64,
    /// Kernel losses at removed devices.
    lost_before: KernelLosses,
}

/// A frame held by a transmitter.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    chunk: Chunk,
    sent_at: Instant,
    /// Its length on the line.
    on_line: Bytes,
}

impl PortState {
    fn new(limits: PortLimits) -> Self {
        Self {
            limits,
            outstanding: VecDeque::with_capacity(limits.outstanding_max),
            on_line: Bytes::ZERO,
            progress_at: Instant::ZERO,
            stuck: false,
            charged: false,
            gone: false,
            parted: false,
            credit_slots: 0,
            lost_with_device: 0,
            lost_before: KernelLosses::default(),
        }
    }

    /// Records a completion. Returns false if the chunk was not outstanding. Usually the oldest entry.
    fn take_completed(&mut self, chunk: Chunk) -> bool {
        let at = self
            .outstanding
            .iter()
            .position(|known| known.chunk == chunk);
        let done = at.and_then(|at| self.outstanding.remove(at));
        self.on_line = self
            .on_line
            .saturating_sub(done.map_or(Bytes::ZERO, |done| done.on_line));
        done.is_some()
    }

    /// Returns true if one more frame may be sent. It may exceed the limit, so that the longest frame can always be sent.
    fn has_room(&self) -> bool {
        self.outstanding.len() < self.limits.outstanding_max
            && self.on_line < self.limits.outstanding_bytes
    }

    fn note_sent(&mut self, now: Instant, chunk: Chunk, length: Bytes) {
        if self.outstanding.is_empty() {
            self.progress_at = now;
        }
        self.charged = false;
        let on_line = length.max(FRAME_MIN) + LINE_OVERHEAD;
        self.outstanding.push_back(Outstanding {
            chunk,
            sent_at: now,
            on_line,
        });
        self.on_line += on_line;
    }
}

impl<I: Io> Worker<I> {
    /// Creates a loop over `io`; `pool` has every chunk of its memory.
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
        let mut worker = Self {
            io,
            switch,
            accounts: Accounts::new(ports.len(), pool.count()),
            mirroring: Mirroring::new(pool.count()),
            impairing: Impairing::new(),
            pool,
            turns: Turns::new(ports.len()),
            express: Express::default(),
            ports: ports.into_iter().map(PortState::new).collect(),
            queues,
            taps: Taps::default(),
            readers: Readers::default(),
            stations: Arc::default(),
            forms: vlans::Forms::default(),
            whole: vec![0; WHOLE_MAX].into_boxed_slice(),
            clock,
            spin: Spin::new(now, spin),
            timer: None,
            has_slots: false,
            slots_searched: now,
            is_filling: false,
            stats: RoundStats::default(),
            held_max: 0,
            batch: Batch::new(),
            last_admitted: now,
            deadline: None,
            hands_on: false,
        };
        worker.note_slots();
        worker
    }

    /// Adds the express path, or the reason for which there is none. Call it before the first round.
    pub(super) fn with_express(mut self, express: Result<ExpressParts, State>) -> Self {
        self.express = match express {
            Ok(parts) => Express::new(parts, self.pool.count(), self.ports.len()),
            Err(why) => Express::absent(why),
        };
        self
    }

    /// Runs until a [`Request::Stop`] is complete, or a thread that serves its sockets has ended.
    pub(super) fn run(mut self) -> Ended {
        let mut began = (self.clock)();
        loop {
            let busy = self.round(began);
            let now = (self.clock)();
            self.note_round(began, now, busy);
            began = now;
            // A thread that served sockets has panicked: ending the daemon is better than ports that do not forward.
            if self.is_finished(now) || !self.io.is_served() {
                let refused = ids(self.ports.len()).map(|port| {
                    let drops = &self.switch.counters(port).drops;
                    drops[DropReason::Draining.index()]
                });
                let refused = refused.sum();
                let left = self.take_left(now);
                return Ended {
                    refused,
                    held_frames: self.switch.held_frames() as u64,
                    left,
                };
            }
            if self.spin.is_over(now) {
                began = self.sleep(now);
            }
        }
    }

    /// Runs one round; returns true if there was work.
    fn round(&mut self, now: Instant) -> bool {
        self.readers.read(now, &self.switch);
        let asked = self.take_requests(now);
        let mut frames = self.take_delayed(now);
        self.is_filling = false;
        for port in ids(self.ports.len()) {
            frames |= self.receive(now, port);
        }
        if frames {
            // None of the received frames has been sent yet, so this is the maximum of the round.
            self.held_max = self.held_max.max(self.switch.held_frames());
        }
        self.settle_slots(now);
        self.handle_timer(now);
        self.take_discarded(now);
        self.take_turns(now);
        for port in ids(self.ports.len()) {
            frames |= self.transmit(now, port);
        }
        for port in ids(self.ports.len()) {
            frames |= self.complete(now, port);
        }
        self.settle_express(now);
        self.fill_rings();
        if frames {
            self.spin.note_frames(now);
        }
        asked | frames | self.publish_events()
    }

    /// Lets the switch core handle due timers; does nothing if it is too early.
    fn handle_timer(&mut self, now: Instant) {
        if self.switch.timers_moved() {
            self.timer = self.switch.next_timer();
        }
        if self.timer.is_some_and(|due| due <= now) {
            self.switch.handle_timeout(now);
            self.express.look_around();
        }
    }

    /// Updates the ports that may have something to send.
    fn take_turns(&mut self, now: Instant) {
        while let Some(port) = self.switch.poll_ready() {
            self.turns.ask(port);
            self.express.look_at(port);
        }
        self.turns.wake(now);
    }

    /// Reclaims the memory of frames that the switch dropped from its queues.
    fn take_discarded(&mut self, now: Instant) {
        while let Some(discarded) = self.switch.poll_discarded() {
            if self.taps.sees(Fate::Dropped) {
                self.show_discarded(now, &discarded);
            }
            self.express.note_finished(discarded.handle.0);
            self.accounts
                .note_given_up(discarded.handle.0, discarded.reason);
            self.give_back(discarded.handle.0);
        }
    }

    /// Returns a data frame's chunks to the pool.
    fn give_back(&mut self, first: Chunk) {
        if self.forms.has_copies() && self.accounts.is_copy(first) {
            self.give_back_copy(first);
            return;
        }
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
                    // The control plane repeats the command as long as the suspicion lasts.
                    let _ = self.apply(now, command);
                }
                Request::Ask { id, command } => self.answer(now, id, command),
                Request::Snapshot(snapshot) => self.fill_snapshot(now, snapshot),
                Request::Tap { place, tap } => {
                    self.taps.set(place, tap);
                    self.settle_mode();
                }
                Request::Series { place, series } => self.readers.set(now, place, series),
                Request::Stations(stations) => self.stations = stations,
                Request::Impair { place, impairment } => {
                    self.impairing.set(now, place, impairment);
                    self.settle_mode();
                }
                Request::Mirrors(mirrors) => {
                    self.mirroring.set(mirrors);
                    self.settle_mode();
                }
                Request::Inject(frames) => self.inject(now, frames),
                Request::Part { port } => self.part(now, port),
                Request::Join {
                    port,
                    address,
                    finishes,
                } => self.join(now, port, address, finishes),
                Request::Express(order) => self.obey(now, order),
                Request::Stop { drain, hands_on } => {
                    let _ = self.switch.apply(now, Command::Drain);
                    self.hands_on = hands_on;
                    self.last_admitted = now;
                    self.deadline = Some(now + drain);
                    self.impairing.release(now);
                    self.settle_mode();
                }
            }
        }
        any
    }

    fn apply(&mut self, now: Instant, command: Command) -> Result<(), CommandError> {
        let outcome = self.switch.apply(now, command);
        self.stats.counters.commands_refused += u64::from(outcome.is_err());
        if let Command::DeviceGone { port } = command {
            self.give_up_port(port);
        }
        self.settle_mode();
        self.express.look_around();
        outcome
    }

    fn answer(&mut self, now: Instant, id: u64, command: Command) {
        let outcome = self.apply(now, command);
        // There is room for as many answers as requests; a lost answer is reported to its requester.
        let _ = self.queues.answers.try_send(Answer { id, outcome });
        self.queues.notify.signal();
    }
}

/// Iterates over the first `count` ports, at most as many as there are numbers.
fn ids(count: usize) -> impl Iterator<Item = PortId> {
    (0..count).map_while(PortId::from_index)
}

#[cfg(test)]
mod tests;
