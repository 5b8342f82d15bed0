//! Changes at run time: found by comparing the switch with its configuration, and passed to the next switch on a restart.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_config::daemon::{DaemonConfig, PfcwdConfig, Route};
use weir_core::config::default_bucket_count;
use weir_core::switch::PinnedBy;
use weir_core::{MacAddress, PortId, WatchdogConfig};
use weir_dataplane::messages::Snapshot;
use weir_dataplane::tables::{RouteRow, Tables};

use crate::os::run_dir;

/// Tables of a snapshot that [`now`] reads.
pub const TABLES: Tables = Tables {
    routes: true,
    ..Tables::NONE
};

/// The run directory's file for the next switch.
const NAME: &str = "by-hand.json";

/// Returns `config` with the routes, the operator's pins, the marking profiles and the storm watchdogs of a running switch.
/// Moved buckets and pins of reroutes are omitted. Entries that do not fit into a snapshot count as unchanged.
pub fn now(config: &DaemonConfig, snapshot: &Snapshot) -> DaemonConfig {
    let mut now = with_marking(config, snapshot);
    let tables = &snapshot.routes;
    let is_whole = tables.rows.len() >= tables.route_total && tables.pins.len() >= tables.pin_total;
    if is_whole {
        let places = config.route_places();
        let known = |row: &RouteRow| {
            let place = places.get(&(row.vlan, row.destination))?;
            config.routes.get(*place)
        };
        let mut pins: HashMap<MacAddress, Vec<(u32, PortId)>> = HashMap::new();
        for pin in tables
            .pins
            .iter()
            .filter(|pin| pin.by == PinnedBy::Operator)
        {
            let of_route = pins.entry(pin.destination).or_default();
            of_route.push((pin.flow_hash, pin.port));
        }
        let rows = tables.rows.iter();
        now.routes = rows
            .map(|row| {
                let pins = pins.get(&row.destination).filter(|_| row.vlan.is_none());
                route(row, known(row), pins.cloned().unwrap_or_default())
            })
            .collect();
        // In the order of the file, then new entries.
        let place = |route: &Route| places.get(&route.key()).copied().unwrap_or(usize::MAX);
        now.routes.sort_by_cached_key(place);
    }
    for (index, state) in snapshot.ports.iter().enumerate() {
        let Some(port) = config.ports.get(index) else {
            break;
        };
        if config.watchdog(port) != state.watchdog {
            now.ports[index].pfcwd = Some(watched(state.watchdog.as_ref(), config, index));
        }
    }
    now
}

/// Returns `config` with the switch's marking profiles. A profile without a class exists only in the file.
pub fn with_marking(config: &DaemonConfig, snapshot: &Snapshot) -> DaemonConfig {
    let mut now = config.clone();
    for profile in &config.ecn {
        let mut classes = config.classes_with_profile(&profile.name);
        let priority = classes.find_map(|class| class.priorities.first());
        let marking = priority.and_then(|priority| snapshot.markings[priority.index()]);
        if let Some(marking) = marking {
            now = now.with_profile(&profile.name, marking);
        }
    }
    now
}

fn route(row: &RouteRow, known: Option<&Route>, mut pins: Vec<(u32, PortId)>) -> Route {
    pins.sort_unstable();
    let is_same = |known: &&Route| {
        let members = known.ports.iter().copied().collect();
        row.members == members
            && (row.bucket_count == 0 || row.bucket_count == usize::from(known.buckets))
    };
    if let Some(known) = known.filter(is_same) {
        return Route {
            pins,
            ..known.clone()
        };
    }
    let ports: Vec<PortId> = row.members.iter().collect();
    Route {
        destination: row.destination,
        vlan: row.vlan,
        buckets: match u16::try_from(row.bucket_count) {
            Ok(count) if count > 0 => count,
            _ => default_bucket_count(ports.len()),
        },
        ports,
        pins,
    }
}

