//! What network devices lost by their own counters.

use weir_api::counters::DeviceLosses;
use weir_config::drivers;
use weir_doctor::ask::{ethtool, link};

/// Of the device with this index in this network namespace; none of a device that is gone.
pub fn read(ifindex: u32) -> DeviceLosses {
    let device = link::find(ifindex).ok().flatten();
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
        }
    })
}

/// Frames for which a queue had no buffer, of a driver that keeps them out of what all drivers count.
fn without_buffer(device: &str) -> u64 {
    let driver = ethtool::driver(device).unwrap_or_default();
    let name = drivers::driver(&driver).no_buffer;
    name.and_then(|name| ethtool::statistic(device, name))
        .unwrap_or(0)
}
