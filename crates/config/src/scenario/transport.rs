//! Parameters of congestion control and recovery.

use weir_core::{BitRate, Bytes, Duration};

use crate::Fraction;

/// Maximum window of a flow, and maximum number of frames held out of order by a receiver. In frames.
pub const WINDOW_FRAMES_MAX: u32 = 65_536;

/// `[dcqcn]`: the calculus paper's section V with its Table II, which follows DCQCN (Zhu et al., SIGCOMM 2015). Marking
/// (K_min, K_max, P_max) belongs to the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DcqcnConfig {
    /// g: the weight of one notification in α.
    pub g: Fraction,
    /// T_gap: minimum time between two notifications of a receiver to a flow.
    pub notification_gap: Duration,
    /// K: α falls after this long without a notification.
    pub alpha_timer: Duration,
    /// T: i_T grows by one after this long without a notification.
    pub rate_timer: Duration,
    /// B: i_B grows by one after this many bytes without a notification.
    pub byte_counter: Bytes,
    /// R_AI: step of R_T in additive increase.
    pub additive: BitRate,
    /// R_HI: step of R_T in hyper increase.
    pub hyper: BitRate,
    /// Initial α of a flow.
    pub initial_alpha: Fraction,
    /// True if each notification sets R_T to R_C, as in the paper. Otherwise only the first one after an increase by
    /// timer does: after several cuts in a row, the rate recovers to that before all of them.
    pub clamp_target: bool,
    /// Minimum of R_C.
    pub rate_min: BitRate,
    /// When α and the rates change.
    pub reaction: Reaction,
    /// F: number of increases by timer, or by bytes, that end fast recovery.
    pub fast_recovery: u32,
    /// With [`Reaction::Nic`]: interval between checks for notifications, each of which may cut the rate.
    pub cut_interval: Duration,
}

/// When DCQCN's sender changes α and its rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reaction {
    /// As in the paper: at each notification, and by timer and bytes without one.
    #[default]
    Paper,
    /// As in NICs and HPCC's simulator: only by timers, each of which checks whether a notification has arrived since
    /// it last expired; α has a separate one. Recovery ignores bytes, and hyper increase always takes one step.
    Nic,
}

impl Reaction {
    /// Both, with their names in files.
    pub const NAMED: [(&'static str, Self); 2] = [("paper", Self::Paper), ("nic", Self::Nic)];
}

/// `parts` × 10⁻⁹, up to one.
const fn parts(parts: u32) -> Fraction {
    match Fraction::from_parts(parts) {
        Some(fraction) => fraction,
        None => Fraction::ONE,
    }
}

impl Default for DcqcnConfig {
    fn default() -> Self {
        Self {
            g: parts(Fraction::ONE_IN_PARTS / 256),
            notification_gap: Duration::from_micros(50),
            alpha_timer: Duration::from_micros(55),
            rate_timer: Duration::from_micros(55),
            byte_counter: Bytes::new(10_000_000),
            additive: BitRate::from_mbit(5),
            hyper: BitRate::from_mbit(50),
            initial_alpha: Fraction::ONE,
            clamp_target: true,
            rate_min: BitRate::from_mbit(100),
            reaction: Reaction::Paper,
            fast_recovery: 5,
            cut_interval: Duration::from_micros(4),
        }
    }
}

/// `[window]`: for `tahoe`, `reno`, `vegas` and `dctcp`. Windows count frames of the flow's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowConfig {
    /// W_o: initial window of a flow in frames; at least 1.
    pub initial: u32,
    /// Initial w_th, in frames; `None`: slow start lasts until the first congestion.
    pub ssthresh: Option<u32>,
    /// Minimum timeout.
    pub timeout_min: Duration,
    /// Consecutive duplicates that count as a loss; at least 1.
    pub duplicate_acks: u32,
    /// Vegas grows its window if fewer extra frames than this are queued.
    pub alpha: u32,
    /// Vegas shrinks its window if more extra frames than this are queued; at least `alpha`.
    pub beta: u32,
    /// Vegas leaves slow start if more extra frames than this are queued.
    pub gamma: u32,
}

impl Default for WindowConfig {
    /// One frame and three duplicates (RFC 5681 and its ancestors); τ_o = 3 ms (calculus paper, section V);
    /// α = 1, β = 3, γ = 1 (Brakmo and Peterson, 1995).
    fn default() -> Self {
        Self {
            initial: 1,
            ssthresh: None,
            timeout_min: Duration::from_millis(3),
            duplicate_acks: 3,
            alpha: 1,
            beta: 3,
            gamma: 1,
        }
    }
}

/// Settings of `[dctcp]`, `[timely]`, `[swift]`, `[hpcc]` and `[recovery]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransportConfig {
    /// `[dctcp]`.
    pub dctcp: DctcpConfig,
    /// `[timely]`.
    pub timely: TimelyConfig,
    /// `[swift]`.
    pub swift: SwiftConfig,
    /// `[hpcc]`.
    pub hpcc: HpccConfig,
    /// `[recovery]`.
    pub recovery: RecoveryConfig,
}

