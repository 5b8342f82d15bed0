//! One flow: the time of its next frame, and the data that have arrived.

mod ends;
mod halves;

use weir_config::scenario::Spread;
use weir_core::{BitRate, Bytes, Duration, Instant, LineClock};

use super::plan::{mixed_hash, FlowPlan, NetworkPlan};
use super::pool::{Flags, FrameRecord};
use crate::transport::acknowledged::{self, Acknowledgement, Control, Pace};
use crate::transport::dcqcn::ReactionPoint;
use crate::transport::recovery;
use crate::transport::telemetry::Hop;
use crate::transport::window::WindowSender;
use ends::{ends, Receiver};

pub(super) use ends::{Reception, Reply, Sender};

/// A flow at its sender and at its receiver.
#[derive(Clone, Debug)]
pub struct Flow {
    pub(super) plan: FlowPlan,
    /// Its hosts are at different switches.
    pub(super) is_between_switches: bool,
    /// Earliest time of the next frame; infinite while only an answer can change that.
    pub(super) next_at: Instant,
    /// The same, only by its rate and pattern.
    paced: LineClock,
    /// Bytes left to send.
    left: u64,
    pub(super) sender: Sender,
    receiver: Receiver,
    /// Time of the pending event for the sender's timers.
    pub(super) timer_at: Instant,
    /// Frames sent, including repetitions.
    pub sent: u64,
    /// Frames received, including repetitions.
    pub received: u64,
    /// Bytes received, without repetitions.
    pub received_bytes: u64,
    /// Bytes received in the last part of the run, without repetitions.
    pub received_bytes_last_part: u64,
    /// Frames sent again.
    pub repeated: u64,
    /// Frames that arrived after a later one.
    pub reordered: u64,
    /// Missing frames that were sent before one that has arrived.
    pub missing: u64,
    /// Frames that arrived marked Congestion Experienced.
    pub marked: u64,
    /// Notifications or acknowledgements sent by the receiver.
    pub answers_sent: u64,
    /// Those received by the sender.
    pub answers_received: u64,
    /// One after the highest number seen.
    expected: u64,
    /// The last frame sent.
    last_sent: Instant,
    /// Gaps that were long enough for a change of path.
    flowlets: u32,
    /// Time of the first frame sent.
    pub first_sent: Option<Instant>,
    first_arrival: Option<Instant>,
    /// Last arrival.
    pub last_arrival: Option<Instant>,
    /// Arrival of the last data.
    completed: Option<Instant>,
    /// Their acknowledgement at the sender.
    all_acknowledged: Option<Instant>,
    /// Longest time between two arrivals.
    longest_pause: Duration,
    /// Sum over all frames, from sender to receiver.
    pub delay_total: Duration,
    /// The longest of them.
    pub delay_max: Duration,
    /// By interval: bytes received, without repetitions.
    pub series: Vec<u64>,
}

/// Returns the time from which a flow is paced after a frame that begins to leave at `now`. On a busy line, that frame
/// really began up to a nanosecond earlier, and the flow must not miss its next slot.
pub(crate) fn pace_from(now: Instant) -> Instant {
    Instant::from_nanos(now.as_nanos().saturating_sub(1))
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub(super) sequence: u32,
    pub(super) number: u32,
    pub(super) length: Bytes,
    pub(super) flow_hash: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) sequence: u32,
    pub(super) number: u32,
    pub(super) length: Bytes,
    pub(super) sent: Instant,
    pub(super) marked: bool,
    pub(super) last_part: bool,
}

