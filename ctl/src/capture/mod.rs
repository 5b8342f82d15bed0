//! `switchctl capture`: writes the daemon's capture to a file, to a pipe, or as lines of text.

pub mod cli;

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::blocks::interface_statistics::{
    InterfaceStatisticsBlock, InterfaceStatisticsOption,
};
use pcap_file::pcapng::{Block, PcapNgParser};
use pcap_file::PcapError;
use tokio::signal::unix::{signal, SignalKind};
use weir_api::capture::CaptureRequest;
use weir_api::client::{self, Method, Streaming};
use weir_core::wire::ethernet::EthernetView;

use crate::target::{explain, Target};
use cli::CaptureArguments;
use weir_output::Output;

const CAPTURES: &str = "/v1/captures";
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// epb_flags, bits 0 and 1.
const DIRECTION_BITS: u32 = 3;
const OUTBOUND: u32 = 2;

/// Captures until a limit, Ctrl-C, or the end of the output.
pub fn run(target: &Target, output: &Output, arguments: &CaptureArguments) -> Result<()> {
    let request = CaptureRequest {
        ports: match arguments.ports.as_slice() {
            [all] if all == "all" => Vec::new(),
            ports => ports.to_vec(),
        },
        filter: arguments.filter.clone(),
        snap_bytes: arguments.snap,
        sample: arguments.sample,
        count: arguments.count,
        duration_seconds: arguments.duration,
        ring_frames: arguments.ring,
    };
    let stdout_wanted = arguments.write.as_deref() == Some(Path::new("-"));
    if stdout_wanted && io::stdout().is_terminal() {
        bail!(
            "refusing to write pcapng to a terminal: pipe it into a program, or omit -w for text"
        );
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let socket = target.found_socket()?;
    let begin = client::stream(&socket, CAPTURES, &request, ANSWER_LIMIT);
    let streaming = runtime
        .block_on(begin)
        .map_err(|error| explain(error, &socket))?;
    // A refused capture leaves an existing file unchanged.
    let sink = match arguments.write.as_deref() {
        None => Sink::Lines(*output),
        Some(_) if stdout_wanted => Sink::Raw(Box::new(io::stdout())),
        Some(path) => {
            let file = private(path).with_context(|| format!("cannot write {}", path.display()))?;
            Sink::Raw(Box::new(file))
        }
    };
    let mut reader = Reader::new(sink);
    let copied = runtime.block_on(copy(&socket, streaming, &mut reader));
    // Frames read so far are reported, however the capture ends.
    if !matches!(&copied, Err(error) if weir_output::is_broken_pipe(error)) {
        reader.summary();
    }
    copied
}

/// Opens a file for captured traffic: only its owner may read it, and links are not followed.
fn private(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)?;
    // A FIFO or a device belongs to another program.
    if file.metadata()?.is_file() {
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.set_len(0)?;
    }
    Ok(file)
}

async fn copy(socket: &Path, mut streaming: Streaming, reader: &mut Reader) -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut asked_to_end = false;
    loop {
        tokio::select! {
            part = streaming.next() => {
                match part.map_err(|error| explain(error, socket))? {
                    Some(bytes) => reader.take(&bytes)?,
                    None => return reader.end(),
                }
                continue;
            }
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        // On a second request, stop without waiting for the figures.
        if asked_to_end {
            return Ok(());
        }
        asked_to_end = true;
        ask_to_end(socket, streaming.number);
    }
}

/// Asks the daemon to end the capture, so that its answer ends with the figures.
fn ask_to_end(socket: &Path, number: Option<u64>) {
    let Some(number) = number else { return };
    let socket = socket.to_owned();
    // Runs while the answer is read. If it fails, the end of this program ends the capture.
    tokio::task::spawn_blocking(move || {
        let path = format!("{CAPTURES}/{number}");
        let ended: Result<serde_json::Value, _> =
            client::send(&socket, Method::DELETE, &path, None::<&()>, ANSWER_LIMIT);
        if let Err(error) = ended {
            weir_output::complain(&format!("switchctl: {error}"));
        }
    });
}

