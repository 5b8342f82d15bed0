//! Senders with a window: Tahoe, Reno, Vegas and DCTCP.
//!
//! Slow start, congestion avoidance, fast retransmit and fast recovery are those of RFC 5681; Reno recovers from several
//! losses in one window as in RFC 6582 (NewReno). Each acknowledgement contains the sending time of its frame, as with RFC
//! 7323's timestamps, so each of them measures a round trip.

use weir_config::scenario::{DctcpConfig, WindowConfig};
use weir_core::Instant;

use super::dctcp::Dctcp;
use super::retransmission_timer::RetransmissionTimer;
use super::vegas::Vegas;
use super::WINDOW_FRAMES_MAX;

/// Minimum threshold after a loss (RFC 5681, equation 4).
const THRESHOLD_MIN: f64 = 2.0;

/// Algorithms of windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// A loss sets the window to one frame, and everything from the lost frame on is repeated.
    Tahoe,
    /// Duplicate acknowledgements halve the window; a timeout sets it to one frame.
    Reno,
    /// A growing round-trip time shrinks the window. Losses are handled like in Reno.
    Vegas,
    /// Marks shrink the window in proportion to their number (RFC 8257). Otherwise like Reno.
    Dctcp,
}

/// The sender's side of one flow. Frames are numbered from zero; a repetition has the same number.
#[derive(Clone, Debug)]
pub struct WindowSender {
    algorithm: Algorithm,
    config: WindowConfig,
    /// W.
    window: f64,
    /// w_th: slow start ends here.
    threshold: f64,
    frame_count: Option<u32>,
    /// Every frame before it is acknowledged.
    acknowledged: u32,
    /// Next frame to send, except for repetitions.
    next: u32,
    /// First frame never sent.
    unsent: u32,
    duplicates: u32,
    /// First frame after those sent before the last loss was detected: only losses from it on count as new.
    lost_before: u32,
    /// In fast recovery, until every frame before `lost_before` is acknowledged.
    is_recovering: bool,
    /// A frame to repeat at once.
    repeat: Option<u32>,
    timer: RetransmissionTimer,
    vegas: Vegas,
    dctcp: Dctcp,
}

impl WindowSender {
    /// Creates a flow of `frame_count` frames; `None` for an endless one.
    pub fn new(algorithm: Algorithm, config: WindowConfig, frame_count: Option<u32>) -> Self {
        Self {
            algorithm,
            config,
            window: f64::from(config.initial),
            threshold: config.ssthresh.map_or(f64::INFINITY, f64::from),
            frame_count,
            acknowledged: 0,
            next: 0,
            unsent: 0,
            duplicates: 0,
            lost_before: 0,
            is_recovering: false,
            repeat: None,
            timer: RetransmissionTimer::new(config.timeout_min),
            vegas: Vegas::new(),
            dctcp: Dctcp::new(DctcpConfig::default()),
        }
    }

    /// Sets other parameters of DCTCP.
    #[must_use]
    pub fn with_dctcp(mut self, config: DctcpConfig) -> Self {
        self.dctcp = Dctcp::new(config);
        self
    }

    /// W, in frames.
    pub const fn window(&self) -> f64 {
        self.window
    }

    /// α of DCTCP: marked share of a window, as a moving average.
    pub const fn dctcp_alpha(&self) -> f64 {
        self.dctcp.alpha()
    }

    /// Returns true if a frame may be sent now.
    pub fn may_send(&self) -> bool {
        self.repeat.is_some() || self.fits_window()
    }

    /// Returns true if the next frame is a repetition.
    pub fn repeats(&self) -> bool {
        self.repeat.is_some() || self.next < self.unsent
    }

    /// True if everything is acknowledged.
    pub fn is_done(&self) -> bool {
        self.frame_count == Some(self.acknowledged)
    }

    /// Sends a frame; returns its number. Call it only if it [may](Self::may_send).
    pub fn send(&mut self, now: Instant) -> u32 {
        self.timer.start_unless_running(now);
        self.repeat.take().unwrap_or_else(|| {
            let number = self.next;
            self.next += 1;
            self.unsent = self.unsent.max(self.next);
            number
        })
    }

