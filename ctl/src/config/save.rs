//! `switchctl config save`: writes run-time changes into the file and keeps the rest unchanged.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail, Context, Result};
use serde::Serialize;
use toml_edit::{value, Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table};
use weir_api::client::Method;
use weir_api::reload::{AppliedSetting, Configuration, Reload};
use weir_config::daemon::{Change, DaemonConfig, EcnProfile, PfcwdConfig, Port, Route};
use weir_core::config::default_bucket_count;

use super::file;
use crate::target::Target;
use weir_output::{table, Output, NONE};

#[derive(Debug, Serialize)]
struct Saved {
    file: String,
    dry_run: bool,
    /// Settings now in the file; with `--check`, those to be written.
    saved: Vec<AppliedSetting>,
    /// Settings that are not saved because the file has another value that is not loaded.
    kept: Vec<AppliedSetting>,
    /// File with the previous text.
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<PathBuf>,
}

/// Returns false if the file's own changes took precedence over some settings.
///
/// # Errors
///
/// When the switch does not answer, or the file is not valid or cannot be written.
pub fn run(target: &Target, output: &Output, dry_run: bool) -> Result<bool> {
    let states = States::of(target)?;
    let changed = states.changed();
    let States {
        running,
        text,
        config,
        before,
        now,
        wanted,
    } = states;
    let path = Path::new(&running.file);
    let backup = match changed.is_empty() || dry_run {
        true => None,
        false => {
            let edited = edit(&text, &config, &wanted)?;
            let read = DaemonConfig::parse(&edited, path)?;
            if read != wanted {
                bail!("{}: the file is written in a way that `config save` cannot edit; add by hand what --dry-run shows", running.file);
            }
            Some(file::replace(path, &edited)?)
        }
    };
    if backup.is_some() && config == before {
        // The file has no other change, so this only informs the switch that everything is saved.
        let _: Reload = target.send(Method::POST, "/v1/reload", None::<&()>)?;
    }
    let is_saved = |setting: &AppliedSetting| changed.iter().any(|it| it.key == setting.key);
    let is_there = |setting: &AppliedSetting| {
        let mut left = now.changes_to(&wanted).into_iter();
        !left.any(|left| left.key == setting.key)
    };
    let by_hand = running.by_hand.into_iter();
    let saved = Saved {
        file: running.file,
        dry_run,
        kept: by_hand
            .filter(|setting| !is_saved(setting) && !is_there(setting))
            .collect(),
        saved: changed.into_iter().map(setting).collect(),
        backup,
    };
    output.print(&saved, told)?;
    Ok(saved.kept.is_empty())
}

/// Returns the settings that `config save` would write.
///
/// # Errors
///
/// Those of [`run`].
pub fn wanted(target: &Target) -> Result<Vec<AppliedSetting>> {
    let states = States::of(target)?;
    Ok(states.changed().into_iter().map(setting).collect())
}

struct States {
    running: Configuration,
    text: String,
    config: DaemonConfig,
    /// The switch's loaded configuration, and its present one.
    before: DaemonConfig,
    now: DaemonConfig,
    /// The file with the run-time changes.
    wanted: DaemonConfig,
}

impl States {
    fn of(target: &Target) -> Result<Self> {
        let running: Configuration = target.get("/v1/config")?;
        let path = Path::new(&running.file);
        let (config, text) = DaemonConfig::load_with_text(path)?;
        let parse = |text: &str| {
            DaemonConfig::parse(text, path).map_err(|error| {
                anyhow!("the running switch has a configuration that this switchctl cannot read; do they have the same version? {error}")
            })
        };
        let (before, now) = (parse(&running.text)?, parse(&running.now)?);
        let wanted = config.with_changes_by_hand(&before, &now);
        Ok(Self {
            running,
            text,
            config,
            before,
            now,
            wanted,
        })
    }

    fn changed(&self) -> Vec<Change> {
        self.config.changes_to(&self.wanted)
    }
}

