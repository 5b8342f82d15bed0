//! VLANs: which one a frame is in, where it may go, how it leaves, and what each VLAN has counted.
//!
//! A frame's VLAN is known once it has come in ([`VlanPort::classify`]) and stays what it is. What it is found by in the
//! tables has the VLAN in it, it is flooded to ports that carry its VLAN, and a way that leads to another port drops it. So
//! nothing crosses from one VLAN to another, whatever the tables say.

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

/// VLANs that have counters of their own although the configuration does not name them: the first that frames come in.
pub const VLANS_SEEN_MAX: usize = 256;

/// Counters of a VLAN, read by [`Switch::vlan_traffic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanTraffic {
    /// `None` for all those together that there was no place for.
    pub vlan: Option<VlanId>,
    /// What it has counted.
    pub counters: VlanCounters,
}

/// Copies of the last frame that leave in another form than the first ones.
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
    /// As they leave.
    pub(in crate::switch) length: Bytes,
}

/// What is known of a frame that is in the switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    vlan: VlanId,
    priority: Priority,
    /// It has a tag of its VLAN, as it leaves.
    is_tagged: bool,
    /// It is no frame of a VLAN.
    is_uncounted: bool,
}

/// What a VLAN-aware switch has beside what any switch has.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct Vlans {
    /// Of each frame that is in the switch.
    of_handle: Records<Held>,
    /// By VLAN: its place in `traffic`, zero for none of its own.
    place_of: Vec<u16>,
    /// The first is of VLANs without a place.
    traffic: Vec<VlanTraffic>,
    /// Places that are there for VLANs which are seen.
    spare: usize,
    pub(in crate::switch) others: Option<OtherCopies>,
}

impl Vlans {
    /// `None` for a switch to which tags mean nothing.
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

    /// A frame is admitted, and leaves with a tag or without one.
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

    /// Copies are in the switch under a handle of their own.
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

    /// A copy for a mirror is in the switch: it is as somebody else's frame was, and in no VLAN here.
    pub(in crate::switch) fn note_uncounted(&mut self, handle: FrameHandle) {
        if let Some(place) = self.of_handle.reach(handle.index()) {
            *place = Held {
                is_uncounted: true,
                ..Held::default()
            };
        }
    }

    /// A frame goes to a transmitter.
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

    /// So many copies did not become any.
    pub(in crate::switch) fn note_copies_dropped(&mut self, vlan: VlanId, copies: usize) {
        self.count(vlan, |counters| counters.copies_dropped += copies as u64);
    }
}

/// VLANs that some port names: all of a trunk for all VLANs would be no name.
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

/// Which ports a route may have, where ports have VLANs: those that carry its VLAN, or, of a route for all VLANs, ports
/// that all carry the same. Otherwise frames of some VLAN would be lost by the bucket that they fall into.
///
/// # Errors
///
/// The first port that it may not have.
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
    /// Whether tags mean anything.
    #[inline]
    pub fn is_vlan_aware(&self) -> bool {
        self.vlans.is_some()
    }

    /// The VLAN of a frame that comes in by `port` with this tag; `None` where it may not come in.
    pub fn vlan_of(&self, port: PortId, tag: Option<VlanTag>) -> Option<VlanId> {
        self.config.vlans.get(port.index())?.classify(tag)
    }

    /// The VLAN of a frame that is in the switch under `handle`; `None` where tags mean nothing.
    pub fn vlan_inside(&self, handle: FrameHandle) -> Option<VlanId> {
        let held = self.vlans.as_ref()?.of_handle.get(handle.index())?;
        Some(held.vlan)
    }

    /// The form that the port `ingress` has to see, to find a frame in the VLAN in which it is here, under `handle`, in the form in
    /// which it leaves: for a caller that hands frames on which could not leave. `None` where tags mean nothing.
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

    /// By VLAN that the configuration names or a frame came in: what was counted. The first entry has all that there was no
    /// place for. None in a switch to which tags mean nothing.
    pub fn vlan_traffic(&self) -> &[VlanTraffic] {
        self.vlans.as_ref().map_or(&[], |vlans| &vlans.traffic)
    }

    /// How many entries [`vlan_traffic`](Self::vlan_traffic) ever has.
    pub fn vlan_capacity(&self) -> usize {
        let vlans = self.vlans.as_ref();
        vlans.map_or(0, |vlans| vlans.traffic.len() + vlans.spare)
    }

    /// Addresses that are known of late because frames came from them, in no particular order. O(their capacity).
    pub fn learnt(&self, now: Instant) -> impl Iterator<Item = LearntEntry> + '_ {
        self.forwarding.learnt(now)
    }

    /// Whether frames of `vlan` leave by `port`.
    pub(in crate::switch) fn carries(&self, port: PortId, vlan: VlanId) -> bool {
        let settings = self.config.vlans.get(port.index());
        settings.is_some_and(|settings| settings.carries(vlan))
    }

    /// Ports of these by which frames of `vlan` leave with a tag.
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
