//! Network devices of this namespace.

use weir_core::BitRate;

use crate::error::Error;
use crate::kernel::edge;

/// A network device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its number in this namespace.
    pub ifindex: u32,
}

impl Device {
    /// The device of this name.
    ///
    /// # Errors
    ///
    /// When there is none.
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

    /// All of this namespace.
    ///
    /// # Errors
    ///
    /// What the kernel says.
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

    /// How fast it says it is.
    pub fn rate(&self) -> Option<BitRate> {
        let megabits = edge::speed(&self.name).ok()??;
        BitRate::new(u64::from(megabits) * 1_000_000)
    }
}
