//! Derives the settings of the daemon's parts from the configuration file, except those of the dataplane: that makes the
//! switch core's configuration itself (`weir_dataplane`, `start/reserve.rs`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use weir_config::daemon::{Class, DaemonConfig, LogFormat};
use weir_config::files::directory_of;
use weir_config::kernels;
use weir_core::control::neighbours::AnnouncedPort;
use weir_core::Priority;
use weir_dataplane::link::AttachedPort;

use super::reload::history;
use super::{announcement, Plan};
use crate::control::flight_recorder::FlightSettings;
use crate::control::info::{ClassInfo, MarkingInfo, PortCable, PortInfo, Stations, SwitchInfo};
use crate::control::ipfix::IpfixSettings;
use crate::control::sflow::SflowSettings;
use crate::control::ControlSettings;
use crate::logging;
use crate::metrics::gnmi::GnmiSettings;
use crate::model::classify::Trusted;
use crate::os::privileges::Files;
use crate::page::PageSettings;

/// Builds the plan for [`crate::daemon::run`]. `seed` seeds the control plane's random numbers.
pub fn plan(config: &DaemonConfig, seed: u64, drain: Duration) -> Plan {
    Plan {
        run_dir: config.run_dir.clone(),
        api_socket: config.api_socket.clone(),
        api: config.api.clone(),
        metrics: config.metrics.listen,
        metrics_protection: config.metrics.protection(),
        gnmi: config.gnmi.listen.map(|listen| GnmiSettings {
            listen,
            protection: config.gnmi.protection(),
            frame_bytes_max: config.frame_length_max().get(),
        }),
        page: config.page.listen.map(|listen| PageSettings {
            listen,
            names: config.page.names.clone(),
        }),
        info: info(config),
        control: ControlSettings {
            plane: config.control(),
            seed,
            watermark_interval: config.watermark.interval,
            history_interval: config.dataplane.history_interval,
            history_length: config.dataplane.history_length,
            flights: flights(config),
            flap_damping: config.flap_damping.damping(),
            lldp: announcement::lldp(config),
            sflow: SflowSettings::new(&config.sflow, seed),
            ipfix: IpfixSettings::new(&config.ipfix),
        },
        drain,
        reloader: None,
        watchdog: None,
        protections: None,
        keeping: None,
    }
}

/// Refuses to start on a kernel that ordinary traffic would crash, unless `force` is set.
///
/// # Errors
///
/// States the fault, a kernel without it, and how to start nevertheless.
pub fn refuse_broken_kernel(force: bool) -> Result<(), String> {
    let release = nix::sys::utsname::uname().map(|it| it.release().to_owned());
    let release = release.unwrap_or_default();
    refuse_broken(&release.to_string_lossy(), force)
}

fn refuse_broken(release: &str, force: bool) -> Result<(), String> {
    match kernels::broken(release) {
        Some(broken) if !force => Err(format!(
            "Linux {release}: {}; {}, or start with --force",
            broken.fault, broken.remedy
        )),
        _ => Ok(()),
    }
}

/// Returns each port's announcement by LLDP.
pub fn announced_ports(config: &DaemonConfig) -> Vec<AnnouncedPort> {
    announcement::lldp(config).ports
}

/// Returns the format and destination of the log.
pub fn log_format(config: &DaemonConfig) -> logging::LogFormat {
    match config.log.format {
        LogFormat::Auto => logging::LogFormat::Auto,
        LogFormat::Text => logging::LogFormat::Text,
        LogFormat::Json => logging::LogFormat::Json,
        LogFormat::Journal => logging::LogFormat::Journal,
    }
}

fn info(config: &DaemonConfig) -> SwitchInfo {
    let core = config.core(&[]);
    let charging = config.dataplane.frames().charging();
    SwitchInfo {
        pools: config.pool_names(),
        name: config.name.clone(),
        mtu: config.dataplane.mtu,
        deadlock_policy: config.deadlock.policy.into(),
        ports: config
            .ports
            .iter()
            .map(|port| PortInfo {
                name: port.name.clone(),
                device: port.device.clone(),
                role: port.role,
                rate: port.rate,
                cable: port.cable_line().map(|line| PortCable::new(line, charging)),
                trusted: Trusted::from(port).into(),
                attached: AttachedPort::absent(port.address.unwrap_or_default()).into(),
            })
            .collect(),
        classes: Priority::ALL.map(|priority| ClassInfo {
            name: config.class_name(priority).to_owned(),
            mode: core.classes[priority.index()].mode.into(),
            headroom_by_cable: core.classes[priority.index()].headroom_by_cable,
            configured: config.class_of(priority).is_some(),
        }),
        stations: stations(config).into(),
        impair: config.dataplane.impair,
        mirrors: config.mirrors.clone().into(),
        marking: marking(config).into(),
    }
}

