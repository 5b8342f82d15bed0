//! `/v1/fdb`: learned addresses.

use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::State;
use axum::http::StatusCode;
use axum::Json;
use weir_api::daemon::{Changed, Fdb, FdbFlush, FdbPort};
use weir_api::describe::Described;
use weir_api::words::EventName;
use weir_core::{Command, VlanId};
use weir_dataplane::messages::Snapshot;
use weir_dataplane::tables::Tables;

use super::routes::find_port;
use super::vlans::addresses;
use crate::api::ApiError;
use crate::control::info::SwitchInfo;
use crate::control::Shared;
use crate::model::clock;

pub(in crate::api) async fn show(State(shared): State<Arc<Shared>>) -> Result<Json<Fdb>, ApiError> {
    let wanted = Tables {
        vlans: true,
        ..Tables::NONE
    };
    let snapshot = shared.dataplane.inspect(wanted).await;
    let snapshot = snapshot.ok_or_else(ApiError::silence)?;
    Ok(Json(fdb(&shared.info, &snapshot)))
}

fn fdb(info: &SwitchInfo, snapshot: &Snapshot) -> Fdb {
    let ports = info.ports.iter().zip(&snapshot.ports);
    let ports = ports.map(|(port, state)| FdbPort {
        port: port.name.clone(),
        count: state.learned.into(),
        full_total: state.counters.addresses_crowded,
    });
    let count: u64 = snapshot.ports.iter().map(|it| u64::from(it.learned)).sum();
    let addresses = addresses(info, snapshot);
    let left_out = match snapshot.vlans.learnt_left_out {
        true => u64::saturating_sub(count, addresses.len() as u64),
        false => 0,
    };
    Fdb {
        learning: snapshot.learning_capacity > 0,
        count,
        capacity: snapshot.learning_capacity,
        ports: ports.collect(),
        addresses,
        left_out,
    }
}

pub(in crate::api) async fn flush(
    State(shared): State<Arc<Shared>>,
    body: Result<Json<FdbFlush>, JsonRejection>,
) -> Result<Json<Changed>, ApiError> {
    let Json(FdbFlush { port, vlan }) = body?;
    let id = match &port {
        Some(name) => Some(find_port(&shared.info, name)?),
        None => None,
    };
    let number = match vlan {
        Some(number) => Some(VlanId::new(number).ok_or_else(|| {
            ApiError::bad_request(format!("invalid VLAN `{number}`; valid are 0 to 4094"))
        })?),
        None => None,
    };
    let command = Command::ForgetLearned {
        port: id,
        vlan: number,
    };
    match shared.dataplane.ask(command).await {
        Some(Ok(())) => {
            let mut event = Described {
                port: port.clone(),
                ..Described::new(clock::now(), EventName::AddressesForgotten)
            };
            if let Some(vlan) = vlan {
                event = event.detail("vlan", vlan);
            }
            shared.records.record(event);
            let changed = in_words(port.as_deref(), vlan);
            Ok(Json(Changed { changed }))
        }
        Some(Err(error)) => Err(ApiError {
            status: StatusCode::CONFLICT,
            error: error.to_string(),
        }),
        None => Err(ApiError::silence()),
    }
}

fn in_words(port: Option<&str>, vlan: Option<u16>) -> String {
    let at = port.map_or_else(String::new, |port| format!(" at {port}"));
    let vlan = vlan.map_or_else(String::new, |vlan| format!(" in VLAN {vlan}"));
    match at.is_empty() && vlan.is_empty() {
        true => "all learned addresses are forgotten".to_owned(),
        false => format!("learned addresses{at}{vlan} are forgotten"),
    }
}
