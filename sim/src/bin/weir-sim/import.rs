//! `weir-sim import`.

use std::path::Path;

use anyhow::Result;
use clap::error::ErrorKind;
use weir_config::scenario::Scenario;
use weir_config::FileError;
use weir_sim::import::{hpcc, Hpcc, Text};

use crate::cli::{HpccArguments, ImportArguments, ImportFormat};

/// Frames of switches of this age.
const FRAME_MIN: u64 = 60;
const FRAME_MAX: u64 = 9216;

/// Prints a scenario file.
pub fn import(arguments: &ImportArguments) -> Result<bool> {
    match &arguments.format {
        ImportFormat::Hpcc(arguments) => import_hpcc(arguments),
    }
}

fn import_hpcc(arguments: &HpccArguments) -> Result<bool> {
    let frame = arguments.payload + arguments.header;
    if arguments.payload.get() == 0 || !(FRAME_MIN..=FRAME_MAX).contains(&frame.get()) {
        let message = format!(
            "--payload and --header make frames of {} B; a frame has {FRAME_MIN} B to {FRAME_MAX} B\n",
            frame.get()
        );
        clap::Error::raw(ErrorKind::ValueValidation, message).exit();
    }
    let read = |path: &Path| {
        std::fs::read_to_string(path).map_err(|error| FileError::unreadable(path, &error))
    };
    let name = |path: &Path| path.display().to_string();
    let (topology, flows) = (read(&arguments.topology)?, read(&arguments.flow)?);
    let trace = arguments.trace.as_deref();
    let trace = trace.map(|path| Ok::<_, anyhow::Error>((name(path), read(path)?)));
    let trace = trace.transpose()?;
    let (topology_name, flows_name) = (name(&arguments.topology), name(&arguments.flow));
    let scenario = hpcc(&Hpcc {
        name: &arguments.name,
        topology: Text {
            name: &topology_name,
            text: &topology,
        },
        flows: Text {
            name: &flows_name,
            text: &flows,
        },
        trace: trace.as_ref().map(|(name, text)| Text { name, text }),
        payload: arguments.payload,
        header: arguments.header,
        transport: arguments.transport,
        duration: arguments.duration,
    })?;
    // What a scenario cannot have is told here and not to whom runs it.
    Scenario::parse(&scenario, Path::new("what was imported"), &[])?;
    print!("{scenario}");
    Ok(true)
}
