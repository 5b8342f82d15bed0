//! `weir-sim import`.
// Trace files are bytes.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{bail, Result};
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use weir_config::scenario::{Scenario, Transport};
use weir_config::FileError;
use weir_core::Bytes;
use weir_sim::import::{
    about_flow, chakra, hpcc, AllReduce, Chakra, ChakraError, Hpcc, Text, TraceFile, RANKS_MAX,
};
use weir_sim::transport::telemetry::TELEMETRY_LENGTH_BYTES;

use crate::cli::{ControlArguments, HpccArguments, ImportArguments, ImportFormat};

/// Headers of a frame in HPCC's simulator.
const HEADER: Bytes = Bytes::new(48);

pub const CHAKRA_HELP: &str = "\
PREFIX.0.et is the trace of rank 0, and so on; ranks are the hosts of the network
file in its order. All-reduce, all-gather, reduce-scatter, all-to-all, sends and
receives become flows below the network file, which wait for the flows that they
need; nodes that compute become the time in between, or with --ops-per-second
their num_ops do if they have no time. Features that a scenario lacks are
refused, with the file, the node and a remedy.

Examples:
  weir-sim import chakra --trace step --network fabric.toml > step.toml
  weir-sim import chakra --trace step --network fabric.toml \\
    --groups groups.json --all-reduce tree --payload 4096B > step.toml";

#[derive(Debug, Args)]
pub struct ChakraArguments {
    /// Prefix of the traces' names, before `.RANK.et`.
    #[arg(long, value_name = "PREFIX")]
    pub trace: String,
    /// Scenario file with the network, its classes and duration.
    #[arg(long, value_name = "FILE")]
    pub network: PathBuf,
    /// Groups of ranks as in ASTRA-sim: {"1": [0, 1], "2": [2, 3]}.
    #[arg(long, value_name = "FILE")]
    pub groups: Option<PathBuf>,
    /// Class of all flows. Default: the network's first.
    #[arg(long, value_name = "NAME")]
    pub class: Option<String>,
    /// Algorithm of all-reduce.
    #[arg(long, value_enum, default_value = "ring")]
    pub all_reduce: AllReduceWay,
    /// Payload bytes in a frame.
    #[arg(long, default_value = "1000B", value_name = "SIZE", value_parser = weir_config::units::parse_size)]
    pub payload: Bytes,
    /// Bytes of headers in a frame. Default: 48B, and 90B with the telemetry of
    /// --transport hpcc.
    #[arg(long, value_name = "SIZE", value_parser = weir_config::units::parse_size)]
    pub header: Option<Bytes>,
    /// Operations per second of a rank, such as 312e12, for nodes with num_ops and no duration.
    #[arg(long, value_name = "NUMBER", value_parser = operations)]
    pub ops_per_second: Option<u64>,
    #[command(flatten)]
    pub control: ControlArguments,
}

