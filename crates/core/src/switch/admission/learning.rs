//! Learning from the source addresses of frames, and queries of the address table.

use crate::command::CommandError;
use crate::counters::DropReason;
use crate::event::EventKind;
use crate::sets::vlans::VlanId;
use crate::switch::forwarding::Noted;
use crate::switch::Switch;
use crate::units::{Instant, MacAddress, PortId};

impl Switch {
    /// Handles a new address behind `port`, or a source address that is not allowed there.
    #[cold]
    pub(super) fn note_learnt(
        &mut self,
        now: Instant,
        vlan: Option<VlanId>,
        address: MacAddress,
        port: PortId,
        noted: Noted,
    ) -> Result<(), DropReason> {
        match noted {
            Noted::Moved(moved) => {
                self.drop_moved(now, moved.from, address);
                self.note_move(now, vlan, address, port, moved);
            }
            Noted::Kept(moved) => {
                self.note_move(now, vlan, address, port, moved);
                return Err(DropReason::ForeignSource);
            }
            Noted::Foreign => return Err(DropReason::ForeignSource),
            Noted::Limited { is_news } => {
                self.ports[port.index()].counters.addresses_crowded += 1;
                if is_news {
                    let learned = self.forwarding.learnt_at(port);
                    let event = EventKind::LearningTableFull {
                        port,
                        learned,
                        capacity: learned,
                    };
                    self.push_event(now, event);
                }
                return Err(DropReason::AddressLimit);
            }
            Noted::First => self.ready.note_timers(),
            Noted::Crowded { is_news } => {
                self.ports[port.index()].counters.addresses_crowded += 1;
                if is_news {
                    let event = EventKind::LearningTableFull {
                        port,
                        learned: self.forwarding.learnt_count(),
                        capacity: self.forwarding.learnt_capacity() as u32,
                    };
                    self.push_event(now, event);
                }
            }
        }
        Ok(())
    }

    /// Number of addresses learned at `port`. An expired address may still count for an eighth of its maximum age.
    /// O(1).
    pub fn learnt_at(&self, port: PortId) -> u32 {
        self.forwarding.learnt_at(port)
    }

    /// Capacity for learned addresses; zero if none are learned. Addresses share sets of four places, so one may find
    /// no room before all places are taken.
    pub fn learning_capacity(&self) -> usize {
        self.forwarding.learnt_capacity()
    }

    pub(in crate::switch) fn forget_learnt(
        &mut self,
        now: Instant,
        port: Option<PortId>,
        vlan: Option<VlanId>,
    ) -> Result<(), CommandError> {
        if let Some(port) = port {
            self.port_mut(port)?;
        }
        if !self.forwarding.learns() {
            return Err(CommandError::NoLearning);
        }
        match self.forwarding.forget_learnt(now, port, vlan) {
            true => Ok(()),
            false => Err(CommandError::StillForgetting),
        }
    }

    /// Forgets the addresses behind `port`, which have moved elsewhere. There is room for one such request for each
    /// port.
    pub(in crate::switch) fn forget_learnt_at(&mut self, now: Instant, port: PortId) {
        let has_room = self.forwarding.forget_learnt(now, Some(port), None);
        debug_assert!(has_room, "one for each port");
    }

    pub(in crate::switch) fn sweep_learnt(&mut self, now: Instant) {
        self.forwarding.sweep_learnt(now);
    }
}
