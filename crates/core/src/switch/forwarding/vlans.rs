//! VLANs: classification, forwarding and tagging of frames, and counters by VLAN.
//!
//! A frame's VLAN is determined on arrival ([`VlanPort::classify`]) and does not change. It is part of every lookup
//! key, frames are flooded only to ports that carry it, and an entry that leads to another port drops the
//! frame. So nothing crosses from one VLAN to another, regardless of the tables.

use crate::command::CommandError;
use crate::config::{SwitchConfig, VlanPort};
use crate::counters::VlanCounters;
use crate::frame::{Form, Frame, FrameHandle};
use crate::level::Level;
use crate::sets::vlans::{VlanId, VlanSet, VlanTag, VLAN_COUNT};
use crate::sets::PortSet;
use crate::switch::records::Records;
use crate::switch::Switch;
use crate::units::{Bytes, Instant, MacAddress, PortId, Priority};

use super::LearntEntry;

/// Number of VLANs with separate counters although the configuration does not name them: the first in which frames
/// arrive.
pub const VLANS_SEEN_MAX: usize = 256;

/// Counters of a VLAN, read by [`Switch::vlan_traffic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanTraffic {
    /// `None` for the sum of all VLANs without separate counters.
    pub vlan: Option<VlanId>,
    /// The counters.
    pub counters: VlanCounters,
}

/// Copies of the last frame that leave in a second form.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "testing", derive(PartialEq))]
pub(in crate::switch) struct OtherCopies {
    pub(in crate::switch) frame: Frame,
    pub(in crate::switch) ingress: PortId,
    pub(in crate::switch) ports: PortSet,
    pub(in crate::switch) level: Level,
    pub(in crate::switch) vlan: VlanId,
    pub(in crate::switch) form: Form,
    pub(in crate::switch) is_tagged: bool,
    /// Length on departure.
    pub(in crate::switch) length: Bytes,
}

/// State of a frame in the switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    vlan: VlanId,
    priority: Priority,
    /// It leaves with a tag of its VLAN.
    is_tagged: bool,
    /// It belongs to no VLAN.
    is_uncounted: bool,
}

/// Additional state of a VLAN-aware switch.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct Vlans {
    /// By frame handle.
    of_handle: Records<Held>,
    /// By VLAN: its index in `traffic`; zero if it has no separate counters.
    place_of: Vec<u16>,
    /// The first entry is for VLANs without separate counters.
    traffic: Vec<VlanTraffic>,
    /// Free entries for VLANs that are seen.
    spare: usize,
    pub(in crate::switch) others: Option<OtherCopies>,
}

impl Vlans {
    /// `None` for a switch that ignores tags.
    pub(in crate::switch) fn new(config: &SwitchConfig) -> Option<Box<Self>> {
        if config.vlans.is_empty() {
            return None;
        }
        let named = named(&config.vlans);
        let mut vlans = Self {
            of_handle: Records::new(config.frame_count, Held::default()),
            place_of: vec![0; VLAN_COUNT],
            traffic: Vec::with_capacity(1 + named.iter().count() + VLANS_SEEN_MAX),
            spare: VLANS_SEEN_MAX,
            others: None,
        };
        vlans.traffic.push(VlanTraffic {
            vlan: None,
            counters: VlanCounters::default(),
        });
        for vlan in named.iter() {
            vlans.add_place(vlan);
        }
        Some(Box::new(vlans))
    }

    pub(in crate::switch) fn touch(&mut self) {
        self.of_handle.touch();
    }

    fn add_place(&mut self, vlan: VlanId) {
        if let Some(place) = self.place_of.get_mut(vlan.index()) {
            *place = self.traffic.len() as u16;
            self.traffic.push(VlanTraffic {
                vlan: Some(vlan),
                counters: VlanCounters::default(),
            });
        }
    }

    #[inline]
    fn count(&mut self, vlan: VlanId, note: impl FnOnce(&mut VlanCounters)) {
        let place = self.place_of.get(vlan.index()).copied().unwrap_or(0);
        if let Some(traffic) = self.traffic.get_mut(usize::from(place)) {
            note(&mut traffic.counters);
        }
    }

    /// Notes an admitted frame, and whether it leaves tagged.
    #[inline]
    pub(in crate::switch) fn note_admitted(
        &mut self,
        frame: &Frame,
        vlan: VlanId,
        is_tagged: bool,
    ) {
        self.note_held(frame, vlan, is_tagged);
        if self.spare > 0 && self.place_of.get(vlan.index()) == Some(&0) {
            self.spare -= 1;
            self.add_place(vlan);
        }
        self.count(vlan, |counters| {
            counters.rx_frames += 1;
            counters.rx_bytes += frame.length.get();
        });
    }

    /// Notes copies that are in the switch under a separate handle.
    pub(in crate::switch) fn note_held(&mut self, frame: &Frame, vlan: VlanId, is_tagged: bool) {
        if let Some(place) = self.of_handle.reach(frame.handle.index()) {
            *place = Held {
                vlan,
                priority: frame.priority,
                is_tagged,
                is_uncounted: false,
            };
        }
    }

    /// Notes a copy for a mirror: it keeps its form, and belongs to no VLAN here.
    pub(in crate::switch) fn note_uncounted(&mut self, handle: FrameHandle) {
        if let Some(place) = self.of_handle.reach(handle.index()) {
            *place = Held {
                is_uncounted: true,
                ..Held::default()
            };
        }
    }

