//! `GET /v1/exports`.

use std::sync::Arc;

use axum::extract::State;
use axum::Json;
use weir_api::daemon::{Exports, Sflow};

use crate::control::Shared;

pub(super) async fn show(State(shared): State<Arc<Shared>>) -> Json<Exports> {
    Json(Exports {
        sflow: shared.sflow.as_ref().map(|sflow| {
            let (settings, counters) = (sflow.settings(), sflow.counters());
            Sflow {
                collector: settings.collector.to_string(),
                agent: sflow.agent().map(|agent| agent.to_string()),
                interval_seconds: settings.interval.as_secs_f64(),
                sampling: settings.sampling,
                drops_per_second: settings.drops_per_second,
                header_bytes: settings.header_bytes as u64,
                error: sflow.error(),
                datagrams_sent_total: counters.datagrams_sent,
                datagrams_refused_total: counters.datagrams_refused,
                datagrams_lost_total: counters.datagrams_lost,
                counters_sent_total: counters.counters_sent,
                counters_lost_total: counters.counters_lost,
                packets_seen_total: sflow.packets_seen(),
                packets_sent_total: counters.packets_sent,
                packets_lost_total: counters.packets_lost,
                drops_seen_total: sflow.drops_seen(),
                drops_sent_total: counters.drops_sent,
                drops_withheld_total: counters.drops_withheld,
                drops_lost_total: counters.drops_lost,
            }
        }),
    })
}
