//! One flow: when its next frame may leave, and what has arrived of it.

use weir_core::{Bytes, Duration, Instant};

use super::plan::FlowPlan;

/// A flow at its sender and at its receiver.
#[derive(Debug)]
pub struct Flow {
    pub(super) plan: FlowPlan,
    /// Not before this moment, by its rate and its pattern.
    pub(super) next_at: Instant,
    /// Bytes that it may still send.
    left: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames received.
    pub received: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes received in the last part of the run.
    pub received_bytes_last_part: u64,
    /// Frames that arrived after one with a higher number.
    pub reordered: u64,
    /// Numbers below the highest one seen that have not arrived.
    pub missing: u64,
    /// Frames that arrived marked Congestion Experienced.
    pub marked: u64,
    /// The number after the highest one seen.
    expected: u64,
    /// First frame sent.
    pub first_sent: Option<Instant>,
    /// Last arrival.
    pub last_arrival: Option<Instant>,
    /// Longest time between two arrivals, or from the start to the first.
    pub longest_gap: Duration,
    /// Of all frames, from sender to receiver.
    pub delay_total: Duration,
    /// The longest of them.
    pub delay_max: Duration,
    /// By interval: bytes received.
    pub series: Vec<u64>,
}

impl Flow {
    pub(super) fn new(plan: FlowPlan) -> Self {
        Self {
            next_at: plan.start,
            left: plan.size.map_or(u64::MAX, Bytes::get),
            sent: 0,
            received: 0,
            received_bytes: 0,
            received_bytes_last_part: 0,
            reordered: 0,
            missing: 0,
            marked: 0,
            expected: 0,
            first_sent: None,
            last_arrival: None,
            longest_gap: Duration::ZERO,
            delay_total: Duration::ZERO,
            delay_max: Duration::ZERO,
            series: Vec::new(),
            plan,
        }
    }

    /// What was planned.
    pub const fn plan(&self) -> &FlowPlan {
        &self.plan
    }

    /// True when it will never send again.
    pub(super) fn is_over(&self) -> bool {
        self.left == 0 || self.next_at >= self.plan.stop
    }

    /// No frame from `now` on.
    pub(super) fn stop(&mut self, now: Instant) {
        self.plan.stop = self.plan.stop.min(now);
    }

    /// A frame begins to leave at `now`. Returns its number and its length.
    pub(super) fn send(&mut self, now: Instant) -> (u32, Bytes) {
        let number = self.sent as u32;
        let length = self.plan.frame.get().min(self.left.max(MINIMUM));
        self.left = if self.left == u64::MAX {
            u64::MAX
        } else {
            self.left.saturating_sub(length)
        };
        self.sent += 1;
        self.first_sent.get_or_insert(now);
        let length = Bytes::new(length);
        if let Some(rate) = self.plan.rate {
            self.next_at = self.next_at.max(now) + rate.time_for(length);
        } else {
            self.next_at = now;
        }
        self.next_at = self.in_pattern(self.next_at);
        (number, length)
    }

    /// The first moment from `at` on at which the pattern sends.
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

    /// A frame of it arrives.
    pub(super) fn arrive(
        &mut self,
        now: Instant,
        number: u32,
        length: Bytes,
        sent: Instant,
        last_part: bool,
    ) {
        let number = u64::from(number);
        if number >= self.expected {
            self.missing += number - self.expected;
            self.expected = number + 1;
        } else {
            self.reordered += 1;
            self.missing = self.missing.saturating_sub(1);
        }
        let before = self.last_arrival.or(self.first_sent).unwrap_or(now);
        self.longest_gap = self.longest_gap.max(now.saturating_since(before));
        self.last_arrival = Some(now);
        self.received += 1;
        self.received_bytes += length.get();
        if last_part {
            self.received_bytes_last_part += length.get();
        }
        let delay = now.saturating_since(sent);
        self.delay_total += delay;
        self.delay_max = self.delay_max.max(delay);
    }

    /// Longest time without an arrival until `end`.
    pub fn longest_stall(&self, end: Instant) -> Duration {
        let since = self
            .last_arrival
            .or(self.first_sent)
            .unwrap_or(self.plan.start);
        self.longest_gap.max(end.saturating_since(since))
    }
}

/// The shortest frame that Ethernet carries, without its FCS.
const MINIMUM: u64 = 60;