    /// The receiver has everything before `number`; the answered frame was sent at `sent`, and `is_marked` if it was marked
    /// (ECE of a receiver that acknowledges every frame).
    pub fn acknowledge(&mut self, now: Instant, number: u32, sent: Instant, is_marked: bool) {
        let round_trip = now.saturating_since(sent);
        self.timer.measure(round_trip);
        self.vegas.measure(round_trip);
        if number > self.acknowledged && number <= self.unsent {
            self.advance(now, number);
        } else if number == self.acknowledged && self.in_flight() > 0 {
            self.duplicate();
        }
        if self.algorithm == Algorithm::Dctcp && number <= self.unsent {
            self.see_mark(is_marked, number);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is next due.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.timer.expires_at()
    }

    /// Restarts with one frame if the timer has expired.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.timer.expires_at().is_none_or(|at| at > now) {
            return;
        }
        self.timer.back_off();
        self.note_loss();
        self.go_back();
    }

    /// RFC 8257, section 3.3. A window in recovery has been cut already.
    fn see_mark(&mut self, is_marked: bool, number: u32) {
        let left = self.dctcp.acknowledge(is_marked, number, self.next);
        if let Some(left) = left.filter(|_| !self.is_recovering) {
            self.window = (self.window * left).max(1.0);
            self.threshold = self.window.max(THRESHOLD_MIN);
        }
    }

    fn fits_window(&self) -> bool {
        let window = (self.window as u32).clamp(1, WINDOW_FRAMES_MAX);
        self.in_flight() < window && self.frame_count.is_none_or(|count| self.next < count)
    }

    fn in_flight(&self) -> u32 {
        self.next - self.acknowledged
    }

    fn advance(&mut self, now: Instant, number: u32) {
        let count = number - self.acknowledged;
        self.acknowledged = number;
        self.next = self.next.max(number);
        self.repeat = self.repeat.filter(|repeat| *repeat >= number);
        self.duplicates = 0;
        self.timer.acknowledged(now, number < self.unsent);
        if !self.is_recovering {
            self.grow();
        } else if number < self.lost_before {
            // RFC 6582, 3.2, step 3: the next one is also lost.
            self.repeat = Some(number);
            self.window = (self.window - f64::from(count) + 1.0).max(1.0);
        } else {
            self.is_recovering = false;
            self.window = self.threshold;
        }
    }

    fn grow(&mut self) {
        self.window = if self.algorithm == Algorithm::Vegas {
            let (acknowledged, next) = (self.acknowledged, self.next);
            self.vegas.window(
                self.window,
                self.threshold,
                acknowledged,
                next,
                &self.config,
            )
        } else if self.window < self.threshold {
            self.window + 1.0
        } else {
            self.window + 1.0 / self.window
        };
        self.window = self.window.min(f64::from(WINDOW_FRAMES_MAX));
    }

    fn duplicate(&mut self) {
        self.duplicates = self.duplicates.saturating_add(1);
        if self.is_recovering {
            // A frame has left the network: another one may enter.
            self.window = (self.window + 1.0).min(f64::from(WINDOW_FRAMES_MAX));
        } else if self.duplicates == self.config.duplicate_acks
            && self.acknowledged >= self.lost_before
        {
            self.note_loss();
            if self.algorithm == Algorithm::Tahoe {
                self.go_back();
            } else {
                self.vegas.lost(false);
                self.is_recovering = true;
                self.repeat = Some(self.acknowledged);
                self.window = self.threshold + f64::from(self.config.duplicate_acks);
            }
        }
    }

    fn note_loss(&mut self) {
        self.threshold = (f64::from(self.in_flight()) / 2.0).max(THRESHOLD_MIN);
        self.lost_before = self.unsent;
        self.dctcp.lost(self.unsent);
    }

    fn go_back(&mut self) {
        self.vegas.lost(true);
        self.window = 1.0;
        self.next = self.acknowledged;
        self.duplicates = 0;
        self.is_recovering = false;
        self.repeat = None;
    }
}
