//! The devices of ports, for programs at tracepoints.

use std::fs;
use std::os::unix::fs::MetadataExt;

use libbpf_rs::{Error, MapCore, MapFlags, MapHandle};

use crate::error::{map_error, EbpfError};

const MAP: &str = "weir_watched";

/// The map `weir_watched` of a program, in the network namespace of the thread that made it.
#[derive(Debug)]
pub(crate) struct Watched {
    ports: MapHandle,
    namespace: u32,
}

impl Watched {
    pub(crate) fn new(ports: MapHandle) -> Result<Self, Error> {
        let namespace = fs::metadata("/proc/thread-self/ns/net").map_err(Error::from)?;
        Ok(Self {
            ports,
            namespace: namespace.ino() as u32,
        })
    }

    /// True if frames of this device are counted for `port`.
    pub(crate) fn has(&self, ifindex: u32, port: u8) -> Result<bool, EbpfError> {
        self.is_port(&self.key(ifindex), port)
    }

    /// Counts frames of this device for `port`, and no longer those of the device that the port had before.
    pub(crate) fn add(&self, ifindex: u32, port: u8) -> Result<(), EbpfError> {
        if self.has(ifindex, port)? {
            return Ok(());
        }
        for before in self.ports.keys() {
            if self.is_port(&before, port)? {
                self.ports.delete(&before).map_err(map_error(MAP))?;
            }
        }
        let port = u32::from(port).to_ne_bytes();
        self.ports
            .update(&self.key(ifindex), &port, MapFlags::ANY)
            .map_err(map_error(MAP))
    }

    fn is_port(&self, key: &[u8], port: u8) -> Result<bool, EbpfError> {
        let found = self.ports.lookup(key, MapFlags::ANY);
        let found = found.map_err(map_error(MAP))?;
        Ok(found.as_deref() == Some(&u32::from(port).to_ne_bytes()))
    }

    /// A `struct weir_device`.
    fn key(&self, ifindex: u32) -> Vec<u8> {
        let key = [self.namespace, ifindex].map(u32::to_ne_bytes);
        key.concat()
    }
}
