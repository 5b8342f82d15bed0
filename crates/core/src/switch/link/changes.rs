//! Changes of a link: it has come up, it has another neighbour, or the coding of Feedback has changed. Messages may
//! have been lost or misunderstood, so all are sent again.

use crate::command::CommandError;
use crate::config::{FeedbackCoding, Neighbour};
use crate::switch::levels::GrantsGiven;
use crate::switch::port::Port;
use crate::switch::Switch;
use crate::units::{PortId, Priority};

impl Port {
    /// Notes the state of the link. Returns true when it has come up: messages sent while it was down may be lost, and
    /// a neighbour could keep sending into a full buffer until the next refresh. All are sent again.
    pub(in crate::switch) fn note_link(&mut self, up: bool) -> bool {
        let up = up && !self.gone;
        let was_up = core::mem::replace(&mut self.up, up);
        if !up || was_up {
            return false;
        }
        if let Some(echo) = &mut self.echo {
            echo.begin_anew();
        }
        if let Some(authentication) = &mut self.authentication {
            authentication.begin_anew();
        }
        self.tell_all_anew();
        true
    }

    fn tell_all_anew(&mut self) {
        if self.levels.iter().flatten().any(|level| level.obeys) {
            self.link_sent.tell_anew();
            self.due.pause |= self.coding == FeedbackCoding::Pause;
        }
        for priority in Priority::ALL {
            match &mut self.levels[priority.index()] {
                Some(level) => {
                    level.sent.tell_anew();
                    self.due.pfc.insert(priority);
                }
                None if self.ingress[priority.index()].may_pause() => {
                    self.due.pfc.insert(priority);
                }
                None => {}
            }
        }
    }
}

impl Switch {
    /// Switches the assumed kind of neighbour. It may have misunderstood messages for the old kind. Its own Feedback
    /// stays valid until it expires: if the neighbour behaves as before, nothing is lost.
    pub(in crate::switch) fn set_neighbour(
        &mut self,
        port: PortId,
        neighbour: Neighbour,
    ) -> Result<(), CommandError> {
        let state = self.port_mut(port)?;
        if core::mem::replace(&mut state.neighbour, neighbour) == neighbour {
            return Ok(());
        }
        state.link_sent.tell_anew();
        state.due.pause = true;
        for priority in Priority::ALL {
            if let Some(level) = &mut state.levels[priority.index()] {
                level.sent.tell_anew();
                level.told.forget();
                state.due.pfc.insert(priority);
            }
        }
        Ok(())
    }

    /// Frames in flight were permitted by the old coding and have their room. In the new one nothing is permitted
    /// before Feedback is sent, and no grant before the neighbour's frames have been counted again.
    pub(in crate::switch) fn set_feedback(
        &mut self,
        port: PortId,
        coding: FeedbackCoding,
    ) -> Result<(), CommandError> {
        let configured = self.config.ports.get(port.index());
        let configured = *configured.ok_or(CommandError::NoSuchPort(port))?;
        let state = &mut self.ports[port.index()];
        if state.coding == coding {
            return Ok(());
        }
        if configured.feedback != FeedbackCoding::Grants || coding == FeedbackCoding::Pause {
            return Err(CommandError::FeedbackFixed(port));
        }
        state.coding = coding;
        state.settle_counting();
        for priority in Priority::ALL {
            if let Some(level) = &mut state.levels[priority.index()] {
                let grants = coding == FeedbackCoding::Grants && level.obeys;
                level.given = grants.then(GrantsGiven::default);
                level.taken.close();
                level.sent.tell_anew();
                state.due.pfc.insert(priority);
            }
        }
        state.reserve_for_round_trip(&self.config, &configured);
        if let Some(echo) = &mut state.echo {
            echo.begin_anew_with_the_neighbour();
        }
        Ok(())
    }
}
