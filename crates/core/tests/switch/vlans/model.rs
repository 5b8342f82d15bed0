//! A slow bridge, from IEEE 802.1Q-2022 and without the switch's code: classification (6.9.1), ingress filtering
//! (8.6.2), learning (8.7), filtering (8.6.3), egress filtering (8.6.4), tagging (6.9.2). Additions are Open vSwitch's
//! treatment of VLAN 0, and static entries.

use std::collections::{BTreeMap, BTreeSet};

use weir_core::config::RouteConfig;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Access,
    Trunk,
    NativeTagged,
    NativeUntagged,
}

/// A port as an operator sets it.
#[derive(Clone, Debug)]
pub struct Settings {
    pub kind: Kind,
    /// Unused for a trunk.
    pub tag: u16,
    /// `None` for all. Unused for an access port.
    pub trunks: Option<BTreeSet<u16>>,
}

struct BridgePort {
    /// The VLAN of untagged and priority-tagged frames.
    pvid: u16,
    member: BTreeSet<u16>,
    untagged: BTreeSet<u16>,
    /// Acceptable frame types: "Admit Only Untagged and Priority-tagged frames".
    only_untagged: bool,
}

impl BridgePort {
    fn new(settings: &Settings) -> Self {
        let Settings { kind, tag, trunks } = settings;
        let mut member = match (kind, trunks) {
            (Kind::Access, _) => BTreeSet::new(),
            (_, None) => (0..=4094).collect(),
            (_, Some(listed)) => listed.clone(),
        };
        // On the line of any other port untagged frames are in the port's own VLAN.
        if *kind != Kind::Trunk {
            member.remove(&0);
            member.insert(*tag);
        }
        let mut untagged = BTreeSet::from([0]);
        if matches!(kind, Kind::Access | Kind::NativeUntagged) {
            untagged.insert(*tag);
        }
        Self {
            pvid: if *kind == Kind::Trunk { 0 } else { *tag },
            member,
            untagged,
            only_untagged: *kind == Kind::Access,
        }
    }
}

pub struct Bridge {
    ports: Vec<BridgePort>,
    /// By VLAN and address.
    learnt: BTreeMap<(u16, Vec<u8>), usize>,
    routes: BTreeMap<(Option<u16>, Vec<u8>), usize>,
}

impl Bridge {
    pub fn new(settings: Vec<Settings>, routes: &[RouteConfig]) -> Self {
        let route = |route: &RouteConfig| {
            let vlan = route.vlan.map(|vlan| vlan.get());
            ((vlan, route.destination.0.to_vec()), route.ports[0].index())
        };
        Self {
            ports: settings.iter().map(BridgePort::new).collect(),
            learnt: BTreeMap::new(),
            routes: routes.iter().map(route).collect(),
        }
    }

    fn route(&self, vlan: u16, address: &[u8]) -> Option<usize> {
        let own = self.routes.get(&(Some(vlan), address.to_vec()));
        own.or_else(|| self.routes.get(&(None, address.to_vec())))
            .copied()
    }

    /// Sent frames, by port.
    pub fn forward(&mut self, ingress: usize, frame: &[u8]) -> BTreeMap<usize, Vec<u8>> {
        let none = BTreeMap::new();
        let (destination, source, rest) = (&frame[..6], &frame[6..12], &frame[12..]);
        let tci = (rest[..2] == [0x81, 0x00]).then(|| u16::from_be_bytes([rest[2], rest[3]]));
        let behind = if tci.is_some() { &rest[4..] } else { rest };
        let vid = tci.map_or(0, |tci| tci & 0x0fff);
        // Table 9-2: reserved, never valid in a frame.
        if vid == 0x0fff {
            return none;
        }
        let port = &self.ports[ingress];
        if port.only_untagged && vid != 0 {
            return none;
        }
        let vlan = if vid == 0 { port.pvid } else { vid };
        // A host cannot choose a VLAN by a second tag behind one that changes nothing.
        let is_tag = |bytes: &[u8]| [[0x81, 0x00], [0x88, 0xa8]].contains(&[bytes[0], bytes[1]]);
        let is_nested = is_tag(behind);
        if is_nested && (port.only_untagged || tci.is_some() && vlan == port.pvid) {
            return none;
        }
        if !port.member.contains(&vlan) {
            return none;
        }
        if self.route(vlan, source).is_none() {
            self.learnt.insert((vlan, source.to_vec()), ingress);
        }
        let is_group = destination[0] & 1 != 0;
        let known = self
            .route(vlan, destination)
            .or_else(|| self.learnt.get(&(vlan, destination.to_vec())).copied())
            .filter(|_| !is_group);
        let ways: Vec<usize> = match known {
            Some(port) => vec![port],
            None => (0..self.ports.len()).collect(),
        };
        // The priority of an untagged frame is 3 here, and that of an S-tag counts.
        let pcp_dei = match (tci, &rest[..2]) {
            (Some(tci), _) => tci & 0xf000,
            (None, [0x88, 0xa8]) => u16::from(rest[2] >> 5) << 13,
            (None, _) => 3 << 13,
        };
        let leaves = |egress: usize| {
            let mut bytes = [destination, source].concat();
            if !self.ports[egress].untagged.contains(&vlan) {
                bytes.extend([0x81, 0x00]);
                bytes.extend((pcp_dei | vlan).to_be_bytes());
            }
            bytes.extend(behind);
            (egress, bytes)
        };
        ways.into_iter()
            .filter(|egress| *egress != ingress && self.ports[*egress].member.contains(&vlan))
            .map(leaves)
            .collect()
    }
}