/// Returns the files of root that a switch may have to read again: the configuration, keys, tokens and certificates.
///
/// A keeper starts a previous switch from a file that the switch itself has written, and this file may name any other. Then only
/// files in the directory of the configuration, and in those of files that it names now, are of the switch.
pub fn read_again(config: &DaemonConfig, file: &Path, in_force: Option<&Path>) -> Vec<PathBuf> {
    let named = |config| [file.to_owned()].into_iter().chain(secrets(config));
    let all = named(config);
    if in_force.is_none() {
        return all.collect();
    }
    let now = DaemonConfig::load(file).ok();
    let now = now.iter().flat_map(secrets).chain([file.to_owned()]);
    let directories: Vec<_> = now.map(|path| directory_of(&path).to_owned()).collect();
    all.filter(|path| directories.iter().any(|it| it == directory_of(path)))
        .collect()
}

/// Returns the files with secrets and certificates that the configuration names.
fn secrets(config: &DaemonConfig) -> impl Iterator<Item = PathBuf> {
    let metrics = config.metrics.protection();
    let gnmi = config.gnmi.protection();
    let key = config.control_frames.key_file.clone();
    let tokens = [metrics.token_file, gnmi.token_file, key];
    let tls = [metrics.tls, gnmi.tls].into_iter().flatten();
    let secrets = tls.flat_map(|files| [files.certificate, files.key]);
    secrets.chain(tokens.into_iter().flatten())
}

/// Returns the files that a running switch needs: those of its own directories, and those that may be read again. `in_force`
/// replaces `file`.
pub fn files(config: &DaemonConfig, file: &Path, in_force: Option<&Path>) -> Files {
    // A replaced file is a new file: permit its directory, which holds both.
    let named = secrets(config)
        .chain([file.to_owned()])
        .chain(in_force.map(Path::to_owned));
    Files {
        read: directories(named),
        write: history::state_directory()
            .into_iter()
            .chain([config.run_dir.clone()])
            .collect(),
        sockets: vec![directory_of(&config.api_socket).to_owned()],
    }
}

/// Returns the directories of files, and of the targets of links.
pub fn directories(files: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let targets = |path: PathBuf| [path.canonicalize().ok(), Some(path)];
    let all = files.flat_map(targets).flatten();
    all.map(|path| directory_of(&path).to_owned()).collect()
}

pub(super) fn marking(config: &DaemonConfig) -> Vec<MarkingInfo> {
    let named = |class: &Class| (class.name.clone(), class.priorities.clone());
    let profiles = config.ecn.iter().map(|profile| MarkingInfo {
        profile: Some(profile.name.clone()),
        classes: config
            .classes_with_profile(&profile.name)
            .map(named)
            .collect(),
        configured: profile.marking(),
    });
    let classes = config.classes.iter();
    let own = classes.filter(|class| class.ecn_profile.is_none());
    let own = own.filter_map(|class| {
        Some(MarkingInfo {
            profile: None,
            classes: vec![named(class)],
            configured: class.ecn?,
        })
    });
    profiles.chain(own).collect()
}

pub(super) fn stations(config: &DaemonConfig) -> Stations {
    Stations {
        suppress: config.multicast.suppress,
        all: config.stations.as_slice().into(),
    }
}

fn flights(config: &DaemonConfig) -> FlightSettings {
    let deadlock = &config.deadlock;
    if deadlock.record {
        FlightSettings::new(deadlock.detect, deadlock.clcm_interval)
    } else {
        FlightSettings::OFF
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::control::Policy;
    use weir_core::PortId;

    const FILE: &str = r#"
name = "s1"
[[class]]
name = "lossless"
priority = 3
mode = "pfc"
xoff = "60KiB"
xon = "52KiB"
headroom = "64KiB"
[[port]]
name = "up"
device = "eth0"
role = "fabric"
rate = "100Mbit"
[[port]]
name = "down"
device = "eth1"
role = "edge"
rate = "100Mbit"
[deadlock]
policy = "breaker"
release-buffer = "4KiB"
"#;

    #[test]
    fn a_broken_kernel_is_refused_with_its_fault_and_remedy_unless_forced() {
        let refused = refuse_broken("6.16.12+deb13-amd64", false).unwrap_err();
        for part in ["6.16.12+deb13-amd64", "panics", "6.18", "--force"] {
            assert!(refused.contains(part), "{part}: {refused}");
        }
        assert_eq!(refuse_broken("6.16.12+deb13-amd64", true), Ok(()));
        assert_eq!(refuse_broken("6.18.44", false), Ok(()));
    }

    #[test]
    fn names_and_settings_arrive() {
        let config = DaemonConfig::parse(FILE, Path::new("s1.toml")).unwrap();
        let plan = plan(&config, 7, Duration::from_secs(2));
        assert_eq!(plan.run_dir, Path::new("/run/weir/s1"));
        assert_eq!(plan.control.seed, 7);
        assert_eq!(plan.info.deadlock_policy.get(), Policy::Breaker);
        let fabric: Vec<_> = plan.control.plane.fabric_ports.iter().collect();
        assert_eq!(fabric, [PortId::new(0)]);
        assert_eq!(plan.control.plane.release_extra.get(), 4096);
        assert_eq!(plan.control.flights.during().as_nanos(), 20_000_000);
        let lossless: Vec<_> = plan.info.lossless().map(Priority::get).collect();
        assert_eq!(lossless, [3]);
        assert_eq!(plan.info.classes[3].name, "lossless");
        assert!(plan.info.classes[3].configured && !plan.info.classes[0].configured);
        assert_eq!(plan.info.classes[0].name, "default");
    }
}
