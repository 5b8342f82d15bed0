//! Messages of a port to its neighbour: XOFF and XON, and Transmit Feedback in the link's coding.

use crate::config::{FeedbackCoding, Neighbour};
use crate::level::Level;
use crate::sets::PrioritySet;
use crate::switch::levels::Manner;
use crate::switch::port::Port;
use crate::switch::Switch;
use crate::units::{Instant, PortId, Priority, Quanta, PRIORITY_COUNT};
use crate::wire::mac_control::MacControl;

impl Switch {
    pub(in crate::switch) fn refresh_pause(
        &mut self,
        now: Instant,
        port: PortId,
        priority: Priority,
    ) {
        #[cfg(feature = "testing")]
        if self.forgets_refresh() {
            return;
        }
        let state = &mut self.ports[port.index()];
        let ingress = &mut state.ingress[priority.index()];
        if ingress.take_refresh(now) {
            // Other buffers may have left the pool since.
            ingress.look(&mut self.pools);
            state.due.pfc.insert(priority);
        }
    }

    /// Returns the PAUSE or PFC frame that is due. Trailing zeros come first: nothing may come between the two frames.
    pub(in crate::switch) fn next_mac_control(
        &mut self,
        now: Instant,
        port: PortId,
    ) -> Option<MacControl> {
        let state = self.ports.get_mut(port.index())?;
        if state.due.seldom.take_pause_zero() {
            let quanta = Quanta::ZERO;
            return Some(MacControl::Pause { quanta });
        }
        if let Some(zero) = make_zero(state) {
            return Some(zero);
        }
        if core::mem::take(&mut state.due.pause) {
            if let Some(pause) = self.make_pause(now, port) {
                return Some(pause);
            }
        }
        if self.ports[port.index()].due.pfc.is_empty() {
            return None;
        }
        self.make_pfc(now, port)
    }

    /// Builds one PFC frame with all changes. It refreshes nothing else, so that a neighbour sees one frame for each
    /// change. `None` if all changes have been reverted meanwhile.
    fn make_pfc(&mut self, now: Instant, port: PortId) -> Option<MacControl> {
        let pause_time = self.config.pause_time;
        let rate = self.config.ports[port.index()].rate;
        let manner = self.manner(port);
        let state = &mut self.ports[port.index()];
        let mut times = [None; PRIORITY_COUNT];
        for priority in state.due.pfc.iter() {
            let index = priority.index();
            let counters = &mut state.counters.priority[index];
            let mut holds = Quanta::ZERO;
            if let Some(level) = &mut state.levels[index] {
                let manner = Manner {
                    depth: level.budget.depth(),
                    ..manner
                };
                let feedback = level.budget.feedback();
                let Some(signal) = level.sent.take(now, feedback, &manner) else {
                    continue;
                };
                times[index] = Some(signal.quanta);
                if manner.neighbour != Neighbour::Regular {
                    level.told.tell(now, level.sent.told());
                }
                if signal.then_zero {
                    state.due.zero.insert(priority);
                }
                let counter = match (&mut level.given, signal.quanta) {
                    (Some(given), _) => {
                        times[index] = Some(given.take(&level.budget));
                        &mut counters.feedback_sent
                    }
                    _ if signal.is_xoff => {
                        holds = signal.quanta;
                        &mut counters.xoff_sent
                    }
                    (None, Quanta::ZERO) => &mut counters.xon_sent,
                    _ => &mut counters.feedback_sent,
                };
                *counter += 1;
            } else if state.ingress[index].is_pausing() {
                times[index] = Some(pause_time);
                holds = pause_time;
                counters.xoff_sent += 1;
                let refresh = pause_time.at(rate).divided_by(2);
                state.ingress[index].note_pause_sent(now, refresh);
            } else {
                times[index] = Some(Quanta::ZERO);
                counters.xon_sent += 1;
            }
            state.pause_sent[index].hold(now, now + holds.at(rate));
        }
        state.due.pfc = PrioritySet::default();
        if times == [None; PRIORITY_COUNT] {
            return None;
        }
        state.counters.pfc_sent += 1;
        Some(MacControl::Pfc { times })
    }

    fn make_pause(&mut self, now: Instant, port: PortId) -> Option<MacControl> {
        let manner = self.manner(port);
        let rate = self.config.ports[port.index()].rate;
        let state = &mut self.ports[port.index()];
        let (feedback, depth) = state.link_feedback();
        let signal = state
            .link_sent
            .take(now, feedback, &Manner { depth, ..manner })?;
        state.due.seldom.set_pause_zero(signal.then_zero);
        let holds = match signal.is_xoff {
            true => signal.quanta,
            false => Quanta::ZERO,
        };
        let counters = state.counters.priority.iter_mut();
        for ((level, counters), pause) in state
            .levels
            .iter_mut()
            .zip(counters)
            .zip(&mut state.pause_sent)
        {
            let Some(level) = level.as_mut().filter(|level| level.obeys) else {
                continue;
            };
            pause.hold(now, now + holds.at(rate));
            counters.feedback_sent += 1;
            if manner.neighbour != Neighbour::Regular {
                level.told.tell(now, feedback.min(level.budget.depth()));
            }
        }
        let quanta = signal.quanta;
        Some(MacControl::Pause { quanta })
    }

    fn manner(&self, port: PortId) -> Manner {
        let state = &self.ports[port.index()];
        let pause_time = self.config.pause_time;
        Manner {
            neighbour: match state.coding {
                // A neighbour that is granted frames understands the coding.
                FeedbackCoding::Grants => Neighbour::Enhanced,
                _ => state.neighbour,
            },
            depth: Level::ZERO,
            refresh: self.config.feedback_refresh,
            pause_time,
            pause_span: pause_time.at(self.config.ports[port.index()].rate),
        }
    }
}

/// Builds the second frame of a Feedback by class: a regular neighbour resumes at once.
fn make_zero(state: &mut Port) -> Option<MacControl> {
    let due = core::mem::take(&mut state.due.zero);
    if due.is_empty() {
        return None;
    }
    let mut times = [None; PRIORITY_COUNT];
    for priority in due.iter() {
        times[priority.index()] = Some(Quanta::ZERO);
    }
    state.counters.pfc_sent += 1;
    Some(MacControl::Pfc { times })
}
