//! Sent frames that are not freed.
//!
//! The kernel's socket of a port in copy mode lives as long as each frame that it has sent (`sk_wmem_alloc` of Linux), and with it
//! the socket's place at the device. While a device or a host keeps one, no next switch can have the device. FCoE keeps a
//! command's frame until the command is done.

use tokio::time::Instant;
use weir_core::Duration;
use weir_dataplane::messages::Snapshot;

use super::Shared;

/// A frame that the transmitter holds for longer counts as kept by another program.
const KEPT_AFTER: Duration = Duration::from_millis(50);
/// Neighbours that are paused send nothing that would delay a frame for longer.
const KEPT_AFTER_IN_PAUSE: Duration = Duration::from_millis(10);
/// Time that a slow line or receiver has to release its frames.
const KEPT_WAIT: std::time::Duration = std::time::Duration::from_millis(300);
/// Frames in the switch are given so long to leave while neighbours are paused.
const LEAVE_WAIT: std::time::Duration = std::time::Duration::from_millis(100);
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(5);

/// State of the neighbours' lossless classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbours {
    /// They send.
    Sending,
    /// They are paused, and frames in the switch leave.
    Paused,
}

/// The dataplane did not answer.
#[derive(Debug)]
pub struct Silent;

/// Returns the first port with a frame that is still kept after a while.
///
/// # Errors
///
/// When the dataplane does not answer.
pub async fn port_with_kept_frame(
    shared: &Shared,
    neighbours: Neighbours,
) -> Result<Option<String>, Silent> {
    let began = Instant::now();
    let mut left_at = began;
    loop {
        let now = shared.dataplane.inspect_accounts().await.ok_or(Silent)?;
        let ports = || {
            let ports = shared.info.ports.iter().enumerate();
            ports.filter(|(_, port)| !port.attached.get().zero_copy)
        };
        let kept_for = |time| ports().find(|(index, _)| keeps_a_frame(&now, *index, time));
        let is_done = match neighbours {
            Neighbours::Sending => kept_for(KEPT_AFTER).is_none(),
            Neighbours::Paused => {
                let leave = ports().any(|(index, _)| leaves(shared, &now, index));
                if leave && began.elapsed() < LEAVE_WAIT {
                    left_at = Instant::now();
                }
                let has_left =
                    left_at.elapsed().as_nanos() >= KEPT_AFTER_IN_PAUSE.as_nanos().into();
                has_left && kept_for(KEPT_AFTER_IN_PAUSE).is_none()
            }
        };
        if is_done {
            return Ok(None);
        }
        if began.elapsed() >= KEPT_WAIT {
            return Ok(kept_for(KEPT_AFTER).map(|(_, port)| port.name.clone()));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Describes a port with a kept frame, for people.
pub fn told(port: &str) -> String {
    format!(
        "port {port}: a frame that was sent more than {} ms ago is still kept, by the device or its receiver. Until it is freed, the kernel gives the device to no other switch. Make the hosts behind {port} idle, and try again",
        KEPT_AFTER.as_nanos() / 1_000_000
    )
}

/// The kernel took a frame from the port this long ago, and it is not freed yet.
fn keeps_a_frame(now: &Snapshot, port: usize, time: Duration) -> bool {
    let outstanding = now.accounts.outstanding.get(port).copied().unwrap_or(0);
    // What waits in the TX ring is no frame of the kernel's yet.
    let waiting = now.ports.get(port).map_or(0, |it| it.rings.tx.used);
    let oldest = now.accounts.oldest_sent_at.get(port).copied().flatten();
    outstanding > u64::from(waiting)
        && oldest.is_some_and(|sent_at| now.at.saturating_since(sent_at) >= time)
}

/// Frames of lossless classes leave by this port.
fn leaves(shared: &Shared, now: &Snapshot, port: usize) -> bool {
    now.ports.get(port).is_some_and(|port| {
        shared.info.lossless().any(|priority| {
            let gauges = &port.gauges[priority.index()];
            gauges.egress_frames > 0 && !gauges.paused
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_dataplane::messages::{PortSnapshot, Ring};

    /// One port with so many frames, `waiting` of which wait in the TX ring; the oldest was sent so long ago.
    fn snapshot(outstanding: u64, waiting: u32, oldest: Option<Duration>) -> Snapshot {
        let mut port = PortSnapshot::default();
        port.rings.tx = Ring {
            used: waiting,
            ..Ring::default()
        };
        let sent_at = weir_core::Instant::from_nanos(1_000);
        let mut snapshot = Snapshot {
            at: sent_at + oldest.unwrap_or(KEPT_AFTER),
            ports: vec![port],
            ..Snapshot::default()
        };
        snapshot.accounts.outstanding = vec![outstanding];
        snapshot.accounts.oldest_sent_at = vec![oldest.map(|_| sent_at)];
        snapshot
    }

    #[test]
    fn a_frame_is_kept_that_the_kernel_took_and_did_not_complete() {
        let keeps = |snapshot, port| keeps_a_frame(&snapshot, port, KEPT_AFTER);
        let long_ago = Some(KEPT_AFTER);
        let just_now = Some(Duration::from_millis(1));
        assert!(keeps(snapshot(5, 0, long_ago), 0));
        assert!(keeps(snapshot(5, 4, long_ago), 0));
        assert!(!keeps(snapshot(5, 5, long_ago), 0), "unsent");
        assert!(!keeps(snapshot(5, 0, just_now), 0), "on its way");
        assert!(!keeps(snapshot(0, 0, None), 0), "idle");
        assert!(!keeps(snapshot(0, 0, None), 1), "no such port");
    }
}
