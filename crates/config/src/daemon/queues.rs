//! Adapts a configuration to the devices, as they are once the XDP programs are attached.

use super::{DaemonConfig, Port, QUEUES_MAX};
use crate::drivers::{chunk_for, Driver};

impl DaemonConfig {
    /// Returns the configuration with the receive queues, their rings, and the size of a chunk. `has` is the number of
    /// receive queues of each port's device, if the driver reports it, and `drivers` are their drivers.
    #[must_use]
    pub fn settled(&self, has: &[Option<u32>], drivers: &[&Driver]) -> Self {
        let mut settled = self.clone();
        for (port, has) in settled.ports.iter_mut().zip(has) {
            let others = &self.ports;
            let shares = others.iter().filter(|it| it.device == port.device).count() > 1;
            port.queue_count = Some(port.queues_of(*has, shares));
        }
        let chunk = chunk_for(&self.dataplane, drivers);
        settled.dataplane = self.dataplane.with_chunk(chunk);
        settled.dataplane.rx_ring = Some(settled.rx_ring());
        settled
    }
}

impl Port {
    /// All queues from the first on, unless the file sets a number or another port uses some of them.
    fn queues_of(&self, has: Option<u32>, shares: bool) -> u32 {
        let rest = |has: u32| has.min(QUEUES_MAX).saturating_sub(self.queue).max(1);
        let all = has.filter(|_| !shares).map_or(1, rest);
        self.queue_count.unwrap_or(all)
    }

    /// The queues of a device with `has` queues that no port of the switch receives from, where `ports` are all its
    /// ports. Empty if the port's own first queue does not exist.
    pub fn left_out(&self, ports: &[Port], has: u32) -> Vec<u32> {
        if self.queue >= has {
            return Vec::new();
        }
        let is_served = |queue: &u32| {
            let same = ports.iter().filter(|it| it.device == self.device);
            let mut ranges = same.map(|it| it.queue..it.queue + it.queue_count.unwrap_or(1));
            ranges.any(|range| range.contains(queue))
        };
        (0..has).filter(|queue| !is_served(queue)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn ports(text: &str) -> Vec<Port> {
        let text = format!("name = \"s1\"\n{text}");
        let config = DaemonConfig::parse(&text, Path::new("s1.toml")).unwrap();
        config.ports
    }

    fn port(device: &str, more: &str) -> String {
        format!("[[port]]\ndevice = \"{device}\"\nrole = \"edge\"\nrate = \"1Gbit\"\n{more}\n")
    }

    #[test]
    fn unset_queues_mean_all_of_them() {
        let text = [
            port("a", ""),
            port("b", "queue = 2"),
            port("c", "queues = 3"),
        ]
        .concat();
        let ports = ports(&text);
        let counts = |has, shares| {
            let count = |port: &Port| port.queues_of(has, shares);
            ports.iter().map(count).collect::<Vec<_>>()
        };
        assert_eq!(counts(Some(4), false), [4, 2, 3]);
        assert_eq!(counts(Some(100), false), [64, 62, 3]);
        assert_eq!(counts(Some(4), true), [1, 1, 3]);
        assert_eq!(counts(None, false), [1, 1, 3]);
    }

    #[test]
    fn queues_of_no_port_are_listed() {
        let ports = ports(
            &[
                port("a", "name = \"first\"\nqueues = 2"),
                port("a", "name = \"second\"\nqueue = 4"),
            ]
            .concat(),
        );
        assert_eq!(ports[0].left_out(&ports, 6), [2, 3, 5]);
        assert_eq!(ports[0].left_out(&ports, 2), [0; 0]);
        assert_eq!(ports[1].left_out(&ports, 4), [0; 0], "it has no queue 4");
    }
}
