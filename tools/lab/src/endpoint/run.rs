//! The endpoint's single thread: receives, sends, handles commands, and sleeps when nothing is due.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;

use anyhow::{bail, Context, Result};
use nix::errno::Errno;
use nix::poll::{ppoll, PollFd, PollFlags};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use nix::time::{clock_gettime, ClockId};
use weir_core::units::{Duration, Instant, NANOS_PER_SECOND};

use super::commands::{self, Command, LineReader};
use super::config::EndpointConfig;
use super::device::{self, DeviceDrops, Redirect};
use super::report::{EndpointReport, KernelLosses, OutputLine};
use super::socket::{XdpPort, RX_BATCH};
use super::station::Station;

/// Maximum number of busy turns of the loop between two checks for commands.
const BUSY_TURNS_MAX: u32 = 64;
/// Retry interval when the kernel has not sent all frames.
const RETRY: Duration = Duration::from_micros(50);
/// Maximum wait for the last frames before reporting that sending has stopped.
const STOP_WAIT: Duration = Duration::from_millis(200);

/// Runs one endpoint until it is asked to finish, and writes its report.
///
/// # Errors
/// When the configuration is invalid, the socket cannot be opened or fails, or the report cannot be written. A report is
/// written even if the socket fails during the run.
pub fn run(config: EndpointConfig) -> Result<()> {
    config.check()?;
    let report_path = config.report.clone();
    let mut endpoint = Endpoint::start(config)?;
    let outcome = endpoint.work();
    write_report(&report_path, &endpoint.report())?;
    outcome
}

/// Reads a configuration from a JSON file.
///
/// # Errors
/// When the file cannot be read or is invalid; the error names file, line and key.
pub fn read_config(path: &Path) -> Result<EndpointConfig> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {path:?}"))?;
    let config: EndpointConfig =
        serde_json::from_str(&text).with_context(|| path.display().to_string())?;
    config.check().with_context(|| path.display().to_string())?;
    Ok(config)
}

struct Endpoint {
    station: Station,
    port: XdpPort,
    /// Keeps the program attached as long as the endpoint runs.
    program: Redirect,
    device: String,
    drops_before: DeviceDrops,
    signals: SignalFd,
    lines: LineReader,
    /// Latest time for the answer to `stop-sending`, while it is pending.
    answer_stop_by: Option<Instant>,
    finished: bool,
}

