//! Load for a measurement: frames of one priority, as fast as possible.

use std::io;
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::socket::{send, setsockopt, sockopt, MsgFlags};
use nix::sys::time::TimeVal;
use serde::Serialize;
use weir_core::Priority;

use super::wire;
use crate::device::Device;

/// Time that a send waits before it checks for the end.
const WAIT: TimeVal = TimeVal::new(0, 50_000);

/// Frames sent by the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sent {
    /// Frames that the kernel accepted.
    pub frames: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Frames refused with ENOBUFS, as dropped by a queueing discipline. Each is sent again.
    pub refused: u64,
}

/// Sends frames of `length` bytes with this SO_PRIORITY for `span`, or until `stop`. A paused queue makes the socket wait.
///
/// # Errors
///
/// Without CAP_NET_RAW, or when the device is down.
pub fn send_load(
    device: &Device,
    priority: Priority,
    length: usize,
    span: Duration,
    stop: &AtomicBool,
) -> io::Result<Sent> {
    let socket = wire::open(device, 0)?;
    setsockopt(&socket, sockopt::Priority, &i32::from(priority.get()))?;
    setsockopt(&socket, sockopt::SendTimeout, &WAIT)?;
    let mut frame = wire::load(length);
    let mut sent = Sent::default();
    let began = Instant::now();
    while began.elapsed() < span && !stop.load(Ordering::Relaxed) {
        wire::set_number(&mut frame, sent.frames);
        match send(socket.as_raw_fd(), &frame, MsgFlags::empty()) {
            Ok(bytes) => {
                sent.frames += 1;
                sent.bytes += bytes as u64;
            }
            Err(Errno::ENOBUFS) => sent.refused += 1,
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(sent)
}
