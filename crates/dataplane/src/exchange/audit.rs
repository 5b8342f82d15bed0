//! The audit of a snapshot's accounts: where each received frame and each chunk of the packet memory is.

use std::collections::BTreeMap;

use weir_api::audit::{Audit, MemoryAudit, PortAudit};
use weir_api::words::Reason;
use weir_core::DropReason;

use super::accounts::PortAccount;
use super::messages::{PortSnapshot, Snapshot};

/// Combines the loop's accounts with the core's, from a snapshot that has both. `names` lists the ports' names.
pub fn audit<'a>(names: impl Iterator<Item = &'a str>, snapshot: &Snapshot) -> Audit {
    let accounts = &snapshot.accounts;
    let of_port = |list: &[u64], index: usize| list.get(index).copied().unwrap_or(0);
    let books = accounts.ports.iter().zip(&snapshot.ports);
    let ports = names.zip(books).enumerate();
    Audit {
        ports: ports
            .map(|(index, (name, (account, state)))| PortAudit {
                held: of_port(&accounts.held, index),
                with_transmitter: of_port(&accounts.outstanding, index),
                ..port(name.to_owned(), account, state)
            })
            .collect(),
        memory: MemoryAudit {
            chunks: snapshot.umem_frames,
            free: snapshot.umem_frames_free,
            marked_free: accounts.free,
            // In the accounts, copies in another form are part of their frame.
            held_by_core: snapshot.held_frames.saturating_sub(accounts.copies),
            further: accounts.further,
            control: accounts.control,
            receiving: accounts.receiving,
        },
    }
}

fn port(name: String, account: &PortAccount, state: &PortSnapshot) -> PortAudit {
    let by_core = &state.counters.priority;
    PortAudit {
        port: name,
        received: account.received,
        further: account.further,
        admitted: account.admitted,
        admitted_by_core: by_core
            .iter()
            .map(|it| it.rx_frames - it.express_rx_frames)
            .sum(),
        express_in: by_core.iter().map(|it| it.express_rx_frames).sum(),
        express_out: by_core.iter().map(|it| it.express_tx_frames).sum(),
        copied: account.copied,
        read: account.read,
        refused: by_reason(&account.refused),
        delivered: account.delivered,
        given_up: by_reason(&account.given_up),
        dropped_by_core: by_reason(&state.counters.drops),
        held: 0,
        waiting: state.gauges.iter().map(|it| it.egress_frames).sum(),
        sent_data: account.sent_data,
        sent_data_by_core: by_core
            .iter()
            .map(|it| it.tx_frames - it.express_tx_frames)
            .sum(),
        sent_control: account.sent_control,
        completed: account.completed,
        with_transmitter: 0,
        not_sent: account.not_sent,
        lent: account.lent,
        lost_by_kernel: state.kernel.total(),
    }
}

/// Only reasons that have occurred.
fn by_reason(counts: &[u64; DropReason::COUNT]) -> BTreeMap<Reason, u64> {
    DropReason::ALL
        .into_iter()
        .map(|reason| (reason.into(), counts[reason.index()]))
        .filter(|(_, count)| *count > 0)
        .collect()
}
