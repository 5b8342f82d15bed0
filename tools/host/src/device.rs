//! Network devices of this namespace.

use weir_core::BitRate;

use crate::error::Error;
use crate::kernel::edge;

/// A network device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Name of the device.
    pub name: String,
    /// Index in this network namespace.
    pub ifindex: u32,
}

impl Device {
    /// Finds the device of this name.
    ///
    /// # Errors
    ///
    /// When it does not exist.
    pub fn find(name: &str) -> Result<Self, Error> {
        let no_device = || Error::NoDevice {
            device: name.to_owned(),
        };
        let ifindex = nix::net::if_::if_nametoindex(name).map_err(|_| no_device())?;
        Ok(Self {
            name: name.to_owned(),
            ifindex,
        })
    }

    /// Returns all devices of this network namespace.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn all() -> std::io::Result<Vec<Self>> {
        let mut all: Vec<Self> = nix::net::if_::if_nameindex()?
            .iter()
            .map(|one| Self {
                name: one.name().to_string_lossy().into_owned(),
                ifindex: one.index(),
            })
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// Returns the rate reported by the device.
    pub fn rate(&self) -> Option<BitRate> {
        let megabits = edge::speed(&self.name).ok()??;
        BitRate::new(u64::from(megabits) * 1_000_000)
    }
}
