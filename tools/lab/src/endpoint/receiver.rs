//! One expected flow at its receiver: all counts of the report, updated frame by frame.

use weir_core::units::Instant;

use super::config::{EndpointConfig, ExpectFlow};
use super::frame::Whole;
use super::report::{FlowCount, Latency, ReceivedFlow};
use super::sequence::{Arrival, SequenceTracker};
use super::series::IntervalSums;

/// Arrivals of a flow so far.
#[derive(Debug)]
pub struct FlowReceiver {
    id: u32,
    name: String,
    run: Run,
    flow_start: Instant,
    flow_stop: Instant,
    sequence: SequenceTracker,
    bytes: u64,
    bytes_in_run: u64,
    bytes_last_third: u64,
    corrupted: u64,
    first_corruption: Option<String>,
    ce_marked: u64,
    first: Option<Instant>,
    last: Option<Instant>,
    longest_stall_nanos: u64,
    latency_min: u64,
    latency_max: u64,
    latency_sum: u128,
    series: IntervalSums,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    start: Instant,
    last_third: Instant,
    end: Instant,
}

impl FlowReceiver {
    /// Creates a state without arrivals.
    pub fn new(config: &EndpointConfig, flow: &ExpectFlow) -> Self {
        let at = |nanos: u64| config.moment(nanos);
        let start = at(0);
        Self {
            id: flow.id,
            name: flow.name.clone(),
            run: Run {
                start,
                last_third: at(config.run_nanos - config.run_nanos / 3),
                end: at(config.run_nanos),
            },
            flow_start: at(flow.start_nanos),
            flow_stop: at(flow.stop_nanos.unwrap_or(config.run_nanos)),
            sequence: SequenceTracker::default(),
            bytes: 0,
            bytes_in_run: 0,
            bytes_last_third: 0,
            corrupted: 0,
            first_corruption: None,
            ce_marked: 0,
            first: None,
            last: None,
            longest_stall_nanos: 0,
            latency_min: u64::MAX,
            latency_max: 0,
            latency_sum: 0,
            series: IntervalSums::new(start, config.run_nanos, config.sample_nanos),
        }
    }

    /// Returns the flow's number.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Records an intact frame of this flow with `length` bytes.
    pub fn receive(&mut self, now: Instant, frame: &Whole, length: u64) {
        self.ce_marked += u64::from(frame.ce);
        match self.sequence.record(frame.sequence) {
            Arrival::InOrder | Arrival::Late => {}
            Arrival::Duplicate | Arrival::BeyondWindow => return,
        }
        self.bytes += length;
        self.series.add(now, length);
        if now < self.run.end {
            self.bytes_in_run += length;
            if now >= self.run.last_third {
                self.bytes_last_third += length;
            }
        }
        if let Some(last) = self.last {
            self.note_stall(last, now);
        }
        self.first.get_or_insert(now);
        self.last = Some(now);

        let latency = now.saturating_since(frame.sent).as_nanos();
        self.latency_min = self.latency_min.min(latency);
        self.latency_max = self.latency_max.max(latency);
        self.latency_sum += u128::from(latency);
    }

    /// Counts a damaged frame of this flow.
    pub fn receive_corrupted(&mut self, reason: String) {
        self.corrupted += 1;
        self.first_corruption.get_or_insert(reason);
    }

    /// Returns the count of intact frames so far.
    pub fn count(&self) -> FlowCount {
        FlowCount {
            id: self.id,
            name: self.name.clone(),
            frames: self.sequence.distinct(),
            bytes: self.bytes,
        }
    }

    /// Returns the report as of `now`.
    pub fn report(&self, now: Instant) -> ReceivedFlow {
        let since_start = |at: Instant| at.saturating_since(self.run.start).as_nanos();
        let frames = self.sequence.distinct();
        ReceivedFlow {
            id: self.id,
            name: self.name.clone(),
            frames,
            bytes: self.bytes,
            highest_sequence: self.sequence.highest(),
            missing: self.sequence.missing(),
            reordered: self.sequence.reordered(),
            duplicated: self.sequence.duplicated(),
            beyond_window: self.sequence.beyond_window(),
            corrupted: self.corrupted,
            first_corruption: self.first_corruption.clone(),
            ce_marked: self.ce_marked,
            first_nanos: self.first.map(since_start),
            last_nanos: self.last.map(since_start),
            longest_stall_nanos: self.longest_stall_nanos.max(self.open_stall(now)),
            bits_per_second: rate(self.bytes_in_run, self.run.start, self.run.end.min(now)),
            bits_per_second_last_third: rate(
                self.bytes_last_third,
                self.run.last_third,
                self.run.end.min(now),
            ),
            latency: (frames > 0).then(|| Latency {
                min_nanos: self.latency_min,
                mean_nanos: self.latency_sum as f64 / frames as f64,
                max_nanos: self.latency_max,
            }),
            series_bytes: self.series.sums().to_vec(),
            late_bytes: self.series.late(),
        }
    }

