//! Pacing of flows: their rates, the shared line, and pauses.

use weir_core::units::{BitRate, Bytes, Duration, Instant, Priority};

use super::pause::PauseClock;

/// Bytes on the line per frame besides its own: preamble and start delimiter 8, FCS 4, interpacket gap 12 (IEEE 802.3
/// clauses 3 and 4.4.2).
pub const LINE_OVERHEAD_BYTES: u64 = 24;

/// One flow for the pacer.
#[derive(Clone, Copy, Debug)]
pub struct PacedFlow {
    /// Length of each frame, without FCS.
    pub frame: Bytes,
    /// Rate over `frame`.
    pub rate: BitRate,
    /// Priority, which may be paused.
    pub priority: Priority,
    /// No frame is sent before this time.
    pub start: Instant,
    /// No frame is sent from this time on.
    pub stop: Instant,
}

/// Rates of all flows of one line as virtual schedules: every frame has an earliest time. A delayed flow catches up by at
/// most a set number of frames and then keeps its rate, so that a stall of the process never becomes a burst.
#[derive(Debug)]
pub struct Pacer {
    line: BitRate,
    line_free_at: Instant,
    /// Number of frames back to back after a stall.
    catch_up_frames: u64,
    flows: Vec<Schedule>,
    turn: usize,
    stopped: bool,
}

#[derive(Debug)]
struct Schedule {
    flow: PacedFlow,
    /// Time from one frame to the next.
    interval: Duration,
    /// Due time of the next frame.
    due: Instant,
}

impl Pacer {
    /// Creates a pacer for a line of rate `line`. `catch_up_frames` of zero counts as one.
    pub fn new(line: BitRate, catch_up_frames: u32, flows: Vec<PacedFlow>) -> Self {
        let schedule = |flow: PacedFlow| Schedule {
            flow,
            interval: flow.rate.time_for(flow.frame),
            due: flow.start,
        };
        Self {
            line,
            line_free_at: Instant::ZERO,
            catch_up_frames: u64::from(catch_up_frames.max(1)),
            flows: flows.into_iter().map(schedule).collect(),
            turn: 0,
            stopped: false,
        }
    }

    /// Returns the flow that sends a frame now and records the frame as sent; round robin among eligible flows.
    pub fn next(&mut self, now: Instant, pauses: &PauseClock) -> Option<usize> {
        if self.stopped || self.line_free_at > now {
            return None;
        }
        let count = self.flows.len();
        let index = (0..count)
            .map(|step| (self.turn + step) % count)
            .find(|&index| {
                let schedule = &self.flows[index];
                schedule.due <= now
                    && now < schedule.flow.stop
                    && !pauses.is_paused(now, schedule.flow.priority)
            })?;
        self.turn = (index + 1) % count;
        let credit = self.catch_up_frames - 1;
        let schedule = &mut self.flows[index];
        schedule.due = booked(schedule.due, now, schedule.interval, credit);
        let on_line = self
            .line
            .time_for(schedule.flow.frame + Bytes::new(LINE_OVERHEAD_BYTES));
        self.line_free_at = booked(self.line_free_at, now, on_line, credit);
        Some(index)
    }

    /// Returns the earliest time, not before `now`, at which [`next`](Self::next) can return a flow if no pause changes.
    /// `None` means never.
    pub fn next_moment(&self, now: Instant, pauses: &PauseClock) -> Option<Instant> {
        if self.stopped {
            return None;
        }
        let moments = self.flows.iter().filter_map(|schedule| {
            let moment = schedule
                .due
                .max(pauses.resumes_at(schedule.flow.priority))
                .max(self.line_free_at)
                .max(now);
            (moment < schedule.flow.stop).then_some(moment)
        });
        moments.min()
    }

    /// Stops all frames.
    pub fn stop(&mut self) {
        self.stopped = true;
    }
}

