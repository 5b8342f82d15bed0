//! Changes to the configuration of a running switch.

use crate::command::CommandError;
use crate::config::{ClassConfig, MarkAt, RedConfig};
use crate::switch::admission::{self, BufferMode};
use crate::switch::schedule::Precedence;
use crate::switch::Switch;
use crate::units::{PortId, Priority};

impl Switch {
    pub(in crate::switch) fn set_class(
        &mut self,
        priority: Priority,
        class: ClassConfig,
    ) -> Result<(), CommandError> {
        let old = self.config.classes[priority.index()];
        let class = ClassConfig {
            ecn: old.ecn,
            ..class
        };
        if class == old {
            return Ok(());
        }
        if self.draining {
            return Err(CommandError::Draining);
        }
        // Credits already given are for the room at that time.
        let same_kind = match class.credits {
            Some(_) => old.mode == class.mode,
            None => old.mode.differs_by_thresholds(&class.mode),
        };
        let mut ports = self.config.ports.iter();
        let same_share = match (old.pool, class.pool) {
            (None, None) => true,
            (Some(old_share), Some(share)) => {
                old_share.differs_by_threshold(&share)
                    && ports.all(|port| old.pool_headroom(port) == class.pool_headroom(port))
            }
            _ => false,
        };
        if !same_kind
            || !same_share
            || old.age_limit != class.age_limit
            || old.credits != class.credits
        {
            return Err(CommandError::ClassFixed(priority));
        }
        if self.config.validate_class(priority, &class).is_err() {
            return Err(CommandError::BadClass(priority));
        }
        self.config.classes[priority.index()].scheduler = class.scheduler;
        let rates = self.config.validate_rates();
        self.config.classes[priority.index()].scheduler = old.scheduler;
        if rates.is_err() {
            return Err(CommandError::BadClass(priority));
        }
        let same_buffers = class.mode == old.mode
            && class.pool == old.pool
            && class.headroom_by_cable == old.headroom_by_cable;
        if same_buffers {
            self.config.classes[priority.index()] = class;
        } else {
            self.set_thresholds(priority, class)?;
        }
        if class.scheduler != old.scheduler {
            self.set_precedence();
        }
        Ok(())
    }

    /// [`Command::SetMarking`](crate::Command::SetMarking). Queued frames are neither inspected nor moved.
    pub(in crate::switch) fn set_marking(
        &mut self,
        priority: Priority,
        marking: Option<RedConfig>,
    ) -> Result<(), CommandError> {
        if self.draining {
            return Err(CommandError::Draining);
        }
        let checked = marking.as_ref().map_or(Ok(()), RedConfig::check);
        checked.map_err(|error| CommandError::BadMarking { priority, error })?;
        self.config.classes[priority.index()].ecn = marking;
        self.marks_arrivals = admission::classes_that_mark(&self.config, MarkAt::Arrival);
        self.marks_departures = admission::classes_that_mark(&self.config, MarkAt::Departure);
        self.settle_observation();
        Ok(())
    }

    /// Restarts strict priorities and guaranteed rates: no class has used any of its rate yet.
    fn set_precedence(&mut self) {
        for port in &mut self.ports {
            port.precedence = Precedence::new(&self.config);
            port.port_turns.set_members(&self.config);
        }
        self.ready.note_all();
    }

    fn set_thresholds(
        &mut self,
        priority: Priority,
        class: ClassConfig,
    ) -> Result<(), CommandError> {
        // The excess memory of a buffer above its thresholds is not yet free for others.
        if let Some((port, priority)) = self.raised_buffer() {
            return Err(CommandError::BufferDrains { port, priority });
        }
        let old = std::mem::replace(&mut self.config.classes[priority.index()], class);
        let (needed, frame_count) = (self.config.frames_needed(), self.config.frame_count);
        if needed > frame_count {
            self.config.classes[priority.index()] = old;
            return Err(CommandError::TooFewFrames {
                needed,
                frame_count,
            });
        }
        for index in 0..self.ports.len() {
            let Some(port) = PortId::from_index(index) else {
                break;
            };
            let config = &self.config.ports[index];
            let mode = BufferMode::of(&class, config);
            let share = class.share_at(config, priority);
            let buffer = &mut self.ports[index].ingress[priority.index()];
            let change = buffer.retune(mode, share.as_ref(), &mut self.pools);
            self.note_pause_change(port, priority, change);
        }
        Ok(())
    }

    fn raised_buffer(&self) -> Option<(PortId, Priority)> {
        self.ports.iter().enumerate().find_map(|(index, port)| {
            let raised = |priority: &Priority| port.ingress[priority.index()].is_raised();
            let priority = Priority::ALL.into_iter().find(raised)?;
            Some((PortId::from_index(index)?, priority))
        })
    }
}
