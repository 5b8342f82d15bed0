//! Releases ports whose device is gone, and attaches devices that have returned.
//!
//! The link monitor passes the kernel's messages on. Opening and closing takes longer than it may wait, so this task does
//! it, one port at a time.

use std::sync::Arc;
use std::time::Duration;

use nix::net::if_::if_nametoindex;
use tokio::task::spawn_blocking;
use weir_api::words::EventName;
use weir_core::{Command, PortId};
use weir_dataplane::link::AttachedPort;
use weir_doctor::link;

use crate::control::info::PortInfo;
use crate::control::shared::{Shared, Stage};

/// Retry interval for a device that is present but unusable: it may lack an address, or its queue may still be in use
/// elsewhere.
const RETRY: Duration = Duration::from_millis(500);

/// Attaches and releases devices for as long as the daemon runs.
pub async fn tend(shared: Arc<Shared>) {
    loop {
        for (port, info) in shared.info.numbered_ports() {
            if !shared.links.is_gone(port) || shared.life.stage() != Stage::Running {
                continue;
            }
            release(&shared, port, info).await;
            if !shared.links.is_removed(port) {
                take(&shared, port, info).await;
            }
        }
        tokio::select! {
            () = shared.life.ending() => return,
            () = shared.links.tending_due() => {}
            () = tokio::time::sleep(RETRY), if shared.links.any_refused() => {}
        }
    }
}

async fn release(shared: &Arc<Shared>, port: PortId, info: &PortInfo) {
    let attached = info.attached.get();
    if attached.is_absent() {
        return;
    }
    if matches!(link::find(attached.ifindex), Ok(None)) {
        // Neighbours paused because of it resume at once.
        shared.dataplane.ask(Command::DeviceGone { port }).await;
    }
    let dataplane = Arc::clone(shared);
    let released = spawn_blocking(move || dataplane.dataplane.release(port)).await;
    if let Ok(Err(error)) = released {
        tracing::warn!(port = info.name, %error, "cannot clean up after a device");
    }
    info.attached.set(AttachedPort::absent(attached.address));
}

/// Attaches the device of a port's name, if there is one.
async fn take(shared: &Arc<Shared>, port: PortId, info: &PortInfo) {
    if if_nametoindex(info.device.as_str()).is_err() {
        shared.links.note_refused(port, None);
        return;
    }
    let dataplane = Arc::clone(shared);
    match spawn_blocking(move || dataplane.dataplane.take(port)).await {
        Ok(Ok(Some(attached))) => {
            info.attached.set(attached);
            info.log_attached();
            shared.set_back(port);
            // It may be gone again, reported before the port was known to own it.
            if matches!(link::find(attached.ifindex), Ok(None)) {
                shared.set_gone(port).await;
            }
        }
        Ok(Ok(None)) => {
            shared.links.note_refused(port, None);
        }
        Ok(Err(error)) => {
            let reason = error.to_string();
            if shared.links.note_refused(port, Some(reason.clone())) {
                let detail = ("reason", reason);
                shared.record_at(port, EventName::DeviceRefused, Some(detail));
            }
        }
        Err(panic) => tracing::error!(port = info.name, %panic, "attaching a device panicked"),
    }
}
