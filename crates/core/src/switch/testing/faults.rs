//! Changes to a switch for an explorer: deliberate faults, and reserves that keep buffers small.

use crate::config::{ConfigError, SwitchConfig};
use crate::switch::Switch;
use crate::testing::Faults;
use crate::units::Bytes;

impl Switch {
    /// Creates a switch with these faults.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_faults(config: SwitchConfig, faults: Faults) -> Result<Self, ConfigError> {
        let mut switch = Self::new(config)?;
        switch.faults = faults;
        Ok(switch)
    }

    /// Sets rT of all links with Levels, as a measured round trip would, without the eightfold repeats that a
    /// configured round trip time includes. Returns false if a budget has no room for it.
    pub fn set_reserve(&mut self, reserve: Bytes) -> bool {
        let mut fits = true;
        let ports = self.ports.iter_mut();
        for level in ports.flat_map(|port| &mut port.levels).flatten() {
            fits &= level.budget.set_reserve(reserve);
        }
        fits
    }

    pub(in crate::switch) fn forgets_refresh(&self) -> bool {
        self.faults.no_refresh
    }

    pub(in crate::switch) fn extra_of_release(&self, extra: Bytes) -> Bytes {
        if self.faults.release_without_frame {
            Bytes::ZERO
        } else {
            extra
        }
    }
}
