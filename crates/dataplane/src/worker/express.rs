//! The core's side of the hand-over to the express path: frames of the slow path that are still inside, and the state of
//! each egress. `docs/src/internals/express.md` explains why the hand-over keeps the order.

use weir_api::words::Express as State;
use weir_core::units::PRIORITY_COUNT;
use weir_core::{Duration, Instant, PortId, PortSet};

use super::Worker;
use crate::exchange::express::{ByFlow, ExpressOrder, ExpressParts, Listing, Words};
use crate::memory::pool::Chunk;
use crate::rings::io::Io;

/// Time for which a port stays closed after the loss of a redirected frame.
const LOSS_PAUSE: Duration = Duration::from_secs(1);
/// Longer than any pause: twice 65,535 quanta at 10 Mbit/s.
const PAUSE_MAX: Duration = Duration::from_secs(7);
/// Interval between two beats of this thread, and between two checks of quiet egresses. Each check takes a cache line away
/// from the programs.
const LOOK: Duration = Duration::from_millis(2);

/// Maximum time that the core waits for frames in flight after closing an egress; a poll is much shorter. A later count
/// is wrong, and keeps the egress closed.
const ON_WAY_MAX: Duration = Duration::from_millis(50);

/// This thread's state besides the words. Without words there is no path.
#[derive(Debug, Default)]
pub(super) struct Express {
    parts: Option<ExpressParts>,
    /// Reason for which there is no path, if any.
    absent: State,
    /// Ingress and priority of each frame inside, by its first chunk.
    origins: Vec<(u8, u8)>,
    /// Frames handed over by programs that were received, or counted as lost.
    received: ByFlow,
    lines: Vec<Line>,
    /// Ports at which something happened since their last check.
    looks: PortSet,
    /// Version of the routes that the programs have.
    ready: Option<u64>,
    /// True if the programs may use the path.
    is_on: bool,
    looked_at: Instant,
}

#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// The clerk's judgement of the port.
    judged: State,
    /// State set by this thread; the program may have closed it since.
    is_open: bool,
    /// MAC control frames of the port handled by the core.
    handled: u32,
    /// Number of control frames that its program has seen beyond these, and since when.
    ahead: Option<(u32, Instant)>,
    /// Time of closing, while frames forwarded before may still be in flight.
    shut_at: Option<Instant>,
    /// Frames that the device did not accept.
    lost: u64,
    /// Closed until then because of lost frames.
    shut_until: Instant,
}

impl Express {
    /// Creates the path for a pool of `chunks` chunks and `ports` ports, all closed.
    pub(super) fn new(parts: ExpressParts, chunks: usize, ports: usize) -> Self {
        let line = Line {
            judged: State::NoDevice,
            ..Line::default()
        };
        Self {
            parts: Some(parts),
            origins: vec![(0, 0); chunks],
            received: vec![[0; PRIORITY_COUNT]; ports],
            lines: vec![line; ports],
            ..Self::default()
        }
    }

    /// Creates the state without a path.
    pub(super) fn absent(why: State) -> Self {
        Self {
            absent: why,
            ..Self::default()
        }
    }

    /// Records a frame handed over by a program.
    pub(super) fn note_received(&mut self, chunk: Chunk, ingress: PortId, priority: u8) {
        if let Some(origin) = self.origins.get_mut(chunk as usize) {
            *origin = (ingress.index() as u8, priority);
        }
        let flows = self.received.get_mut(ingress.index());
        if let Some(count) = flows.and_then(|flows| flows.get_mut(usize::from(priority))) {
            *count += 1;
        }
    }

    /// Records a frame that no program has handed over.
    pub(super) fn note_injected(&mut self, chunk: Chunk, ingress: PortId, priority: u8) {
        if let Some(parts) = &self.parts {
            parts.words.enter(ingress.index() as u8, priority);
        }
        self.note_received(chunk, ingress, priority);
    }

    /// Removes a frame from those inside: its device has sent it, or it was dropped.
    pub(super) fn note_finished(&mut self, chunk: Chunk) {
        if let (Some(parts), Some(origin)) = (&self.parts, self.origins.get(chunk as usize)) {
            parts.words.finish(origin.0, origin.1, 1);
        }
    }

    /// Returns true if there is a path, open or not.
    pub(super) fn is_there(&self) -> bool {
        self.parts.is_some()
    }

