//! `switchctl config convert`: SONiC's `config_db.json` as a daemon's configuration.

mod buffers;
mod classes;
mod database;
mod dropped;
mod json;
mod known;
mod notes;
mod pools;
mod ports;
mod qos;
mod queues;
#[cfg(test)]
mod tests;
mod vlans;
mod write;

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;
use weir_config::daemon::{DaemonConfig, DataplaneConfig};
use weir_core::Bytes;

use crate::cli::ConvertArguments;
use database::Database;
use notes::{Kind, Note, Problem, Report};
use ports::Port;
use weir_output::Output;
use write::{plain, Converted};

const FILE_MAX_BYTES: u64 = 64 << 20;
/// Default name of a switch.
const NAME: &str = "sonic";

#[derive(Serialize)]
struct Answer<'a> {
    file: String,
    good: bool,
    problems: &'a [Problem],
    notes: &'a [Note],
    /// The text, unless it was written to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<&'a str>,
}

/// Reads, converts and writes. Returns false if nothing was written, or with `--strict` if not everything was converted.
///
/// # Errors
///
/// When a file cannot be read or written.
pub fn run(arguments: &ConvertArguments, output: &Output) -> Result<bool> {
    let name = arguments.file.display().to_string();
    let report = Report::default();
    let (notes, outcome) = match read(&arguments.file, &report).context(name.clone())? {
        Ok(root) => convert(&root, &name, report),
        Err(problem) => (Vec::new(), Err(vec![problem])),
    };
    let (problems, text) = match outcome {
        Ok(text) => (Vec::new(), Some(text)),
        Err(problems) => (problems, None),
    };
    let is_refused = arguments.strict && !notes.is_empty();
    let text = text.filter(|_| !is_refused);
    if let (Some(text), Some(out)) = (&text, &arguments.output) {
        write_new(out, text)?;
    }
    let printed = text.as_deref().filter(|_| arguments.output.is_none());
    if output.is_json() {
        let answer = Answer {
            file: name,
            good: text.is_some(),
            problems: &problems,
            notes: &notes,
            config: printed,
        };
        output.print(&answer, |_| String::new())?;
        return Ok(text.is_some());
    }
    for line in notes::lines(&notes) {
        eprintln!("{name}: {line}");
    }
    if !notes.is_empty() {
        eprintln!("{name}: {} notes: {}", notes.len(), notes::summary(&notes));
    }
    for Problem { path, message } in &problems {
        eprintln!("{name}: {}", about(path, message));
    }
    match (problems.len(), is_refused) {
        (0, false) => {}
        (0, true) => eprintln!("{name}: nothing is written because of --strict"),
        (1, _) => eprintln!("{name}: nothing is written because of the error above"),
        (count, _) => eprintln!("{name}: nothing is written because of {count} errors above"),
    }
    if let Some(text) = printed {
        output.line(text.trim_end())?;
    }
    Ok(text.is_some())
}

fn about(path: &str, message: &str) -> String {
    match path.is_empty() {
        true => plain(message),
        false => plain(&format!("{path}: {message}")),
    }
}

/// Parses the file's JSON, and notes duplicate names. Returns a problem if it is not JSON, or too large.
fn read(path: &Path, report: &Report) -> std::io::Result<Result<Value, Problem>> {
    let refuse = |message| Problem {
        path: String::new(),
        message,
    };
    let mut bytes = Vec::new();
    File::open(path)?
        .take(FILE_MAX_BYTES + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_MAX_BYTES {
        return Ok(Err(refuse(format!("is larger than {FILE_MAX_BYTES} B"))));
    }
    Ok(json::parse(&bytes, report).map_err(refuse))
}

/// Writes a new file; an existing one is not overwritten.
pub fn write_new(path: &Path, text: &str) -> Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .with_context(|| format!("{}: -o needs a new file", path.display()))?;
    file.write_all(text.as_bytes())
        .with_context(|| path.display().to_string())
}

