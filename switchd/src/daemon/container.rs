//! `--container`: the configuration of a switch in a container without one.
//!
//! Container managers add interfaces to running containers: Docker by `docker network connect`, containerlab for every link
//! of a topology. The ports therefore [wait](weir_config::daemon::Port::wait) for `eth1`, `eth2` and so on. `eth0` is the
//! container's own interface, which serves the metrics.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use weir_config::daemon::FirstThresholds;
use weir_config::units::{format_rate, format_size, parse_rate, parse_size, UnitError};
use weir_core::{BitRate, Bytes, PORT_COUNT_MAX};

use crate::cli::Cli;

/// Path of the configuration. Not in /etc, which may be read-only.
const FILE: &str = "/run/weir/container.toml";
/// Default number of ports.
const PORTS: usize = 8;
const RATE: BitRate = BitRate::from_mbit(1_000);
const MTU: Bytes = Bytes::new(1_500);
/// Name of the switch if its host's name is not a valid one.
const NAME: &str = "switch";

/// Number of ports.
const PORTS_VARIABLE: &str = "WEIR_PORTS";
/// Number of the node's interfaces besides `eth0`; containerlab sets it on every node.
const CLAB_VARIABLE: &str = "CLAB_INTFS";
/// The rate of every port.
const RATE_VARIABLE: &str = "WEIR_RATE";
/// `dataplane.mtu`.
const MTU_VARIABLE: &str = "WEIR_MTU";

/// `true` serves metrics and page on all addresses, without protection.
const UNPROTECTED_VARIABLE: &str = "WEIR_UNPROTECTED";

