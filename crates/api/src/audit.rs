//! `GET /v1/audit`: the location of every frame and every chunk of packet memory, at one moment.
//!
//! The daemon only reports numbers; the reader adds them up with [`Audit::differences`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use weir_core::DropReason;

use crate::words::Reason;

/// Reasons that also drop admitted frames. The switch core counts copies under them: a flooded frame may have lost some
/// copies and still have been delivered.
const LATE_REASONS: [DropReason; 4] = [
    DropReason::Aged,
    DropReason::Storm,
    DropReason::Lifetime,
    DropReason::PortDown,
];

/// `GET /v1/audit`. All numbers are from one moment, between two steps of the dataplane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Audit {
    /// All ports.
    pub ports: Vec<PortAudit>,
    /// The packet memory.
    pub memory: MemoryAudit,
}

/// One port: the counts of the polling loop, and those of the switch core.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PortAudit {
    /// The port.
    pub port: String,
    /// Frames read from the RX ring.
    pub received: u64,
    /// Their chunks other than the first of each: frames longer than a chunk.
    #[serde(default)]
    pub further: u64,
    /// Those that the switch admitted, as counted by the loop.
    pub admitted: u64,
    /// The same, as counted by the switch core.
    pub admitted_by_core: u64,
    /// Copies for mirrors that the switch admitted, to send them by this port.
    #[serde(default)]
    pub copied: u64,
    /// Control frames among them, for this switch.
    pub read: u64,
    /// Those dropped on arrival, by reason.
    pub refused: BTreeMap<Reason, u64>,
    /// Admitted frames from this port whose last copy was sent.
    pub delivered: u64,
    /// Admitted frames from this port that were dropped while waiting, by reason.
    pub given_up: BTreeMap<Reason, u64>,
    /// Drops as counted by the switch core, by reason.
    pub dropped_by_core: BTreeMap<Reason, u64>,
    /// Frames from this port in the switch.
    pub held: u64,
    /// Copies of frames waiting to leave by this port.
    pub waiting: u64,
    /// Data frames handed to this port's transmitter, as counted by the loop.
    pub sent_data: u64,
    /// The same, as counted by the switch core.
    pub sent_data_by_core: u64,
    /// Control frames handed to this port's transmitter.
    pub sent_control: u64,
    /// Frames that this port's transmitter has completed.
    pub completed: u64,
    /// Frames that this port's transmitter holds.
    pub with_transmitter: u64,
    /// Frames for which this port's TX ring had no room.
    pub not_sent: u64,
    /// Chunks given to the kernel for reception at this port, in total.
    pub lent: u64,
    /// Frames from this port on the express path, bypassing loop and core.
    #[serde(default)]
    pub express_in: u64,
    /// Frames that left by this port on the express path, or were lost there by its device.
    #[serde(default)]
    pub express_out: u64,
    /// Frames that the kernel lost at this port before the switch received them.
    pub lost_by_kernel: u64,
}

impl PortAudit {
    /// Chunks that the kernel has for reception: in the fill ring, or in the RX ring with a frame.
    pub fn receiving(&self) -> u64 {
        self.lent.saturating_sub(self.received + self.further)
    }
}

/// The chunks of the UMEM.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryAudit {
    /// Total.
    pub chunks: u64,
    /// In the free list.
    pub free: u64,
    /// Marked as free.
    pub marked_free: u64,
    /// With admitted frames, as counted by the switch core, or the first part of each.
    pub held_by_core: u64,
    /// With further parts of admitted frames.
    #[serde(default)]
    pub further: u64,
    /// With control frames of this switch.
    pub control: u64,
    /// Neither free nor in use by the switch.
    pub receiving: u64,
}

/// Two numbers that should be equal and are not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The port, unless it concerns the whole switch.
    pub port: Option<String>,
    /// The violated equation.
    pub equation: String,
    /// Value of its left side.
    pub left: u64,
    /// Value of its right side.
    pub right: u64,
}

impl Difference {
    /// `None` if the sides are equal.
    fn between(port: Option<&str>, equation: &str, left: u64, right: u64) -> Option<Self> {
        (left != right).then(|| Self {
            port: port.map(str::to_owned),
            equation: equation.to_owned(),
            left,
            right,
        })
    }
}

