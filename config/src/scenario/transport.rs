//! Parameters of what answers to congestion.

use weir_core::{BitRate, Bytes, Duration};

use crate::Fraction;

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
}

impl Default for DcqcnConfig {
    fn default() -> Self {
        const G: Fraction = match Fraction::from_parts(Fraction::ONE_IN_PARTS / 256) {
            Some(g) => g,
            None => Fraction::ONE,
        };
        Self {
            g: G,
            notification_gap: Duration::from_micros(50),
            alpha_timer: Duration::from_micros(55),
            rate_timer: Duration::from_micros(55),
            byte_counter: Bytes::new(10_000_000),
            additive: BitRate::from_mbit(5),
            hyper: BitRate::from_mbit(50),
            initial_alpha: Fraction::ONE,
            clamp_target: true,
            rate_min: BitRate::from_mbit(100),
        }
    }
}

/// `[window]`: for `tahoe`, `reno` and `vegas`. Windows count frames of the flow's length.
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
