//! Snapshots: requests, arrivals and waiting requesters.

use std::sync::Arc;

use weir_api::describe::Described;
use weir_api::words::EventName;
use weir_dataplane::messages::{Request, Snapshot};
use weir_dataplane::tables::Tables;

use super::{Inspector, Supervisor};
use crate::control::shared::empty_snapshot;

/// Snapshots kept for reuse: one in flight, one published, one with a slow reader.
pub(super) const SPARE_SNAPSHOTS: usize = 3;

impl Supervisor {
    pub(super) fn request_snapshot(&mut self) {
        if self.in_flight {
            return;
        }
        let mut snapshot = self
            .spare
            .pop()
            .unwrap_or_else(|| empty_snapshot(self.shared.info.ports.len()));
        let wanted = |sum: Tables, inspector: &Inspector| sum.and(inspector.tables);
        snapshot.tables = self.inspectors.iter().fold(Tables::NONE, wanted);
        if snapshot.tables.routes {
            snapshot.routes.make_room();
        }
        if snapshot.tables.flows {
            snapshot.flows.make_room();
        }
        if snapshot.tables.vlans {
            snapshot.vlans.make_room(self.shared.info.ports.len());
        }
        if snapshot.tables.accounts {
            let port_count = self.shared.info.ports.len();
            snapshot.accounts.make_room(port_count);
        }
        self.in_flight = self
            .link
            .requests
            .try_send(Request::Snapshot(snapshot))
            .is_ok();
    }

    pub(super) fn take_snapshot(&mut self, mut snapshot: Box<Snapshot>) {
        self.in_flight = false;
        let at = snapshot.at;
        {
            let mut watermarks = self.shared.records.watermarks();
            watermarks.take(&mut snapshot);
            self.peaks_next = Some(watermarks.due());
        }
        if self.sample_due {
            self.sample_due = false;
            self.shared
                .records
                .history
                .push(&self.shared.info, &snapshot);
        }
        if self.flight_due {
            self.flight_due = false;
            self.shared
                .records
                .flights()
                .push(&self.shared.info, &snapshot);
        }
        if snapshot.rounds.counters.events_lost > self.events_lost && !self.more_events {
            let lost = snapshot.rounds.counters.events_lost - self.events_lost;
            self.events_lost = snapshot.rounds.counters.events_lost;
            self.shared
                .records
                .record(Described::new(at, EventName::EventsLost).detail("events", lost));
            self.reconcile(&snapshot);
            self.reconcile_stalls(&snapshot);
            self.write_down();
        }
        if let Some(old) = self.shared.dataplane.publish(snapshot) {
            if self.spare.len() < SPARE_SNAPSHOTS {
                self.spare.push(old);
            }
        }
        self.tell_inspectors();
        self.refresh_asked = self.refresh_asked.filter(|asked| *asked > at);
        if self.refresh_asked.is_some() || !self.inspectors.is_empty() {
            self.request_snapshot();
        }
    }

    /// Sends the latest snapshot to the requesters that it satisfies.
    fn tell_inspectors(&mut self) {
        let latest = self.shared.dataplane.snapshot();
        let serves = |inspector: &mut Inspector| {
            latest.at >= inspector.asked && latest.tables.cover(inspector.tables)
        };
        for inspector in self.inspectors.extract_if(.., serves) {
            // The requester may have gone.
            let _ = inspector.reply.send(Arc::clone(&latest));
        }
        self.inspectors
            .retain(|inspector| !inspector.reply.is_closed());
    }
}
