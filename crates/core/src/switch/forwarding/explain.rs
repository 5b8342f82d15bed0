//! Explanations of forwarding decisions.

use super::{Decision, Forwarding, Way};
use crate::sets::vlans::VlanId;
use crate::units::{Instant, MacAddress};

/// The way in which a frame's egress was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// By a static entry with one port.
    Route,
    /// By a static entry with several ports, and this bucket.
    Bucket(u16),
    /// By a static entry with several ports, and the flow's pin.
    Pin,
    /// By a learned address.
    Learnt,
    /// By flooding to all ports of the tree.
    Flood,
}

impl Forwarding {
    /// Returns the result of [`decide_in`](Self::decide_in) and its reason; records nothing.
    pub(in crate::switch) fn explain(
        &self,
        now: Instant,
        vlan: VlanId,
        destination: MacAddress,
        flow_hash: u32,
    ) -> (Option<How>, Decision) {
        match self.static_way(vlan, destination) {
            Some(Way::Port(port)) => (Some(How::Route), Decision::Port(port)),
            Some(Way::Group(_, group)) => match self.way_in(group, flow_hash) {
                None => (None, Decision::NoRoute),
                Some(way) if way.is_pinned => (Some(How::Pin), Decision::Port(way.port)),
                Some(way) => (Some(How::Bucket(way.bucket)), Decision::Port(way.port)),
            },
            None => {
                let decision = self.decide_by_what_is_learnt(now, vlan, destination);
                let how = match decision {
                    Decision::Learnt(_) => Some(How::Learnt),
                    Decision::Flood => Some(How::Flood),
                    Decision::Port(_) | Decision::NoRoute => None,
                };
                (how, decision)
            }
        }
    }
}