fn setting(change: Change) -> AppliedSetting {
    let Change { key, from, to } = change;
    AppliedSetting { key, from, to }
}

fn told(saved: &Saved) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| NONE.to_owned());
    let rows = |settings: &[AppliedSetting]| {
        let rows = settings.iter();
        table(
            &["setting", "before", "from now on"],
            rows.map(|row| vec![row.key.clone(), value(&row.from), value(&row.to)]),
        )
    };
    let mut text = String::new();
    if saved.saved.is_empty() {
        text += &format!("{} has all of it already\n", saved.file);
    } else {
        let verb = if saved.dry_run {
            "would be written into"
        } else {
            "written into"
        };
        text += &format!("{verb} {}:\n{}", saved.file, rows(&saved.saved));
    }
    if let Some(backup) = &saved.backup {
        text += &format!("\nthe old text is in {}\n", backup.display());
    }
    if !saved.kept.is_empty() {
        text += "\nnot saved: the file has another value, which `switchctl reload` would put in force:\n";
        text += &rows(&saved.kept);
    }
    text
}

/// Returns `text`, which contains `config`, with the values of `wanted`.
fn edit(text: &str, config: &DaemonConfig, wanted: &DaemonConfig) -> Result<String> {
    let mut document: DocumentMut = text.parse()?;
    for route in &config.routes {
        if !wanted.routes.iter().any(|it| it.key() == route.key()) {
            let routes = tables(&mut document, "route")?;
            routes.retain(|table| !is_to(table, route));
        }
    }
    for route in &wanted.routes {
        let mut known = config.routes.iter();
        if !known.any(|known| known == route) {
            set_route(tables(&mut document, "route")?, wanted, route);
        }
    }
    for (profile, before) in wanted.ecn.iter().zip(&config.ecn) {
        if profile != before {
            set_ecn(&mut document, profile, before)?;
        }
    }
    for (port, before) in wanted.ports.iter().zip(&config.ports) {
        if port.pfcwd != before.pfcwd {
            set_pfcwd(&mut document, port)?;
        }
    }
    Ok(document.to_string())
}

/// Returns `[[NAME]]`; creates it if missing.
fn tables<'a>(document: &'a mut DocumentMut, name: &str) -> Result<&'a mut ArrayOfTables> {
    let item = document
        .entry(name)
        .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    item.as_array_of_tables_mut().with_context(|| {
        format!("`{name}` is not written as [[{name}]], which `config save` needs to edit it")
    })
}

/// Compares parsed addresses, which have several notations.
fn is_to(table: &Table, route: &Route) -> bool {
    let written = table.get("destination").and_then(Item::as_str);
    let address = written.and_then(|text| text.parse::<weir_core::MacAddress>().ok());
    let vlan = table.get("vlan").and_then(Item::as_integer);
    let same_vlan = vlan == route.vlan.map(|vlan| i64::from(vlan.get()));
    same_vlan && address == Some(route.destination)
}

fn set_route(routes: &mut ArrayOfTables, config: &DaemonConfig, route: &Route) {
    let place = routes.iter().position(|table| is_to(table, route));
    let place = place.unwrap_or_else(|| {
        let mut table = Table::new();
        table["destination"] = value(route.destination.to_string());
        if let Some(vlan) = route.vlan {
            table["vlan"] = value(i64::from(vlan.get()));
        }
        routes.push(table);
        routes.len() - 1
    });
    let Some(table) = routes.get_mut(place) else {
        return;
    };
    let name = |port: &weir_core::PortId| Some(config.ports.get(port.index())?.name.as_str());
    let ports: Array = route.ports.iter().filter_map(name).collect();
    put(table, "ports", ports.into());
    let usual = default_bucket_count(route.ports.len());
    if route.ports.len() > 1 && route.buckets != usual {
        put(table, "buckets", i64::from(route.buckets).into());
    } else {
        table.remove("buckets");
    }
    let mut pins = InlineTable::new();
    for (flow_hash, port) in &route.pins {
        if let Some(port) = name(port) {
            pins.insert(format!("{flow_hash:08x}"), port.into());
        }
    }
    if pins.is_empty() {
        table.remove("pins");
    } else {
        put(table, "pins", pins.into());
    }
}

