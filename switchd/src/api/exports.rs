//! `GET /v1/exports`.

use std::sync::Arc;

use axum::extract::State;
use axum::Json;
use weir_api::daemon::{Exports, Ipfix, Sflow};

use crate::control::ipfix::IpfixStream;
use crate::control::sflow::SflowAgent;
use crate::control::Shared;

pub(super) async fn show(State(shared): State<Arc<Shared>>) -> Json<Exports> {
    Json(Exports {
        sflow: shared.sflow.as_ref().map(sflow),
        ipfix: shared.ipfix.as_ref().map(ipfix),
    })
}

fn sflow(agent: &SflowAgent) -> Sflow {
    let (settings, counters) = (agent.settings(), agent.counters());
    Sflow {
        collector: settings.collector.to_string(),
        agent: settings.agent.map(|agent| agent.to_string()),
        interval_seconds: settings.interval.as_secs_f64(),
        sampling: settings.sampling,
        drops_per_second: settings.drops_per_second,
        header_bytes: settings.header_bytes as u64,
        error: agent.exporting.error(),
        datagrams_sent_total: counters.datagrams_sent,
        datagrams_refused_total: counters.datagrams_refused,
        datagrams_lost_total: counters.datagrams_lost,
        counters_sent_total: counters.counters_sent,
        counters_lost_total: counters.counters_lost,
        packets_seen_total: agent.packets_seen(),
        packets_sent_total: counters.packets_sent,
        packets_lost_total: counters.packets_lost,
        drops_seen_total: agent.drops_seen(),
        drops_sent_total: counters.drops_sent,
        drops_withheld_total: counters.drops_withheld,
        drops_lost_total: counters.drops_lost,
    }
}

fn ipfix(stream: &IpfixStream) -> Ipfix {
    let (settings, counters) = (stream.settings(), stream.counters());
    Ipfix {
        collector: settings.collector.to_string(),
        interval_seconds: settings.interval.as_secs_f64(),
        observation_domain: settings.observation_domain,
        enterprise: settings.enterprise,
        error: stream.exporting.error(),
        messages_sent_total: counters.messages_sent,
        messages_refused_total: counters.messages_refused,
        messages_lost_total: counters.messages_lost,
        records_sent_total: counters.records_sent,
        records_unchanged_total: counters.records_unchanged,
        records_lost_total: counters.records_lost,
        readings_exported_total: counters.readings_exported,
        readings_late_total: counters.readings_late,
        readings_no_memory_total: counters.readings_no_memory,
    }
}
