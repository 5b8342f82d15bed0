//! The links: their state, and the neighbours at their other ends.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use tokio::sync::Notify;
use weir_core::control::neighbours::{AnnouncedPort, Neighbours};
use weir_core::control::{DampingConfig, FlapDamping};
use weir_core::{Duration, Instant, PortId};

use super::lock;
use crate::control::info::{PortInfo, SwitchInfo};
use crate::model::clock;

/// Interval for polling the kernel about links that are down. The kernel may report a carrier a second late, and frames for
/// a port that counts as down are dropped in the meantime.
const RECHECK: Duration = Duration::from_millis(100);
/// Interval for polling the kernel while all links are up. It reports changes of carrier at most once a second: one that
/// follows another, of any device of the machine, is late, and a link that comes back meanwhile was never down.
const RECHECK_UP: Duration = Duration::from_millis(250);
/// Polling interval while frames may wait for a link that has just gone down.
const RECHECK_SOON: Duration = Duration::from_millis(10);
/// A link that has been down for longer than this does not flap.
const FLAP_MAX: Duration = Duration::from_secs(1);

/// Link state by port.
pub struct Links {
    places: Vec<Place>,
    damping: Option<DampingConfig>,
    neighbours: Mutex<Neighbours>,
    last_down: Mutex<Option<Instant>>,
    lldp_due: Notify,
    tending_due: Notify,
    asking_due: Notify,
}

struct Place {
    up: AtomicBool,
    /// Carrier as reported by the device.
    carrier: AtomicBool,
    /// Set while the link is impaired to count as down.
    flapped: AtomicBool,
    /// Set while the link is suppressed because it went down too often.
    suppressed: AtomicBool,
    damping: Mutex<Damping>,
    gone: AtomicBool,
    /// Number of devices that the port has had.
    devices: AtomicUsize,
    /// Set when an operator has removed the device.
    removed: AtomicBool,
    /// Reason for which a present device cannot be used.
    refused: Mutex<Option<String>>,
    /// Set once a device has been looked for since an operator wanted one.
    tried: AtomicBool,
    /// MTU of the device, if smaller than the switch's.
    small_mtu: Mutex<Option<u32>>,
    /// Reason for which the device no longer fits.
    unfit: Mutex<Option<String>>,
}

/// The damping of a link.
#[derive(Debug, Default)]
struct Damping {
    state: FlapDamping,
    was_up: bool,
}

/// A change of the damping of a link.
pub(super) enum Damped {
    /// The link counts as down from now on.
    Suppressed {
        penalty: f64,
        /// The time until it is used again if it does not go down again.
        reused_after: Duration,
    },
    /// The link is used again.
    Reused,
}

impl Place {
    fn new(has_device: bool) -> Self {
        Self {
            up: has_device.into(),
            carrier: has_device.into(),
            flapped: false.into(),
            suppressed: false.into(),
            damping: Mutex::new(Damping {
                was_up: has_device,
                ..Damping::default()
            }),
            gone: (!has_device).into(),
            devices: usize::from(has_device).into(),
            removed: false.into(),
            refused: Mutex::default(),
            tried: false.into(),
            small_mtu: Mutex::default(),
            unfit: Mutex::default(),
        }
    }
}

impl Links {
    pub(in crate::control) fn new(
        info: &SwitchInfo,
        neighbours: Neighbours,
        damping: Option<DampingConfig>,
    ) -> Self {
        let has_device = |port: &PortInfo| !port.attached.get().is_absent();
        let places = info.ports.iter().map(|port| Place::new(has_device(port)));
        Self {
            places: places.collect(),
            damping,
            neighbours: Mutex::new(neighbours),
            last_down: Mutex::default(),
            lldp_due: Notify::new(),
            tending_due: Notify::new(),
            asking_due: Notify::new(),
        }
    }

    fn is(&self, port: PortId, state: fn(&Place) -> &AtomicBool) -> bool {
        let place = self.places.get(port.index());
        place.is_some_and(|place| state(place).load(Ordering::Relaxed))
    }

    /// Returns true when the value changed.
    fn note(&self, port: PortId, state: fn(&Place) -> &AtomicBool, value: bool) -> bool {
        let place = self.places.get(port.index());
        place.is_some_and(|place| state(place).swap(value, Ordering::Relaxed) != value)
    }