impl Audit {
    /// All violated equations; empty for a switch in which every frame is accounted for.
    pub fn differences(&self) -> Vec<Difference> {
        let mut differences = Vec::new();
        for port in &self.ports {
            let mut equal = |equation: &str, left: u64, right: u64| {
                differences.extend(Difference::between(Some(&port.port), equation, left, right));
            };
            let (refused, given_up) = (sum(&port.refused), sum(&port.given_up));
            equal(
                "received = admitted + refused + read",
                port.received,
                port.admitted + refused + port.read,
            );
            equal(
                "admitted + copied = delivered + given up + held",
                port.admitted + port.copied,
                port.delivered + given_up + port.held,
            );
            equal(
                "admitted = admitted by the core",
                port.admitted,
                port.admitted_by_core,
            );
            equal(
                "sent = completed + with the transmitter",
                port.sent_data + port.sent_control,
                port.completed + port.with_transmitter,
            );
            equal(
                "data sent + not sent = sent by the core",
                port.sent_data + port.not_sent,
                port.sent_data_by_core,
            );
            equal("not sent = 0", port.not_sent, 0);
            let reasons = port.refused.keys().chain(port.given_up.keys());
            let mut reasons: Vec<&Reason> = reasons.chain(port.dropped_by_core.keys()).collect();
            reasons.sort();
            reasons.dedup();
            for reason in reasons {
                let of = |counts: &BTreeMap<Reason, u64>| counts.get(reason).copied().unwrap_or(0);
                let noted = of(&port.refused) + of(&port.given_up);
                let counted = of(&port.dropped_by_core);
                let is_late = LATE_REASONS.iter().any(|late| reason == late);
                if !is_late || noted > counted {
                    let equation = format!("dropped for {reason} = dropped for it by the core");
                    equal(&equation, noted, counted);
                }
            }
        }
        let mut equal = |equation: &str, left: u64, right: u64| {
            differences.extend(Difference::between(None, equation, left, right));
        };
        let memory = &self.memory;
        let held: u64 = self.ports.iter().map(|port| port.held).sum();
        let receiving: u64 = self.ports.iter().map(PortAudit::receiving).sum();
        equal("held = held by the core", held, memory.held_by_core);
        // Programs count while they are read, so arrivals are read last.
        let express = |of: fn(&PortAudit) -> u64| self.ports.iter().map(of).sum();
        let (came, went): (u64, u64) = (express(|it| it.express_in), express(|it| it.express_out));
        equal(
            "left by the express path <= came in by it",
            went.max(came),
            came,
        );
        equal("free = marked as free", memory.free, memory.marked_free);
        equal(
            "lent - received = chunks that carry nothing",
            receiving,
            memory.receiving,
        );
        equal(
            "chunks = free + lent - received + held + their further parts + control",
            memory.chunks,
            memory.free + receiving + memory.held_by_core + memory.further + memory.control,
        );
        differences
    }
}

fn sum(counts: &BTreeMap<Reason, u64>) -> u64 {
    counts.values().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balanced() -> Audit {
        let counts = |reason: &str, count| BTreeMap::from([(reason.into(), count)]);
        let port = PortAudit {
            port: "a".to_owned(),
            received: 100,
            further: 12,
            admitted: 90,
            admitted_by_core: 90,
            copied: 0,
            read: 7,
            refused: counts("no_route", 3),
            delivered: 80,
            given_up: counts("aged", 2),
            dropped_by_core: BTreeMap::from([("no_route".into(), 3), ("aged".into(), 5)]),
            held: 8,
            waiting: 5,
            sent_data: 50,
            sent_data_by_core: 50,
            sent_control: 4,
            completed: 51,
            with_transmitter: 3,
            not_sent: 0,
            lent: 176,
            express_in: 9,
            express_out: 9,
            lost_by_kernel: 1,
        };
        let memory = MemoryAudit {
            chunks: 106,
            free: 27,
            marked_free: 27,
            held_by_core: 8,
            further: 6,
            control: 1,
            receiving: 64,
        };
        Audit {
            ports: vec![port],
            memory,
        }
    }

    fn equations(change: impl FnOnce(&mut Audit)) -> Vec<String> {
        let mut audit = balanced();
        change(&mut audit);
        let differences = audit.differences().into_iter();
        differences.map(|it| it.equation).collect()
    }

    #[test]
    fn matching_counters_have_no_difference() {
        assert_eq!(balanced().differences(), []);
    }

    #[test]
    fn every_number_is_in_an_equation() {
        let port = |change: fn(&mut PortAudit)| equations(|audit| change(&mut audit.ports[0]));
        let memory = |change: fn(&mut MemoryAudit)| equations(|audit| change(&mut audit.memory));
        let found = [
            port(|it| it.received += 1),
            port(|it| it.admitted += 1),
            port(|it| it.admitted_by_core += 1),
            port(|it| it.read += 1),
            port(|it| *it.refused.get_mut("no_route").unwrap() += 1),
            port(|it| *it.given_up.get_mut("aged").unwrap() += 1),
            port(|it| it.delivered += 1),
            port(|it| it.held += 1),
            port(|it| it.sent_data += 1),
            port(|it| it.sent_data_by_core += 1),
            port(|it| it.sent_control += 1),
            port(|it| it.completed += 1),
            port(|it| it.with_transmitter += 1),
            port(|it| it.not_sent += 1),
            port(|it| it.lent += 1),
            port(|it| *it.dropped_by_core.get_mut("no_route").unwrap() += 1),
            memory(|it| it.chunks += 1),
            memory(|it| it.free += 1),
            memory(|it| it.marked_free += 1),
            memory(|it| it.held_by_core += 1),
            memory(|it| it.control += 1),
            memory(|it| it.receiving += 1),
        ];
        for (index, differences) in found.iter().enumerate() {
            assert!(!differences.is_empty(), "{index}");
        }
    }

    #[test]
    fn late_copy_drops_may_outnumber_frames() {
        let more = |audit: &mut Audit| {
            audit.ports[0].dropped_by_core.insert("aged".into(), 9);
        };
        assert_eq!(equations(more), [""; 0]);
        let fewer = |audit: &mut Audit| {
            audit.ports[0].dropped_by_core.insert("aged".into(), 1);
        };
        assert_eq!(
            equations(fewer),
            ["dropped for aged = dropped for it by the core"]
        );
    }
}
