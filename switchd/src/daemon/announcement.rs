//! Derives the LLDP announcement from the configuration file.

use weir_config::daemon::{default_dscp_map, DaemonConfig, Port, Trust};
use weir_core::control::neighbours::AnnouncedPort;
use weir_core::wire::lldp::application::{
    Application, ApplicationEntry, ApplicationTable, ENTRIES_MAX,
};
use weir_core::wire::lldp::basic::{PortIdentifier, SystemCapabilities, Text, TimeToLive};
use weir_core::wire::lldp::credits::{AnnouncedCredits, Credits, CreditsV1};
use weir_core::wire::lldp::dcbx::{
    BandwidthTable, ClassCount, EtsConfiguration, PfcConfiguration, PrioritySet, TrafficClass,
    TransmissionSelection, CLASS_COUNT,
};
use weir_core::wire::lldp::weir::{AnnouncedMode, Depth, Weir, WeirV1};
use weir_core::wire::lldp::Announcement;
use weir_core::{
    Algorithm, ClassConfig, ClassMode, Neighbour, PortConfig, PortRole, Priority, SwitchConfig,
};

use crate::control::lldp::LldpSettings;

/// Derives the LLDP settings from `[lldp]` and the rest of the file.
pub(super) fn lldp(config: &DaemonConfig) -> LldpSettings {
    let core = config.core(&[]);
    LldpSettings {
        enabled: config.lldp.enabled,
        interval: config.lldp.interval,
        ports: config
            .ports
            .iter()
            .zip(&core.ports)
            .map(|(port, of_core)| announced(config, &core, port, of_core))
            .collect(),
    }
}

fn announced(
    config: &DaemonConfig,
    core: &SwitchConfig,
    port: &Port,
    of_core: &PortConfig,
) -> AnnouncedPort {
    let description = format!("Weir {}", env!("CARGO_PKG_VERSION"));
    // A port's name is also a file name, so it is neither empty nor too long.
    let identifier = PortIdentifier::interface_name(&port.name)
        .unwrap_or_else(|| PortIdentifier::mac(port.address.unwrap_or_default()));
    AnnouncedPort {
        identifier,
        announcement: Announcement {
            port_description: Some(Text::truncated(&port.device)),
            system_name: Some(Text::truncated(&config.name)),
            system_description: Some(Text::truncated(&description)),
            capabilities: Some(SystemCapabilities::bridge()),
            ets: Some(ets(core)),
            pfc: Some(PfcConfiguration::fixed(lossless(core))),
            applications: applications(config, port),
            weir: Some(Weir::V1(weir(config, core, port))),
            credits: credits(config, core, port, of_core),
            ..Announcement::new(TimeToLive::STANDARD)
        },
        configured: port.neighbour,
        is_fabric: port.role == PortRole::Fabric,
    }
}

/// Every priority is a separate traffic class. It is strict or has a weight; strict ones have no part of the bandwidth that
/// others share.
fn ets(core: &SwitchConfig) -> EtsConfiguration {
    let mut assignment = [TrafficClass::default(); CLASS_COUNT];
    for (class, priority) in assignment.iter_mut().zip(Priority::ALL) {
        *class = TrafficClass::new(priority.get()).unwrap_or_default();
    }
    EtsConfiguration {
        willing: false,
        credit_based_shaper: false,
        classes_max: ClassCount::EIGHT,
        assignment,
        bandwidth: BandwidthTable::from_weights(core.classes.map(|class| {
            match class.scheduler.algorithm {
                Algorithm::Ets | Algorithm::Ports => class.weight,
                Algorithm::Strict => 0,
            }
        })),
        selection: core.classes.map(|class| match class.scheduler.algorithm {
            Algorithm::Ets | Algorithm::Ports => TransmissionSelection::ETS,
            Algorithm::Strict => TransmissionSelection::STRICT,
        }),
    }
}

/// A class with Levels also obeys and sends PFC, so a neighbour without Levels sees it as a class with PFC.
fn lossless(core: &SwitchConfig) -> PrioritySet {
    Priority::ALL
        .into_iter()
        .filter(|priority| core.classes[priority.index()].mode.is_lossless())
        .fold(PrioritySet::EMPTY, PrioritySet::with)
}

