//! `switchctl record`: writes queues, pauses and drops of a running switch to files, at intervals down to a millisecond.

pub mod cli;
mod rows;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::signal::unix::{signal, SignalKind};
use weir_api::client;
use weir_api::daemon::{EventPage, Status};
use weir_api::record::{RecordRequest, RECORDINGS};
use weir_output::Output;
use weir_recording::fabric::FabricTrace;
use weir_recording::lines::RecordLines;
use weir_recording::table::parquet;

use crate::target::{explain, Target};
use cli::RecordArguments;
use rows::Rows;

const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// Maximum number of rows (changes of a port and priority) in a recording; they take a few hundred MiB of memory.
const ROWS_MAX: u64 = 1_000_000;

/// Records until the time is over, or Ctrl-C.
pub fn run(target: &Target, output: &Output, arguments: &RecordArguments) -> Result<()> {
    let open = |path: &Option<PathBuf>| {
        let open = |path: &PathBuf| {
            let file = File::create(path);
            file.with_context(|| format!("cannot write {}", path.display()))
        };
        path.as_ref().map(open).transpose()
    };
    let status: Status = target.get("/v1/status")?;
    let before: EventPage = target.get("/v1/events?after=0")?;
    let request = RecordRequest {
        every_seconds: arguments.every.as_secs_f64(),
        duration_seconds: arguments.duration.as_secs_f64(),
    };
    let socket = target.found_socket()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let begin = client::stream(&socket, RECORDINGS, &request, ANSWER_LIMIT);
    let streaming = runtime
        .block_on(begin)
        .map_err(|error| explain(error, &socket))?;
    // A refused recording leaves existing files unchanged.
    let files = [open(&arguments.parquet)?, open(&arguments.perfetto)?];
    let [wants_table, wants_trace] = files.each_ref().map(Option::is_some);
    let mut record = Record {
        rows: wants_table.then(Rows::default),
        trace: wants_trace.then(|| {
            let mut trace = FabricTrace::default();
            let switch = trace.switch(&status.name);
            (trace, switch)
        }),
        ..Record::default()
    };
    runtime.block_on(take(&socket, streaming, &mut record))?;
    let [table, trace] = files;
    if let (Some(mut file), Some(rows)) = (table, record.rows) {
        let notes = [
            ("weir.switch", status.name),
            ("weir.every_seconds", request.every_seconds.to_string()),
            ("weir.readings", record.readings.to_string()),
            ("weir.lost_readings", record.lost.to_string()),
        ];
        file.write_all(&parquet("switchctl", &rows::columns(), &rows.rows, &notes)?)?;
    }
    if let (Some(mut file), Some((mut trace, switch))) = (trace, record.trace) {
        let path = format!("/v1/events?after={}", before.next);
        let page: EventPage = target.get(&path)?;
        if page.missed > 0 {
            let missed = page.missed;
            eprintln!(
                "switchctl: {missed} events are missing: the daemon's log has only the latest"
            );
        }
        trace.events(switch, &page.events);
        file.write_all(&trace.into_bytes())?;
    }
    report(output, record.readings, record.lost)
}

fn report(output: &Output, readings: u64, lost: u64) -> Result<()> {
    if output.is_json() {
        let object = serde_json::json!({"readings": readings, "lost_readings": lost});
        return output.line(&object.to_string());
    }
    output.line(&format!("{readings} readings, {lost} missing"))
}

#[derive(Debug, Default)]
struct Record {
    readings: u64,
    lost: u64,
    changes: u64,
    rows: Option<Rows>,
    /// The trace, and the number of the switch in it.
    trace: Option<(FabricTrace, usize)>,
    lines: RecordLines,
}

impl Record {
    fn add(&mut self, bytes: &[u8]) -> Result<()> {
        let lines = self.lines.read(bytes).context(
            "cannot read the recording; do switchctl and weir-switchd have the same version?",
        )?;
        for line in lines {
            self.readings += 1;
            self.lost = line.lost_total;
            self.changes += (line.queues.len() + line.drops.len()) as u64;
            if let Some(rows) = &mut self.rows {
                rows.add(&line);
            }
            if let Some((trace, switch)) = &mut self.trace {
                trace.add(*switch, &line);
            }
        }
        Ok(())
    }
}

async fn take(socket: &Path, mut streaming: client::Streaming, record: &mut Record) -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    loop {
        tokio::select! {
            part = streaming.next() => {
                match part.map_err(|error| explain(error, socket))? {
                    Some(bytes) => record.add(&bytes)?,
                    None => return Ok(()),
                }
            }
            _ = interrupt.recv() => return Ok(()),
            _ = terminate.recv() => return Ok(()),
        }
        if record.changes > ROWS_MAX {
            eprintln!("switchctl: the recording ends early, with {ROWS_MAX} changes; use a longer --every");
            return Ok(());
        }
    }
}