    fn note_stall(&mut self, from: Instant, to: Instant) {
        let stall = to.min(self.flow_stop).saturating_since(from).as_nanos();
        self.longest_stall_nanos = self.longest_stall_nanos.max(stall);
    }

    /// Returns the time without an arrival that is still running at `now`.
    fn open_stall(&self, now: Instant) -> u64 {
        let from = self.last.unwrap_or(self.flow_start);
        now.min(self.flow_stop).saturating_since(from).as_nanos()
    }
}

/// Returns bits per second of `bytes` between two times; zero for an empty span.
fn rate(bytes: u64, from: Instant, to: Instant) -> f64 {
    let seconds = to.saturating_since(from).as_secs_f64();
    if seconds > 0.0 {
        bytes as f64 * 8.0 / seconds
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use weir_core::units::MacAddress;

    use super::*;

    /// Returns a receiver for a run of 3000 ns from 10 000 on, in intervals of 500 ns, with one flow throughout.
    fn receiver() -> FlowReceiver {
        let config: EndpointConfig = serde_json::from_str(
            r#"{"device": "d", "address": "02:00:00:00:00:01", "line_bits_per_second": 1,
                "report": "r", "start_monotonic_nanos": 10000, "run_nanos": 3000,
                "sample_nanos": 500}"#,
        )
        .unwrap();
        let flow = ExpectFlow {
            id: 4,
            name: "f".into(),
            start_nanos: 0,
            stop_nanos: None,
        };
        FlowReceiver::new(&config, &flow)
    }

    fn arrive(receiver: &mut FlowReceiver, at: u64, sequence: u64) {
        let now = Instant::from_nanos(10_000 + at);
        let frame = Whole {
            flow: 4,
            sequence,
            sent: Instant::from_nanos(now.as_nanos() - 7 - sequence),
            destination: MacAddress::default(),
            ce: sequence == 1,
        };
        receiver.receive(now, &frame, 100);
    }

    #[test]
    fn rates_stalls_and_series() {
        let mut receiver = receiver();
        for (at, sequence) in [
            (100, 0),
            (200, 1),
            (1700, 2),
            (2100, 3),
            (2200, 3),
            (3500, 4),
        ] {
            arrive(&mut receiver, at, sequence);
        }
        let report = receiver.report(Instant::from_nanos(20_000));
        assert_eq!(
            (report.frames, report.bytes, report.duplicated),
            (5, 500, 1)
        );
        assert_eq!(report.series_bytes, [200, 0, 0, 100, 100, 0]);
        assert_eq!(report.late_bytes, 100);
        assert_eq!(report.longest_stall_nanos, 1500);
        assert_eq!(
            (report.first_nanos, report.last_nanos),
            (Some(100), Some(3500))
        );
        assert!((report.bits_per_second - 400.0 * 8.0 / 3000e-9).abs() < 1.0);
        assert!((report.bits_per_second_last_third - 100.0 * 8.0 / 1000e-9).abs() < 1.0);
        let latency = report.latency.unwrap();
        assert_eq!((latency.min_nanos, latency.max_nanos), (7, 11));
        assert!((latency.mean_nanos - 9.0).abs() < 1e-9);
        assert_eq!(report.ce_marked, 1);
    }

    #[test]
    fn a_stall_that_lasts_to_the_end_counts_and_so_does_silence() {
        let mut arrived = receiver();
        arrive(&mut arrived, 400, 0);
        let end = Instant::from_nanos(99_999);
        assert_eq!(arrived.report(end).longest_stall_nanos, 2600);
        let silent = receiver().report(end);
        assert_eq!(silent.longest_stall_nanos, 3000);
        assert_eq!((silent.highest_sequence, silent.latency), (None, None));
        assert_eq!(
            receiver()
                .report(Instant::from_nanos(10_800))
                .longest_stall_nanos,
            800
        );
    }

    #[test]
    fn a_corrupted_frame_is_missing_too() {
        let mut receiver = receiver();
        arrive(&mut receiver, 1, 0);
        receiver.receive_corrupted("first".into());
        receiver.receive_corrupted("second".into());
        arrive(&mut receiver, 2, 3);
        let report = receiver.report(Instant::from_nanos(20_000));
        assert_eq!((report.corrupted, report.missing), (2, 2));
        assert_eq!(report.first_corruption.as_deref(), Some("first"));
    }
}