/// Returns the port's settings that correspond to this storm watchdog.
fn watched(watchdog: Option<&WatchdogConfig>, config: &DaemonConfig, port: usize) -> PfcwdConfig {
    let usual = config.ports[port].pfcwd.unwrap_or(config.pfcwd);
    match watchdog {
        None => PfcwdConfig {
            enabled: Some(false),
            ..usual
        },
        Some(watchdog) => PfcwdConfig {
            enabled: Some(true),
            detection: watchdog.detection,
            restoration: watchdog.restoration,
            action: watchdog.action,
        },
    }
}

/// Both configurations as TOML; the next switch's program parses it like a configuration file.
#[derive(Debug, Serialize, Deserialize)]
struct Left {
    before: String,
    now: String,
}

/// Stores the run-time changes for the next switch in `run_dir`; writes no file if there are none.
pub fn leave(run_dir: &Path, before: &DaemonConfig, now: &DaemonConfig) -> io::Result<()> {
    let path = path(run_dir);
    if before == now {
        return run_dir::remove_file(&path);
    }
    let left = Left {
        before: before.to_toml(),
        now: now.to_toml(),
    };
    run_dir::replace_file(&path, &serde_json::to_vec(&left)?).map(drop)
}

/// Run-time changes of the previous switch, as known before it has ended.
#[derive(Debug)]
pub struct Expected {
    config: DaemonConfig,
    /// The file they were read from; `None` without one.
    text: Option<Vec<u8>>,
}

impl Expected {
    /// Reads the current file for a switch with `config`.
    pub fn read(run_dir: &Path, config: &DaemonConfig) -> Self {
        let text = std::fs::read(path(run_dir)).ok();
        let with = text.as_ref().map(|text| parse(text, run_dir, config));
        Self {
            config: with.and_then(Result::ok).unwrap_or_else(|| config.clone()),
            text,
        }
    }

    /// Returns the configuration with these changes.
    pub fn config(&self) -> &DaemonConfig {
        &self.config
    }
}

/// Returns `config` with the changes of the previous switch; `expected` avoids parsing an unchanged file again. Unreadable
/// changes are logged and lost. The file stays until this switch hands over, since another switch may have to start from it.
pub fn take(run_dir: &Path, config: &DaemonConfig, expected: Option<Expected>) -> DaemonConfig {
    let path = path(run_dir);
    let text = match std::fs::read(&path) {
        Ok(text) => Some(text),
        // Nothing was changed.
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            tracing::error!(%error, path = %path.display(), "cannot read saved run-time changes: they are lost");
            return config.clone();
        }
    };
    let with = match (expected, &text) {
        (Some(expected), text) if expected.text == *text => expected.config,
        (_, None) => return config.clone(),
        (_, Some(text)) => parse(text, run_dir, config).unwrap_or_else(|error| {
            tracing::error!(error, path = %path.display(), "discarding saved run-time changes: incompatible format");
            config.clone()
        }),
    };
    let settings = match text {
        Some(_) => config.changes_to(&with).len(),
        None => 0,
    };
    if settings > 0 {
        tracing::info!(
            settings,
            "settings that were changed at run time are in force again"
        );
    }
    with
}

fn parse(text: &[u8], run_dir: &Path, config: &DaemonConfig) -> Result<DaemonConfig, String> {
    let left: Left = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let path = path(run_dir);
    let parse = |text: &str| DaemonConfig::parse(text, &path).map_err(|error| error.to_string());
    Ok(config.with_changes_by_hand(&parse(&left.before)?, &parse(&left.now)?))
}