/// Returns the notes, and the text of a valid configuration or the problems. `file` is named in a comment; `report` has the
/// notes from parsing.
fn convert(root: &Value, file: &str, report: Report) -> (Vec<Note>, Result<String, Vec<Problem>>) {
    let converted = Database::open(root, &report).map(|database| converted(database, file));
    let text = converted.map(|converted| converted.to_toml());
    let (notes, mut problems) = report.into_parts();
    let Some(text) = text.filter(|_| problems.is_empty()) else {
        return (notes, Err(problems));
    };
    // The daemon checks sums over all ports.
    if let Err(error) = DaemonConfig::parse(&text, Path::new(file)) {
        problems.extend(error.problems.into_iter().map(|problem| Problem {
            path: String::new(),
            message: format!(
                "the result is not valid: {}",
                about(&problem.key, &problem.message)
            ),
        }));
        return (notes, Err(problems));
    }
    (notes, Ok(text))
}

fn converted(database: Database<'_>, file: &str) -> Converted {
    known::survey(database);
    let with_qos = |port: Port| {
        let qos = qos::port_qos(database, &port.name);
        (port, qos)
    };
    // Rows for ports that do not exist.
    for row in database
        .rows("PORT_QOS_MAP")
        .iter()
        .filter(|row| row.key != "global")
    {
        row.ports_and_numbers(0);
    }
    let ports: Vec<_> = ports::ports(database).into_iter().map(with_qos).collect();
    let (mtu, chunk) = mtu(database, ports.iter().map(|(port, _)| port));
    let dataplane = DataplaneConfig {
        mtu: Bytes::new(mtu.0),
        chunk,
        ..DataplaneConfig::default()
    };
    let source = classes::Source {
        database,
        ports: &ports,
        groups: &buffers::groups(database),
        queues: &queues::queues(database),
        frame: dataplane.gamma_max(),
        charging: dataplane.frames().charging(),
    };
    let classes = source.classes();
    let of_port = |(port, _): &(Port, _)| port.cable_headroom(dataplane.frames().charging());
    let cables: Vec<u64> = ports.iter().filter_map(of_port).collect();
    let pools = pools::pools(database, &classes, ports.len(), &cables);
    let vlans = vlans::vlans(database);
    known::left_over(database);
    Converted {
        file: file.to_owned(),
        name: name(database),
        mtu,
        chunk,
        classes,
        pools,
        ports,
        vlans,
    }
}

fn name(database: Database<'_>) -> (String, String) {
    let report = database.report();
    let row = database.row("DEVICE_METADATA", "localhost");
    let path = "DEVICE_METADATA|localhost.hostname";
    let Some(name) = row.and_then(|row| row.text("hostname")) else {
        report.note(
            Kind::Assumed,
            path,
            format!("is not given; \"{NAME}\" is assumed"),
        );
        return (NAME.to_owned(), "assumed".to_owned());
    };
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.starts_with('.') || !name.bytes().all(legal) {
        let message = "a switch's name is also a directory's: use only letters, digits and -_.";
        report.refuse(path, message);
    }
    (name, path.to_owned())
}

/// Returns the longest MTU of all ports, and a chunk size for such a frame if the minimum does not hold it.
fn mtu<'a>(
    database: Database<'_>,
    ports: impl Iterator<Item = &'a Port>,
) -> ((u64, String), Option<Bytes>) {
    let large = Bytes::new(4096);
    let report = database.report();
    let asked: Vec<(&Port, u64)> = ports.filter_map(|port| Some((port, port.mtu?))).collect();
    let Some(longest) = asked.iter().map(|(_, mtu)| *mtu).max() else {
        return ((1500, "no port has one: the default".to_owned()), None);
    };
    let mtu = longest.min(DataplaneConfig::MTU_MAX.get());
    for (port, own) in asked {
        let path = format!("PORT|{}.mtu", port.name);
        if own > mtu {
            let message = format!("{own} B is more than the maximum; {mtu} B is written, and longer frames are dropped: lower the hosts' MTU");
            report.note(Kind::Changed, path, message);
        } else if own < mtu {
            let message = format!("{own} B: all ports share one MTU here, {mtu} B");
            report.note(Kind::Changed, path, message);
        }
    }
    let in_small = DataplaneConfig {
        mtu: Bytes::new(mtu),
        ..DataplaneConfig::default()
    };
    let chunk = in_small.has_long_frames().then_some(large);
    ((mtu, "the longest of PORT".to_owned()), chunk)
}