    /// Returns true if this thread must send beats.
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Marks a port to be checked.
    pub(super) fn look_at(&mut self, port: PortId) {
        self.looks.insert(port);
    }

    /// Marks all ports to be checked.
    pub(super) fn look_around(&mut self) {
        self.looked_at = Instant::default();
    }

    /// Records that the core has handled a MAC control frame of this port.
    pub(super) fn note_control(&mut self, port: PortId) {
        if let Some(line) = self.lines.get_mut(port.index()) {
            line.handled = line.handled.wrapping_add(1);
        }
        self.look_at(port);
    }

    /// Claims the line of a port before the core sends. Returns the time until which other frames occupy it, if any may have
    /// passed since the last call.
    pub(super) fn take_line(&mut self, now: Instant, port: PortId) -> Option<Instant> {
        let line = self.lines.get_mut(port.index())?;
        if !line.is_open {
            return None;
        }
        let (parts, port) = (self.parts.as_ref()?, port.index() as u8);
        Some(line.shut(now, &*parts.words, port))
    }

    /// Returns true while the device of a closed port has not received all frames forwarded before: frames sent by the core
    /// now could take their room.
    pub(super) fn awaits_frames(&mut self, now: Instant, port: PortId) -> bool {
        let line = self.lines.get_mut(port.index());
        let Some((line, parts)) = line.zip(self.parts.as_ref()) else {
            return false;
        };
        let Some(shut_at) = line.shut_at else {
            return false;
        };
        let is_under_way = parts.words.on_way(port.index() as u8) > 0;
        if is_under_way && now.saturating_since(shut_at) < ON_WAY_MAX {
            return true;
        }
        line.shut_at = None;
        false
    }

    /// Enables the path, or disables it while the programs' routes differ from the switch's.
    fn set_mode(&mut self, is_on: bool) {
        let Some(parts) = self.parts.as_ref().filter(|_| self.is_on != is_on) else {
            return;
        };
        match is_on {
            true => parts.words.switch_on(parts.length_max),
            false => parts.words.switch_off(),
        }
        self.is_on = is_on;
    }

    /// Returns the state of the path at an egress: open, or the reason against it.
    pub(super) fn state(&self, now: Instant, port: usize, is_tapped: bool) -> State {
        let Some((line, parts)) = self.lines.get(port).zip(self.parts.as_ref()) else {
            return self.absent;
        };
        if line.judged != State::Open {
            line.judged
        } else if parts.priorities == 0 {
            State::Class
        } else if is_tapped {
            State::Capture
        } else if !self.is_on {
            State::Routes
        } else if now < line.shut_until {
            State::Loss
        } else if line.is_open {
            State::Open
        } else {
            State::Held
        }
    }

    /// Returns the words, which count the frames forwarded and lost by port and priority.
    pub(super) fn words(&self) -> Option<&dyn Words> {
        self.parts.as_ref().map(|parts| &*parts.words)
    }
}

impl Line {
    /// Closes an egress for all priorities. Returns the time at which its line is free.
    fn shut(&mut self, now: Instant, words: &dyn Words, port: u8) -> Instant {
        words.close(port);
        (self.is_open, self.shut_at) = (false, Some(now));
        Instant::from_nanos(words.free_at(port))
    }

    /// Returns true if a program has seen MAC control frames that the core has not handled. After the longest pause, missing
    /// ones count as lost.
    fn is_behind(&mut self, now: Instant, seen: u32) -> bool {
        if seen == self.handled {
            self.ahead = None;
            return false;
        }
        match self.ahead {
            Some((known, since)) if known == seen => {
                if now.saturating_since(since) < PAUSE_MAX {
                    return true;
                }
                (self.handled, self.ahead) = (seen, None);
                false
            }
            _ => {
                self.ahead = Some((seen, now));
                true
            }
        }
    }
}

impl<I: Io> Worker<I> {
    /// Executes a [`Request::Express`](crate::exchange::messages::Request::Express).
    pub(super) fn obey(&mut self, now: Instant, order: ExpressOrder) {
        match order {
            ExpressOrder::List(listing) => self.list_routes(listing),
            ExpressOrder::Ready { version } => self.express.ready = Some(version),
            ExpressOrder::Judge { port, state } => {
                if let Some(line) = self.express.lines.get_mut(port.index()) {
                    line.judged = state;
                }
            }
            ExpressOrder::Missing(entered) => self.give_up_missing(now, &entered),
        }
        self.express.look_around();
    }

