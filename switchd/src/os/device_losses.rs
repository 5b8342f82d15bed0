//! What network devices lost by their own counters.

use weir_api::counters::DeviceLosses;
use weir_doctor::ask::link;

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
        } = device.errors;
        DeviceLosses {
            rx_missed_total: missed,
            rx_fifo_total: fifo,
            rx_over_total: over,
            rx_length_total: length,
            rx_crc_total: crc,
            rx_frame_total: frame,
        }
    })
}