impl Flow {
    /// The flow `index` of `network`; `line` is the rate of the sending host's line.
    pub(super) fn new(
        index: usize,
        line: BitRate,
        is_between_switches: bool,
        network: &NetworkPlan,
    ) -> Self {
        let plan = network.flows[index];
        let (sender, receiver) = ends(index, line, network);
        let mut paced = LineClock::new(plan.rate.unwrap_or(line));
        paced.occupy(plan.start);
        Self {
            is_between_switches,
            next_at: plan.start,
            paced,
            left: plan.size.map_or(u64::MAX, Bytes::get),
            sender,
            receiver,
            timer_at: Instant::FAR_FUTURE,
            sent: 0,
            received: 0,
            received_bytes: 0,
            received_bytes_last_part: 0,
            repeated: 0,
            reordered: 0,
            missing: 0,
            marked: 0,
            answers_sent: 0,
            answers_received: 0,
            expected: 0,
            last_sent: Instant::ZERO,
            flowlets: 0,
            first_sent: None,
            first_arrival: None,
            last_arrival: None,
            completed: None,
            all_acknowledged: None,
            longest_pause: Duration::ZERO,
            delay_total: Duration::ZERO,
            delay_max: Duration::ZERO,
            series: Vec::new(),
            plan,
        }
    }

    /// The plan of this flow.
    pub const fn plan(&self) -> &FlowPlan {
        &self.plan
    }

    /// The sender's side of DCQCN, if the flow has it.
    pub fn reaction_point(&self) -> Option<&ReactionPoint> {
        match &self.sender {
            Sender::Dcqcn(point) => Some(point),
            Sender::Acknowledged(sender) => match sender.control() {
                Control::Dcqcn(point) => Some(point),
                _ => None,
            },
            _ => None,
        }
    }

    /// The sender of a flow to which `[recovery]` applies.
    pub fn acknowledged(&self) -> Option<&acknowledged::Sender> {
        match &self.sender {
            Sender::Acknowledged(sender) => Some(sender),
            _ => None,
        }
    }

    /// The sender's window, if the flow has one.
    pub fn window(&self) -> Option<&WindowSender> {
        match &self.sender {
            Sender::Window(window) => Some(window),
            _ => None,
        }
    }

    /// True if it sends nothing from `now` on without an answer.
    pub(super) fn is_silent(&self, now: Instant) -> bool {
        self.next_at.max(now) >= self.plan.stop
    }

    /// Delays its start to `at`, until which part of its dependencies take.
    pub(super) fn postpone(&mut self, at: Instant) {
        self.plan.start = self.plan.start.max(at);
    }

    /// Starts it at `now`: everything for which it waited has arrived.
    pub(super) fn begin(&mut self, now: Instant) {
        self.plan.start = now;
        self.next_at = now;
        self.paced.occupy(now);
    }

    /// Sends no frame from `now` on.
    pub(super) fn stop(&mut self, now: Instant) {
        self.plan.stop = self.plan.stop.min(now);
    }

    /// Sends a frame that begins to leave at `now`.
    pub(super) fn send(&mut self, now: Instant, spread: Spread) -> Departure {
        let sequence = self.sent as u32;
        self.sent += 1;
        self.first_sent.get_or_insert(now);
        let (number, repeats) = match &mut self.sender {
            Sender::Window(window) => {
                let repeats = window.repeats();
                (window.send(now), repeats)
            }
            Sender::Acknowledged(sender) => {
                let repeats = sender.repeats();
                (sender.send(now), repeats)
            }
            Sender::Open | Sender::Dcqcn(_) => (sequence, false),
        };
        let length = if repeats {
            self.repeated += 1;
            self.length_of(number)
        } else {
            self.take_length()
        };
        // With windows, lost frames are repeated at once; rates also apply to repetitions.
        if !repeats || matches!(self.sender, Sender::Acknowledged(_)) {
            self.pace(now, length);
        }
        self.resume(now);
        let flow_hash = self.hash(now, sequence, spread);
        self.last_sent = now;
        Departure {
            sequence,
            number,
            length,
            flow_hash,
        }
    }

    /// Returns the hash for ECMP of the frame with this `sequence` that leaves at `now`.
    fn hash(&mut self, now: Instant, sequence: u32, spread: Spread) -> u32 {
        let turn = match spread {
            Spread::Flow => return self.plan.flow_hash,
            Spread::Frame => sequence,
            Spread::Flowlet { gap } => {
                let has_paused = now.saturating_since(self.last_sent) > gap;
                self.flowlets += u32::from(has_paused && sequence > 0);
                self.flowlets
            }
        };
        mixed_hash(self.plan.flow_hash.wrapping_add(turn), 0)
    }

