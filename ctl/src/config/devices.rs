//! Devices of this network namespace that a switch with a configuration cannot use.

use nix::net::if_::if_nametoindex;
use serde::Serialize;
use weir_config::daemon::{DaemonConfig, Port};
use weir_doctor::ask::nature::Nature;
use weir_doctor::link;

#[derive(Debug, Serialize)]
pub struct Unfit {
    pub port: String,
    pub device: String,
    /// The kind of device, the reason and the remedy.
    pub why: String,
}

/// Returns the ports whose devices exist here and cannot be used. Devices of other machines and namespaces are unknown.
pub fn unfit(config: &DaemonConfig) -> Vec<Unfit> {
    let (mode, has_lossless) = (config.dataplane.xdp_mode, config.has_lossless());
    let unfit = |port: &Port| {
        let index = if_nametoindex(&*port.device).ok()?;
        let nature = Nature::of(&link::find(index).ok()??).ok()?;
        let refusal = nature.known().fit(mode, has_lossless).err()?;
        Some(Unfit {
            port: port.name.clone(),
            device: port.device.clone(),
            why: refusal.to_string(),
        })
    };
    config.ports.iter().filter_map(unfit).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn only_devices_that_are_here_are_judged() {
        let port = |device: &str| {
            format!("[[port]]\ndevice = \"{device}\"\nrole = \"edge\"\nrate = \"1Gbit\"\n")
        };
        let text = format!("name = \"s1\"\n{}{}", port("lo"), port("weir-no-such"));
        let config = DaemonConfig::parse(&text, Path::new("s1.toml")).unwrap();
        let [lo] = &unfit(&config)[..] else {
            panic!("one device");
        };
        assert_eq!(lo.port, "lo");
        assert!(lo.why.starts_with("is the loopback device: "), "{}", lo.why);
    }
}
