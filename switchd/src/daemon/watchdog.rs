//! The heartbeat for the service manager's watchdog (sd_watchdog_enabled(3)).
//!
//! A beat means that frames are forwarded, not that a timer runs: each waits for a snapshot
//! requested after the previous beat. The request goes through the supervisor's loop to the
//! dataplane's and the answer back through both, so a thread that hangs, spins in one place or
//! waits for ever ends the beats. A dataplane without traffic sleeps, and is woken by the request.

use std::sync::Arc;
use std::time::Duration;

use crate::control::{Shared, Stage};
use crate::dataplane::tables::Tables;
use crate::os::service;

const BEATS_PER_LIMIT: u32 = 4;
/// Part of that time within which an answer is due: with the pause before it, a late one is in time
/// still.
const WAITS_PER_LIMIT: u32 = 2;

/// Beats until the daemon ends; `limit` is how long the service manager waits for a beat. The first beat is sent at once: to the
/// service manager a restarted switch is the same service, whose last beat was that of the switch before.
pub async fn beat(shared: Arc<Shared>, limit: Duration) {
    let ending = shared.life.ending();
    tokio::pin!(ending);
    loop {
        let wait = limit / WAITS_PER_LIMIT;
        let answer = tokio::time::timeout(wait, shared.dataplane.inspect(Tables::NONE)).await;
        if shared.life.stage() != Stage::Running {
            // The service manager has been told, and waits for the end alone.
            return;
        }
        if let Ok(Some(_)) = answer {
            service::notify("WATCHDOG=1");
        } else {
            tracing::error!(
                ?wait,
                "no heartbeat: the dataplane or the control plane does not answer"
            );
        }
        tokio::select! {
            () = &mut ending => return,
            () = tokio::time::sleep(limit / BEATS_PER_LIMIT) => {}
        }
    }
}
