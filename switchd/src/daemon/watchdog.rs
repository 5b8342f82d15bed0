//! The heartbeat for the service manager's watchdog (sd_watchdog_enabled(3)).
//!
//! A beat proves that frames are forwarded, not merely that a timer runs: each beat waits for a snapshot requested after the
//! previous beat. The request passes through the supervisor's loop to the dataplane's loop, and the answer returns through
//! both, so a hanging or spinning thread stops the beats. A dataplane without traffic sleeps, and the request wakes it.

use std::sync::Arc;
use std::time::Duration;

use weir_dataplane::tables::Tables;

use crate::control::{Shared, Stage};
use crate::os::service;

const BEATS_PER_LIMIT: u32 = 4;
/// An answer is due within this fraction of the limit; even with the preceding pause, a late answer is still in time.
const WAITS_PER_LIMIT: u32 = 2;

/// Sends beats until the daemon ends; `limit` is the service manager's timeout. The first beat is sent at once: to the
/// service manager a restarted switch is the same service, whose last beat came from the previous switch.
pub async fn beat(shared: Arc<Shared>, limit: Duration) {
    let ending = shared.life.ending();
    tokio::pin!(ending);
    loop {
        let wait = limit / WAITS_PER_LIMIT;
        let answer = tokio::time::timeout(wait, shared.dataplane.inspect(Tables::NONE)).await;
        if shared.life.stage() != Stage::Running {
            // The service manager was notified and only waits for the end.
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