/// Sets a key and keeps the comment behind its value.
fn put(table: &mut Table, key: &str, mut new: toml_edit::Value) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        None => {
            table.insert(key, Item::Value(new));
        }
    }
}

/// Writes only differences, so that defaults stay absent.
fn set_ecn(document: &mut DocumentMut, profile: &EcnProfile, before: &EcnProfile) -> Result<()> {
    let mut tables = tables(document, EcnProfile::TABLE)?.iter_mut();
    let is_it = |table: &&mut Table| {
        table.get("name").and_then(Item::as_str) == Some(profile.name.as_str())
    };
    let table = tables.find(is_it);
    let table = table.with_context(|| format!("no [[ecn]] with the name `{}`", profile.name))?;
    let before = before.pairs();
    for pair in profile.pairs() {
        if !before.contains(&pair) {
            put(table, pair.0, pair.1.parse()?);
        }
    }
    Ok(())
}

fn set_pfcwd(document: &mut DocumentMut, port: &Port) -> Result<()> {
    let ports = tables(document, "port")?;
    let is_it = |table: &Table| {
        let name = table.get("name").or_else(|| table.get("device"));
        name.and_then(Item::as_str) == Some(&port.name)
    };
    let place = ports.iter().position(is_it);
    let table = place.and_then(|place| ports.get_mut(place));
    let table = table.with_context(|| format!("no [[port]] with the name `{}`", port.name))?;
    // The old entry may be a separate table.
    table.remove(PfcwdConfig::TABLE);
    if let Some(pfcwd) = port.pfcwd {
        let mut own = InlineTable::new();
        for (key, written) in pfcwd.pairs() {
            own.insert(key, written.parse()?);
        }
        put(table, PfcwdConfig::TABLE, own.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"# The leaf in rack 4.
name = "s1"

[[port]] # left
name = "a"
device = "eth1"
role = "edge"
rate = "1Gbit"
pfcwd = { enabled = true } # since the storm in May

[[port]]
device = "b"
role = "edge"
rate = "1Gbit"

[[route]]
destination = "02:00:00:00:00:0A" # the file server
ports = ["a", "b"] # both
buckets = 8

[[route]]
destination = "02:00:00:00:00:0b"
ports = ["a"]

[deadlock]
policy = "breaker"
"#;

    fn parse(text: &str) -> DaemonConfig {
        DaemonConfig::parse(text, Path::new("s1.toml")).unwrap_or_else(|error| panic!("{error}"))
    }

    fn edited(wanted: &str) -> String {
        let wanted = parse(wanted);
        let text = edit(FILE, &parse(FILE), &wanted).unwrap();
        assert_eq!(parse(&text), wanted, "{text}");
        text
    }

    #[test]
    fn comments_and_order_stay() {
        assert_eq!(edited(FILE), FILE);
        let moved = FILE.replace("ports = [\"a\", \"b\"]", "ports = [\"b\", \"a\"]");
        assert_eq!(edited(&moved), moved);
        let pinned = FILE.replace(
            "buckets = 8\n",
            "buckets = 8\npins = { 000000ff = \"b\" }\n",
        );
        assert_eq!(edited(&pinned), pinned);
        let usual = FILE.replace("buckets = 8\n", "");
        assert_eq!(edited(&usual), usual);
    }

    #[test]
    fn routes_come_and_go() {
        let gone = FILE.replace(
            "[[route]]\ndestination = \"02:00:00:00:00:0b\"\nports = [\"a\"]\n\n",
            "",
        );
        assert_ne!(gone, FILE);
        assert_eq!(edited(&gone), gone);
        let new =
            format!("{FILE}[[route]]\ndestination = \"02:00:00:00:00:0c\"\nports = [\"b\"]\n");
        let text = edited(&new);
        assert!(text.contains("02:00:00:00:00:0c"), "{text}");
        let none = "name = \"s1\"\n[[port]]\ndevice = \"b\"\nrole = \"edge\"\nrate = \"1Gbit\"\n";
        let one =
            format!("{none}[[route]]\ndestination = \"02:00:00:00:00:0c\"\nports = [\"b\"]\n");
        let text = edit(none, &parse(none), &parse(&one)).unwrap();
        assert_eq!(parse(&text), parse(&one));
    }

    #[test]
    fn a_route_of_one_vlan_is_another_one_than_that_for_all() {
        let aware = FILE.replace("[deadlock]", "[[route]]\ndestination = \"02:00:00:00:00:0a\"\nvlan = 20 # the lab's\nports = [\"a\", \"b\"]\n\n[deadlock]").replace(
            "device = \"b\"\n",
            "device = \"b\"\nvlan-mode = \"trunk\"\n",
        );
        let change = |from: &str, to: &str| {
            let wanted = parse(&aware.replacen(from, to, 1));
            let text = edit(&aware, &parse(&aware), &wanted).unwrap();
            assert_eq!(parse(&text), wanted, "{text}");
            text
        };
        // Only this route is changed or removed.
        let own = "vlan = 20 # the lab's\nports = [\"a\", \"b\"]\n";
        let moved = change(own, "vlan = 20 # the lab's\nports = [\"b\"]\n");
        assert!(
            moved.contains("vlan = 20 # the lab's\nports = [\"b\"]\n"),
            "{moved}"
        );
        assert!(
            moved.contains("ports = [\"a\", \"b\"] # both\nbuckets = 8\n"),
            "{moved}"
        );
        let whole = format!("[[route]]\ndestination = \"02:00:00:00:00:0a\"\n{own}\n");
        assert!(!change(&whole, "").contains("vlan = 20"));
        // A second route, of another VLAN.
        let more = whole.replace("vlan = 20 # the lab's", "vlan = 30");
        let text = change("[deadlock]", &format!("{more}[deadlock]"));
        assert!(
            text.contains("vlan = 30\nports = [\"a\", \"b\"]\n"),
            "{text}"
        );
        assert_eq!(text.matches("buckets").count(), 1, "{text}");
    }

    #[test]
    fn a_watchdog_of_a_port_is_written_in_its_table() {
        let off = FILE.replace("{ enabled = true }", "{ enabled = false }");
        let text = edited(&off);
        assert!(text.contains("enabled = false"), "{text}");
        let none = FILE.replace("pfcwd = { enabled = true } # since the storm in May\n", "");
        assert_eq!(edited(&none), none);
        let by_device = FILE.replace(
            "device = \"b\"\n",
            "device = \"b\"\npfcwd = { action = \"alert\" }\n",
        );
        let text = edited(&by_device);
        assert!(text.contains("alert"), "{text}");
    }

    #[test]
    fn a_profile_gets_other_values_where_it_stands() {
        let profile =
            "[[ecn]] # of the vendor\nname = \"A\"\nkmin = \"10KiB\" # low\nkmax = \"20KiB\"\n";
        let file = format!("{FILE}\n{profile}");
        let wanted = file.replace("\"10KiB\"", "\"12KiB\"") + "mark-at = \"never\"\n";
        let text = edit(&file, &parse(&file), &parse(&wanted)).unwrap();
        assert_eq!(text, wanted);
    }

    #[test]
    fn a_list_that_is_no_array_of_tables_is_refused() {
        let text = "name = \"s1\"\nport = [{ device = \"a\", role = \"edge\", rate = \"1Gbit\" }]\nroute = [{ destination = \"02:00:00:00:00:0c\", ports = [\"a\"] }]\n";
        let mut wanted = parse(text);
        wanted.routes.clear();
        let error = edit(text, &parse(text), &wanted).unwrap_err();
        assert!(error.to_string().contains("[[route]]"), "{error}");
    }
}