/// Parses a whole number above zero, which may have an exponent.
fn operations(text: &str) -> Result<u64, String> {
    let number = text
        .parse::<f64>()
        .ok()
        .filter(|number| number.fract() == 0.0);
    let known = number.filter(|number| (1.0..=1e18).contains(number));
    known
        .map(|number| number as u64)
        .ok_or_else(|| "write a whole number from 1 to 1e18, such as 312e12".to_owned())
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum AllReduceWay {
    /// Around a ring in 2 (N - 1) steps.
    Ring,
    /// Up a binary tree, and down again.
    Tree,
}

/// Maximum size of a trace file.
const TRACE_MAX: u64 = 1 << 30;

/// Minimum frame of the switches that HPCC simulates.
const FRAME_MIN: u64 = 60;
const FRAME_MAX: u64 = 9216;

/// Prints a scenario file.
pub fn import(arguments: &ImportArguments) -> Result<bool> {
    match &arguments.format {
        ImportFormat::Hpcc(arguments) => import_hpcc(arguments),
        ImportFormat::Chakra(arguments) => import_chakra(arguments),
    }
}

/// Returns the size of headers in a frame. Default: as in HPCC's simulator, whose frames have telemetry only under HPCC.
fn header(payload: Bytes, asked: Option<Bytes>, transport: Transport) -> Bytes {
    let header = asked.unwrap_or(match transport {
        Transport::Hpcc => HEADER + Bytes::new(TELEMETRY_LENGTH_BYTES),
        _ => HEADER,
    });
    let frame = payload + header;
    if payload.get() == 0 || !(FRAME_MIN..=FRAME_MAX).contains(&frame.get()) {
        let message = format!(
            "--payload and --header make frames of {} B; a frame has {FRAME_MIN} B to {FRAME_MAX} B\n",
            frame.get()
        );
        clap::Error::raw(ErrorKind::ValueValidation, message).exit();
    }
    header
}

fn import_chakra(arguments: &ChakraArguments) -> Result<bool> {
    let header = header(
        arguments.payload,
        arguments.header,
        arguments.control.transport,
    );
    let path = &arguments.network;
    let text =
        std::fs::read_to_string(path).map_err(|error| FileError::unreadable(path, &error))?;
    let network = Scenario::parse(&text, path, &[])?;
    let traces = traces(&arguments.trace)?;
    if traces.len() > network.hosts.len() {
        bail!(
            "{}: there are {} ranks and {} hosts: give it a host for each rank",
            path.display(),
            traces.len(),
            network.hosts.len()
        );
    }
    let classes: Vec<&str> = network
        .classes
        .iter()
        .map(|class| class.name.as_str())
        .collect();
    let class = match &arguments.class {
        Some(name) => classes.iter().find(|class| *class == name),
        None => classes.first(),
    };
    let Some(class) = class else {
        bail!(
            "--class: `{}` is none of the classes of {}: {}",
            arguments.class.as_deref().unwrap_or_default(),
            path.display(),
            classes.join(", ")
        );
    };
    let groups = match &arguments.groups {
        Some(path) => groups(path)?,
        None => BTreeMap::new(),
    };
    let hosts: Vec<String> = network.hosts.iter().map(|host| host.name.clone()).collect();
    let flows = chakra(&Chakra {
        traces: &traces,
        groups: &groups,
        hosts: &hosts,
        class,
        all_reduce: match arguments.all_reduce {
            AllReduceWay::Ring => AllReduce::Ring,
            AllReduceWay::Tree => AllReduce::Tree,
        },
        payload: arguments.payload,
        header,
        transport: arguments.control.transport,
        duration: network.duration,
        operations_per_second: arguments.ops_per_second,
    })?;
    let lines = text.lines().count();
    let scenario = text + &flows;
    // Finds ranks that wait for each other now, not when the scenario is run.
    Scenario::parse(&scenario, path, &[]).map_err(|mut error| {
        // Lines after the network file are generated: only the keys, which name the flow, mean anything to the user.
        for problem in &mut error.problems {
            problem.line = problem.line.filter(|line| *line <= lines);
        }
        error
    })?;
    weir_output::say!("{scenario}")?;
    Ok(true)
}

/// Returns `PREFIX.0.et` and so on, up to the first that is missing.
fn traces(prefix: &str) -> Result<Vec<TraceFile>> {
    let mut traces = Vec::new();
    for rank in 0..RANKS_MAX {
        let name = format!("{prefix}.{rank}.et");
        let path = Path::new(&name);
        let length = match std::fs::metadata(path) {
            Ok(metadata) => metadata.len(),
            Err(error) if rank > 0 && error.kind() == std::io::ErrorKind::NotFound => break,
            Err(error) => return Err(FileError::unreadable(path, &error).into()),
        };
        if length > TRACE_MAX {
            let message =
                format!("has {length} bytes, {TRACE_MAX} at most; cut it to fewer iterations");
            return Err(of_file(name, message));
        }
        let bytes = std::fs::read(path).map_err(|error| FileError::unreadable(path, &error))?;
        traces.push(TraceFile { name, bytes });
    }
    Ok(traces)
}

fn groups(path: &Path) -> Result<BTreeMap<String, Vec<usize>>> {
    let text =
        std::fs::read_to_string(path).map_err(|error| FileError::unreadable(path, &error))?;
    serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
        let message = format!("{error}; write {{\"1\": [0, 1]}}, ranks by the name of their group");
        of_file(path.display().to_string(), message)
    })
}

fn of_file(file: String, message: String) -> anyhow::Error {
    ChakraError {
        file,
        node: None,
        message,
    }
    .into()
}

fn import_hpcc(arguments: &HpccArguments) -> Result<bool> {
    let header = header(
        arguments.payload,
        arguments.header,
        arguments.control.transport,
    );
    let read = |path: &Path| {
        std::fs::read_to_string(path).map_err(|error| FileError::unreadable(path, &error))
    };
    let name = |path: &Path| path.display().to_string();
    let (topology, flows) = (read(&arguments.topology)?, read(&arguments.flow)?);
    let trace = arguments.trace.as_deref();
    let trace = trace.map(|path| Ok::<_, anyhow::Error>((name(path), read(path)?)));
    let trace = trace.transpose()?;
    let (topology_name, flows_name) = (name(&arguments.topology), name(&arguments.flow));
    let flow_text = Text {
        name: &flows_name,
        text: &flows,
    };
    let scenario = hpcc(&Hpcc {
        name: &arguments.name,
        topology: Text {
            name: &topology_name,
            text: &topology,
        },
        flows: flow_text,
        trace: trace.as_ref().map(|(name, text)| Text { name, text }),
        payload: arguments.payload,
        header,
        transport: arguments.control.transport,
        duration: arguments.duration,
    })?;
    // Reports now what a scenario cannot express, not when it is run.
    Scenario::parse(&scenario, &arguments.topology, &[])
        .map_err(|error| of_hpcc_files(error, &scenario, flow_text))?;
    weir_output::say!("{scenario}")?;
    Ok(true)
}

/// Moves an error in the generated scenario to the user's files: to its flow, or else to the topology.
fn of_hpcc_files(mut error: FileError, made: &str, flows: Text<'_>) -> anyhow::Error {
    for problem in &mut error.problems {
        let Some(line) = problem.line.take() else {
            continue;
        };
        let tables = made.lines().take(line).filter(|line| line.starts_with('['));
        if tables.clone().last() == Some("[[flow]]") {
            let index = tables.filter(|table| *table == "[[flow]]").count() - 1;
            let message = format!("{}: {}", problem.key, problem.message);
            return about_flow(flows, index, message).into();
        }
    }
    error.into()
}
