//! Watches the XDP programs' drops: such frames never reach the switch, and none of its counters shows them.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;
use weir_core::PortId;

use crate::control::shared::Shared;

const INTERVAL: Duration = Duration::from_secs(1);

/// Checks the counters for as long as the daemon runs.
pub async fn watch(shared: Arc<Shared>) {
    let mut ports: Vec<_> = shared
        .info
        .numbered_ports()
        .map(|(id, port)| Watched {
            id,
            name: port.name.clone(),
            device: port.device.clone(),
            seen: Verdicts::default(),
        })
        .collect();
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        for port in &mut ports {
            port.look(&shared);
        }
    }
}

struct Watched {
    id: PortId,
    name: String,
    device: String,
    seen: Verdicts,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Verdicts {
    redirected: u64,
    no_socket: u64,
    no_meta: u64,
    cut: u64,
}

impl Verdicts {
    fn of(counted: &[(&'static str, u64)]) -> Self {
        let get = |name| counted.iter().find(|(verdict, _)| *verdict == name);
        let get = |name| get(name).map_or(0, |(_, count)| *count);
        Self {
            redirected: get("redirected"),
            no_socket: get("dropped"),
            no_meta: get("no_meta"),
            cut: get("cut"),
        }
    }

    /// True if the driver leaves no room for metadata: no frame has ever had any.
    fn has_no_metadata(self) -> bool {
        self.no_meta > 0 && self.redirected == 0
    }
}

impl Watched {
    fn look(&mut self, shared: &Shared) {
        let now = Verdicts::of(&shared.dataplane.xdp_verdicts(self.id));
        let before = std::mem::replace(&mut self.seen, now);
        let more = |of: fn(Verdicts) -> u64| of(now).saturating_sub(of(before));
        let (name, device) = (&self.name, &self.device);
        let no_socket = more(|it| it.no_socket);
        if no_socket > 0 {
            tracing::warn!(
                port = name,
                device,
                frames = no_socket,
                "frames of a queue without a socket were lost: `ethtool -l {device}` shows the queues; remove `queues` from the port and restart"
            );
        }
        let cut = more(|it| it.cut);
        if cut > 0 {
            tracing::warn!(
                port = name,
                device,
                buffers = cut,
                "parts of frames that the driver had cut were dropped: the neighbour's MTU is \
                larger than dataplane.mtu, or an attacker tries to forge control frames"
            );
        }
        let no_meta = more(|it| it.no_meta);
        if no_meta == 0 {
            return;
        }
        match now.has_no_metadata().then(|| shared.dataplane.fall_back(self.id)) {
            Some(Ok(true)) => tracing::warn!(
                port = name,
                device,
                frames = no_meta,
                "the driver's native XDP has no metadata, and its frames were lost: the program is in generic mode now"
            ),
            Some(Err(error)) => {
                tracing::error!(port = name, device, %error, "cannot attach in generic mode");
            }
            Some(Ok(false)) | None => tracing::warn!(
                port = name,
                device,
                frames = no_meta,
                "frames were lost because the driver leaves no room for metadata; set xdp-mode = \"generic\" and zero-copy = \"auto\""
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_without_metadata_is_one_that_never_had_any() {
        let never = Verdicts::of(&[("redirected", 0), ("dropped", 2), ("no_meta", 1)]);
        assert!(never.has_no_metadata());
        assert_eq!(never.no_socket, 2);
        assert!(!Verdicts::of(&[("redirected", 9), ("no_meta", 1)]).has_no_metadata());
        assert!(!Verdicts::of(&[]).has_no_metadata());
    }
}
