//! `--check`: reports the changes of a command without making them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{anyhow, bail, Context, Result};
use serde::Serialize;
use serde_json::{json, Value};
use weir_api::client::Method;
use weir_api::daemon::{EcnProfile, Port, RouteDetail};
use weir_api::pfcwd::{Pfcwd, PfcwdChange};
use weir_api::reload::{Configuration, Reload};
use weir_config::daemon::DaemonConfig;

use crate::cli::{Command, ConfigCommand, EcnCommand, EcnValues, PortCommand, RouteCommand};
use crate::target::Target;
use crate::{config, route, show};
use weir_output::{table, Output, NONE};

#[derive(Debug, Serialize)]
pub struct Checked {
    changed: bool,
    /// Changes by key; both sides have the same keys.
    diff: Diff,
}

/// Values by key; `null` if absent.
#[derive(Debug, Default, Serialize)]
struct Diff {
    before: BTreeMap<String, Value>,
    after: BTreeMap<String, Value>,
}

impl Diff {
    fn add(&mut self, key: impl Into<String>, before: Value, after: Value) {
        if before != after {
            let key = key.into();
            self.before.insert(key.clone(), before);
            self.after.insert(key, after);
        }
    }

    fn text(&self) -> String {
        if self.after.is_empty() {
            return "nothing would change\n".to_owned();
        }
        let shown = |value: &Value| match value {
            Value::Null => NONE.to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let rows = self.after.iter().map(|(key, after)| {
            let before = self.before.get(key).map_or(NONE.to_owned(), shown);
            vec![key.clone(), before, shown(after)]
        });
        let rows = table(&["setting", "before", "after"], rows);
        format!("would change:\n{rows}")
    }
}

/// Returns true if `--check` supports the command.
pub fn can_check(command: &Command) -> bool {
    match command {
        Command::Reload { .. } | Command::Restart { .. } | Command::Port(_) => true,
        Command::Ecn { command } => command.is_some(),
        Command::Route(command) => !matches!(command, RouteCommand::List { .. }),
        Command::Pfcwd(command) => show::pfcwd_change(command).is_some(),
        Command::Config(ConfigCommand::Save { .. } | ConfigCommand::Rollback { .. }) => true,
        _ => false,
    }
}

/// Prints the changes that the command would make; returns true if there are any.
///
/// # Errors
///
/// When the switch does not answer, or would certainly refuse the command.
pub fn check(target: &Target, output: &Output, command: &Command) -> Result<bool> {
    let diff = match command {
        Command::Reload { .. } => reload(target)?,
        Command::Port(command) => port(target, command)?,
        Command::Ecn {
            command: Some(EcnCommand::Set(values)),
        } => ecn(target, values)?,
        Command::Route(command) => routes(target, command)?,
        Command::Pfcwd(command) => {
            let change = show::pfcwd_change(command).context("it changes nothing")?;
            pfcwd(target, &change)?
        }
        Command::Config(ConfigCommand::Save { .. }) => {
            let mut diff = Diff::default();
            for setting in config::save::wanted(target)? {
                diff.add(setting.key, json!(setting.from), json!(setting.to));
            }
            diff
        }
        Command::Config(ConfigCommand::Rollback { number, .. }) => rollback(target, *number)?,
        _ => bail!("--check works only with commands that change a running switch or its file"),
    };
    let checked = Checked {
        changed: !diff.after.is_empty(),
        diff,
    };
    output.print(&checked, |checked| checked.diff.text())?;
    Ok(checked.changed)
}

fn reload(target: &Target) -> Result<Diff> {
    let report: Reload = target.send(Method::POST, "/v1/reload?dry_run=true", None::<&()>)?;
    let mut diff = Diff::default();
    for setting in report.applied {
        diff.add(setting.key, json!(setting.from), json!(setting.to));
    }
    // Settings that a reload cannot apply stay different after any number of reloads.
    for kept in report.kept {
        weir_output::complain(&format!(
            "switchctl: {} would not be applied: {}",
            kept.key, kept.why
        ));
    }
    Ok(diff)
}

fn rollback(target: &Target, number: Option<u64>) -> Result<Diff> {
    let (wanted, running) = config::past::wanted(target, number)?;
    let parse = |text: &str| {
        let parsed = DaemonConfig::parse(text, Path::new(&running.file));
        parsed.map_err(|error| anyhow!("this switchctl cannot read the configuration in force: {error}; does it have the daemon's version?"))
    };
    let mut diff = Diff::default();
    for change in parse(in_force(&running))?.changes_to(&wanted) {
        diff.add(change.key, json!(change.from), json!(change.to));
    }
    Ok(diff)
}

/// Returns the configuration with run-time changes, which older daemons do not report.
fn in_force(running: &Configuration) -> &str {
    match running.now.is_empty() {
        true => &running.text,
        false => &running.now,
    }
}

fn port(target: &Target, command: &PortCommand) -> Result<Diff> {
    let (name, wanted) = match command {
        PortCommand::Add { port } => (port, true),
        PortCommand::Remove { port } => (port, false),
    };
    let ports = known(target, [name])?;
    let port = ports.iter().find(|port| port.name == *name);
    let has = port.is_some_and(|port| !port.device_gone);
    let mut diff = Diff::default();
    diff.add(format!("{name}.device"), json!(has), json!(wanted));
    Ok(diff)
}

/// Returns all ports of the switch, or an error if it lacks one of `names`.
fn known<'a>(target: &Target, names: impl IntoIterator<Item = &'a String>) -> Result<Vec<Port>> {
    let ports: Vec<Port> = target.get("/v1/ports")?;
    for name in names {
        if !ports.iter().any(|port| port.name == *name) {
            let all: Vec<&str> = ports.iter().map(|port| &*port.name).collect();
            bail!("there is no port `{name}`; ports are {}", all.join(", "));
        }
    }
    Ok(ports)
}