/// `[dctcp]`: RFC 8257. The other parameters of its windows are in [`WindowConfig`]; marking belongs to the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DctcpConfig {
    /// g: the weight of one window in α.
    pub g: Fraction,
    /// Initial α of a flow.
    pub initial_alpha: Fraction,
}

impl Default for DctcpConfig {
    /// g = 1/16 and α = 1 (RFC 8257, sections 4.2 and 3.3).
    fn default() -> Self {
        Self {
            g: parts(62_500_000),
            initial_alpha: Fraction::ONE,
        }
    }
}

/// `[timely]`: Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015, algorithm 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelyConfig {
    /// α: the weight of the newest difference of two round trip times.
    pub alpha: Fraction,
    /// β: factor of a decrease, applied to the gradient or to the excess over T_high.
    pub beta: Fraction,
    /// T_low: below it the rate grows regardless of the gradient.
    pub low: Duration,
    /// T_high: above it the rate falls regardless of the gradient. At least `low`.
    pub high: Duration,
    /// minRTT: converts a difference into a gradient.
    pub rtt_min: Duration,
    /// δ: the step of additive increase.
    pub additive: BitRate,
    /// Consecutive completions without a growing round trip time that make the step N = 5 times as large.
    pub hyper_after: u32,
    /// Bytes per completion, each of which gives a round trip time.
    pub segment: Bytes,
    /// Minimum rate.
    pub rate_min: BitRate,
    /// Initial rate of a flow; `None` for line rate.
    pub initial_rate: Option<BitRate>,
}

impl Default for TimelyConfig {
    /// The paper's T_low, T_high, β, δ, N and segments; α and minRTT are those of Zhu et al., "ECN or Delay", CoNEXT
    /// 2016, and HPCC's simulator.
    fn default() -> Self {
        Self {
            alpha: parts(875_000_000),
            beta: parts(800_000_000),
            low: Duration::from_micros(50),
            high: Duration::from_micros(500),
            rtt_min: Duration::from_micros(20),
            additive: BitRate::from_mbit(10),
            hyper_after: 5,
            segment: Bytes::new(16_000),
            rate_min: BitRate::from_mbit(100),
            initial_rate: None,
        }
    }
}

