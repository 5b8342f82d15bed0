//! The links: whether they are up, and who is at their other end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use tokio::sync::Notify;
use weir_core::control::neighbours::{AnnouncedPort, Neighbours};
use weir_core::PortId;

use super::lock;
use crate::model::clock;

/// By port.
pub struct Links {
    up: Vec<AtomicBool>,
    gone: Vec<AtomicBool>,
    neighbours: Mutex<Neighbours>,
    lldp_due: Notify,
}

impl Links {
    pub(super) fn new(port_count: usize, neighbours: Neighbours) -> Self {
        let all = |state| (0..port_count).map(|_| AtomicBool::new(state)).collect();
        Self {
            up: all(true),
            gone: all(false),
            neighbours: Mutex::new(neighbours),
            lldp_due: Notify::new(),
        }
    }

    /// Who is at the other end of the links.
    pub fn neighbours(&self) -> MutexGuard<'_, Neighbours> {
        lock(&self.neighbours)
    }

    /// True when the port's device is up and has carrier.
    pub fn link_up(&self, port: PortId) -> bool {
        self.up
            .get(port.index())
            .is_some_and(|up| up.load(Ordering::Relaxed))
    }

    /// True while a port's device is there, and is down or has no carrier.
    pub fn any_link_down(&self) -> bool {
        let mut links = self.up.iter().zip(&self.gone);
        links.any(|(up, gone)| !up.load(Ordering::Relaxed) && !gone.load(Ordering::Relaxed))
    }

    /// True when the port's device is gone, for as long as the daemon runs.
    pub fn is_gone(&self, port: PortId) -> bool {
        self.gone
            .get(port.index())
            .is_some_and(|gone| gone.load(Ordering::Relaxed))
    }

    /// Waits until a link has gone up or down, or something else is announced, since the last call. For one caller.
    pub(in crate::control) async fn lldp_due(&self) {
        self.lldp_due.notified().await;
    }

    /// Announces this by LLDP from now on, by port.
    pub(crate) fn announce(&self, ports: Vec<AnnouncedPort>) {
        let mut neighbours = self.neighbours();
        for (index, port) in ports.into_iter().enumerate() {
            if let Some(id) = PortId::from_index(index) {
                neighbours.announce(clock::now(), id, port.announcement);
            }
        }
        drop(neighbours);
        self.lldp_due.notify_one();
    }

    /// True when this is news.
    pub(super) fn note_up(&self, port: PortId, up: bool) -> bool {
        let known = self.up.get(port.index());
        known.is_some_and(|known| known.swap(up, Ordering::Relaxed) != up)
    }

    /// True when this is news.
    pub(super) fn note_gone(&self, port: PortId) -> bool {
        let known = self.gone.get(port.index());
        known.is_some_and(|known| !known.swap(true, Ordering::Relaxed))
    }

    /// Has the LLDP agent look again at what it has to send.
    pub(super) fn tell_lldp(&self, port: PortId, up: bool) {
        self.neighbours().set_link(clock::now(), port, up);
        self.lldp_due.notify_one();
    }
}
