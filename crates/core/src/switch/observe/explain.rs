//! Prediction of a frame's treatment, without side effects.

use crate::counters::DropReason;
use crate::frame::Frame;
use crate::level::Level;
use crate::sets::vlans::{VlanId, VlanTag};
use crate::sets::{PortSet, PrioritySet};
use crate::switch::admission::PauseChange;
use crate::switch::forwarding::{Decision, How};
use crate::switch::Switch;
use crate::units::{Bytes, Instant, PortId};

/// Predicted treatment of a frame: [`Switch::explain`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The way in which its egress was chosen; `None` if it was dropped before, or there is none.
    pub how: Option<How>,
    /// Its egress ports; none if it would be dropped.
    pub egresses: PortSet,
    /// Effect of admitting it, or the reason to drop it.
    pub outcome: Result<Outlook, DropReason>,
    /// Its VLAN; `None` if the switch ignores tags.
    pub vlan: Option<VlanId>,
    /// Those of `egresses` by which it would leave tagged; none if the switch ignores tags.
    pub tagged: PortSet,
}

/// Effect of admitting a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// Bytes that would be charged.
    pub charged: Bytes,
    /// Occupancy of the ingress buffer of its port and priority afterwards.
    pub occupancy: Bytes,
    /// True if it would cause a pause of the neighbour.
    pub pauses: bool,
    /// Its Level; `None` in a class without Levels.
    pub level: Option<Level>,
}

impl Explanation {
    const fn dropped(how: Option<How>, reason: DropReason) -> Self {
        Self {
            how,
            egresses: PortSet::EMPTY,
            outcome: Err(reason),
            vlan: None,
            tagged: PortSet::EMPTY,
        }
    }
}

impl Switch {
    /// Returns the treatment that `frame` would get from [`receive`](Self::receive) at `port` now, and the reason.
    /// Nothing is counted, learned, charged or paused; `frame.handle` is ignored. Uses the same functions, on copies of
    /// the state that they change. O(ports).
    pub fn explain(&self, now: Instant, port: PortId, frame: &Frame) -> Explanation {
        self.explain_tagged(now, port, frame, None)
    }

    /// [`explain`](Self::explain) for [`receive_tagged`](Self::receive_tagged).
    pub fn explain_tagged(
        &self,
        now: Instant,
        port: PortId,
        frame: &Frame,
        tag: Option<VlanTag>,
    ) -> Explanation {
        let refused = |reason| Explanation::dropped(None, reason);
        let state = self.ports.get(port.index());
        let takes = state.map_or(PrioritySet::default(), |state| state.takes);
        if let Err(reason) = self.check_arrival(port, takes, frame) {
            return refused(reason);
        }
        if !self.is_vlan_aware() {
            return self.explain_way(now, port, frame, None);
        }
        let Some(vlan) = self.vlan_of(port, tag) else {
            return refused(DropReason::Vlan);
        };
        let mut explanation = self.explain_way(now, port, frame, Some(vlan));
        explanation.vlan = Some(vlan);
        if explanation.egresses.is_empty() {
            return explanation;
        }
        match self.forms(frame, tag, vlan, explanation.egresses) {
            Ok(forms) => {
                explanation.egresses = forms.ports();
                explanation.tagged = self.with_tags(explanation.egresses, vlan);
                explanation
            }
            Err(reason) => Explanation {
                vlan: Some(vlan),
                ..Explanation::dropped(explanation.how, reason)
            },
        }
    }

    fn explain_way(
        &self,
        now: Instant,
        port: PortId,
        frame: &Frame,
        vlan: Option<VlanId>,
    ) -> Explanation {
        let (how, decision) = self.forwarding.explain(
            now,
            vlan.unwrap_or_default(),
            frame.destination,
            frame.flow_hash,
        );
        let dropped = |reason| Explanation::dropped(how, reason);
        let egresses = match decision {
            Decision::NoRoute => return dropped(DropReason::NoRoute),
            Decision::Learnt(_) if !self.forwarding.is_on_tree(port, vlan.unwrap_or_default()) => {
                return dropped(DropReason::OffTree)
            }
            Decision::Learnt(egress) if self.ports[egress.index()].reserved => {
                return dropped(DropReason::MirrorPort)
            }
            Decision::Port(egress) | Decision::Learnt(egress) if egress == port => {
                return dropped(DropReason::Hairpin)
            }
            Decision::Port(egress) | Decision::Learnt(egress)
                if vlan.is_some_and(|vlan| !self.carries(egress, vlan)) =>
            {
                return dropped(DropReason::Vlan)
            }
            Decision::Port(egress) | Decision::Learnt(egress) => {
                match self.refusal(port, egress, frame.priority) {
                    Some(reason) => return dropped(reason),
                    None => [egress].into_iter().collect(),
                }
            }
            Decision::Flood => match self.explain_flood(now, port, frame, vlan) {
                Ok(ports) => ports,
                Err(reason) => return dropped(reason),
            },
        };
        match self.explain_admission(now, port, frame, egresses) {
            Err(reason) => dropped(reason),
            Ok(outlook) => Explanation {
                how,
                egresses,
                outcome: Ok(outlook),
                vlan,
                tagged: PortSet::EMPTY,
            },
        }
    }

    fn explain_flood(
        &self,
        now: Instant,
        ingress: PortId,
        frame: &Frame,
        vlan: Option<VlanId>,
    ) -> Result<PortSet, DropReason> {
        let mut limit = self.ports[ingress.index()].flood_limit;
        self.may_flood(ingress, frame, vlan)?;
        if !limit.take(now) {
            return Err(DropReason::FloodRate);
        }
        let mut ports = PortSet::EMPTY;
        let mut refusal = DropReason::NoRoute;
        for egress in self.flood_ways(ingress, vlan).iter() {
            match self.refusal(ingress, egress, frame.priority) {
                None => ports.insert(egress),
                Some(reason) => refusal = reason,
            }
        }
        match ports.is_empty() {
            true => Err(refusal),
            false => Ok(ports),
        }
    }

    fn explain_admission(
        &self,
        now: Instant,
        ingress: PortId,
        frame: &Frame,
        egresses: PortSet,
    ) -> Result<Outlook, DropReason> {
        if self.queues.room() < egresses.count() {
            return Err(DropReason::TableFull);
        }
        let has_levels = self.with_levels.contains(frame.priority);
        let level = match has_levels {
            true => Some(self.explain_level(now, ingress, frame)?),
            false => None,
        };
        let charged = frame.length.round_up_to(self.config.cell);
        let mut buffer = self.ports[ingress.index()].ingress[frame.priority.index()].clone();
        let mut pools = self.pools.clone();
        let admission = buffer
            .admit(charged, &mut pools)
            .map_err(|refusal| refusal.reason)?;
        Ok(Outlook {
            charged,
            occupancy: buffer.occupancy(),
            pauses: admission.change == PauseChange::Xoff,
            level,
        })
    }
}