/// `[swift]`: Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM 2020,
/// algorithm 1 and section 3.5. Windows count frames of the flow's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwiftConfig {
    /// The target for a path without switches and a large window.
    pub base_target: Duration,
    /// ħ: addition to the target for each switch on the path.
    pub hop_scale: Duration,
    /// fs_range: maximum addition to the target for a small window.
    pub flow_scale: Duration,
    /// fs_min_cwnd: window for which all of that is added. Above zero.
    pub flow_scale_window_min: Fraction,
    /// fs_max_cwnd: window for which nothing is added. Above one.
    pub flow_scale_window_max: u32,
    /// ai: growth of the window per round trip, in frames.
    pub additive: Fraction,
    /// β: factor of a decrease, applied to the excess of the delay over the target.
    pub beta: Fraction,
    /// max_mdf: maximum decrease.
    pub decrease_max: Fraction,
    /// min_cwnd. Above zero.
    pub window_min: Fraction,
    /// max_cwnd.
    pub window_max: u32,
    /// Initial window of a flow.
    pub initial: u32,
    /// RETX_RESET_THRESHOLD: consecutive timeouts that set the window to its minimum.
    pub timeouts_max: u32,
}

impl Default for SwiftConfig {
    /// The paper's β, max_mdf and minimum window; the other values, which it leaves open, are those of htsim's model.
    fn default() -> Self {
        Self {
            base_target: Duration::from_micros(20),
            hop_scale: Duration::from_nanos(3_053),
            flow_scale: Duration::from_micros(100),
            flow_scale_window_min: parts(100_000_000),
            flow_scale_window_max: 100,
            additive: Fraction::ONE,
            beta: parts(800_000_000),
            decrease_max: parts(500_000_000),
            window_min: parts(1_000_000),
            window_max: 1000,
            initial: 10,
            timeouts_max: 5,
        }
    }
}

/// `[hpcc]`: Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, algorithm 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HpccConfig {
    /// η: target utilisation of a line. Above zero.
    pub eta: Fraction,
    /// maxStage: consecutive steps of additive increase, one in each round trip, before a multiplicative one.
    pub max_stage: u32,
    /// W_AI: the step of additive increase.
    pub additive: Bytes,
    /// T; `None`: the longest round trip of a flow with this transport in the empty network.
    pub base_rtt: Option<Duration>,
    /// Minimum of W: this rate times T.
    pub rate_min: BitRate,
}

impl Default for HpccConfig {
    /// η, maxStage and W_AI of the paper's section 5.1.
    fn default() -> Self {
        Self {
            eta: parts(950_000_000),
            max_stage: 5,
            additive: Bytes::new(80),
            base_rtt: None,
            rate_min: BitRate::from_mbit(100),
        }
    }
}

/// Recovery of lost frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// None.
    #[default]
    None,
    /// Receivers accept frames only in order; the sender resends everything from the first missing frame on, as RoCE
    /// NICs do.
    GoBackN,
    /// Receivers keep frames that arrive out of order; the sender resends missing ones (Mittal et al., "Revisiting
    /// Network Support for RDMA", SIGCOMM 2018).
    Selective,
}

impl Recovery {
    /// All modes, with their names in files.
    pub const NAMED: [(&'static str, Self); 3] = [
        ("none", Self::None),
        ("go-back-n", Self::GoBackN),
        ("selective", Self::Selective),
    ];
}

/// Limit on the data in flight of `dcqcn` and `timely`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowLimit {
    /// The line's rate times the longest round trip of an empty network.
    Bdp,
    /// Above zero.
    Bytes(Bytes),
}

/// `[recovery]`: for `dcqcn`, `timely`, `swift` and `hpcc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryConfig {
    /// The mode; `None` for the transport's default.
    pub mode: Option<Recovery>,
    /// Minimum timeout.
    pub timeout_min: Duration,
    /// `None`: no limit.
    pub window_limit: Option<WindowLimit>,
}

impl RecoveryConfig {
    /// The recovery of a flow's lost frames.
    pub fn of(&self, transport: super::Transport) -> Recovery {
        self.mode.unwrap_or(transport.usual_recovery())
    }
}

impl Default for RecoveryConfig {
    fn default() -> Self {
        Self {
            mode: None,
            timeout_min: Duration::from_millis(1),
            window_limit: None,
        }
    }
}
