//! How a decision comes about.

use super::{Decision, Forwarding, Way};
use crate::sets::vlans::VlanId;
use crate::units::{Instant, MacAddress};

/// How a frame finds its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Its destination has a static entry with one port.
    Route,
    /// One with several, and this bucket of them.
    Bucket(u16),
    /// One with several, and its flow is pinned to one of them.
    Pin,
    /// Its destination has been learnt.
    Learnt,
    /// It goes to all ports that flooded frames use.
    Flood,
}

impl Forwarding {
    /// What [`decide_in`](Self::decide_in) would say, and how it comes to that; nothing is noted.
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