fn ecn(target: &Target, values: &EcnValues) -> Result<Diff> {
    let all: Vec<EcnProfile> = target.get("/v1/ecn")?;
    let named = |one: &&EcnProfile| one.profile.as_deref() == Some(values.profile.as_str());
    let now = all.iter().find(named);
    let now = now.with_context(|| format!("there is no profile `{}`", values.profile))?;
    let wanted = super::ecn::change(values);
    let mut diff = Diff::default();
    let mut add = |key: &str, now: Value, wanted: Value| {
        if !wanted.is_null() {
            diff.add(format!("{}.{key}", values.profile), now, wanted);
        }
    };
    add(
        "kmin_bytes",
        json!(now.kmin_bytes),
        json!(wanted.kmin_bytes),
    );
    add(
        "kmax_bytes",
        json!(now.kmax_bytes),
        json!(wanted.kmax_bytes),
    );
    let pmax = json!(wanted.pmax_parts_per_million);
    add(
        "pmax_parts_per_million",
        json!(now.pmax_parts_per_million),
        pmax,
    );
    add("mark_at", json!(now.mark_at), json!(wanted.mark_at));
    Ok(diff)
}

fn pfcwd(target: &Target, change: &PfcwdChange) -> Result<Diff> {
    let now: Pfcwd = target.get("/v1/pfcwd")?;
    known(target, &change.ports)?;
    let mut diff = Diff::default();
    let is_meant = |name: &String| change.ports.is_empty() || change.ports.contains(name);
    for port in now.ports.iter().filter(|port| is_meant(&port.port)) {
        diff.add(
            format!("{}.watchdog", port.port),
            json!(port.watchdog),
            json!(change.watchdog),
        );
    }
    Ok(diff)
}

/// Returns the affected part of the route, before and after the command.
fn routes(target: &Target, command: &RouteCommand) -> Result<Diff> {
    let mut diff = Diff::default();
    let detail = |path: &str| target.find::<RouteDetail>(path);
    let there = |path: &str| {
        let found = detail(path)?;
        found.with_context(|| format!("there is no route at {path}"))
    };
    match command {
        RouteCommand::List { .. } => {}
        RouteCommand::Set {
            destination,
            ports,
            buckets,
            vlan,
        } => {
            known(target, ports)?;
            let now = detail(&route::path_in(*destination, *vlan))?.map(|it| it.route);
            let members = now.as_ref().map(|now| {
                let members = now.members.iter();
                members.map(|member| &member.port).collect::<Vec<_>>()
            });
            diff.add(format!("{destination}.ports"), json!(members), json!(ports));
            if let Some(buckets) = buckets {
                let now = now.map(|now| now.buckets);
                diff.add(format!("{destination}.buckets"), json!(now), json!(buckets));
            }
        }
        RouteCommand::MoveBucket {
            destination,
            bucket,
            port,
        } => {
            known(target, [port])?;
            let now = there(&route::path_in(*destination, None))?;
            let index = usize::from(*bucket);
            let now = now.bucket_ports.get(index);
            let now = now.with_context(|| format!("{destination} has no bucket {bucket}"))?;
            diff.add(
                format!("{destination}.bucket.{bucket}"),
                json!(now),
                json!(port),
            );
        }
        RouteCommand::Pin {
            destination,
            flow_hash,
            port,
        } => {
            known(target, [port])?;
            let hash = format!("{:08x}", flow_hash.0);
            let now = there(&route::path_in(*destination, None))?;
            let now = now.flow_pins.iter().find(|pin| pin.flow_hash == hash);
            let now = now.map(|pin| &pin.port);
            diff.add(format!("{destination}.pin.{hash}"), json!(now), json!(port));
        }
        RouteCommand::Unpin {
            destination,
            flow_hash,
        } => {
            let hash = format!("{:08x}", flow_hash.0);
            let now = detail(&route::path_in(*destination, None))?;
            let mut pins = now.iter().flat_map(|now| &now.flow_pins);
            let now = pins.find(|pin| pin.flow_hash == hash).map(|pin| &pin.port);
            diff.add(format!("{destination}.pin.{hash}"), json!(now), Value::Null);
        }
        RouteCommand::Remove { destination, vlan } => {
            let now = detail(&route::path_in(*destination, *vlan))?;
            let members = now.map(|now| {
                let members = now.route.members.into_iter();
                members.map(|member| member.port).collect::<Vec<_>>()
            });
            diff.add(format!("{destination}.ports"), json!(members), Value::Null);
        }
    }
    Ok(diff)
}
