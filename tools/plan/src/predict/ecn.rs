//! Order of ECN and PFC.

use anyhow::Result;
use weir_core::{MarkAt, RedConfig};

use super::egress::reaches;
use super::Computed;
use crate::network::kilobits;
use crate::result::EcnPlan;

const STEP_BYTES: u64 = 1024;

/// Compares the times at which a queue's thresholds are reached without PFC, and senders are notified, with the first XOFF
/// of a buffer that feeds it.
///
/// A mark takes as long as a pause to reach the sender once its frame has left; a frame marked on arrival waits before it
/// leaves.
pub fn plan(one: &Computed, red: RedConfig, xoff_at: Option<f64>) -> Result<EcnPlan> {
    let free = &one.outcome.free;
    let on_line = |bytes: u64| kilobits(bytes as f64 / one.factor);
    let at = |bytes: u64| reaches(&free.backlog, free.end, on_line(bytes));
    let delays = one.queue.inputs.iter().map(|input| input.feedback_delay);
    let back = delays.fold(0.0, f64::max);
    let told = |kmax: u64, reached: f64| {
        let wait = match red.at {
            MarkAt::Arrival => on_line(kmax) / one.queue.rate,
            MarkAt::Departure | MarkAt::Never => 0.0,
        };
        reached + wait + back
    };
    let kmin_at = at(red.kmin.get())?.filter(|_| one.queue.offered() > one.queue.rate);
    let kmax_at = at(red.kmax.get())?;
    let told_at = kmax_at.map(|reached| told(red.kmax.get(), reached));
    let verdict = match (kmax_at, told_at, xoff_at) {
        (None, _, None) => "no congestion",
        (_, Some(told), Some(xoff)) if told <= xoff => "before",
        (Some(_), _, None) => "before",
        (Some(kmax), _, Some(xoff)) if kmax <= xoff => "too late",
        _ => "after",
    };
    let advised = match xoff_at {
        Some(xoff) if verdict == "too late" || verdict == "after" => {
            let in_time = |steps: u64| -> Result<bool> {
                let kmax = steps * STEP_BYTES;
                Ok(at(kmax)?.is_some_and(|reached| told(kmax, reached) <= xoff))
            };
            let (mut low, mut high) = (0, red.kmax.get().div_ceil(STEP_BYTES) + 1);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if in_time(middle)? {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            (low > 0).then_some(low * STEP_BYTES)
        }
        _ => None,
    };
    Ok(EcnPlan {
        kmin_at_us: kmin_at,
        kmax_at_us: kmax_at,
        told_at_us: told_at,
        xoff_at_us: xoff_at,
        verdict,
        kmax_advised_bytes: advised,
    })
}
