//! Valid settings that do not work on this machine, or have no effect.

use std::fs::File;
use std::path::PathBuf;

use serde::Serialize;
use weir_config::daemon::{DaemonConfig, Express, Workers};
use weir_doctor::Memory;
use weir_output::bytes;

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    pub key: String,
    /// The fault and its remedy.
    pub message: String,
}

pub fn warnings(config: &DaemonConfig) -> Vec<Warning> {
    let memory = Memory::read().and_then(|it| memory(config, it));
    let mut warnings: Vec<_> = memory.into_iter().collect();
    warnings.extend(files(config).into_iter().filter_map(unreadable));
    warnings.extend(express(config));
    warnings
}

fn memory(config: &DaemonConfig, memory: Memory) -> Option<Warning> {
    let needed = config.umem_size().get();
    let too_much = memory.check(needed).err()?;
    let message = format!(
        "{} are needed, and {} has {}: weir-switchd does not start here; lower the buffers of classes and pools",
        bytes(needed),
        too_much.of,
        bytes(too_much.most)
    );
    let key = "packet memory".to_owned();
    Some(Warning { key, message })
}

fn files(config: &DaemonConfig) -> Vec<(&'static str, PathBuf)> {
    let (metrics, gnmi) = (&config.metrics, &config.gnmi);
    let named = [
        ("metrics.tls-certificate", &metrics.tls_certificate),
        ("metrics.tls-key", &metrics.tls_key),
        ("metrics.token-file", &metrics.token_file),
        ("gnmi.tls-certificate", &gnmi.tls_certificate),
        ("gnmi.tls-key", &gnmi.tls_key),
        ("gnmi.token-file", &gnmi.token_file),
        ("control-frames.key-file", &config.control_frames.key_file),
    ];
    let given = named
        .into_iter()
        .filter_map(|(key, path)| Some((key, path.clone()?)));
    given.collect()
}

fn unreadable((key, path): (&str, PathBuf)) -> Option<Warning> {
    let error = File::open(&path).err()?;
    Some(Warning {
        key: key.to_owned(),
        message: format!(
            "{}: {error}; weir-switchd does not start without it",
            path.display()
        ),
    })
}

/// Warns about `express = "on"` if a setting disables the path permanently.
fn express(config: &DaemonConfig) -> Option<Warning> {
    let is_on = |express: Express| express == Express::On;
    let of_port = config
        .ports
        .iter()
        .find(|port| port.express.is_some_and(is_on));
    let of_class = config.classes.iter().find(|class| is_on(class.express));
    let key = match (is_on(config.dataplane.express), of_port, of_class) {
        (true, ..) => "dataplane.express".to_owned(),
        (_, Some(port), _) => format!("port.{}.express", port.name),
        (.., Some(class)) => format!("class.{}.express", class.name),
        (false, None, None) => return None,
    };
    let why = if config.forwarding.learning {
        "forwarding.learning"
    } else if config.is_vlan_aware() {
        "a port's VLANs (`tag`, `trunks`, `vlan-mode`)"
    } else if matches!(config.dataplane.workers, Workers::Count(2..)) {
        "dataplane.workers above 1"
    } else {
        return None;
    };
    let message = format!(
        "has no effect with {why}, for which the switch has to see every frame; remove one of the two"
    );
    Some(Warning { key, message })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn config(more: &str) -> DaemonConfig {
        let port = "[[port]]\ndevice = \"e1\"\nrole = \"edge\"\nrate = \"1Gbit\"\n";
        let text = format!("name = \"s1\"\n{more}\n{port}");
        DaemonConfig::parse(&text, Path::new("s1.toml")).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn memory_is_that_of_the_machine_and_of_the_control_group() {
        let config = config("");
        let needed = config.umem_size().get();
        let of = |machine, control_group| {
            memory(
                &config,
                Memory {
                    machine,
                    control_group,
                },
            )
        };
        assert_eq!(of(needed, None), None);
        assert_eq!(of(needed, Some(needed)), None);
        let told = of(needed - 1, None).unwrap().message;
        assert!(told.contains("and the machine has"), "{told}");
        let told = of(needed, Some(needed - 1)).unwrap().message;
        assert!(told.contains("and the control group has"), "{told}");
    }

    #[test]
    fn the_express_path_and_what_shuts_it_are_shown_together() {
        for (more, key) in [
            ("[dataplane]\nexpress = \"on\"", None),
            ("[forwarding]\nlearning = true", None),
            (
                "[dataplane]\nexpress = \"auto\"\n[forwarding]\nlearning = true",
                None,
            ),
            (
                "[dataplane]\nexpress = \"on\"\n[forwarding]\nlearning = true",
                Some("dataplane.express"),
            ),
            (
                "[forwarding]\nlearning = true\n[[port]]\ndevice = \"e2\"\nrole = \"edge\"\nrate = \"1Gbit\"\nexpress = \"on\"",
                Some("port.e2.express"),
            ),
            (
                "[dataplane]\nexpress = \"on\"\n[[port]]\ndevice = \"e2\"\nrole = \"edge\"\nrate = \"1Gbit\"\ntag = 7",
                Some("dataplane.express"),
            ),
        ] {
            let found = express(&config(more)).map(|warning| warning.key);
            assert_eq!(found.as_deref(), key, "{more}");
        }
    }
}
