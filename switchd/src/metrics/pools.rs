//! Metrics of pools, and of the headroom for cables.

use weir_core::Priority;
use weir_monitoring::definitions as define;

use super::collector::SnapshotCollector;
use super::families::Families;
use crate::api::views::buffers::threshold;
use crate::control::shared::watermarks::Watermarks;

impl SnapshotCollector {
    /// Adds learned addresses, and ports that do not flood or do not send.
    pub(super) fn collect_forwarding(&self, families: &mut Families) {
        let ports = self.shared().info.ports.iter();
        for (port, state) in ports.zip(&self.snapshot().ports) {
            for (metric, value) in [
                (&define::FORWARDING_BLOCKED, state.blocked.is_any().into()),
                (&define::TRANSMITTER_STUCK, state.stuck.into()),
                (&define::LEARNED_ADDRESSES, state.learned),
            ] {
                families.add(metric, &[port.name.as_str()], f64::from(value));
            }
        }
        let capacity = self.snapshot().learning_capacity as f64;
        families.add(&define::LEARNING_CAPACITY, &[], capacity);
    }

    pub(super) fn collect_cables(&self, families: &mut Families) {
        let ports = self.shared().info.ports.iter();
        for (port, state) in ports.zip(&self.snapshot().ports) {
            let Some(cable) = &port.cable else {
                continue;
            };
            let place = [port.name.as_str()];
            let gives = cable.room.headroom.get() as f64;
            families.add(&define::CABLE_HEADROOM_BYTES, &place, gives);
            let measured = state.cable.unwrap_or_default();
            if let Some(round_trip) = measured.round_trip {
                let needed = cable.needed_for(round_trip).get() as f64;
                families.add(&define::CABLE_HEADROOM_NEEDED_BYTES, &place, needed);
            }
            let exceeded = f64::from(u8::from(measured.exceeded));
            families.add(&define::CABLE_EXCEEDED, &place, exceeded);
        }
    }

    pub(super) fn collect_pools(&self, families: &mut Families, watermarks: &Watermarks) {
        let names = &self.shared().info.pools;
        let snapshot = self.snapshot();
        for (name, pool) in names.iter().zip(&snapshot.pools) {
            for (metric, value) in [
                (&define::POOL_BYTES, pool.size.get()),
                (&define::POOL_USED_BYTES, pool.used.get()),
                (&define::POOL_HEADROOM_BYTES, pool.headroom.get()),
                (&define::POOL_HEADROOM_USED_BYTES, pool.headroom_used.get()),
                (&define::POOL_PAUSING, pool.paused as u64),
            ] {
                families.add(metric, &[name], value as f64);
            }
        }
        for shown in watermarks.shown() {
            for (name, peaks) in names.iter().zip(&shown.window.pools) {
                let labels = [name.as_str(), shown.reader.name()];
                let headroom = peaks.headroom_used.get() as f64;
                families.add(
                    &define::POOL_USED_MAX_BYTES,
                    &labels,
                    peaks.used.get() as f64,
                );
                families.add(&define::POOL_HEADROOM_USED_MAX_BYTES, &labels, headroom);
            }
        }
        for priority in Priority::ALL {
            let share = snapshot.shares[priority.index()];
            let pool = share.and_then(|share| Some((names.get(usize::from(share.pool))?, share)));
            if let Some((name, share)) = pool {
                let now = threshold(snapshot, &share).get() as f64;
                let labels = [name.as_str(), &priority.to_string()];
                families.add(&define::POOL_THRESHOLD_BYTES, &labels, now);
            }
        }
    }
}