/// Returns the path of the file.
pub fn path(run_dir: &Path) -> PathBuf {
    run_dir.join(NAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::shared::empty_snapshot as empty;
    use weir_core::config::StormAction;
    use weir_core::switch::PinEntry;
    use weir_core::{Duration, PortSet};

    const FILE: &str = r#"
name = "s1"
[[port]]
device = "a"
role = "edge"
rate = "1Gbit"
[[port]]
device = "b"
role = "edge"
rate = "1Gbit"
[[route]]
destination = "02:00:00:00:00:09"
ports = ["b", "a"]
[[route]]
destination = "02:00:00:00:00:01"
ports = ["a"]
"#;

    fn config() -> DaemonConfig {
        DaemonConfig::parse(FILE, Path::new("s1.toml")).unwrap()
    }

    fn port(index: usize) -> PortId {
        PortId::from_index(index).unwrap()
    }

    fn mac(last: u8) -> MacAddress {
        MacAddress([2, 0, 0, 0, 0, last])
    }

    fn row(destination: MacAddress, members: PortSet, bucket_count: usize) -> RouteRow {
        RouteRow {
            destination,
            vlan: None,
            members,
            first_bucket: 0,
            bucket_count,
            pins: 0,
        }
    }

    /// State of a switch that began with the file.
    fn snapshot() -> Box<Snapshot> {
        let mut snapshot = empty(2);
        let config = config();
        for (state, port) in snapshot.ports.iter_mut().zip(&config.ports) {
            state.watchdog = config.watchdog(port);
        }
        let both = PortSet::from_iter([port(0), port(1)]);
        snapshot.routes.rows = vec![
            row(mac(1), PortSet::from_iter([port(0)]), 0),
            row(mac(9), both, 64),
        ];
        snapshot.routes.route_total = 2;
        snapshot
    }

    #[test]
    fn a_switch_that_nobody_touched_is_as_its_file_says() {
        let config = config();
        assert_eq!(now(&config, &snapshot()), config);
    }

    #[test]
    fn changes_by_hand_are_listed_and_reapplied() {
        let config = config();
        let mut snapshot = snapshot();
        snapshot.routes.rows[0].members = PortSet::from_iter([port(1)]);
        for (flow_hash, by) in [(7, PinnedBy::Operator), (8, PinnedBy::Reroute)] {
            snapshot.routes.pins.push(PinEntry {
                destination: mac(9),
                flow_hash,
                port: port(1),
                by,
            });
        }
        snapshot.routes.pin_total = 2;
        snapshot.ports[1].watchdog = Some(WatchdogConfig {
            detection: Duration::from_millis(300),
            restoration: Duration::from_millis(400),
            action: StormAction::Alert,
        });
        let now = now(&config, &snapshot);
        let changes = config.changes_to(&now);
        let keys: Vec<&str> = changes.iter().map(|change| &*change.key).collect();
        let expected = [
            "port.b.pfcwd.action",
            "port.b.pfcwd.detection-time",
            "port.b.pfcwd.enabled",
            "port.b.pfcwd.restoration-time",
            "route.02:00:00:00:00:01.ports",
            "route.02:00:00:00:00:09.pins.00000007",
        ];
        assert_eq!(keys, expected, "{changes:?}");
        assert_eq!(now.watchdog(&now.ports[1]), snapshot.ports[1].watchdog);
        // A table that does not fit proves nothing about routes.
        snapshot.routes.route_total = 3;
        assert_eq!(super::now(&config, &snapshot).routes, config.routes);

        let directory = tempfile::tempdir().unwrap();
        leave(directory.path(), &config, &now).unwrap();
        let expected = Expected::read(directory.path(), &config);
        assert_eq!(*expected.config(), now);
        assert_eq!(take(directory.path(), &config, Some(expected)), now);
        assert_eq!(take(directory.path(), &config, None), now);
        let expected = Expected::read(directory.path(), &config);
        leave(directory.path(), &config, &config).unwrap();
        assert!(!path(directory.path()).exists(), "nothing was changed");
        assert_eq!(take(directory.path(), &config, Some(expected)), config);
        for bytes in [&b""[..], b"{}", b"{\"before\":\"\",\"now\":\"x\"}", b"\xff"] {
            std::fs::write(path(directory.path()), bytes).unwrap();
            assert_eq!(take(directory.path(), &config, None), config);
        }
    }
}
