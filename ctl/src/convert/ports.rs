//! PORT, CABLE_LENGTH, PFC_WD, and the roles in DEVICE_NEIGHBOR.

use std::collections::BTreeMap;

use weir_config::daemon::{PfcwdConfig, RoundTrip};
use weir_config::switch::headroom::Charging;
use weir_config::switch::{reaction_of_station, Cable, CableLine};
use weir_config::units::format_duration;
use weir_core::config::StormAction;
use weir_core::units::PORT_COUNT_MAX;
use weir_core::{BitRate, Bytes, Duration, PortRole};

use super::database::{Database, Row};
use super::known::{PFC_WD, PFC_WD_OLD};
use super::notes::Kind;

#[derive(Clone, Debug)]
pub struct Port {
    /// Name of the port and of its device.
    pub name: String,
    /// SONiC's other name for it.
    pub alias: Option<String>,
    pub rate: BitRate,
    /// Longest payload.
    pub mtu: Option<u64>,
    pub role: PortRole,
    pub role_source: String,
    /// Cable, rounded up to the metre.
    pub cable: Option<Cable>,
    pub watchdog: Option<PfcwdConfig>,
}

/// 1 Mbit/s to 10 Tbit/s.
const SPEED_MAX_MBIT: u64 = 10_000_000;
/// A thousand kilometres.
const CABLE_MAX_METRES: u64 = 1_000_000;

impl Port {
    /// Returns T: the delay of a software switch, and the cable, to the hundredth of a millisecond, the precision of the
    /// former.
    pub fn round_trip(&self) -> Duration {
        const STEP_NANOS: u64 = 10_000;
        let there = self.cable.map_or(Duration::ZERO, Cable::delay);
        let nanos = (RoundTrip::LEAST + there + there).as_nanos();
        Duration::from_nanos((nanos + STEP_NANOS / 2) / STEP_NANOS * STEP_NANOS)
    }

    /// Returns the headroom that its cable needs; `None` if its length is unknown.
    pub fn cable_headroom(&self, charging: Charging) -> Option<u64> {
        let line = CableLine {
            rate: self.rate,
            cable: self.cable?,
            reaction: RoundTrip::LEAST + reaction_of_station(self.rate),
            overshoot: Bytes::ZERO,
        };
        Some(line.room(charging).headroom.get())
    }
}

/// Returns all ports, `Ethernet4` before `Ethernet12`.
pub fn ports(database: Database<'_>) -> Vec<Port> {
    let report = database.report();
    let cables = cables(database);
    let watchdogs = watchdogs(database);
    let mut rows = database.rows("PORT");
    rows.sort_by_key(|row| natural(row.key));
    if rows.is_empty() {
        report.refuse("PORT", "there are no ports; a switch needs at least one");
    }
    if rows.len() > PORT_COUNT_MAX {
        let message = format!("{} ports are more than {PORT_COUNT_MAX}", rows.len());
        report.refuse("PORT", message);
    }
    for row in database.rows("DEVICE_NEIGHBOR") {
        if database.row("PORT", row.key).is_none() {
            let message = "no such port in PORT; the neighbour is ignored";
            report.note(Kind::NotCarried, row.path(), message);
        }
    }
    rows.iter()
        .filter_map(|row| {
            let name = row.key;
            let legal = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
            if name.is_empty() || name.starts_with('.') || !name.chars().all(legal) {
                let message =
                    "a port's name is also a device's and a file's: use only letters, digits and -_.:";
                report.refuse(row.path(), message);
                return None;
            }
            if !row.has("speed") {
                report.refuse(row.path_of("speed"), "is missing; write the rate in Mbit/s");
            }
            let speed = row.within("speed", 1, SPEED_MAX_MBIT)?;
            let (role, role_source) = role(database, name);
            Some(Port {
                name: name.to_owned(),
                alias: row.text("alias"),
                rate: BitRate::from_mbit(speed),
                mtu: row.within("mtu", 68, 65_535),
                role,
                role_source,
                cable: cables.get(name).copied(),
                watchdog: watchdogs.get(name).copied(),
            })
        })
        .collect()
}

/// Splits into the text before a number, the number, and the rest.
fn natural(name: &str) -> (&str, u64, &str) {
    let text = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name[text.len()..].parse().unwrap_or(u64::MAX);
    (text, number, name)
}

