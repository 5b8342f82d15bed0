//! State that the supervisor writes and others read, in four handles.

mod access;
mod life;
mod links;
mod losses;
mod records;
pub mod watermarks;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use weir_api::describe::Described;
use weir_api::words::EventName;
use weir_core::{Command, PortId};
use weir_dataplane::link::XdpPrograms;

use super::asked::impair::Impairments;
use super::info::SwitchInfo;
use super::ipfix::IpfixStream;
use super::sflow::SflowAgent;
use super::supervisor::Message;
use crate::model::clock;

pub(crate) use access::empty_snapshot;
pub use access::{Access, Published, ANSWER_WAIT};
pub use life::{without_keeper, Life, RestartAnswer, Restarted, Signal, Stage};
use links::Damped;
pub use links::Links;
pub use losses::{Losses, Missing};
pub use records::{ControlFigures, Records};

/// The control plane's shared state.
pub struct Shared {
    /// Names and settings.
    pub info: SwitchInfo,
    /// History.
    pub records: Records,
    /// Access to the dataplane.
    pub dataplane: Access,
    /// The links and their neighbours.
    pub links: Links,
    /// Losses below the switch.
    pub losses: Losses,
    /// Stage of the daemon.
    pub life: Life,
    /// Impairments of frames and links in force.
    pub impairments: Impairments,
    /// Counters of gNMI.
    pub gnmi: Arc<weir_gnmi::Figures>,
    /// The sFlow agent; `None` while it is off.
    pub sflow: Option<SflowAgent>,
    /// The IPFIX stream; `None` while it is off.
    pub ipfix: Option<IpfixStream>,
}

/// Streams to collectors.
pub(super) struct Exports {
    pub(super) sflow: Option<SflowAgent>,
    pub(super) ipfix: Option<IpfixStream>,
}

impl Shared {
    pub(super) fn new(
        info: SwitchInfo,
        records: Records,
        links: Links,
        xdp: Box<dyn XdpPrograms>,
        inbox: mpsc::Sender<Message>,
        exports: Exports,
    ) -> Self {
        Self {
            records,
            dataplane: Access::new(info.ports.len(), xdp, inbox),
            links,
            losses: Losses::new(info.ports.len()),
            info,
            life: Life::new(clock::now()),
            impairments: Impairments::default(),
            gnmi: Arc::default(),
            sflow: exports.sflow,
            ipfix: exports.ipfix,
        }
    }

    /// Moves on to `stage`; draining is recorded as an event.
    pub fn set_stage(&self, stage: Stage) {
        self.life.set_stage(stage);
        if stage == Stage::Draining {
            self.records
                .record(Described::new(clock::now(), EventName::Draining));
        }
    }

    /// Records that the port's device is gone, and has the port released.
    pub async fn set_gone(&self, port: PortId) {
        self.lose_device(port, EventName::DeviceGone).await;
    }

    pub(super) fn set_back(&self, port: PortId) {
        self.links.note_back(port);
        self.record_at(port, EventName::DeviceBack, None);
    }

    /// Has the port release its device, or attach it again.
    pub async fn set_removed(&self, port: PortId, removed: bool) {
        if self.links.note_removed(port, removed) {
            if removed {
                self.lose_device(port, EventName::PortRemoved).await;
            } else {
                self.record_at(port, EventName::PortAdded, None);
            }
        }
        self.links.tend();
    }

    async fn lose_device(&self, port: PortId, event: EventName) {
        // First, so that the device is not released before the dataplane knows that its link is
        // down.
        self.set_link(port, false).await;
        if self.links.note_gone(port) {
            self.record_at(port, event, None);
            self.links.tend();
        }
    }

    /// Records a link's state and notifies the dataplane when it changed.
    pub async fn set_link(&self, port: PortId, up: bool) {
        self.links.note_carrier(port, up);
        self.settle_link(port).await;
    }

    /// Sets or clears the state of a link that counts as down regardless of its device.
    pub(super) async fn set_flapped(&self, port: PortId, flapped: bool) {
        self.links.note_flapped(port, flapped);
        self.settle_link(port).await;
    }

    async fn settle_link(&self, port: PortId) {
        match self.links.settle_damping(clock::now(), port) {
            Some(Damped::Suppressed {
                penalty,
                reused_after,
            }) => {
                let details = [
                    ("penalty", format!("{penalty:.0}")),
                    (
                        "reused_after",
                        format!("{:.6} s", reused_after.as_secs_f64()),
                    ),
                ];
                self.record_at(port, EventName::LinkSuppressed, details);
            }
            Some(Damped::Reused) => self.record_at(port, EventName::LinkReused, None),
            None => {}
        }
        if let Some(up) = self.links.settle_up(port) {
            self.record_at(
                port,
                if up {
                    EventName::LinkUp
                } else {
                    EventName::LinkDown
                },
                None,
            );
            self.links.tell_lldp(port, up);
            self.dataplane.command(Command::SetLink { port, up }).await;
        }
    }

    pub(super) fn record_at<'a>(
        &self,
        port: PortId,
        kind: EventName,
        details: impl IntoIterator<Item = (&'a str, String)>,
    ) {
        let mut described = Described {
            port: Some(self.info.port_name(port)),
            ..Described::new(clock::now(), kind)
        };
        for (name, value) in details {
            described = described.detail(name, value);
        }
        self.records.record(described);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