/// Returns the due time after a frame at `now`: one `interval` later, from at most `credit` frames' time ago.
fn booked(due: Instant, now: Instant, interval: Duration, credit: u64) -> Instant {
    let allowance = interval.saturating_mul(credit).as_nanos();
    let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(allowance));
    due.max(earliest) + interval
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_core::units::{Quanta, PRIORITY_COUNT};

    use super::super::pause::Obedience;
    use super::*;

    /// 1000 Mbit/s: 1 bit per nanosecond.
    const LINE: BitRate = BitRate::from_mbit(1000);

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    fn free() -> PauseClock {
        PauseClock::new(
            LINE,
            Obedience {
                pfc: [true; PRIORITY_COUNT],
                pause: true,
            },
        )
    }

    fn flow(mbit: u64, bytes: u64, priority: u8) -> PacedFlow {
        PacedFlow {
            frame: Bytes::new(bytes),
            rate: BitRate::from_mbit(mbit),
            priority: Priority::from_low_bits(priority),
            start: Instant::ZERO,
            stop: Instant::FAR_FUTURE,
        }
    }

    /// Sends whenever the pacer permits, from `from` until `until`; returns frames by flow.
    fn drive(pacer: &mut Pacer, pauses: &PauseClock, from: u64, until: u64) -> Vec<u64> {
        let mut counts = vec![0; pacer.flows.len()];
        let mut now = at(from);
        while let Some(moment) = pacer.next_moment(now, pauses).filter(|m| *m < at(until)) {
            now = moment;
            let index = pacer.next(now, pauses).expect("the moment was promised");
            counts[index] += 1;
        }
        counts
    }

    #[test]
    fn a_flow_keeps_its_rate() {
        let mut pacer = Pacer::new(LINE, 2, vec![flow(100, 1000, 0)]);
        // one frame every 80 microseconds
        assert_eq!(drive(&mut pacer, &free(), 0, 80_000 * 1000), [1000]);
    }

    #[test]
    fn the_line_is_shared_in_turns_and_never_exceeded() {
        let flows = vec![flow(1000, 1000, 0), flow(1000, 1000, 1), flow(10, 1000, 2)];
        let mut pacer = Pacer::new(LINE, 2, flows);
        let frame_on_line = (1000 + LINE_OVERHEAD_BYTES) * 8;
        let counts = drive(&mut pacer, &free(), 0, frame_on_line * 10_000);
        assert_eq!(counts.iter().sum::<u64>(), 10_000);
        // 10 Mbit/s: one frame every 800 microseconds in 81.92 milliseconds
        assert_eq!(counts[2], 103);
        assert!(counts[0].abs_diff(counts[1]) <= 1, "{counts:?}");
    }

    #[test]
    fn after_a_stall_two_frames_and_no_more() {
        let mut pacer = Pacer::new(LINE, 2, vec![flow(100, 1000, 0)]);
        let pauses = free();
        assert_eq!(pacer.next(at(0), &pauses), Some(0));
        let late = at(1_000_000_000);
        let back_to_back = std::iter::from_fn(|| pacer.next(late, &pauses)).count();
        assert_eq!(back_to_back, 2);
        assert_eq!(
            pacer.next_moment(late, &pauses),
            Some(late + Duration::from_nanos(80_000))
        );
    }

    #[test]
    fn a_pause_holds_its_priority_and_leaves_no_burst_behind() {
        let mut pacer = Pacer::new(LINE, 2, vec![flow(100, 1000, 3), flow(100, 1000, 4)]);
        let mut pauses = free();
        // 10 000 quanta of 512 ns: 5.12 ms
        pauses.receive_pfc(at(0), Priority::from_low_bits(3), Quanta(10_000));
        assert_eq!(drive(&mut pacer, &pauses, 0, 5_120_000), [0, 64]);
        let resumed = at(5_120_000);
        let mut burst = [0; 2];
        while let Some(index) = pacer.next(resumed, &pauses) {
            burst[index] += 1;
        }
        assert!(burst[0] <= 2 && burst[0] >= 1, "{burst:?}");
    }

    #[test]
    fn nothing_before_the_start_nor_from_the_stop_on() {
        let mut bounded = flow(100, 1000, 0);
        bounded.start = at(1_000_000);
        bounded.stop = at(1_800_000);
        let mut pacer = Pacer::new(LINE, 2, vec![bounded]);
        let pauses = free();
        assert_eq!(pacer.next(at(999_999), &pauses), None);
        assert_eq!(pacer.next_moment(at(0), &pauses), Some(at(1_000_000)));
        assert_eq!(drive(&mut pacer, &pauses, 0, 90_000_000), [10]);
        assert_eq!(pacer.next_moment(at(1_800_000), &pauses), None);
        let mut pacer = Pacer::new(LINE, 2, vec![flow(100, 1000, 0)]);
        pacer.stop();
        assert_eq!(pacer.next(at(5), &pauses), None);
        assert_eq!(pacer.next_moment(at(5), &pauses), None);
    }

    proptest! {
        /// Whenever the pacer is called, in any span the line carries no more than its rate plus the catch-up frames.
        #[test]
        fn no_span_exceeds_the_line(
            waits in prop::collection::vec(0u64..40_000, 1..300),
            catch_up in 1u32..4,
            sizes in prop::collection::vec(80u64..1518, 1..4),
        ) {
            let longest = sizes.iter().max().copied().unwrap_or(0) + LINE_OVERHEAD_BYTES;
            let flows = sizes.iter().map(|bytes| flow(1000, *bytes, 0)).collect();
            let mut pacer = Pacer::new(LINE, catch_up, flows);
            let pauses = free();
            let mut sent: Vec<(u64, u64)> = Vec::new();
            let mut now = 0;
            for wait in waits {
                now += wait;
                while let Some(index) = pacer.next(at(now), &pauses) {
                    sent.push((now, (sizes[index] + LINE_OVERHEAD_BYTES) * 8));
                }
            }
            let allowance = u64::from(catch_up) * longest * 8;
            for (first, &(from, _)) in sent.iter().enumerate().step_by(7) {
                let mut bits = 0;
                for &(to, length) in &sent[first..] {
                    bits += length;
                    prop_assert!(bits <= to - from + allowance);
                }
            }
        }
    }
}