    /// Recomputes the time of the next frame, after a change at the sender.
    pub(super) fn resume(&mut self, now: Instant) {
        self.next_at = match &self.sender {
            Sender::Window(window) if !window.may_send() => Instant::FAR_FUTURE,
            Sender::Window(window) if window.repeats() => now,
            Sender::Acknowledged(sender) if !sender.may_send() => Instant::FAR_FUTURE,
            Sender::Acknowledged(sender) if sender.repeats() => self.paced.free_at(),
            _ if self.left == 0 => Instant::FAR_FUTURE,
            _ => self.paced.free_at(),
        };
    }

    /// When [`handle_timeout`](Self::handle_timeout) is next due.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let due = match &self.sender {
            Sender::Open => None,
            Sender::Dcqcn(point) => point.next_timeout().filter(|_| self.left > 0),
            Sender::Window(window) => window.next_timeout(),
            Sender::Acknowledged(sender) => sender.next_timeout(),
        };
        due.filter(|due| *due < self.plan.stop)
    }

    /// Handles the sender's timers that are due.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        match &mut self.sender {
            Sender::Open => {}
            Sender::Dcqcn(point) => point.handle_timeout(now),
            Sender::Window(window) => window.handle_timeout(now),
            Sender::Acknowledged(sender) => sender.handle_timeout(now),
        }
        self.resume(now);
    }

    /// Handles `answer` at the sender; the answered frame has met `hops`.
    pub(super) fn answered(&mut self, now: Instant, answer: &FrameRecord, hops: &[Hop]) {
        self.answers_received += 1;
        let flags = answer.flags;
        match &mut self.sender {
            Sender::Open => {}
            Sender::Dcqcn(point) => point.notify(now),
            Sender::Window(window) => {
                window.acknowledge(now, answer.number, answer.sent, flags.has(Flags::ECHO));
            }
            Sender::Acknowledged(sender) if flags.has(Flags::NOTIFICATION) => sender.notify(now),
            Sender::Acknowledged(sender) => {
                let acknowledgement = Acknowledgement {
                    number: answer.sequence,
                    reply: recovery::Reply {
                        before: answer.number,
                        is_nack: flags.has(Flags::NACK),
                    },
                    is_marked: flags.has(Flags::ECHO),
                    sent: answer.sent,
                    hops,
                };
                sender.acknowledge(now, &acknowledgement);
            }
        }
        if self.all_acknowledged.is_none() && self.sender.is_done() {
            self.all_acknowledged = Some(now);
        }
        self.resume(now);
    }

    pub(super) fn arrive(&mut self, now: Instant, arrival: Arrival) -> Reception {
        let sequence = u64::from(arrival.sequence);
        if sequence >= self.expected {
            self.missing += sequence - self.expected;
            self.expected = sequence + 1;
        } else {
            self.reordered += 1;
            self.missing = self.missing.saturating_sub(1);
        }
        // State of the sender is read only on demand: it may belong to another thread.
        self.first_arrival.get_or_insert(now);
        let before = self.last_arrival.replace(now).unwrap_or(now);
        self.longest_pause = self.longest_pause.max(now.saturating_since(before));
        self.received += 1;
        self.marked += u64::from(arrival.marked);
        let delay = now.saturating_since(arrival.sent);
        self.delay_total += delay;
        self.delay_max = self.delay_max.max(delay);
        let mut reception = self.receiver.receive(now, arrival.number, arrival.marked);
        if reception.is_new {
            self.received_bytes += arrival.length.get();
            // The last frame may be padded to the minimum, by less than any frame that could be missing.
            let size = self.plan.size.map(Bytes::get);
            if self.completed.is_none() && size.is_some_and(|size| self.received_bytes >= size) {
                self.completed = Some(now);
                reception.completes = true;
            }
            if arrival.last_part {
                self.received_bytes_last_part += arrival.length.get();
            }
        }
        reception
    }

    /// Longest time between two arrivals, or from the first departure to the first arrival.
    pub fn longest_gap(&self) -> Duration {
        self.longest_pause_from(self.first_sent)
    }

    /// The same, including the span from `begin` to the first arrival.
    fn longest_pause_from(&self, begin: Option<Instant>) -> Duration {
        let first = begin.zip(self.first_arrival);
        let first = first.map(|(begin, arrival)| arrival.saturating_since(begin));
        self.longest_pause.max(first.unwrap_or(Duration::ZERO))
    }

    /// Longest time without an arrival until `end`.
    pub fn longest_stall(&self, end: Instant) -> Duration {
        let since = self
            .last_arrival
            .or(self.first_sent)
            .unwrap_or(self.plan.start);
        self.longest_gap().max(end.saturating_since(since))
    }

    /// Longest time without an arrival from the flow's start until `end`, even if its first frame never left. A flow whose
    /// data have all arrived no longer waits. Silence due to its rate or pattern counts.
    pub fn longest_wait(&self, end: Instant) -> Duration {
        let is_over = self.left == 0 && self.received == self.sent;
        let since = self.last_arrival.unwrap_or(self.plan.start);
        let until = if is_over { since } else { end };
        let longest = self.longest_pause_from(Some(self.plan.start));
        longest.max(until.saturating_since(since))
    }

    /// Flow completion time: from its start to the arrival of its last byte. `None` if it has no size or is incomplete.
    pub fn completion(&self) -> Option<Duration> {
        let completed = self.completed?;
        Some(completed.saturating_since(self.plan.start))
    }

    /// The same until the sender has the acknowledgement of the last byte. `None` also without acknowledgements.
    pub fn acknowledged_completion(&self) -> Option<Duration> {
        let acknowledged = self.all_acknowledged?;
        Some(acknowledged.saturating_since(self.plan.start))
    }

    /// Returns the length of the next new frame, and subtracts it from the remaining bytes.
    fn take_length(&mut self) -> Bytes {
        let length = self
            .plan
            .frame
            .get()
            .min(self.left.max(FlowPlan::LENGTH_MIN));
        if self.left != u64::MAX {
            self.left = self.left.saturating_sub(length);
        }
        Bytes::new(length)
    }

    /// Returns the length of the frame with this number.
    fn length_of(&self, number: u32) -> Bytes {
        let frame = self.plan.frame.get();
        let length = self.plan.size.map_or(frame, |size| {
            let before = u64::from(number) * frame;
            frame.min(size.get().saturating_sub(before).max(FlowPlan::LENGTH_MIN))
        });
        Bytes::new(length)
    }

    /// A new frame of `length` leaves at `now`: computes when the next may.
    fn pace(&mut self, now: Instant, length: Bytes) {
        let control = match &mut self.sender {
            Sender::Dcqcn(point) => {
                point.sent(length);
                Some(Pace::Rate(point.rate()))
            }
            Sender::Acknowledged(sender) => Some(sender.pace(length)),
            Sender::Open | Sender::Window(_) => None,
        };
        let (rate, pause) = match control {
            Some(Pace::Rate(rate)) => (Some(rate), Duration::ZERO),
            Some(Pace::Pause(pause)) => (None, pause),
            None => (None, Duration::ZERO),
        };
        let paused_until = self.paced.free_at().max(now) + pause;
        if let Some(rate) = self.plan.rate.into_iter().chain(rate).min() {
            self.paced.set_rate(rate);
            self.paced.book(pace_from(now), length);
        }
        self.paced.occupy(paused_until);
        self.paced.occupy(self.in_pattern(self.paced.free_at()));
    }

    /// Returns the first moment from `at` on at which the pattern sends.
    fn in_pattern(&self, at: Instant) -> Instant {
        let Some([on, off]) = self.plan.on_off else {
            return at;
        };
        let period = (on + off).as_nanos().max(1);
        let since = at.saturating_since(self.plan.start).as_nanos();
        if since % period < on.as_nanos() {
            at
        } else {
            self.plan.start + Duration::from_nanos((since / period + 1) * period)
        }
    }
}
