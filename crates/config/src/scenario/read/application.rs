//! `hosts` and `[[application]]`.

use weir_core::Duration;

use super::flow::{name_and_ends, Nodes};
use super::homes::End;
use super::{keys, reference};
use crate::reader::{unknown, Names, Table};
use crate::scenario::application::{Application, HostKind, HOSTS_MAX, PLACEHOLDERS};

/// The kind of hosts; refuses tables for the other kind.
pub(super) fn host_kind(root: &Table<'_>) -> HostKind {
    let kind = root.choice("hosts", &HostKind::NAMED).unwrap_or_default();
    let refuse = |keys: &[&str], message: &str| {
        for key in keys.iter().filter(|key| root.has(key)) {
            root.complain(key, message);
        }
    };
    match kind {
        HostKind::Endpoint => refuse(
            &["application"],
            "endpoints run no programs: set hosts = \"kernel\"",
        ),
        HostKind::Kernel => refuse(
            &["flow", "traffic"],
            "hosts with an ordinary kernel send no numbered frames: describe the programs that they run as [[application]]s, or remove hosts = \"kernel\"",
        ),
    }
    kind
}

/// The number of addresses limits the number of hosts.
pub(super) fn check_addresses(root: &Table<'_>, kind: HostKind, hosts: usize) {
    if kind == HostKind::Kernel && hosts > HOSTS_MAX {
        root.complain(
            "hosts",
            format!("there are {hosts} hosts, and {HOSTS_MAX} addresses for hosts with an ordinary kernel"),
        );
    }
}

pub(super) fn applications(root: &Table<'_>, nodes: &Nodes<'_>, names: &Names) -> Vec<Application> {
    let tables = root.tables("application", keys("application"));
    let read = |table: &Table<'_>| {
        let (name, ends) = name_and_ends(table, nodes, names);
        // Hosts with a kernel have one line.
        let [from, to] = ends.map(|end| match end {
            Some(End::Line(line)) => Some(line),
            Some(End::Any(_)) | None => None,
        });
        let class = match table.has("class") {
            true => Some(reference(table, "class", "class", nodes.classes)?),
            false => None,
        };
        let start = table.get_or("start", Duration::ZERO);
        if start >= nodes.duration {
            table.complain("start", "must be before the end: start < duration");
        }
        let text: Option<String> = table.require("command");
        let command = text.and_then(|text| words(table, "command", &text));
        let server = match table.get::<String>("server") {
            Some(text) => Some(words(table, "server", &text)?),
            None => None,
        };
        let mut application = Application {
            name: name?,
            from: from?,
            to: to?,
            class,
            command: command?,
            server,
            start,
        };
        if application.is_iperf3() {
            complete(&mut application);
        }
        Some(application)
    };
    tables.iter().filter_map(read).collect()
}

/// Adds a separate server for each iperf3, and its JSON report.
fn complete(application: &mut Application) {
    let is_json = |word: &String| word == "--json" || word == "-J";
    if !application.command.iter().any(is_json) {
        application.command.push("--json".into());
    }
    if application.server.is_none() {
        let words = ["iperf3", "--server", "--one-off", "--port", "{port}"];
        application.server = Some(words.map(str::to_owned).to_vec());
        let is_port = |word: &String| word == "-p" || word.starts_with("--port");
        if !application.command.iter().any(is_port) {
            application
                .command
                .extend(["--port".into(), "{port}".into()]);
        }
    }
}

/// Program and arguments, split as by a shell, in which only quotes and backslashes are special.
fn words(table: &Table<'_>, key: &str, text: &str) -> Option<Vec<String>> {
    let Some(words) = shlex::split(text) else {
        table.complain(key, "unterminated quotation mark or backslash");
        return None;
    };
    if words.is_empty() {
        table.complain(key, "name a program");
        return None;
    }
    for word in &words {
        for name in word
            .split('{')
            .skip(1)
            .filter_map(|rest| rest.split('}').next())
        {
            let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
            if is_name && !PLACEHOLDERS.contains(&name) {
                table.complain(key, unknown("placeholder", name, &PLACEHOLDERS));
            }
        }
    }
    Some(words)
}
