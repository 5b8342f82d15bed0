//! Flows in which every frame is acknowledged: limits of rate and window, and repetition of lost frames.

use weir_config::scenario::{
    DcqcnConfig, Recovery, RecoveryConfig, Transport, TransportConfig, WindowLimit,
};
use weir_core::{BitRate, Bytes, Duration, Instant};

use super::custom::{Acknowledged, Custom, Signal};
use super::dcqcn::ReactionPoint;
use super::hpcc::Hpcc;
use super::recovery::{Reply, Resender};
use super::swift::Swift;
use super::telemetry::Hop;
use super::timely::Timely;

/// Limit of a flow.
#[derive(Clone, Debug)]
pub enum Control {
    /// A rate controlled by notifications.
    Dcqcn(Box<ReactionPoint>),
    /// A rate controlled by round-trip times.
    Timely(Box<Timely>),
    /// A window of frames controlled by round-trip times.
    Swift(Box<Swift>),
    /// A window of bytes and a matching rate, controlled by telemetry.
    Hpcc(Box<Hpcc>),
    /// Whatever the caller's code decides.
    Custom(Box<Custom>),
}

/// Wait of a flow's next frame after one that has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// The time of that frame at this rate.
    Rate(BitRate),
    /// This long.
    Pause(Duration),
}

/// Context in which a flow is created.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// `[dcqcn]`.
    pub dcqcn: &'a DcqcnConfig,
    /// Settings of all others.
    pub transports: &'a TransportConfig,
    /// Line rate of the sending host.
    pub line: BitRate,
    /// The longest round trip in the empty network.
    pub base_round_trip: Duration,
}

/// An acknowledgement reaches the sender.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledgement<'a> {
    /// The answered frame.
    pub number: u32,
    /// The receiver's reply.
    pub reply: Reply,
    /// That frame was marked Congestion Experienced.
    pub is_marked: bool,
    /// Time at which that frame was sent.
    pub sent: Instant,
    /// Telemetry of the acknowledged frame, if switches add it.
    pub hops: &'a [Hop],
}

/// The sender's side of one flow.
#[derive(Clone, Debug)]
pub struct Sender {
    control: Control,
    resender: Resender,
    frame: Bytes,
    /// Maximum number of bytes in flight, regardless of the control.
    limit: Option<u64>,
}

impl Sender {
    /// Creates the sender of `frame_count` frames of length `frame`, or endless for `None`. Returns `None` if nothing is
    /// acknowledged, or only by a [window](super::window).
    pub fn new(
        transport: Transport,
        around: &Surroundings<'_>,
        frame: Bytes,
        frame_count: Option<u32>,
    ) -> Option<Self> {
        let transports = around.transports;
        let line = around.line;
        let control = match transport {
            Transport::Dcqcn => Control::Dcqcn(Box::new(ReactionPoint::new(*around.dcqcn, line))),
            Transport::Timely => Control::Timely(Box::new(Timely::new(transports.timely, line))),
            Transport::Swift => Control::Swift(Box::new(Swift::new(transports.swift))),
            Transport::Hpcc => {
                let base = transports.hpcc.base_rtt.unwrap_or(around.base_round_trip);
                Control::Hpcc(Box::new(Hpcc::new(transports.hpcc, line, base)))
            }
            _ => return None,
        };
        Self::with_control(control, transport, around, frame, frame_count)
    }

    /// As [`new`](Self::new), with this control.
    pub fn with_control(
        control: Control,
        transport: Transport,
        around: &Surroundings<'_>,
        frame: Bytes,
        frame_count: Option<u32>,
    ) -> Option<Self> {
        let (transports, line) = (around.transports, around.line);
        let recovery = recovery(transport, &transports.recovery)?;
        let is_rate = matches!(control, Control::Dcqcn(_) | Control::Timely(_));
        let limit = transports.recovery.window_limit.filter(|_| is_rate);
        let limit = limit.map(|limit| match limit {
            WindowLimit::Bytes(bytes) => bytes.get(),
            WindowLimit::Bdp => bandwidth_delay(line, around.base_round_trip),
        });
        let timeout_min = transports.recovery.timeout_min;
        Some(Self {
            control,
            resender: Resender::new(recovery, frame_count, timeout_min),
            frame,
            limit,
        })
    }

    /// Limit of this flow.
    pub const fn control(&self) -> &Control {
        &self.control
    }

    /// Returns true if a frame may be sent now, except for the [pace](Self::pace).
    pub fn may_send(&self) -> bool {
        self.resender.has_selected() || (self.resender.has_frame() && self.fits_window())
    }

    /// Returns true if the next frame is a repetition.
    pub const fn repeats(&self) -> bool {
        self.resender.repeats()
    }

    /// True if everything is acknowledged.
    pub fn is_done(&self) -> bool {
        self.resender.is_done()
    }

    /// Sends a frame; returns its number. Call it only if it [may](Self::may_send).
    pub fn send(&mut self, now: Instant) -> u32 {
        self.resender.send(now)
    }