enum Sink {
    /// The unchanged blocks.
    Raw(Box<dyn Write>),
    Lines(Output),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Figures {
    seen: u64,
    matched: u64,
    copied: u64,
    lost: u64,
}

struct Reader {
    sink: Sink,
    /// Beginning of an incomplete block.
    rest: Vec<u8>,
    parser: Option<PcapNgParser>,
    figures: Vec<Figures>,
}

impl Reader {
    fn new(sink: Sink) -> Self {
        Self {
            sink,
            rest: Vec::new(),
            parser: None,
            figures: Vec::new(),
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<()> {
        self.rest.extend_from_slice(bytes);
        let mut done = 0;
        let mut parser = match self.parser.take() {
            Some(parser) => parser,
            None => match PcapNgParser::new(&self.rest) {
                Ok((after, parser)) => {
                    done = self.rest.len() - after.len();
                    parser
                }
                Err(PcapError::IncompleteBuffer) => return Ok(()),
                Err(error) => return Err(unreadable(&error)),
            },
        };
        loop {
            let unread = self.rest.get(done..).unwrap_or_default();
            match parser.next_block(unread) {
                Ok((after, block)) => {
                    done = self.rest.len() - after.len();
                    match &block {
                        Block::EnhancedPacket(packet) => {
                            if let Sink::Lines(output) = &self.sink {
                                line(*output, &parser, packet)?;
                            }
                        }
                        Block::InterfaceStatistics(statistics) => {
                            note(&mut self.figures, statistics);
                        }
                        _ => {}
                    }
                }
                Err(PcapError::IncompleteBuffer) => break,
                Err(error) => return Err(unreadable(&error)),
            }
        }
        self.parser = Some(parser);
        if let Sink::Raw(sink) = &mut self.sink {
            sink.write_all(self.rest.get(..done).unwrap_or_default())?;
            sink.flush()?;
        }
        self.rest.drain(..done);
        Ok(())
    }

    fn end(&self) -> Result<()> {
        if self.rest.is_empty() && self.parser.is_some() {
            return Ok(());
        }
        bail!("capture truncated: the daemon's answer ends within a block")
    }

    fn summary(&self) {
        let sum = |of: fn(&Figures) -> u64| self.figures.iter().map(of).sum::<u64>();
        let (seen, matched) = (sum(|it| it.seen), sum(|it| it.matched));
        let (copied, lost) = (sum(|it| it.copied), sum(|it| it.lost));
        eprintln!(
            "switchctl: {copied} frames captured of {matched} that matched the filter, {seen} seen"
        );
        if lost > 0 {
            eprintln!(
                "switchctl: {lost} frames are missing: the ring was full; use a larger --ring or --sample, \
                 or a narrower --filter"
            );
        }
    }
}

fn unreadable(error: &PcapError) -> anyhow::Error {
    anyhow::anyhow!(
        "cannot read the capture: {error}; do switchctl and weir-switchd have the same version?"
    )
}

fn note(figures: &mut Vec<Figures>, statistics: &InterfaceStatisticsBlock<'_>) {
    let interface = statistics.interface_id as usize;
    // A switch has at most 256 ports.
    if interface >= 256 {
        return;
    }
    if figures.len() <= interface {
        figures.resize(interface + 1, Figures::default());
    }
    for option in &statistics.options {
        match option {
            InterfaceStatisticsOption::IsbIfRecv(count) => figures[interface].seen = *count,
            InterfaceStatisticsOption::IsbIfDrop(count) => figures[interface].lost = *count,
            InterfaceStatisticsOption::IsbFilterAccept(count) => {
                figures[interface].matched = *count;
            }
            InterfaceStatisticsOption::IsbUsrDeliv(count) => figures[interface].copied = *count,
            _ => {}
        }
    }
}

/// Prints one frame as text or JSON.
fn line(output: Output, parser: &PcapNgParser, packet: &EnhancedPacketBlock<'_>) -> Result<()> {
    let options = parser
        .packet_interface(packet)
        .map_or(&[][..], |interface| &interface.options);
    let port = options.iter().find_map(|option| match option {
        InterfaceDescriptionOption::IfName(name) => Some(name.as_ref()),
        _ => None,
    });
    let mut comment = "";
    let mut direction = "in";
    for option in &packet.options {
        match option {
            EnhancedPacketOption::Comment(text) => comment = text,
            EnhancedPacketOption::Flags(flags) if flags & DIRECTION_BITS == OUTBOUND => {
                direction = "out";
            }
            _ => {}
        }
    }
    let port = port.unwrap_or_default();
    let nanos = packet.timestamp.as_nanos();
    let ethernet = EthernetView::new_checked(&packet.data).ok();
    if output.is_json() {
        let ethernet = ethernet.map(|it| {
            serde_json::json!({
                "source": it.source().to_string(),
                "destination": it.destination().to_string(),
                "ethertype": it.ethertype(),
            })
        });
        let object = serde_json::json!({
            "time_nanos": nanos as u64,
            "port": port,
            "direction": direction,
            "length_bytes": packet.original_len,
            "ethernet": ethernet,
            "verdict": comment,
        });
        return output.line(&object.to_string());
    }
    let addresses = ethernet.map_or_else(
        || "(no Ethernet header)".to_owned(),
        |it| {
            format!(
                "{} > {} {:#06x}",
                it.source(),
                it.destination(),
                it.ethertype()
            )
        },
    );
    let second = nanos / 1_000_000_000;
    output.line(&format!(
        "{:02}:{:02}:{:02}.{:09} {port} {direction:<3} {addresses} {} B: {comment}",
        second / 3_600 % 24,
        second / 60 % 60,
        second % 60,
        nanos % 1_000_000_000,
        packet.original_len
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_is_for_its_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("frames.pcapng");
        let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        private(&path).unwrap();
        assert_eq!(mode(), 0o600);
        std::fs::write(&path, "from before").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let file = private(&path).unwrap();
        assert_eq!((mode(), file.metadata().unwrap().len()), (0o600, 0));
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        private(&link).unwrap_err();
    }
}