fn role(database: Database<'_>, port: &str) -> (PortRole, String) {
    let assume = |path: String, why: &str| {
        let message =
            format!("{why}; role = \"edge\" is assumed: write \"fabric\" if it faces a switch");
        database.report().note(Kind::Assumed, path, message);
        (PortRole::Edge, "assumed: SONiC does not say".to_owned())
    };
    let Some(neighbour) = database.row("DEVICE_NEIGHBOR", port) else {
        return assume(format!("PORT|{port}"), "it has no DEVICE_NEIGHBOR");
    };
    let path = neighbour.path_of("name");
    let Some(name) = neighbour.text("name") else {
        return assume(path, "the neighbour has no name");
    };
    let kind = database
        .row("DEVICE_NEIGHBOR_METADATA", &name)
        .and_then(|row| row.text("type"));
    match kind {
        Some(kind) if kind.ends_with("Router") => (PortRole::Fabric, format!("{name} is a {kind}")),
        Some(kind) if kind.eq_ignore_ascii_case("server") => {
            (PortRole::Edge, format!("{name} is a {kind}"))
        }
        Some(kind) => assume(
            path,
            &format!("{name} is a `{kind}`, neither router nor server"),
        ),
        None => assume(
            path,
            &format!("there is no type in DEVICE_NEIGHBOR_METADATA|{name}"),
        ),
    }
}

fn cables(database: Database<'_>) -> BTreeMap<String, Cable> {
    let report = database.report();
    let mut cables = BTreeMap::new();
    for row in database.rows("CABLE_LENGTH") {
        for port in row.fields().filter(|field| *field != "NULL") {
            if database.row("PORT", port).is_none() {
                report.refuse(row.path_of(port), format!("there is no PORT|{port}"));
            }
            let Some(text) = row.text(port) else { continue };
            let Some(cable) = metres(&text).and_then(Cable::from_metres) else {
                let message =
                    format!("`{text}` is not a length up to {CABLE_MAX_METRES}m, such as 300m");
                report.refuse(row.path_of(port), message);
                continue;
            };
            cables.insert(port.to_owned(), cable);
        }
    }
    cables
}

fn metres(text: &str) -> Option<u64> {
    let number = text.strip_suffix('m')?.trim();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let up = u64::from(fraction.bytes().any(|digit| digit != b'0'));
    let length = whole.parse::<u64>().ok()?.checked_add(up)?;
    (length <= CABLE_MAX_METRES).then_some(length)
}

/// Returns the watchdog of each port. `GLOBAL` is not converted.
fn watchdogs(database: Database<'_>) -> BTreeMap<String, PfcwdConfig> {
    let mut watchdogs = BTreeMap::new();
    for row in watchdog_rows(database) {
        let config = watchdog(&row);
        let (ports, _) = row.ports_and_numbers(0);
        for port in ports {
            watchdogs.insert(port.to_owned(), config);
        }
    }
    watchdogs
}

/// Returns the ports' rows of `PFC_WD`, preceded by those under its old name; later rows take precedence.
pub fn watchdog_rows(database: Database<'_>) -> impl Iterator<Item = Row<'_>> {
    [PFC_WD_OLD, PFC_WD]
        .into_iter()
        .flat_map(move |table| database.rows(table))
        .filter(|row| row.key != "GLOBAL")
}

fn watchdog(row: &Row<'_>) -> PfcwdConfig {
    let report = row.report();
    let mut config = PfcwdConfig {
        enabled: Some(true),
        ..PfcwdConfig::default()
    };
    let time = |field, default: Duration, (least, most): (Duration, Duration)| {
        let Some(millis) = row.number(field) else {
            let message = format!("is not given; {} is assumed", format_duration(default));
            report.note(Kind::Assumed, row.path_of(field), message);
            return default;
        };
        let asked = Duration::from_nanos(millis.saturating_mul(1_000_000));
        let time = asked.clamp(least, most);
        if time != asked {
            let message = format!(
                "{millis} ms is not between {} and {}; {} is written",
                format_duration(least),
                format_duration(most),
                format_duration(time)
            );
            report.note(Kind::Changed, row.path_of(field), message);
        }
        time
    };
    config.detection = time("detection_time", config.detection, PfcwdConfig::DETECTION);
    config.restoration = time(
        "restoration_time",
        config.restoration,
        PfcwdConfig::RESTORATION,
    );
    match row.text("action") {
        None => report.note(
            Kind::Assumed,
            row.path_of("action"),
            format!("is not given; {} is assumed", config.action.name()),
        ),
        Some(text) => match StormAction::ALL
            .into_iter()
            .find(|action| action.name() == text)
        {
            Some(action) => config.action = action,
            None => {
                let message = format!("`{text}` is not drop, forward or alert");
                report.refuse(row.path_of("action"), message);
            }
        },
    }
    config
}
