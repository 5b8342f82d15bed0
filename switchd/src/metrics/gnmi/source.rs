//! The switch as a source of gNMI data: the API's bodies.

use std::sync::Arc;

use weir_gnmi::tree::{Device, State};
use weir_gnmi::Source;

use crate::api::flights;
use crate::api::forwarding::levels::levels;
use crate::api::neighbors::neighbors;
use crate::api::views;
use crate::control::Shared;
use crate::model::clock;

pub(super) struct Switch {
    shared: Arc<Shared>,
    frame_bytes_max: u64,
}

impl Switch {
    pub(super) fn new(shared: Arc<Shared>, frame_bytes_max: u64) -> Self {
        Self {
            shared,
            frame_bytes_max,
        }
    }
}

impl Source for Switch {
    async fn state(&self) -> State {
        let shared = &self.shared;
        let snapshot = shared.dataplane.fresh_snapshot().await;
        let devices = shared.info.numbered_ports().map(|(id, port)| Device {
            index: Some(port.ifindex()).filter(|index| *index > 0),
            removed: shared.links.is_removed(id),
        });
        State {
            taken_unix_nanos: clock::unix_nanos(snapshot.at),
            status: views::status(shared, &snapshot),
            ports: views::ports(shared, &snapshot),
            devices: devices.collect(),
            queues: views::queues(&shared.info, &snapshot),
            pfc: views::pfc(shared, &snapshot),
            pauses: views::pauses::counters(&shared.info, &snapshot),
            levels: levels(&shared.info, &snapshot),
            deadlocks: flights::deadlocks(shared),
            neighbours: neighbors(shared),
            counters: views::counters(shared, &snapshot),
            frame_bytes_max: self.frame_bytes_max,
        }
    }

    async fn ending(&self) {
        self.shared.life.ending().await;
    }
}
