//! What was changed at run time: seen by comparing the switch with its configuration, and handed to the next switch when this
//! one leaves its place to it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_config::daemon::{DaemonConfig, PfcwdConfig, Route};
use weir_core::config::default_bucket_count;
use weir_core::switch::PinnedBy;
use weir_core::{PortId, WatchdogConfig};

use crate::dataplane::messages::Snapshot;
use crate::dataplane::tables::{RouteRow, Tables};
use crate::os::run_dir;

/// What [`now`] reads of a snapshot.
pub const TABLES: Tables = Tables {
    routes: true,
    ..Tables::NONE
};

/// The run directory's file for the next switch.
const NAME: &str = "by-hand.json";

/// `config` with the routes, the operator's pins, the profiles of marking and the storm watchdogs that a switch has which began with it. Buckets that
/// were moved are not among them, nor are pins of reroutes. A table that does not fit into a snapshot is taken for unchanged
/// where it ends.
pub fn now(config: &DaemonConfig, snapshot: &Snapshot) -> DaemonConfig {
    let mut now = with_marking(config, snapshot);
    let tables = &snapshot.routes;
    let is_whole = tables.rows.len() >= tables.route_total && tables.pins.len() >= tables.pin_total;
    if is_whole {
        let known = |row: &RouteRow| {
            let mut routes = config.routes.iter();
            routes.find(|route| route.key() == (row.vlan, row.destination))
        };
        let rows = tables.rows.iter();
        now.routes = rows.map(|row| route(snapshot, row, known(row))).collect();
        // In the order of the file, and what is new after that.
        let place = |route: &Route| {
            let mut known = config.routes.iter();
            let place = known.position(|known| known.key() == route.key());
            place.unwrap_or(usize::MAX)
        };
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

/// The same with the profiles of marking alone. One that no class has is nowhere but in the file.
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

fn route(snapshot: &Snapshot, row: &RouteRow, known: Option<&Route>) -> Route {
    let pins = snapshot.routes.pins.iter();
    let mut pins: Vec<(u32, PortId)> = pins
        .filter(|_| row.vlan.is_none())
        .filter(|pin| pin.destination == row.destination && pin.by == PinnedBy::Operator)
        .map(|pin| (pin.flow_hash, pin.port))
        .collect();
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

/// What the port needs for itself, so that it is watched like this.
fn watched(watchdog: Option<&WatchdogConfig>, config: &DaemonConfig, port: usize) -> PfcwdConfig {
    let usual = config.ports[port].pfcwd.unwrap_or(config.pfcwd);
    match watchdog {
        None => PfcwdConfig {
            enabled: false,
            ..usual
        },
        Some(watchdog) => PfcwdConfig {
            enabled: true,
            detection: watchdog.detection,
            restoration: watchdog.restoration,
            action: watchdog.action,
        },
    }
}

/// Both as TOML, which the program of the next switch reads as its own files.
#[derive(Debug, Serialize, Deserialize)]
struct Left {
    before: String,
    now: String,
}

/// Leaves what was changed for whoever starts in `run_dir` next.
///
/// # Errors
///
/// When the file cannot be written.
pub fn leave(run_dir: &Path, before: &DaemonConfig, now: &DaemonConfig) -> io::Result<()> {
    let left = Left {
        before: before.to_toml(),
        now: now.to_toml(),
    };
    let text = serde_json::to_vec(&left)?;
    let path = path(run_dir);
    run_dir::remove_file(&path)?;
    let mut file = run_dir::create_file(&path)?;
    file.write_all(&text)
}

/// `config` with what the switch before left, whose file is removed. What cannot be read is logged and lost.
pub fn take(run_dir: &Path, config: &DaemonConfig) -> DaemonConfig {
    let path = path(run_dir);
    let with = match read(&path, config) {
        Ok(with) => with,
        // The program before may have been one that leaves nothing.
        Err(Unread::File(error)) if error.kind() == io::ErrorKind::NotFound => {
            return config.clone();
        }
        Err(Unread::File(error)) => {
            tracing::error!(%error, path = %path.display(), "cannot read what was changed at run time: it is lost");
            return config.clone();
        }
        Err(Unread::Format(error)) => {
            tracing::error!(error, path = %path.display(), "discarding what was changed at run time: incompatible format");
            config.clone()
        }
    };
    if let Err(error) = run_dir::remove_file(&path) {
        tracing::warn!(%error, path = %path.display(), "cannot remove the file");
    }
    let settings = config.changes_to(&with).len();
    if settings > 0 {
        tracing::info!(
            settings,
            "settings that were changed at run time are in force again"
        );
    }
    with
}

/// What [`take`] will give, unless more is changed until then.
pub fn expect(run_dir: &Path, config: &DaemonConfig) -> DaemonConfig {
    read(&path(run_dir), config).unwrap_or_else(|_| config.clone())
}

/// Why there is nothing of a switch before.
enum Unread {
    File(io::Error),
    Format(String),
}

fn read(path: &Path, config: &DaemonConfig) -> Result<DaemonConfig, Unread> {
    let text = std::fs::read(path).map_err(Unread::File)?;
    let left: Left =
        serde_json::from_slice(&text).map_err(|error| Unread::Format(error.to_string()))?;
    let parse = |text: &str| {
        DaemonConfig::parse(text, path).map_err(|error| Unread::Format(error.to_string()))
    };
    Ok(config.with_changes_by_hand(&parse(&left.before)?, &parse(&left.now)?))
}

/// Where it is.
pub fn path(run_dir: &Path) -> PathBuf {
    run_dir.join(NAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::shared::empty_snapshot as empty;
    use weir_core::config::StormAction;
    use weir_core::switch::PinEntry;
    use weir_core::{Duration, MacAddress, PortSet};

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

    /// As the switch has it that began with the file.
    fn snapshot() -> Box<Snapshot> {
        let mut snapshot = empty(2);
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
    fn what_was_changed_is_told_and_comes_again() {
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
        // A table that does not fit says nothing of routes.
        snapshot.routes.route_total = 3;
        assert_eq!(super::now(&config, &snapshot).routes, config.routes);

        let directory = tempfile::tempdir().unwrap();
        leave(directory.path(), &config, &now).unwrap();
        assert_eq!(take(directory.path(), &config), now);
        assert_eq!(take(directory.path(), &config), config, "once");
        for bytes in [&b""[..], b"{}", b"{\"before\":\"\",\"now\":\"x\"}", b"\xff"] {
            std::fs::write(path(directory.path()), bytes).unwrap();
            assert_eq!(take(directory.path(), &config), config);
        }
    }
}
