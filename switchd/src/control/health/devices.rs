//! Losses of the ports' devices since the daemon started. Each device has its own counts, and another device may replace it
//! at the port.

use weir_api::counters::DeviceLosses;
use weir_doctor::link::Counts;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeviceMeter {
    /// The device, and its counts at the last check.
    last: Option<(u32, DeviceLosses)>,
    counts: Option<Counts>,
    overruns: u64,
    errors: u64,
}

impl DeviceMeter {
    /// Records the counts of the device with this index. Losses from before it was first seen are not this switch's.
    pub(super) fn read(&mut self, ifindex: u32, now: DeviceLosses, counts: Option<Counts>) {
        self.counts = counts;
        if let Some((before, last)) = self.last {
            if before == ifindex {
                // A reloaded driver restarts at zero.
                self.overruns += now.overruns().saturating_sub(last.overruns());
                self.errors += now.errors().saturating_sub(last.errors());
            }
        }
        self.last = Some((ifindex, now));
    }

    /// Returns the device's index and its counts of all frames; `None` without a device.
    pub(super) fn counts(&self) -> Option<(u32, Counts)> {
        Some((self.last?.0, self.counts?))
    }

    /// Returns the number of frames that overran the device's buffers.
    pub(super) fn overruns(&self) -> u64 {
        self.overruns
    }

    /// Returns the number of frames that arrived damaged.
    pub(super) fn errors(&self) -> u64 {
        self.errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(missed: u64, crc: u64) -> DeviceLosses {
        DeviceLosses {
            rx_missed_total: missed,
            rx_crc_total: crc,
            ..DeviceLosses::default()
        }
    }

    #[test]
    fn only_what_is_lost_under_this_switch_counts() {
        let mut meter = DeviceMeter::default();
        meter.read(7, lost(1000, 50), None);
        assert_eq!((meter.overruns(), meter.errors()), (0, 0));
        meter.read(7, lost(1003, 51), None);
        assert_eq!((meter.overruns(), meter.errors()), (3, 1));
        // First another device at the port, then the same device with a reloaded driver.
        meter.read(8, lost(500, 500), None);
        assert_eq!((meter.overruns(), meter.errors()), (3, 1));
        meter.read(8, lost(0, 0), None);
        meter.read(8, lost(2, 0), None);
        assert_eq!((meter.overruns(), meter.errors()), (5, 1));
    }
}