/// Reason for which there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    /// A variable is not a number of ports.
    #[error(
        "the environment's {variable}={value}: write a number of ports, 1 to {PORT_COUNT_MAX}"
    )]
    Ports {
        /// Name of the variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// A variable is not a rate or a size.
    #[error("the environment's {variable}: {source}")]
    Unit {
        /// Name of the variable.
        variable: &'static str,
        /// Parsing error.
        source: UnitError,
    },
    /// A variable is neither `true` nor `false`.
    #[error("the environment's {UNPROTECTED_VARIABLE}={0}: write true or false")]
    Unprotected(String),
    /// The file cannot be written.
    #[error("cannot write {FILE}: {0}; give the container a writable /run, or a configuration by --config")]
    File(#[from] io::Error),
}

/// If the command line's file is missing, generates it from the environment. A switch started by a keeper uses the file that
/// its keeper generated, including later changes.
///
/// # Errors
///
/// See [`ContainerError`].
pub fn provide(cli: &mut Cli) -> Result<(), ContainerError> {
    if cli.config.exists() {
        return Ok(());
    }
    let file = PathBuf::from(FILE);
    if cli.kept.is_none() {
        let text = Surroundings::look().config(&cli.config)?;
        if let Some(directory) = file.parent() {
            std::fs::create_dir_all(directory)?;
        }
        std::fs::write(&file, text)?;
    }
    cli.config = file;
    Ok(())
}

struct Surroundings {
    devices: Vec<String>,
    host_name: String,
    variables: Vec<(&'static str, String)>,
}

impl Surroundings {
    fn look() -> Self {
        let all = nix::net::if_::if_nameindex();
        let names = all.iter().flat_map(|all| all.iter());
        let host_name = std::fs::read_to_string("/proc/sys/kernel/hostname");
        let variables = [
            PORTS_VARIABLE,
            CLAB_VARIABLE,
            RATE_VARIABLE,
            MTU_VARIABLE,
            UNPROTECTED_VARIABLE,
        ];
        Self {
            devices: names
                .map(|one| one.name().to_string_lossy().into_owned())
                .collect(),
            host_name: host_name.unwrap_or_default().trim().to_owned(),
            variables: variables
                .into_iter()
                .filter_map(|name| Some((name, std::env::var(name).ok()?)))
                .collect(),
        }
    }

    /// Returns the configuration of a switch that has no `file`.
    fn config(&self, file: &Path) -> Result<String, ContainerError> {
        let ports = self.ports()?;
        let rate = self.unit(RATE_VARIABLE, parse_rate)?.unwrap_or(RATE);
        let mtu = self.unit(MTU_VARIABLE, parse_size)?.unwrap_or(MTU);
        let FirstThresholds {
            xoff,
            xon,
            headroom,
        } = FirstThresholds::for_rate(rate);
        let (host, unprotected) = match self.variable(UNPROTECTED_VARIABLE) {
            None | Some("false") => ("127.0.0.1", false),
            Some("true") => ("0.0.0.0", true),
            Some(other) => return Err(ContainerError::Unprotected(other.to_owned())),
        };
        let [xoff, xon, headroom] = [xoff, xon, headroom].map(format_size);
        let mut out = format!(
            "# Made at the start, because there is no {}; such a file replaces it.\n\
             # Ports: as many as {PORTS_VARIABLE} or {CLAB_VARIABLE} of the environment, or the interfaces at the start say, or {PORTS}.\n\
             name = \"{}\"\n\
             \n# {UNPROTECTED_VARIABLE}=true serves all who reach the container by eth0, its own interface and no port.\n\
             [metrics]\nlisten = \"{host}:9464\"\nunprotected = {unprotected}\n\
             \n[page]\nlisten = \"{host}:9465\"\nunprotected = {unprotected}\n\
             \n[dataplane]\nmtu = \"{}\"\n\
             \n[deadlock]\npolicy = \"breaker\"\n\
             \n# For networks without loops; ports by which loops are found stop learning.\n[forwarding]\nlearning = true\n\
             \n# Frames of priority 3 (PCP 3, or DSCP 24 to 31) are lossless; neighbors must obey PFC.\n\
             [[class]]\nname = \"lossless\"\npriority = 3\nmode = \"pfc\"\nxoff = \"{xoff}\"\nxon = \"{xon}\"\nheadroom = \"{headroom}\"\n",
            file.display(),
            self.name(),
            format_size(mtu),
        );
        let rate = format_rate(rate);
        for number in 1..=ports {
            let _ = writeln!(
                out,
                "\n[[port]]\ndevice = \"eth{number}\"\nrole = \"edge\"\nrate = \"{rate}\"\nwait = true"
            );
        }
        Ok(out)
    }

    fn ports(&self) -> Result<usize, ContainerError> {
        for variable in [PORTS_VARIABLE, CLAB_VARIABLE] {
            let Some(value) = self.variable(variable) else {
                continue;
            };
            match value.parse() {
                // The node has no links yet.
                Ok(0) if variable == CLAB_VARIABLE => {}
                Ok(count) if (1..=PORT_COUNT_MAX).contains(&count) => return Ok(count),
                _ => {
                    let value = value.to_owned();
                    return Err(ContainerError::Ports { variable, value });
                }
            }
        }
        let numbers = self.devices.iter().filter_map(|device| number(device));
        let highest = numbers.filter(|number| *number <= PORT_COUNT_MAX).max();
        Ok(highest.filter(|number| *number > 0).unwrap_or(PORTS))
    }

    fn unit<T>(
        &self,
        variable: &'static str,
        parse: impl Fn(&str) -> Result<T, UnitError>,
    ) -> Result<Option<T>, ContainerError> {
        let parsed = self.variable(variable).map(parse).transpose();
        parsed.map_err(|source| ContainerError::Unit { variable, source })
    }

    fn variable(&self, name: &str) -> Option<&str> {
        let mut all = self.variables.iter();
        let (_, value) = all.find(|(other, _)| *other == name)?;
        Some(value)
    }

    /// The container's name in containerlab and Docker.
    fn name(&self) -> &str {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let name = &*self.host_name;
        let is_legal = !name.is_empty() && !name.starts_with('.') && name.bytes().all(legal);
        if is_legal {
            name
        } else {
            NAME
        }
    }
}

/// Returns 7 for `eth7`; `None` for devices that are not ports.
fn number(device: &str) -> Option<usize> {
    let digits = device.strip_prefix("eth")?;
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use weir_config::daemon::DaemonConfig;

    use super::*;

    fn around(devices: &[&str], variables: &[(&'static str, &str)]) -> Surroundings {
        Surroundings {
            devices: devices.iter().map(|name| (*name).to_owned()).collect(),
            host_name: "leaf1".to_owned(),
            variables: variables
                .iter()
                .map(|(name, value)| (*name, (*value).to_owned()))
                .collect(),
        }
    }

    fn config(surroundings: &Surroundings) -> DaemonConfig {
        let text = surroundings.config(Path::new("/etc/weir/switchd.toml"));
        let text = text.unwrap_or_else(|error| panic!("{error}"));
        DaemonConfig::parse(&text, Path::new(FILE)).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn ports_are_what_the_environment_says_or_what_is_there() {
        type Case = (
            &'static [&'static str],
            &'static [(&'static str, &'static str)],
            usize,
        );
        let cases: [Case; 7] = [
            (&["lo", "eth0"], &[], PORTS),
            (&["lo", "eth0", "eth1", "eth4", "ethernet9"], &[], 4),
            (&["eth0", "eth2"], &[(CLAB_VARIABLE, "3")], 3),
            (&["eth0"], &[(CLAB_VARIABLE, "0")], PORTS),
            (&["eth0"], &[(CLAB_VARIABLE, "3"), (PORTS_VARIABLE, "5")], 5),
            (&["eth1000"], &[], PORTS),
            (&["eth+3"], &[], PORTS),
        ];
        for (devices, variables, count) in cases {
            let config = config(&around(devices, variables));
            let names: Vec<&str> = config.ports.iter().map(|port| &*port.device).collect();
            let wanted: Vec<String> = (1..=count).map(|number| format!("eth{number}")).collect();
            assert_eq!(names, wanted, "{devices:?} {variables:?}");
            assert!(config.ports.iter().all(|port| port.wait));
            assert!(config.forwarding.learning);
            assert_eq!(config.name, "leaf1");
        }
    }

    #[test]
    fn other_hosts_are_served_only_by_the_operators_word() {
        for (variables, is_remote) in [
            (&[][..], false),
            (&[(UNPROTECTED_VARIABLE, "false")], false),
            (&[(UNPROTECTED_VARIABLE, "true")], true),
        ] {
            let config = config(&around(&[], variables));
            let listens = [config.metrics.listen, config.page.listen];
            for address in listens.into_iter().flatten() {
                assert_eq!(!address.ip().is_loopback(), is_remote, "{variables:?}");
            }
            assert_eq!(config.metrics.unprotected, is_remote);
            assert_eq!(config.page.unprotected, is_remote);
        }
    }

    #[test]
    fn rate_and_mtu_are_the_environments() {
        let variables = [(RATE_VARIABLE, "10Gbit"), (MTU_VARIABLE, "9000B")];
        let config = config(&around(&[], &variables));
        assert_eq!(config.ports[0].rate, BitRate::from_mbit(10_000));
        assert_eq!(config.dataplane.mtu, Bytes::new(9_000));
        let thresholds = config.classes[0].mode.thresholds().unwrap();
        assert_eq!(thresholds.headroom(), Bytes::new(3_720 * 1024));
    }

    #[test]
    fn a_host_whose_name_cannot_be_a_switchs_is_called_switch() {
        for name in ["", ".hidden", "two words", "a\"b"] {
            let surroundings = Surroundings {
                host_name: name.to_owned(),
                ..around(&[], &[])
            };
            assert_eq!(config(&surroundings).name, NAME, "{name}");
        }
    }

    #[test]
    fn refusals_name_the_variable() {
        let refused = [
            (PORTS_VARIABLE, "many"),
            (PORTS_VARIABLE, "0"),
            (CLAB_VARIABLE, "-1"),
            (UNPROTECTED_VARIABLE, "yes"),
            (RATE_VARIABLE, "10"),
            (MTU_VARIABLE, "9000"),
        ];
        for (variable, value) in refused {
            let error = around(&[], &[(variable, value)])
                .config(Path::new("x"))
                .unwrap_err();
            assert!(error.to_string().contains(variable), "{error}");
        }
    }
}
