//! Losses of network devices by their own counters.

use weir_api::counters::DeviceLosses;
use weir_config::drivers;
use weir_doctor::ask::{ethtool, link};

/// Reads the losses of the device with this index in this network namespace; zeros for a missing device.
pub fn read(ifindex: u32) -> DeviceLosses {
    read_all(ifindex).0
}

/// Reads the same, and the device's counts of all frames; `None` for a missing device.
pub fn read_all(ifindex: u32) -> (DeviceLosses, Option<link::Counts>) {
    let device = link::find(ifindex).ok().flatten();
    let counts = device.as_ref().map(|device| device.counts);
    (losses(device), counts)
}

fn losses(device: Option<link::Device>) -> DeviceLosses {
    device.map_or_else(DeviceLosses::default, |device| {
        let link::ReceiveErrors {
            length,
            over,
            crc,
            frame,
            fifo,
            missed,
            other,
        } = device.errors;
        DeviceLosses {
            rx_missed_total: missed,
            rx_fifo_total: fifo.saturating_add(without_buffer(&device.name)),
            rx_over_total: over,
            rx_length_total: length,
            rx_crc_total: crc,
            rx_frame_total: frame,
            rx_other_total: other,
            // The kernel includes drops that are counted elsewhere too; the device's part is unknown.
            rx_dropped_total: 0,
        }
    })
}

/// Returns the frames for which a queue had no buffer, for drivers that count them separately.
fn without_buffer(device: &str) -> u64 {
    let driver = ethtool::driver(device).unwrap_or_default();
    let name = drivers::driver(&driver).no_buffer;
    name.and_then(|name| ethtool::statistic(device, name))
        .unwrap_or(0)
}