    /// Returns the neighbours on the links.
    pub fn neighbours(&self) -> MutexGuard<'_, Neighbours> {
        lock(&self.neighbours)
    }

    /// True when the port's device is up and has carrier.
    pub fn link_up(&self, port: PortId) -> bool {
        self.is(port, |place| &place.up)
    }

    /// True while the link counts as down because it went down too often.
    pub fn is_suppressed(&self, port: PortId) -> bool {
        self.is(port, |place| &place.suppressed)
    }

    /// Returns the time until the kernel is polled about links again.
    pub fn recheck_after(&self) -> Duration {
        let is_down = |place: &Place| {
            !place.up.load(Ordering::Relaxed) && !place.gone.load(Ordering::Relaxed)
        };
        if !self.places.iter().any(is_down) {
            return RECHECK_UP;
        }
        let last = *lock(&self.last_down);
        match last.is_some_and(|last| clock::now().saturating_since(last) < FLAP_MAX) {
            true => RECHECK_SOON,
            false => RECHECK,
        }
    }

    /// Returns true while the port has no device.
    pub fn is_gone(&self, port: PortId) -> bool {
        self.is(port, |place| &place.gone)
    }

    /// Returns true while an operator wants the port to have no device.
    pub fn is_removed(&self, port: PortId) -> bool {
        self.is(port, |place| &place.removed)
    }

    /// Returns the reason for which a present device cannot be used by a port without one.
    pub fn refusal(&self, port: PortId) -> Option<String> {
        let place = self.places.get(port.index())?;
        let waits = self.is_gone(port) && !self.is_removed(port);
        waits.then(|| lock(&place.refused).clone()).flatten()
    }

    /// Returns the MTU of the port's device while it is smaller than the switch's.
    pub fn small_mtu(&self, port: PortId) -> Option<u32> {
        let place = self.places.get(port.index())?;
        *lock(&place.small_mtu)
    }

    /// Returns the reason for which the port's device no longer fits.
    pub fn unfit(&self, port: PortId) -> Option<String> {
        let place = self.places.get(port.index())?;
        lock(&place.unfit).clone()
    }

    /// Records the MTU of the port's device if it is too small. Returns true when this changed.
    pub(in crate::control) fn note_small_mtu(&self, port: PortId, mtu: Option<u32>) -> bool {
        let place = self.places.get(port.index());
        place.is_some_and(|place| std::mem::replace(&mut *lock(&place.small_mtu), mtu) != mtu)
    }

    /// Records the reason for which the port's device no longer fits. Returns true when this changed.
    pub(in crate::control) fn note_unfit(&self, port: PortId, reason: Option<String>) -> bool {
        let place = self.places.get(port.index());
        place.is_some_and(|place| {
            let mut unfit = lock(&place.unfit);
            let is_news = *unfit != reason;
            *unfit = reason;
            is_news
        })
    }

    /// Returns the reason for which the port has no device, while it has none.
    pub fn absence(&self, port: PortId) -> Option<String> {
        let place = self.places.get(port.index())?;
        if !place.gone.load(Ordering::Relaxed) {
            return None;
        }
        if place.removed.load(Ordering::Relaxed) {
            return Some("removed by an operator".to_owned());
        }
        let refused = lock(&place.refused).clone();
        Some(refused.unwrap_or_else(|| {
            let has_had = place.devices.load(Ordering::Relaxed) > 0;
            let which = if has_had {
                "device is gone"
            } else {
                "device is not there yet"
            };
            which.to_owned()
        }))
    }

    /// Returns the number of devices that the port has had: objects bound to one do not serve the
    /// next.
    pub(in crate::control) fn devices(&self, port: PortId) -> usize {
        let place = self.places.get(port.index());
        place.map_or(0, |place| place.devices.load(Ordering::Relaxed))
    }

    /// Returns true while a device is present that cannot be used.
    pub(in crate::control) fn any_refused(&self) -> bool {
        let mut places = self.places.iter();
        places.any(|place| lock(&place.refused).is_some())
    }

    /// Records the reason for which a present device cannot be used, or that there is none. Returns true when this changed.
    pub(in crate::control) fn note_refused(&self, port: PortId, reason: Option<String>) -> bool {
        let place = self.places.get(port.index());
        place.is_some_and(|place| {
            let mut refused = lock(&place.refused);
            let is_news = *refused != reason;
            *refused = reason;
            place.tried.store(true, Ordering::Relaxed);
            is_news
        })
    }

    /// Returns true when a device was looked for since an operator wanted the port to have one.
    pub fn was_tried(&self, port: PortId) -> bool {
        self.is(port, |place| &place.tried)
    }

    /// Requests a check for devices to attach or to release.
    pub(in crate::control) fn tend(&self) {
        self.tending_due.notify_one();
    }

    /// Waits for a request of [`tend`](Self::tend). For one caller.
    pub(in crate::control) async fn tending_due(&self) {
        self.tending_due.notified().await;
    }

    /// Waits until a device of unknown state is attached. For one caller.
    pub(in crate::control) async fn asking_due(&self) {
        self.asking_due.notified().await;
    }

    /// Waits until a link goes up or down, or the announcement changes, since the last call. For one caller.
    pub(in crate::control) async fn lldp_due(&self) {
        self.lldp_due.notified().await;
    }

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

    pub(super) fn note_carrier(&self, port: PortId, carrier: bool) {
        self.note(port, |place| &place.carrier, carrier);
    }

    pub(super) fn note_flapped(&self, port: PortId, flapped: bool) {
        self.note(port, |place| &place.flapped, flapped);
    }

    /// Counts a link that went down, and returns a change of its suppression. A port whose device an operator removed does
    /// not flap.
    pub(super) fn settle_damping(&self, now: Instant, port: PortId) -> Option<Damped> {
        let config = self.damping.as_ref()?;
        let place = self.places.get(port.index())?;
        let is_up = self.has_carrier(port);
        let mut damping = lock(&place.damping);
        let went_down = std::mem::replace(&mut damping.was_up, is_up) && !is_up;
        if went_down && !self.is_removed(port) {
            damping.state.note_down(now, config);
        }
        let suppressed = damping.state.is_suppressed(now, config);
        let is_news = place.suppressed.swap(suppressed, Ordering::Relaxed) != suppressed;
        is_news.then(|| match suppressed {
            true => Damped::Suppressed {
                penalty: damping.state.penalty(now, config),
                reused_after: damping.state.reused_after(now, config),
            },
            false => Damped::Reused,
        })
    }

    /// True when the device is up and has carrier, and no impairment counts it as down.
    fn has_carrier(&self, port: PortId) -> bool {
        self.is(port, |place| &place.carrier) && !self.is(port, |place| &place.flapped)
    }

    /// Returns the link's state if it has changed.
    pub(super) fn settle_up(&self, port: PortId) -> Option<bool> {
        let up = self.has_carrier(port) && !self.is_suppressed(port);
        let is_news = self.note(port, |place| &place.up, up);
        if is_news && !up {
            *lock(&self.last_down) = Some(clock::now());
        }
        is_news.then_some(up)
    }

    /// Returns true when this changed.
    pub(super) fn note_gone(&self, port: PortId) -> bool {
        self.note_small_mtu(port, None);
        self.note_unfit(port, None);
        self.note(port, |place| &place.gone, true)
    }

    /// Records that the port has a device, whose state is still to be read.
    pub(super) fn note_back(&self, port: PortId) {
        self.note_refused(port, None);
        if let Some(place) = self.places.get(port.index()) {
            place.devices.fetch_add(1, Ordering::Relaxed);
        }
        self.note(port, |place| &place.gone, false);
        self.asking_due.notify_one();
    }

    /// Returns true when this changed.
    pub(super) fn note_removed(&self, port: PortId, removed: bool) -> bool {
        self.note(port, |place| &place.tried, false);
        self.note(port, |place| &place.removed, removed)
    }

    /// Makes the LLDP agent check for announcements to send.
    pub(super) fn tell_lldp(&self, port: PortId, up: bool) {
        self.neighbours().set_link(clock::now(), port, up);
        self.lldp_due.notify_one();
    }
}
