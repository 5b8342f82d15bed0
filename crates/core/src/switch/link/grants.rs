//! Grants: Feedback that permits a number of frames. Both ends count the frames sent, and echo messages synchronise the
//! counts.

use crate::switch::port::Port;
use crate::units::{Instant, Priority, PRIORITY_COUNT};
use crate::wire::echo::Echo;

impl Port {
    pub(in crate::switch) fn next_echo(&mut self, now: Instant) -> Option<Echo> {
        let levels = &self.levels;
        self.echo.as_mut()?.take(now, || {
            core::array::from_fn(|index| {
                levels[index].as_ref().map_or(0, |level| level.taken.sent())
            })
        })
    }

    /// Adopts the number of frames that the neighbour has sent, for the first time since its start or again.
    pub(in crate::switch) fn synchronise_grants(
        &mut self,
        sent: &[u16; PRIORITY_COUNT],
        begins_anew: bool,
    ) {
        for priority in Priority::ALL {
            let level = self.levels[priority.index()].as_mut();
            let Some((given, told)) =
                level.and_then(|level| Some((level.given.as_mut()?, &mut level.sent)))
            else {
                continue;
            };
            // The neighbour may have restarted, and accepts no grant before its echo is answered: several are sent, as
            // to a new neighbour.
            if given.synchronise(sent[priority.index()], begins_anew) {
                told.tell_anew();
            }
            self.note_feedback(priority);
        }
    }

    pub(in crate::switch) fn open_grants(&mut self) {
        for level in self.levels.iter_mut().flatten() {
            level.taken.open();
        }
    }
}