    #[inline]
    pub(in crate::switch) fn note_sent(&mut self, handle: FrameHandle, length: Bytes) {
        let held = self.of_handle.get(handle.index()).copied();
        let held = held.unwrap_or_default();
        if held.is_uncounted {
            return;
        }
        self.count(held.vlan, |counters| {
            counters.tx_frames += 1;
            counters.tx_bytes += length.get();
        });
    }

    /// Counts copies that could not be made.
    pub(in crate::switch) fn note_copies_dropped(&mut self, vlan: VlanId, copies: usize) {
        self.count(vlan, |counters| counters.copies_dropped += copies as u64);
    }
}

/// VLANs named by some port: a trunk for all VLANs does not count.
fn named(ports: &[VlanPort]) -> VlanSet {
    let is_for_all = |port: &&VlanPort| {
        let mut carried = *port.carried();
        carried.insert(VlanId::UNTAGGED);
        carried == VlanSet::all()
    };
    let mut named: VlanSet = ports.iter().map(VlanPort::untagged_in).collect();
    for port in ports.iter().filter(|port| !is_for_all(port)) {
        port.carried().iter().for_each(|vlan| named.insert(vlan));
    }
    named
}

/// Checks the ports of a route in a VLAN-aware switch: those that carry its VLAN, or, for a route for all VLANs, ports
/// that all carry the same ones. Otherwise frames of some VLAN would be lost, depending on their bucket.
///
/// # Errors
///
/// The first port that is not allowed.
pub(crate) fn check_route(
    vlans: &[VlanPort],
    vlan: Option<VlanId>,
    ports: impl Iterator<Item = PortId>,
) -> Result<(), PortId> {
    let mut first: Option<&VlanSet> = None;
    for port in ports {
        let Some(settings) = vlans.get(port.index()) else {
            continue;
        };
        let fits = match vlan {
            Some(vlan) => settings.carries(vlan),
            None => first.is_none_or(|first| first == settings.carried()),
        };
        if !fits {
            return Err(port);
        }
        first.get_or_insert(settings.carried());
    }
    Ok(())
}

impl Switch {
    /// Returns true unless the switch ignores tags.
    #[inline]
    pub fn is_vlan_aware(&self) -> bool {
        self.vlans.is_some()
    }

    /// The VLAN of a frame received on `port` with this tag; `None` if it may not enter.
    pub fn vlan_of(&self, port: PortId, tag: Option<VlanTag>) -> Option<VlanId> {
        self.config.vlans.get(port.index())?.classify(tag)
    }

    /// The VLAN of the frame under `handle`; `None` in a switch that ignores tags.
    pub fn vlan_inside(&self, handle: FrameHandle) -> Option<VlanId> {
        let held = self.vlans.as_ref()?.of_handle.get(handle.index())?;
        Some(held.vlan)
    }

    /// The form in which the frame under `handle`, which has the form in which it leaves, must arrive on `ingress` to
    /// be in the same VLAN. It is for a caller that hands over frames that could not leave. `None` in a switch that
    /// ignores tags.
    pub fn form_to_come_in(&self, ingress: PortId, handle: FrameHandle) -> Option<Form> {
        let Held {
            vlan,
            priority,
            is_tagged,
            ..
        } = *self.vlans.as_ref()?.of_handle.get(handle.index())?;
        let settings = self.config.vlans.get(ingress.index())?;
        match (is_tagged, settings.untagged_in() != vlan) {
            (true, false) => Some(Form::Untagged),
            (false, true) => Some(Form::Tagged(VlanTag::new(priority, vlan))),
            (true, true) | (false, false) => Some(Form::AsIs),
        }
    }

    /// Counters by VLAN that the configuration names or frames arrived in. The first entry is for all others. Empty in
    /// a switch that ignores tags.
    pub fn vlan_traffic(&self) -> &[VlanTraffic] {
        self.vlans.as_ref().map_or(&[], |vlans| &vlans.traffic)
    }

    /// Maximum number of entries of [`vlan_traffic`](Self::vlan_traffic).
    pub fn vlan_capacity(&self) -> usize {
        let vlans = self.vlans.as_ref();
        vlans.map_or(0, |vlans| vlans.traffic.len() + vlans.spare)
    }

    /// Learned addresses that have not expired, in no particular order. O(capacity).
    pub fn learnt(&self, now: Instant) -> impl Iterator<Item = LearntEntry> + '_ {
        self.forwarding.learnt(now)
    }

    /// Returns true if frames of `vlan` may leave by `port`.
    pub(in crate::switch) fn carries(&self, port: PortId, vlan: VlanId) -> bool {
        let settings = self.config.vlans.get(port.index());
        settings.is_some_and(|settings| settings.carries(vlan))
    }

    /// Those of `ports` by which frames of `vlan` leave tagged.
    pub(in crate::switch) fn with_tags(&self, ports: PortSet, vlan: VlanId) -> PortSet {
        let settings = |port: &PortId| self.config.vlans.get(port.index());
        let leaves_tagged =
            |port: &PortId| settings(port).is_some_and(|settings| settings.leaves_tagged(vlan));
        ports.iter().filter(leaves_tagged).collect()
    }

    pub(in crate::switch) fn check_members(
        &self,
        vlan: Option<VlanId>,
        destination: MacAddress,
        members: PortSet,
    ) -> Result<(), CommandError> {
        if vlan.is_some() && (!self.is_vlan_aware() || vlan == Some(VlanId::UNTAGGED)) {
            return Err(CommandError::NoVlans);
        }
        check_route(&self.config.vlans, vlan, members.iter()).map_err(|port| {
            CommandError::NotInVlan {
                destination,
                vlan,
                port,
            }
        })
    }
}
