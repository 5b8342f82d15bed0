//! `GET /v1/pfc/counters`.

use weir_api::daemon::{PauseCounters, Pauses};
use weir_core::switch::PauseGauges;
use weir_core::{Instant, Priority};
use weir_dataplane::messages::Snapshot;

use crate::control::info::SwitchInfo;
use crate::model::clock;

/// Returns every (port, priority) of a lossless class, and lossy ones that neighbours have paused.
pub fn counters(info: &SwitchInfo, snapshot: &Snapshot) -> Vec<PauseCounters> {
    let mut all = Vec::new();
    for (port, state) in info.ports.iter().zip(&snapshot.ports) {
        for priority in Priority::ALL {
            let gauges = &state.gauges[priority.index()];
            let counters = &state.counters.priority[priority.index()];
            let received = counters.pause_received + counters.resume_received;
            if received == 0 && !info.class(priority).mode.get().is_lossless() {
                continue;
            }
            all.push(PauseCounters {
                port: port.name.clone(),
                priority: priority.get(),
                sent: pauses(&gauges.pauses_sent, counters.xoff_sent, counters.xon_sent),
                received: pauses(
                    &gauges.pauses_received,
                    counters.pause_received,
                    counters.resume_received,
                ),
            });
        }
    }
    all
}

fn pauses(gauges: &PauseGauges, xoff: u64, xon: u64) -> Pauses {
    let time = |at: Option<Instant>| at.map(clock::wall_time);
    let nanos = |at: Option<Instant>| at.map(|at| at.as_nanos());
    Pauses {
        xoff_frames_total: xoff,
        xon_frames_total: xon,
        transitions_total: gauges.begun,
        paused: gauges.active,
        last_began: time(gauges.last_began),
        last_began_monotonic_nanos: nanos(gauges.last_began),
        last_ended: time(gauges.last_ended),
        last_ended_monotonic_nanos: nanos(gauges.last_ended),
        paused_seconds_total: gauges.total.as_secs_f64(),
        longest_seconds: gauges.longest.as_secs_f64(),
    }
}
