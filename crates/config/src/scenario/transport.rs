//! Parameters of what answers to congestion.

use weir_core::{BitRate, Bytes, Duration};

use crate::Fraction;

/// The largest window of a flow, and the most that a receiver holds out of order. In frames.
pub const WINDOW_FRAMES_MAX: u32 = 65_536;

/// `[dcqcn]`: the calculus paper's section V with its Table II, which takes them from DCQCN (Zhu et al., SIGCOMM 2015).
/// Marking (K_min, K_max, P_max) belongs to the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DcqcnConfig {
    /// g: the weight of one notification in α.
    pub g: Fraction,
    /// T_gap: between two notifications of a receiver to a flow.
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
    /// α at the beginning of a flow.
    pub initial_alpha: Fraction,
    /// Whether each notification sets R_T to R_C, as the paper says. Otherwise only the first one after an increase by
    /// timer does: several cuts in a row recover to the rate before all of them.
    pub clamp_target: bool,
    /// R_C falls no further.
    pub rate_min: BitRate,
    /// When α and the rates move.
    pub reaction: Reaction,
    /// F: increases by timer, or by bytes, after which fast recovery is over.
    pub fast_recovery: u32,
    /// With [`Reaction::Nic`]: from one look for notifications, and perhaps cut, to the next.
    pub cut_interval: Duration,
}

/// When DCQCN's sender moves α and its rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reaction {
    /// As the paper has it: with each notification, and by timer and bytes without one.
    #[default]
    Paper,
    /// As NICs and HPCC's simulator have it: by timers alone, each of which asks whether a notification has come since it last
    /// ran out; α by one of its own. Recovery takes no notice of bytes, and hyper increase is of one step each time.
    Nic,
}

impl Reaction {
    /// Each with its name in files.
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
    /// W_o: frames that a flow begins with; 1 at least.
    pub initial: u32,
    /// w_th at the beginning, in frames; `None`: slow start lasts until the first congestion.
    pub ssthresh: Option<u32>,
    /// The shortest timeout.
    pub timeout_min: Duration,
    /// So many in a row are a loss; 1 at least.
    pub duplicate_acks: u32,
    /// Vegas grows its window when fewer extra frames than this are queued.
    pub alpha: u32,
    /// Vegas shrinks its window when more extra frames than this are queued; not below `alpha`.
    pub beta: u32,
    /// Vegas leaves slow start when more extra frames than this are queued.
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

/// What `[dctcp]`, `[timely]`, `[swift]`, `[hpcc]` and `[recovery]` say.
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

/// `[dctcp]`: RFC 8257. What else its windows need is in [`WindowConfig`]; marking belongs to the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DctcpConfig {
    /// g: the weight of one window in α.
    pub g: Fraction,
    /// α at the beginning of a flow.
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
    /// β: how much of the gradient, or of what is above T_high, a decrease takes off the rate.
    pub beta: Fraction,
    /// T_low: below it the rate grows whatever the gradient is.
    pub low: Duration,
    /// T_high: above it the rate falls whatever the gradient is. Not below `low`.
    pub high: Duration,
    /// minRTT: what makes a gradient of a difference.
    pub rtt_min: Duration,
    /// δ: the step of additive increase.
    pub additive: BitRate,
    /// So many completions in a row without a growing round trip make the step N = 5 times as large.
    pub hyper_after: u32,
    /// A completion, and with it a round trip time, comes after this many bytes.
    pub segment: Bytes,
    /// The rate falls no further.
    pub rate_min: BitRate,
    /// The rate that a flow begins with; `None`: the line's.
    pub initial_rate: Option<BitRate>,
}

impl Default for TimelyConfig {
    /// The paper's T_low, T_high, β, δ, N and segments; α and minRTT are those that Zhu et al., "ECN or Delay", CoNEXT 2016,
    /// and HPCC's simulator have.
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
    /// The target of a way without switches and a large window.
    pub base_target: Duration,
    /// ħ: what each switch on the way adds to the target.
    pub hop_scale: Duration,
    /// fs_range: what a small window adds to the target at most.
    pub flow_scale: Duration,
    /// fs_min_cwnd: with this window it adds all of that. Above zero.
    pub flow_scale_window_min: Fraction,
    /// fs_max_cwnd: with this window it adds nothing. Above one.
    pub flow_scale_window_max: u32,
    /// ai: frames that the window grows by in a round trip.
    pub additive: Fraction,
    /// β: how much of the part of the delay that is above the target a decrease takes off the window.
    pub beta: Fraction,
    /// max_mdf: how much a decrease takes off at most.
    pub decrease_max: Fraction,
    /// min_cwnd. Above zero.
    pub window_min: Fraction,
    /// max_cwnd.
    pub window_max: u32,
    /// The window that a flow begins with.
    pub initial: u32,
    /// RETX_RESET_THRESHOLD: so many timeouts in a row set the window to the least.
    pub timeouts_max: u32,
}

impl Default for SwiftConfig {
    /// The paper's β, max_mdf and least window; the other values, which it leaves open, are those of htsim's model.
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
    /// η: how full a line is to be. Above zero.
    pub eta: Fraction,
    /// maxStage: so many steps of additive increase in a row, one in each round trip, before a multiplicative one.
    pub max_stage: u32,
    /// W_AI: the step of additive increase.
    pub additive: Bytes,
    /// T; `None`: the longest round trip that a flow with this transport has in the empty network.
    pub base_rtt: Option<Duration>,
    /// W falls no further than to this rate times T.
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

/// How lost frames are sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// Not at all.
    #[default]
    None,
    /// Receivers take frames in order alone; the sender sends everything again from the first one that is missing, as RoCE's
    /// NICs do.
    GoBackN,
    /// Receivers keep what comes out of order; the sender sends again what is missing (Mittal et al., "Revisiting Network
    /// Support for RDMA", SIGCOMM 2018).
    Selective,
}

impl Recovery {
    /// Each with its name in files.
    pub const NAMED: [(&'static str, Self); 3] = [
        ("none", Self::None),
        ("go-back-n", Self::GoBackN),
        ("selective", Self::Selective),
    ];
}

/// What `dcqcn` and `timely` have under way at most.
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
    /// How; `None`: as the transport usually does.
    pub mode: Option<Recovery>,
    /// The shortest timeout.
    pub timeout_min: Duration,
    /// `None`: no limit.
    pub window_limit: Option<WindowLimit>,
}

impl RecoveryConfig {
    /// How a flow's lost frames are sent again.
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
