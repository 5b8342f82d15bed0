//! The kernel's bridge. It has no thread: softirqs forward, here in the sender's context.

use std::collections::BTreeMap;

use anyhow::Result;

use super::{device_drops, output, wait, Switch};
use crate::stage::{address, Site, DESTINATION, PORTS, SOURCE};

const BRIDGE: &str = "br0";

/// A forwarding bridge; it is removed with its namespace.
pub(super) struct Bridge {
    namespace: String,
}

impl Bridge {
    pub(super) fn start(site: &Site) -> Result<Self> {
        let bridge = Self {
            namespace: site.namespace(),
        };
        bridge.ip(&[
            "link",
            "add",
            BRIDGE,
            "type",
            "bridge",
            "stp_state",
            "0",
            "forward_delay",
            "0",
        ])?;
        for port in PORTS {
            // A veth device accepts live frames if its peer polls, which it does with GRO.
            bridge.output(&["ethtool", "-K", port, "gro", "on"])?;
            bridge.ip(&["link", "set", port, "master", BRIDGE])?;
        }
        bridge.ip(&["link", "set", BRIDGE, "up"])?;
        for (port, host) in PORTS.iter().zip([SOURCE, DESTINATION]) {
            let host = address(host);
            bridge.output(&[
                "bridge", "fdb", "replace", &host, "dev", port, "master", "static",
            ])?;
        }
        wait("the bridge forwards", || {
            let links = bridge.output(&["bridge", "link", "show"])?;
            Ok((links.matches("state forwarding").count() == PORTS.len()).then_some(()))
        })?;
        bridge.bypass_netfilter()?;
        Ok(bridge)
    }

    /// Keeps frames out of the layer 3 packet filter, which they would pass if its module is loaded.
    fn bypass_netfilter(&self) -> Result<()> {
        self.output(&[
            "sh",
            "-c",
            "for file in /proc/sys/net/bridge/bridge-nf-call-*tables; do \
             if [ -e \"$file\" ]; then echo 0 > \"$file\"; fi; done",
        ])?;
        Ok(())
    }

    fn ip(&self, words: &[&str]) -> Result<()> {
        let mut all = vec!["ip"];
        all.extend(words);
        self.output(&all).map(drop)
    }

    fn output(&self, words: &[&str]) -> Result<String> {
        output(&self.namespace, words)
    }
}

impl Switch for Bridge {
    fn processes(&self) -> Vec<u32> {
        Vec::new()
    }

    fn losses(&mut self) -> Result<BTreeMap<String, u64>> {
        device_drops(&self.namespace, &PORTS)
    }

    fn check(&mut self) -> Result<()> {
        Ok(())
    }

    fn end(self: Box<Self>) -> Result<()> {
        self.ip(&["link", "delete", BRIDGE])
    }
}
