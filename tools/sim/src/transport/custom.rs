//! Congestion control from outside: code of the caller decides a flow's rate and window, and lost frames are recovered as
//! for the other transports.
//!
//! The network calls it at the flow's sender, one event after another. Times of one flow ascend. Those of different flows
//! need not: the network handles the events of one host after another, in short windows ([`crate::schedule`]).

use std::fmt::Debug;

use weir_core::{BitRate, Bytes, Duration, Instant};

use super::telemetry::Hop;

/// What the caller decides, until it decides otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Rate of the flow in bytes of frames; `None`: the line's, or the flow's own.
    pub rate: Option<BitRate>,
    /// Maximum number of bytes in flight; one frame may always be. `None`: no limit.
    pub window_bytes: Option<f64>,
    /// When to call with [`Signal::Timer`], while data are left; a time that is past is the next nanosecond.
    pub timer: Option<Instant>,
}

/// An acknowledgement reaches the sender.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged<'a> {
    /// From the frame's departure to the arrival of its acknowledgement.
    pub round_trip: Duration,
    /// Bytes newly known to have arrived.
    pub bytes: Bytes,
    /// Bytes in flight after it.
    pub in_flight: Bytes,
    /// The acknowledged frame was marked Congestion Experienced.
    pub is_marked: bool,
    /// Telemetry of the switches that the frame has passed.
    pub hops: &'a [Hop],
}

/// Reason for a call.
#[derive(Clone, Copy, Debug)]
pub enum Signal<'a> {
    /// An acknowledgement.
    Acknowledged(Acknowledged<'a>),
    /// A notification of congestion (CNP).
    Notified,
    /// Acknowledgements revealed a loss; it follows that acknowledgement.
    Lost,
    /// Acknowledgements are overdue, and frames are sent again.
    TimedOut,
    /// [`Limits::timer`] has come.
    Timer,
}

/// Congestion control of one flow.
pub trait CustomControl: Debug + Send {
    /// Limits of a flow that has not sent anything.
    fn begin(&self) -> Limits;

    /// Returns true if the receiver is to answer marked frames with notifications, at the intervals of `[dcqcn]`.
    fn wants_notifications(&self) -> bool;

    /// Handles a signal at time `now`; returns the limits from now on.
    fn handle(&mut self, now: Instant, signal: Signal<'_>) -> Limits;

    /// Returns a copy for a flow that is copied. Only a copy's original is called.
    fn copy(&self) -> Box<dyn CustomControl>;
}

/// Makes the control of each flow with a transport of the caller.
pub trait CustomControls: Debug + Send + Sync {
    /// Returns the control of a flow that is about to exist.
    fn control(&self, start: &Start) -> Box<dyn CustomControl>;
}

/// A flow that is about to exist.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Its index in the plan.
    pub flow: u32,
    /// Number of its transport: that of [`Transport::Custom`](weir_config::scenario::Transport::Custom).
    pub transport: u16,
    /// Rate of the sending host's line.
    pub line: BitRate,
    /// Length of its frames.
    pub frame: Bytes,
    /// Its data; `None`: no end.
    pub size: Option<Bytes>,
    /// The longest round trip of any such flow in the empty network: a full frame there, and the answer back.
    pub base_round_trip: Duration,
}

/// A control with its present limits.
#[derive(Debug)]
pub struct Custom {
    control: Box<dyn CustomControl>,
    limits: Limits,
}

impl Clone for Custom {
    fn clone(&self) -> Self {
        Self {
            control: self.control.copy(),
            limits: self.limits,
        }
    }
}

impl Custom {
    /// Creates a flow that has not sent anything.
    pub fn new(control: Box<dyn CustomControl>) -> Self {
        let limits = control.begin();
        Self { control, limits }
    }

    /// The present limits.
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn wants_notifications(&self) -> bool {
        self.control.wants_notifications()
    }

    pub(crate) fn handle(&mut self, now: Instant, signal: Signal<'_>) {
        self.limits = self.control.handle(now, signal);
        // A timer of the present moment would expire again and again, and time would stand still.
        let next = now + Duration::from_nanos(1);
        self.limits.timer = self.limits.timer.map(|at| at.max(next));
    }

    /// Calls the timer if it is due.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.limits.timer.is_some_and(|at| at <= now) {
            self.limits.timer = None;
            self.handle(now, Signal::Timer);
        }
    }

    /// Returns true if there is room for a frame beside `bytes` in flight.
    pub(crate) fn fits(&self, bytes: u64) -> bool {
        let window = self.limits.window_bytes;
        bytes == 0 || window.is_none_or(|window| (bytes as f64) < window)
    }
}
