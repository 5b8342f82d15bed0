//! One flow at its sender: numbers its frames and counts for the report.

use weir_core::units::{Bytes, Duration, Instant, Priority};

use super::config::{EndpointConfig, SendFlow};
use super::frame::FlowHeader;
use super::pacer::PacedFlow;
use super::pause::PauseClock;
use super::report::{FlowCount, SentFlow};
use super::series::IntervalSums;

/// Frames of a flow so far.
#[derive(Debug)]
pub struct FlowSender {
    name: String,
    header: FlowHeader,
    run_start: Instant,
    start: Instant,
    stop: Instant,
    frames: u64,
    first: Option<Instant>,
    last: Option<Instant>,
    series: IntervalSums,
    paused: Paused,
}

/// Paused time of a flow: that of its priority between its start and its stop.
#[derive(Clone, Copy, Debug)]
enum Paused {
    NotStarted,
    /// Total of the priority at the flow's start.
    Since(Duration),
    Over(Duration),
}

impl FlowSender {
    /// Creates a state without sent frames.
    pub fn new(config: &EndpointConfig, flow: &SendFlow) -> Self {
        Self {
            name: flow.name.clone(),
            header: FlowHeader {
                flow: flow.id,
                source: config.address,
                destination: flow.destination,
                priority: flow.priority(),
                source_port: flow.source_port(),
                frame_bytes: flow.frame_bytes,
                ecn_capable: flow.ecn_capable,
            },
            run_start: config.moment(0),
            start: config.moment(flow.start_nanos),
            stop: config.moment(flow.stop_nanos),
            frames: 0,
            first: None,
            last: None,
            series: IntervalSums::new(config.moment(0), config.run_nanos, config.sample_nanos),
            paused: Paused::NotStarted,
        }
    }

    /// Returns the flow for the pacer.
    pub fn paced(config: &EndpointConfig, flow: &SendFlow) -> PacedFlow {
        let line = config.line_rate();
        let rate = weir_core::units::BitRate::new(flow.bits_per_second).unwrap_or(line);
        PacedFlow {
            frame: Bytes::new(u64::from(flow.frame_bytes)),
            rate: rate.min(line),
            priority: flow.priority(),
            start: config.moment(flow.start_nanos),
            stop: config.moment(flow.stop_nanos),
        }
    }

    /// Writes the next frame to `buffer` and counts it as sent at `now`. Returns its length; `None`, without counting, if it
    /// does not fit.
    pub fn write(&mut self, now: Instant, buffer: &mut [u8]) -> Option<usize> {
        let length = self.header.write(self.frames, now, buffer)?;
        self.frames += 1;
        self.first.get_or_insert(now);
        self.last = Some(now);
        self.series.add(now, length as u64);
        Some(length)
    }

    /// Records the paused time when the flow starts and stops.
    pub fn tick(&mut self, now: Instant, pauses: &PauseClock) {
        let total = pauses.paused_total(now, self.priority());
        if matches!(self.paused, Paused::NotStarted) && now >= self.start {
            self.paused = Paused::Since(total);
        }
        if now >= self.stop {
            self.paused = Paused::Over(self.paused_until(total));
        }
    }

    /// Ends the flow now, before its stop time.
    pub fn stop(&mut self, now: Instant, pauses: &PauseClock) {
        self.stop = self.stop.min(now);
        self.tick(now, pauses);
    }

    /// Returns the next time after `now` at which [`tick`](Self::tick) has something to record.
    pub fn next_change(&self, now: Instant) -> Option<Instant> {
        [self.start, self.stop]
            .into_iter()
            .filter(|at| *at > now)
            .min()
    }

    /// Returns the count of frames so far.
    pub fn count(&self) -> FlowCount {
        FlowCount {
            id: self.header.flow,
            name: self.name.clone(),
            frames: self.frames,
            bytes: self.frames * u64::from(self.header.frame_bytes),
        }
    }

    /// Returns the report as of `now`.
    pub fn report(&self, now: Instant, pauses: &PauseClock) -> SentFlow {
        let since_start = |at: Instant| at.saturating_since(self.run_start).as_nanos();
        let FlowCount {
            id,
            name,
            frames,
            bytes,
        } = self.count();
        SentFlow {
            id,
            name,
            frames,
            bytes,
            first_nanos: self.first.map(since_start),
            last_nanos: self.last.map(since_start),
            paused_nanos: self
                .paused_until(pauses.paused_total(now, self.priority()))
                .as_nanos(),
            series_bytes: self.series.sums().to_vec(),
            late_bytes: self.series.late(),
        }
    }

    fn priority(&self) -> Priority {
        self.header.priority
    }

    fn paused_until(&self, total: Duration) -> Duration {
        match self.paused {
            Paused::NotStarted => Duration::ZERO,
            Paused::Since(before) => {
                Duration::from_nanos(total.as_nanos().saturating_sub(before.as_nanos()))
            }
            Paused::Over(paused) => paused,
        }
    }
}
