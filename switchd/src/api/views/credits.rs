//! `GET /v1/credits`.

use weir_api::daemon::{CreditMessages, Credits, ReceivingCredits, SendingCredits};
use weir_core::{CreditHints, Priority};
use weir_dataplane::messages::Snapshot;

use crate::control::Shared;

/// Returns every (port, priority) of a class with credits.
pub fn credits(shared: &Shared, snapshot: &Snapshot) -> Vec<Credits> {
    let neighbours = shared.links.neighbours();
    let mut all = Vec::new();
    for ((id, port), state) in shared.info.numbered_ports().zip(&snapshot.ports) {
        let hints = neighbours.findings(id).credit_hints;
        for (priority, gauges) in Priority::ALL.into_iter().zip(&state.credits) {
            let Some(gauges) = gauges else { continue };
            let [cc_sent, cf_received, cf_ignored, cf_implausible] = gauges.sender_updates;
            let [cf_sent, cc_received, cc_ignored, cc_implausible] = gauges.receiver_updates;
            let (sending, receiving) = (&gauges.sending, &gauges.receiving);
            all.push(Credits {
                port: port.name.clone(),
                priority: priority.get(),
                slots: state.credit_slots,
                announced: announced(&hints, priority),
                sending: SendingCredits {
                    state: sending.state.into(),
                    consumed: sending.consumed,
                    freed: sending.freed,
                    used: sending.used,
                    watermark: sending.watermark,
                    limit: sending.limit,
                },
                receiving: ReceivingCredits {
                    state: receiving.state.into(),
                    arrived: receiving.arrived,
                    freed: receiving.freed,
                    outstanding: receiving.outstanding,
                    limit: receiving.limit,
                    returned_total: receiving.returned,
                },
                messages: CreditMessages {
                    cf_updates_sent_total: cf_sent,
                    cf_updates_received_total: cf_received,
                    cc_updates_sent_total: cc_sent,
                    cc_updates_received_total: cc_received,
                    ignored_total: cf_ignored + cc_ignored,
                    implausible_total: cf_implausible + cc_implausible,
                },
            });
        }
    }
    all
}

/// Returns true if a neighbour announces credits of `priority`, and false if none does.
fn announced(hints: &CreditHints, priority: Priority) -> Option<bool> {
    let (offered, absent) = (
        hints.offered.contains(priority),
        hints.absent.contains(priority),
    );
    (offered || absent).then_some(offered)
}