/// Returns the file's requests to hosts for UDP ports, and its deviations from the usual DSCP mapping if the port uses DSCP.
fn applications(config: &DaemonConfig, port: &Port) -> Option<ApplicationTable> {
    let usual = default_dscp_map();
    let looks = matches!(port.trust, Trust::Dscp | Trust::PcpDscp);
    let of_udp = config.lldp.udp.iter().map(|(port, priority)| {
        let application = Application::DatagramPort(*port);
        (application, *priority)
    });
    let of_dscp = (0u16..)
        .zip(port.dscp_map.iter().zip(&usual))
        .filter(|(_, (priority, usual))| looks && priority != usual)
        .map(|(dscp, (priority, _))| (Application::Dscp(dscp), *priority));
    let entries: Vec<ApplicationEntry> = of_udp
        .chain(of_dscp)
        .map(|(application, priority)| ApplicationEntry {
            application,
            priority,
        })
        .take(ENTRIES_MAX)
        .collect();
    ApplicationTable::new(&entries).filter(|_| !entries.is_empty())
}

/// Returns the credits that the port gives once its ring is filled; `None` if no class has credits.
fn credits(
    config: &DaemonConfig,
    core: &SwitchConfig,
    port: &Port,
    of_core: &PortConfig,
) -> Option<Credits> {
    let slots = config.kept_slots(port)?;
    let class = |class: &ClassConfig| {
        Some(AnnouncedCredits {
            terms: class.credit_terms(of_core)?,
            fallback: class.credits?.fallback,
        })
    };
    Some(Credits::V1(CreditsV1 {
        gives: slots > 0 && of_core.gives_credits(),
        longest_bytes: u16::try_from(core.frame_length_max.get()).unwrap_or(u16::MAX),
        classes: core.classes.each_ref().map(class),
    }))
}

