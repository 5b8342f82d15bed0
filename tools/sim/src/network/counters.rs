//! Counters of switches, across restarts.

use weir_core::counters::DropCounts;
use weir_core::{PortId, Switch};

/// Sums over switches, including before restarts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames dropped, including unreadable control frames.
    pub drops: DropCounts,
    /// PFC frames sent, including Feedback.
    pub pfc_sent: u64,
    /// CLCM sent.
    pub clcm_sent: u64,
    /// Pauses sent; each priority of a frame counts.
    pub xoff_sent: u64,
    /// Frames marked Congestion Experienced.
    pub marks: u64,
}

/// Frames that do not add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error(
    "{sent} frames sent, {received} received, {inside} inside, {lost} lost: they do not add up"
)]
pub struct Imbalance {
    /// Sent by hosts.
    pub sent: u64,
    /// Received by hosts.
    pub received: u64,
    /// In switches and on lines.
    pub inside: u64,
    /// Lost for a counted reason.
    pub lost: u64,
}

impl Imbalance {
    /// Fails unless the numbers add up.
    pub(super) fn check(self) -> Result<(), Self> {
        if self.sent == self.received + self.inside + self.lost {
            Ok(())
        } else {
            Err(self)
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.sent = self.sent.wrapping_add(other.sent);
        self.received += other.received;
        self.inside += other.inside;
        self.lost += other.lost;
    }
}

impl Counters {
    pub(super) fn add(&mut self, other: &Self) {
        let Self {
            drops,
            pfc_sent,
            clcm_sent,
            xoff_sent,
            marks,
        } = other;
        for (sum, count) in self.drops.iter_mut().zip(drops.iter()) {
            *sum += count;
        }
        self.pfc_sent += pfc_sent;
        self.clcm_sent += clcm_sent;
        self.xoff_sent += xoff_sent;
        self.marks += marks;
    }

    pub(super) fn note(&mut self, switch: &Switch) {
        for port in (0..switch.config().ports.len()).filter_map(PortId::from_index) {
            let counters = switch.counters(port);
            for (sum, count) in self.drops.iter_mut().zip(counters.drops.iter()) {
                *sum += count;
            }
            self.pfc_sent += counters.pfc_sent;
            self.clcm_sent += counters.clcm_sent;
            for priority in &counters.priority {
                self.xoff_sent += priority.xoff_sent;
                self.marks += priority.marks;
            }
        }
    }
}