    fn list_routes(&mut self, mut listing: Box<Listing>) {
        let version = self.switch.routes_version();
        if listing.version != Some(version) {
            listing.version = Some(version);
            listing.routes.clear();
            let room = listing.routes.capacity();
            listing
                .routes
                .extend(self.switch.single_routes().take(room));
        }
        if let Some(parts) = &self.express.parts {
            // There is one listing, and room for it.
            let _ = parts.listings.try_send(listing);
        }
    }

    /// Removes frames that were handed over before the grace period and are not in the RX rings by now: they are lost.
    fn give_up_missing(&mut self, now: Instant, entered: &ByFlow) {
        for port in super::ids(self.ports.len()) {
            let mut rest = self.io.received_waiting(port.index());
            while rest > 0 {
                let before = self.stats.counters.rx_frames;
                if !self.receive(now, port) {
                    break;
                }
                let taken = self.stats.counters.rx_frames - before;
                rest = rest.saturating_sub(taken as usize);
            }
        }
        let Some(parts) = &self.express.parts else {
            return;
        };
        let received = self.express.received.iter_mut().zip(entered);
        for (port, (received, entered)) in received.enumerate() {
            for (priority, (received, entered)) in received.iter_mut().zip(entered).enumerate() {
                let missing = entered.saturating_sub(*received);
                if missing > 0 {
                    *received += missing;
                    parts.words.finish(port as u8, priority as u8, missing);
                }
            }
        }
    }

    /// Enables or disables the path. Call this after a possible change of routes or taps, when the programs' routes may
    /// differ from the switch's.
    pub(super) fn settle_mode(&mut self) {
        if self.express.is_there() {
            let is_known = self.express.ready == Some(self.switch.routes_version());
            let is_on = is_known && !self.looks_on() && self.deadline.is_none();
            self.express.set_mode(is_on);
        }
    }

    /// At the end of a round: opens egresses without frames inside, and closes those that something holds.
    pub(super) fn settle_express(&mut self, now: Instant) {
        if !self.express.is_there() {
            return;
        }
        self.settle_mode();
        let is_due = now.saturating_since(self.express.looked_at) >= LOOK;
        let looks = std::mem::take(&mut self.express.looks);
        if is_due {
            self.express.looked_at = now;
        }
        if let Some(parts) = self.express.parts.as_ref().filter(|_| is_due) {
            parts.words.beat(now.as_nanos());
        }
        for port in super::ids(self.ports.len()) {
            let is_open = self.express.lines.get(port.index());
            let is_open = is_open.is_some_and(|line| line.is_open);
            if is_due || !is_open || looks.contains(port) {
                self.settle_line(now, port);
            }
        }
    }

    fn settle_line(&mut self, now: Instant, port: PortId) {
        let (index, at) = (port.index(), port.index() as u8);
        let (Some(parts), Some(line)) = (
            self.express.parts.as_ref(),
            self.express.lines.get_mut(index),
        ) else {
            return;
        };
        if line.judged != State::Open && !line.is_open {
            return;
        }
        let words = &parts.words;
        // Read the gate first: a pause that arrives during the checks changes it.
        let gate = words.gate(at);
        let lost = words.lost(at);
        if lost != line.lost {
            (line.lost, line.shut_until) = (lost, now + LOSS_PAUSE);
        }
        let is_allowed = line.judged == State::Open && now >= line.shut_until;
        let priorities = self.switch.unheld_priorities(now, port) & parts.priorities;
        let is_idle = self
            .ports
            .get(index)
            .is_some_and(|state| state.outstanding.is_empty() && !state.gone);
        let is_clear = is_allowed && is_idle && self.switch.is_egress_clear(now, port);
        if !is_clear || priorities == 0 {
            if line.is_open {
                let free_at = line.shut(now, &**words, at);
                self.switch.occupy_line(port, free_at);
            }
        } else if gate & 0xff != u64::from(priorities)
            && !line.is_behind(now, words.seen(gate))
            && (line.is_open || words.on_way(at) == 0)
        {
            words.occupy(at, self.switch.line_free_at(port).as_nanos());
            line.is_open |= words.open(at, gate, priorities);
        }
    }
}