/// Towards hosts, and neighbours that the file declares regular, the port uses PFC. So does a class with credits towards
/// neighbours without them.
fn weir(config: &DaemonConfig, core: &SwitchConfig, port: &Port) -> WeirV1 {
    let is_fabric = port.role == PortRole::Fabric;
    let speaks_levels = is_fabric && port.neighbour != Neighbour::Regular;
    let mode = |mode: ClassMode| match mode {
        ClassMode::Lossy { .. } => AnnouncedMode::Lossy,
        ClassMode::Pfc(_) => AnnouncedMode::Pfc,
        ClassMode::Level { .. } => Depth::new(mode.depth())
            .filter(|_| speaks_levels)
            .map_or(AnnouncedMode::Pfc, AnnouncedMode::Level),
    };
    WeirV1 {
        clcm: is_fabric && config.deadlock.policy.speaks_clcm(),
        // Set once a neighbour is heard.
        hears: false,
        coding: Some(port.feedback),
        modes: core.classes.map(|class| mode(class.mode)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use weir_core::CreditFallback;

    const FILE: &str = r#"
name = "s1"
[[class]]
name = "levels"
priority = 3
mode = "level"
max-hops = 4
xoff = "60KiB"
xon = "52KiB"
headroom = "64KiB"
weight = 6
[[class]]
name = "pfc"
priority = 4
mode = "pfc"
xoff = "60KiB"
xon = "52KiB"
headroom = "64KiB"
weight = 8
[[port]]
name = "up"
device = "eth0"
role = "fabric"
rate = "100Mbit"
[[port]]
device = "eth1"
role = "fabric"
rate = "100Mbit"
neighbour = "regular"
trust = "pcp"
dscp-map = { 46 = 4 }
[[port]]
device = "eth2"
role = "edge"
rate = "100Mbit"
dscp-map = { 46 = 4, 26 = 3, 10 = 7 }
[deadlock]
policy = "breaker"
[lldp]
interval = "5s"
"#;

    fn settings() -> LldpSettings {
        lldp(&DaemonConfig::parse(FILE, Path::new("s1.toml")).unwrap())
    }

    #[test]
    fn a_fabric_port_announces_all_settings() {
        let settings = settings();
        assert!(settings.enabled && settings.interval == weir_core::Duration::from_secs(5));
        let port = &settings.ports[0];
        assert!(port.is_fabric);
        assert_eq!(port.identifier.as_interface_name(), Some("up"));
        let said = &port.announcement;
        assert_eq!(said.port_description, Some(Text::truncated("eth0")));
        assert_eq!(said.system_name, Some(Text::truncated("s1")));
        assert_eq!(said.applications, None, "nothing out of the ordinary");
        let pfc = said.pfc.unwrap();
        assert_eq!((pfc.willing, pfc.enabled), (false, PrioritySet(0x18)));
        let ets = said.ets.unwrap();
        assert_eq!(ets.bandwidth.percent(), [5, 5, 5, 30, 40, 5, 5, 5]);
        assert_eq!(ets.assignment[6].get(), 6);
        let Some(Weir::V1(weir)) = said.weir else {
            panic!("{:?}", said.weir)
        };
        assert!(weir.clcm);
        let depth = weir_core::Level::new(4).and_then(Depth::new).unwrap();
        assert_eq!(weir.modes[3], AnnouncedMode::Level(depth));
        assert_eq!(weir.modes[4], AnnouncedMode::Pfc);
        assert_eq!(weir.modes[0], AnnouncedMode::Lossy);
    }

    #[test]
    fn where_pfc_is_spoken_pfc_is_announced() {
        for port in &settings().ports[1..] {
            let Some(Weir::V1(weir)) = port.announcement.weir else {
                panic!("{port:?}")
            };
            assert_eq!(weir.modes[3..5], [AnnouncedMode::Pfc; 2]);
            assert_eq!(weir.clcm, port.is_fabric);
            assert_eq!(port.announcement.pfc.unwrap().enabled, PrioritySet(0x18));
        }
    }

    /// The priority is `pfc` in the TLV that older switches read, and has its terms in one that they ignore.
    #[test]
    fn credits_are_announced_beside_pfc_and_only_with_a_class_that_has_them() {
        for port in settings().ports {
            assert_eq!(port.announcement.credits, None);
        }
        let pfc = "mode = \"pfc\"\nxoff = \"60KiB\"\nxon = \"52KiB\"\nheadroom = \"64KiB\"";
        let credit = "mode = \"credit\"\ncredit-limit = \"600KiB\"\ncredit-fallback = \"closed\"";
        let file = FILE.replace(pfc, credit).replacen(
            "role = \"edge\"\n",
            "role = \"edge\"\npolice = \"drop\"\n",
            1,
        );
        let settings = lldp(&DaemonConfig::parse(&file, Path::new("s1.toml")).unwrap());
        for port in settings.ports {
            let (Some(Weir::V1(weir)), Some(Credits::V1(credits))) =
                (port.announcement.weir, port.announcement.credits)
            else {
                panic!("{port:?}")
            };
            assert_eq!(weir.modes[4], AnnouncedMode::Pfc);
            assert!(port
                .announcement
                .pfc
                .unwrap()
                .enabled
                .contains(Priority::ALL[4]));
            // A policed host gets none.
            assert_eq!(credits.gives, port.is_fabric);
            // The MTU, a header and two tags.
            assert_eq!(credits.longest_bytes, 1522);
            let announced = credits.classes[4].unwrap();
            assert_eq!(
                (announced.terms.limit(), announced.terms.size()),
                (300, 2048)
            );
            assert_eq!(announced.fallback, CreditFallback::Closed);
            assert_eq!(credits.classes.iter().flatten().count(), 1);
        }
    }

    #[test]
    fn priorities_of_udp_ports_are_announced_at_every_port_and_before_dscps() {
        let udp = "interval = \"5s\"\nudp = { 4791 = 3, 80 = 1 }";
        let file = FILE.replace("interval = \"5s\"", udp);
        let settings = lldp(&DaemonConfig::parse(&file, Path::new("s1.toml")).unwrap());
        for (port, dscps) in settings.ports.iter().zip([0, 0, 2]) {
            let applications = port.announcement.applications.unwrap();
            let said = applications.entries();
            assert_eq!(said.len(), 2 + dscps, "{said:?}");
            let first = [said[0], said[1]].map(|entry| (entry.application, entry.priority.get()));
            assert_eq!(
                first,
                [
                    (Application::DatagramPort(80), 1),
                    (Application::DatagramPort(4791), 3)
                ]
            );
        }
    }

    #[test]
    fn a_dscp_map_is_announced_where_it_counts() {
        let settings = settings();
        assert_eq!(settings.ports[1].announcement.applications, None);
        let table = settings.ports[2].announcement.applications.unwrap();
        let entry = |dscp, priority| ApplicationEntry {
            application: Application::Dscp(dscp),
            priority: Priority::ALL[priority],
        };
        assert_eq!(table.entries(), [entry(10, 7), entry(46, 4)], "26 is usual");
    }
}