impl Endpoint {
    fn start(config: EndpointConfig) -> Result<Self> {
        nix::sys::prctl::set_timerslack(1).context("timer slack")?;
        let mask = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT]);
        mask.thread_block().context("blocking signals")?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let signals = SignalFd::with_flags(&mask, flags).context("signalfd")?;
        let device = config.device.clone();
        let drops_before = device::drops(&device)?;
        let port = XdpPort::open(&device)?;
        let program = Redirect::attach(&device, &port)?;
        let mut station = Station::new(config);
        station.use_credits(clock()?);
        Ok(Self {
            station,
            port,
            program,
            device,
            drops_before,
            signals,
            lines: LineReader::default(),
            answer_stop_by: None,
            finished: false,
        })
    }

    fn work(&mut self) -> Result<()> {
        print(&OutputLine::Ready(true))?;
        let mut busy_turns = 0;
        while !self.finished {
            let now = clock()?;
            self.station.tick(now);
            let received = self.receive()?;
            self.send()?;
            self.answer_stop()?;

            let now = clock()?;
            let wait = match self.next_moment(now) {
                _ if received == RX_BATCH => Some(Duration::ZERO),
                Some(moment) => Some(moment.saturating_since(now)),
                None => None,
            };
            let at_once = wait.is_some_and(|wait| wait.is_zero());
            busy_turns = if at_once { busy_turns + 1 } else { 0 };
            if !at_once || busy_turns >= BUSY_TURNS_MAX {
                busy_turns = 0;
                self.sleep(wait)?;
            }
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<usize> {
        let station = &mut self.station;
        let mut failure = None;
        let count = self.port.receive(|bytes| match clock() {
            Ok(now) => station.receive(now, bytes),
            Err(error) => failure = Some(error),
        });
        failure.map_or(Ok(count), Err)
    }

    /// Sends due frames one at a time: each has left before the next one is requested, unless the kernel delays it.
    fn send(&mut self) -> Result<()> {
        loop {
            let now = clock()?;
            let station = &mut self.station;
            let sent = self.port.send(|buffer| station.next_frame(now, buffer));
            self.port.kick()?;
            if !sent || self.port.outstanding() > 0 {
                return Ok(());
            }
        }
    }

    fn next_moment(&self, now: Instant) -> Option<Instant> {
        if self.port.outstanding() > 0 {
            return Some(now + RETRY);
        }
        let moments = [self.station.next_moment(now), self.answer_stop_by];
        moments.into_iter().flatten().min()
    }

    /// Sleeps for at most `wait` (`None`: without limit), until a frame, a command or a signal arrives.
    fn sleep(&mut self, wait: Option<Duration>) -> Result<()> {
        let input = io::stdin();
        let (from_kernel, from_runner, from_signal) = {
            let mut fds = [
                PollFd::new(self.port.as_fd(), PollFlags::POLLIN),
                PollFd::new(input.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
            ];
            let timeout = wait.map(|wait| {
                let nanos = wait.as_nanos();
                TimeSpec::new(
                    (nanos / NANOS_PER_SECOND) as i64,
                    (nanos % NANOS_PER_SECOND) as i64,
                )
            });
            match ppoll(&mut fds, timeout, None) {
                Ok(0) | Err(Errno::EINTR) => return Ok(()),
                Ok(_) => {}
                Err(errno) => return Err(errno).context("ppoll"),
            }
            let events = |fd: &PollFd| fd.revents().unwrap_or(PollFlags::empty());
            (
                events(&fds[0]),
                !events(&fds[1]).is_empty(),
                !events(&fds[2]).is_empty(),
            )
        };
        if from_kernel.intersects(PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL) {
            bail!("{}: the socket failed (is the device gone?)", self.device);
        }
        if from_signal {
            self.finished |= self.signals.read_signal().context("signalfd")?.is_some();
        }
        if from_runner {
            self.take_commands()?;
        }
        Ok(())
    }

    fn take_commands(&mut self) -> Result<()> {
        let read = self
            .lines
            .read_from(DirectStdin)
            .context("standard input")?;
        for line in read.lines {
            match line.and_then(|line| commands::parse(&line)) {
                Ok(command) => self.obey(command)?,
                Err(text) => print(&OutputLine::Error(text))?,
            }
        }
        self.finished |= read.ended;
        Ok(())
    }

    fn obey(&mut self, command: Command) -> Result<()> {
        let now = clock()?;
        match command {
            Command::Begin(at) => {
                if !self.station.begin(at) {
                    print(&OutputLine::Error(
                        "it is said already when traffic begins".to_owned(),
                    ))?;
                }
            }
            Command::StopSending => {
                self.station.stop_sending(now);
                self.answer_stop_by = Some(now + STOP_WAIT);
            }
            Command::Snapshot => print(&OutputLine::Snapshot(self.station.snapshot(now)))?,
            Command::Finish => self.finished = true,
            Command::ObeyPfc(obeys) => self.station.obey_pfc(now, obeys),
            Command::Inject(control) => {
                if !self.station.inject(control) {
                    print(&OutputLine::Error(
                        "too many frames wait to be injected".to_owned(),
                    ))?;
                }
            }
        }
        Ok(())
    }

    fn answer_stop(&mut self) -> Result<()> {
        let Some(by) = self.answer_stop_by else {
            return Ok(());
        };
        if self.port.outstanding() == 0 || clock()? >= by {
            self.answer_stop_by = None;
            print(&OutputLine::Stopped(true))?;
        }
        Ok(())
    }

    /// Returns the report as of now. Values that the kernel does not report stay zero, since a report without them is better
    /// than none.
    fn report(&self) -> EndpointReport {
        let statistics = self.port.statistics().unwrap_or_default();
        let drops = device::drops(&self.device).unwrap_or(self.drops_before);
        let kernel = KernelLosses {
            rx_dropped: statistics.rx_dropped(),
            rx_ring_full: statistics.rx_ring_full(),
            rx_fill_ring_empty: statistics.rx_fill_ring_empty_descs(),
            rx_invalid_descriptors: statistics.rx_invalid_descs(),
            tx_invalid_descriptors: statistics.tx_invalid_descs(),
            xdp_not_redirected: self.program.not_redirected().unwrap_or_default(),
            tx_device_drops: self.port.device_drops(),
            device_rx_dropped: drops.received.saturating_sub(self.drops_before.received),
            device_tx_dropped: drops.sent.saturating_sub(self.drops_before.sent),
            tx_outstanding: self.port.outstanding() as u64,
        };
        self.station.report(clock().unwrap_or_default(), kernel)
    }
}

/// Returns `CLOCK_MONOTONIC`, which all endpoints of a machine share.
///
/// # Errors
/// Never on a working kernel.
pub fn clock() -> Result<Instant> {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).context("CLOCK_MONOTONIC")?;
    Ok(Instant::from_nanos(
        time.tv_sec() as u64 * NANOS_PER_SECOND + time.tv_nsec() as u64,
    ))
}

/// Standard input without the buffer of [`io::Stdin`], since poll does not see buffered bytes.
struct DirectStdin;

impl io::Read for DirectStdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match nix::unistd::read(io::stdin(), buffer) {
                Err(Errno::EINTR) => continue,
                other => return other.map_err(io::Error::from),
            }
        }
    }
}

fn print(line: &OutputLine) -> Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, line)?;
    out.write_all(b"\n")
        .and_then(|()| out.flush())
        .context("standard output")
}

/// Writes the report atomically, so that a reader never sees a part of it.
fn write_report(path: &Path, report: &EndpointReport) -> Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let text = serde_json::to_vec(report)?;
    std::fs::write(&partial, text).with_context(|| format!("writing {partial:?}"))?;
    std::fs::rename(&partial, path).with_context(|| format!("writing {path:?}"))
}