    /// Returns the wait of the next frame after one of `length`.
    pub fn pace(&mut self, length: Bytes) -> Pace {
        match &mut self.control {
            Control::Dcqcn(point) => {
                point.sent(length);
                Pace::Rate(point.rate())
            }
            Control::Timely(timely) => Pace::Rate(timely.rate()),
            Control::Swift(swift) => Pace::Pause(swift.pause().unwrap_or(Duration::ZERO)),
            Control::Hpcc(hpcc) => Pace::Rate(hpcc.rate()),
            Control::Custom(custom) => match custom.limits().rate {
                Some(rate) => Pace::Rate(rate),
                None => Pace::Pause(Duration::ZERO),
            },
        }
    }

    /// Handles a notification of congestion.
    pub fn notify(&mut self, now: Instant) {
        match &mut self.control {
            Control::Dcqcn(point) => point.notify(now),
            Control::Custom(custom) => custom.handle(now, Signal::Notified),
            Control::Timely(_) | Control::Swift(_) | Control::Hpcc(_) => {}
        }
    }

    /// Handles an acknowledgement.
    pub fn acknowledge(&mut self, now: Instant, acknowledgement: &Acknowledgement<'_>) {
        let Acknowledgement {
            number,
            reply,
            is_marked,
            sent,
            hops,
        } = *acknowledgement;
        let progress = self.resender.acknowledge(now, number, reply, sent);
        let round_trip = now.saturating_since(sent);
        match &mut self.control {
            Control::Dcqcn(_) => {}
            Control::Timely(timely) => {
                let bytes = u64::from(progress.frames) * self.frame.get();
                timely.acknowledge(round_trip, Bytes::new(bytes));
            }
            Control::Swift(swift) => {
                let hops = u32::try_from(hops.len()).unwrap_or(u32::MAX);
                swift.acknowledge(now, round_trip, hops, progress.frames);
                if progress.is_loss {
                    swift.lost(now);
                }
            }
            Control::Hpcc(hpcc) => hpcc.acknowledge(reply.before, self.resender.next(), hops),
            Control::Custom(custom) => {
                let bytes = |frames: u32| Bytes::new(u64::from(frames) * self.frame.get());
                let acknowledged = Acknowledged {
                    round_trip,
                    bytes: bytes(progress.frames),
                    in_flight: bytes(self.resender.in_flight()),
                    is_marked,
                    hops,
                };
                custom.handle(now, Signal::Acknowledged(acknowledged));
                if progress.is_loss {
                    custom.handle(now, Signal::Lost);
                }
            }
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is next due.
    pub fn next_timeout(&self) -> Option<Instant> {
        let of_control = match &self.control {
            Control::Dcqcn(point) if !self.is_done() => point.next_timeout(),
            Control::Custom(custom) if !self.is_done() => custom.limits().timer,
            _ => None,
        };
        let of_recovery = self.resender.next_timeout();
        of_control.into_iter().chain(of_recovery).min()
    }

    /// Handles the timer if it is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        match &mut self.control {
            Control::Dcqcn(point) => {
                if point.next_timeout().is_some_and(|due| due <= now) {
                    point.handle_timeout(now);
                }
            }
            Control::Custom(custom) => custom.handle_timeout(now),
            Control::Timely(_) | Control::Swift(_) | Control::Hpcc(_) => {}
        }
        if self.resender.handle_timeout(now) {
            match &mut self.control {
                Control::Swift(swift) => swift.timed_out(now),
                Control::Custom(custom) => custom.handle(now, Signal::TimedOut),
                Control::Dcqcn(_) | Control::Timely(_) | Control::Hpcc(_) => {}
            }
        }
    }

    /// One frame may always be in flight: lower rates use the pace.
    fn fits_window(&self) -> bool {
        let frames = self.resender.in_flight();
        let bytes = u64::from(frames) * self.frame.get();
        let fits_limit = frames == 0 || self.limit.is_none_or(|limit| bytes < limit);
        let fits_control = match &self.control {
            Control::Dcqcn(_) | Control::Timely(_) => true,
            Control::Swift(swift) => frames < swift.frames(),
            Control::Hpcc(hpcc) => frames == 0 || (bytes as f64) < hpcc.window_bytes(),
            Control::Custom(custom) => custom.fits(bytes),
        };
        fits_limit && fits_control
    }
}

/// Returns the recovery of a flow's lost frames; `None` if nothing is acknowledged, or only by a [window](super::window).
pub fn recovery(transport: Transport, config: &RecoveryConfig) -> Option<Recovery> {
    let is_here = transport == Transport::Dcqcn || transport.needs_recovery();
    let recovery = config.of(transport);
    (is_here && recovery != Recovery::None).then_some(recovery)
}

fn bandwidth_delay(line: BitRate, time: Duration) -> u64 {
    let bits = u128::from(line.get()) * u128::from(time.as_nanos()) / 1_000_000_000;
    u64::try_from(bits / 8).unwrap_or(u64::MAX).max(1)
}
