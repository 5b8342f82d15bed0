//! Records all switches of this machine at the same time, as one trace for Perfetto.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use hyper::body::Bytes;
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::mpsc;
use weir_api::client::{self, ClientError, Streaming};
use weir_api::daemon::{EventPage, Status};
use weir_api::neighbors::Neighbor;
use weir_api::record::{RecordRequest, RECORDINGS};
use weir_recording::fabric::FabricTrace;
use weir_recording::lines::RecordLines;

use crate::ask::{found, Place, Roster};
use crate::cli::Options;

/// Maximum number of parts that wait to be read; further ones wait at their switches.
const PARTS_MAX: usize = 64;
/// Maximum number of changes in a recording, of all switches; they take a few hundred MiB of memory.
const CHANGES_MAX: usize = 1_000_000;

/// A switch that is being recorded.
struct Recorded {
    name: String,
    socket: PathBuf,
    /// Number in the trace.
    number: usize,
    /// Sequence number of the first event that may be part of the recording.
    first_event: u64,
    lines: RecordLines,
    readings: u64,
    lost: u64,
}

/// Records until the time is over, or a signal arrives, and writes the trace.
///
/// # Errors
///
/// When a switch cannot be recorded, or the file cannot be written.
pub async fn run(options: &Options, file: &Path) -> Result<ExitCode> {
    let mut trace = FabricTrace::default();
    let mut switches = Vec::new();
    for (name, socket) in sockets(options)? {
        let limit = options.timeout;
        let status: Status = ask(&socket, "/v1/status", limit).await?;
        let events: EventPage = ask(&socket, "/v1/events?after=0", limit).await?;
        switches.push(Recorded {
            number: trace.switch(&status.name),
            name,
            socket,
            first_event: events.next,
            lines: RecordLines::default(),
            readings: 0,
            lost: 0,
        });
    }
    let request = RecordRequest {
        every_seconds: options.every.as_secs_f64(),
        duration_seconds: options.length.as_secs_f64(),
    };
    let mut streams = Vec::new();
    for switch in &switches {
        let begin = client::stream(&switch.socket, RECORDINGS, &request, options.timeout);
        streams.push(begin.await.with_context(|| switch.name.clone())?);
    }
    // A refused recording leaves an existing file unchanged.
    let mut file =
        File::create(file).with_context(|| format!("cannot write {}", file.display()))?;
    take(streams, &mut switches, &mut trace).await?;
    for switch in &switches {
        let path = format!("/v1/events?after={}", switch.first_event);
        let page: EventPage = ask(&switch.socket, &path, options.timeout).await?;
        if page.missed > 0 {
            tracing::warn!(
                name = switch.name,
                missed = page.missed,
                "the switch's log has only its latest events"
            );
        }
        trace.events(switch.number, &page.events);
        let neighbours: Vec<Neighbor> =
            ask(&switch.socket, "/v1/neighbors", options.timeout).await?;
        trace.neighbours(switch.number, &neighbours);
    }
    file.write_all(&trace.into_bytes())?;
    for switch in &switches {
        println!(
            "{}: {} readings, {} missing",
            switch.name, switch.readings, switch.lost
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the names and sockets of the switches. Clocks of other machines differ, and their listeners accept no
/// recordings.
fn sockets(options: &Options) -> Result<Vec<(String, PathBuf)>> {
    let roster = Roster::load(&options.switch, options.switches.as_deref())?;
    let mut all = Vec::new();
    for listed in roster.switches {
        match listed.place {
            Place::Socket(socket) => all.push((listed.name, socket)),
            Place::Listener(listener) => bail!(
                "--perfetto records switches of this machine by their API sockets, and {} is at {}",
                listed.name,
                listener.url
            ),
        }
    }
    if options.looks_here() {
        for (name, socket) in found(&options.run_dir) {
            if all.iter().all(|(known, _)| *known != name) {
                all.push((name, socket));
            }
        }
    }
    if all.is_empty() {
        bail!(
            "no switch has a socket under {}; name some by --switch or --switches",
            options.run_dir.display()
        );
    }
    Ok(all)
}

async fn ask<T: serde::de::DeserializeOwned + Send + 'static>(
    socket: &Path,
    path: &str,
    limit: Duration,
) -> Result<T> {
    let (socket, path) = (socket.to_owned(), path.to_owned());
    let asked = tokio::task::spawn_blocking(move || client::get(&socket, &path, limit));
    Ok(asked.await??)
}

async fn take(
    streams: Vec<Streaming>,
    switches: &mut [Recorded],
    trace: &mut FabricTrace,
) -> Result<()> {
    let (sender, mut parts) = mpsc::channel(PARTS_MAX);
    for (index, streaming) in streams.into_iter().enumerate() {
        tokio::spawn(pass_on(index, streaming, sender.clone()));
    }
    drop(sender);
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut changes = 0;
    loop {
        let part = tokio::select! {
            part = parts.recv() => part,
            _ = interrupt.recv() => None,
            _ = terminate.recv() => None,
        };
        let Some((index, part)) = part else {
            return Ok(());
        };
        let Some(switch) = switches.get_mut(index) else {
            continue;
        };
        let part: Bytes = part.with_context(|| switch.name.clone())?;
        let lines = switch.lines.read(&part).with_context(|| {
            let name = &switch.name;
            format!("cannot read the recording of {name}; does it have the version of weir-page?")
        })?;
        for line in lines {
            switch.readings += 1;
            switch.lost = line.lost_total;
            changes += line.queues.len();
            trace.add(switch.number, &line);
        }
        if changes > CHANGES_MAX {
            tracing::warn!(
                "the recording ends early, with {CHANGES_MAX} changes; use a longer --every"
            );
            return Ok(());
        }
    }
}

async fn pass_on(
    index: usize,
    mut streaming: Streaming,
    sender: mpsc::Sender<(usize, Result<Bytes, ClientError>)>,
) {
    while let Some(part) = streaming.next().await.transpose() {
        let is_last = part.is_err();
        if sender.send((index, part)).await.is_err() || is_last {
            return;
        }
    }
}
