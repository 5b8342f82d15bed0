//! Checks each port for frames missing below the switch, and for an unsuitable device.

use std::time::Duration;

use weir_api::words::EventName;
use weir_config::drivers;
use weir_core::{Instant, PortId};
use weir_dataplane::messages::{PortSnapshot, Snapshot};
use weir_doctor::ethtool;
use weir_doctor::link::Counts;

use super::devices::DeviceMeter;
use super::missing::{Around, Ledger, Look};
use crate::control::shared::{Missing, Shared};
use crate::model::clock;

/// Minimum time between two events about missing frames at one port.
const EVENT_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum age at which the dataplane's figures are useful.
const FIGURES_AGE_MAX: Duration = Duration::from_millis(900);

/// Verdict counts of one port's XDP program.
pub(super) type Verdicts = Vec<(&'static str, u64)>;

pub(super) struct Accountant(Vec<Place>);

#[derive(Clone, Default)]
struct Place {
    ledger: Ledger,
    /// The device's index, and true if its driver is known to count AF_XDP frames.
    driver: (u32, bool),
    /// Time and missing frames of the latest event.
    told: Option<(Instant, Missing)>,
    /// Reason for which the device could not be used at the latest check.
    refused: Option<String>,
}

impl Accountant {
    pub(super) fn new(shared: &Shared) -> Self {
        Self(vec![Place::default(); shared.info.ports.len()])
    }

    /// Reads the programs' counters. Call it before reading the dataplane's figures: redirected frames arrive later.
    pub(super) fn read_verdicts(&self, shared: &Shared) -> Vec<Verdicts> {
        let ports = shared.info.numbered_ports();
        ports
            .map(|(id, _)| shared.dataplane.xdp_verdicts(id))
            .collect()
    }

    /// True while a port's device is new, or it has none.
    pub(super) fn is_settling(&self) -> bool {
        self.0.iter().any(|place| place.ledger.is_settling())
    }

    /// Compares the counts taken at one moment. `sent_before` has the devices' indexes and the frames that they had sent
    /// before the others were read, while [`is_settling`](Self::is_settling).
    pub(super) fn look(
        &mut self,
        shared: &Shared,
        verdicts: &[Verdicts],
        snapshot: &Snapshot,
        devices: &[DeviceMeter],
        sent_before: Option<&[(u32, u64)]>,
    ) {
        let age = clock::now().saturating_since(snapshot.at);
        let is_old = age.as_nanos() > FIGURES_AGE_MAX.as_nanos() as u64;
        // Deliberately delayed frames count as missing.
        let is_impaired = !shared.impairments.list().is_empty();
        let ports = shared.info.numbered_ports().zip(&snapshot.ports);
        let read = verdicts.iter().zip(devices);
        for (((id, info), state), (place, (verdicts, device))) in
            ports.zip(self.0.iter_mut().zip(read))
        {
            if is_old || is_impaired {
                place.ledger.pass_over();
                continue;
            }
            let missing = match device.counts() {
                Some((ifindex, counts)) if ifindex != 0 && !shared.links.is_gone(id) => {
                    let counts_sent = place.counts_sent(ifindex, &info.device);
                    let before = sent_before.and_then(|all| all.get(id.index()));
                    let before = before.filter(|(of, _)| *of == ifindex);
                    let around = before.map(|(_, sent_before)| Around {
                        sent_before: *sent_before,
                        redirected_after: count(&shared.dataplane.xdp_verdicts(id), "redirected"),
                    });
                    let look = Look {
                        around,
                        ..look(verdicts, state, counts)
                    };
                    place.ledger.look(ifindex, counts_sent, look)
                }
                _ => place.ledger.pause(),
            };
            let compares_sent = place.ledger.is_trusted();
            shared.losses.note(id, missing, compares_sent);
            place.tell(shared, id, missing);
        }
    }

    /// Returns the reason for which a port's device does not fit in its present state. A device that has just appeared may
    /// be refused once.
    pub(super) fn unfit(&mut self, shared: &Shared, id: PortId) -> Option<String> {
        let refused = shared.links.refusal(id);
        let place = self.0.get_mut(id.index())?;
        let before = std::mem::replace(&mut place.refused, refused.clone());
        let lasting = refused.filter(|_| before.is_some());
        lasting
            .map(|reason| format!("its device cannot be used: {reason}"))
            .or_else(|| Some(format!("its device {}", shared.links.unfit(id)?)))
    }
}

impl Place {
    fn counts_sent(&mut self, ifindex: u32, device: &str) -> bool {
        if self.driver.0 != ifindex {
            let name = ethtool::driver(device).unwrap_or_default();
            self.driver = (ifindex, drivers::driver(&name).counts_sent);
        }
        self.driver.1
    }

    fn tell(&mut self, shared: &Shared, id: PortId, missing: Missing) {
        let (now, (at, before)) = (clock::now(), self.told.unwrap_or_default());
        let is_early = self.told.is_some() && {
            let passed = now.saturating_since(at).as_nanos();
            passed < EVENT_INTERVAL.as_nanos() as u64
        };
        if missing == before || is_early {
            return;
        }
        for (kind, frames) in [
            ("rx_missing", missing.receive - before.receive),
            ("tx_missing", missing.transmit - before.transmit),
            ("rx_dropped", missing.dropped - before.dropped),
        ] {
            if frames > 0 {
                let details = [("kind", kind.to_owned()), ("frames", frames.to_string())];
                shared.record_at(id, EventName::FramesMissing, details);
            }
        }
        self.told = Some((now, missing));
    }
}

fn count(verdicts: &Verdicts, name: &str) -> u64 {
    let mut found = verdicts.iter().filter(|(verdict, _)| *verdict == name);
    found.next().map_or(0, |(_, count)| *count)
}

fn look(verdicts: &Verdicts, state: &PortSnapshot, device: Counts) -> Look {
    let kernel = &state.kernel;
    let refused = kernel.rx_dropped_total + kernel.rx_ring_full_total;
    let of = |name: &str| count(verdicts, name);
    let all: u64 = verdicts.iter().map(|(_, count)| count).sum();
    let by_express = state
        .counters
        .priority
        .iter()
        .map(|it| it.express_tx_frames);
    let known =
        kernel.tx_device_drops_total + kernel.tx_invalid_descs_total + kernel.tx_redirect_total;
    let left = state.completed + by_express.sum::<u64>();
    Look {
        redirected: of("redirected"),
        not_redirected: all - of("redirected") - of("express"),
        received: state.received + refused,
        refused,
        sent: left.saturating_sub(known),
        device,
        around: None,
    }
}
