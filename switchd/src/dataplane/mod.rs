//! The dataplane: AF_XDP sockets of all ports over one UMEM, the thread of the switch core, and threads that serve the
//! sockets where it does not do that itself.
//!
//! [`Dataplane::start`] opens everything and starts the threads; from then on they and the control plane speak through
//! the bounded queues of [`messages`].

mod attach;
mod binding;
mod error;
mod exchange;
mod kernel;
mod launch;
mod memory;
mod rings;
mod threads;
mod worker;

use std::fs::File;
use std::io as std_io;
use std::os::fd::OwnedFd;
use std::path::Path;

use crossbeam::channel::{bounded, Receiver, Sender, TrySendError};
use nix::fcntl::Flock;
use weir_config::daemon::{DaemonConfig, DataplaneConfig, Port, CONTROL_RESERVE_PER_PORT};
use weir_core::config::AuthenticationConfig;
use weir_core::{BitRate, Bytes, Command, Duration, Event, Instant, MacAddress, PortId, Switch};
use weir_ebpf::{FrameClass, Verdict};

use crate::model::clock;
use crate::os::fabric_key;
use attach::{AttachedProgram, PortDoor};
pub use error::DataplaneError;
pub use exchange::{accounts, link, messages, tables, tap};
use kernel::devices::{self, Device};
pub use kernel::packet_socket;
use kernel::settings;
use launch::{Parts, Prepared, Threads};
use link::{AttachedPort, Busy, DataplaneLink, Programs, Requests, RunningDataplane, Stopped};
use memory::pool::Pool;
use messages::{Answer, LeftFrame, Request, Snapshot};
use threads::wake::Wake;
use worker::{PortLimits, Queues};

/// Requests that wait for the dataplane at most.
const REQUEST_CAPACITY: usize = 1024;
/// Events that wait for the control plane at most.
const EVENT_CAPACITY: usize = 4096;
/// Snapshots that wait for the control plane at most.
const SNAPSHOT_CAPACITY: usize = 8;

/// A running dataplane.
#[derive(Debug)]
pub struct Dataplane {
    ports: Vec<AttachedProgram>,
    running: Running,
    _lock: Option<Flock<File>>,
}

/// The threads and the ways to them.
#[derive(Debug)]
struct Running {
    requests: Sender<Request>,
    events: Receiver<Event>,
    snapshots: Receiver<Box<Snapshot>>,
    answers: Receiver<Answer>,
    wake: Wake,
    notify: Wake,
    threads: Threads,
}

impl Dataplane {
    /// Opens the sockets, attaches the XDP programs with their pins under `pin_root`, and starts the
    /// thread.
    ///
    /// # Errors
    ///
    /// What could not be had, and what to do about it. Nothing stays attached then.
    pub fn start(config: &DaemonConfig, pin_root: &Path) -> Result<Self, DataplaneError> {
        Self::start_by(clock::now, config, pin_root)
    }

    /// As [`start`](Self::start), where another dataplane stood: neighbours may have told that one to pause, so that
    /// lossless classes send nothing before it is known (see [`Command::AssumePaused`]). `left` was in that one at its end.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_anew(
        config: &DaemonConfig,
        pin_root: &Path,
        left: Vec<LeftFrame>,
    ) -> Result<Self, DataplaneError> {
        let first = [
            Request::Command(Command::AssumePaused),
            Request::Inject(left),
        ];
        Self::open(clock::now, config, pin_root, first)
    }

    /// As [`start`](Self::start), by another monotonic clock. Every dataplane thread asks it in every round: a test's clock
    /// fails in the thread that it is to fail in.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_by(
        clock: fn() -> Instant,
        config: &DaemonConfig,
        pin_root: &Path,
    ) -> Result<Self, DataplaneError> {
        Self::open(clock, config, pin_root, [])
    }

    /// The loop takes `first` before any frame.
    fn open(
        clock: fn() -> Instant,
        config: &DaemonConfig,
        pin_root: &Path,
        first: impl IntoIterator<Item = Request>,
    ) -> Result<Self, DataplaneError> {
        let key_file = config.control_frames.key_file.as_deref();
        let key = key_file.map(fabric_key::load).transpose()?;
        let devices = devices::find(config)?;
        let lock = attach::lock(config, pin_root)?;
        let mut ports = attach::attach(config, &devices, pin_root)?;
        let started = attach::settle(config, &devices)
            .and_then(|config| Self::start_on(clock, &config, key, &devices, &mut ports, first));
        match started {
            Ok(running) => Ok(Self {
                ports,
                running,
                _lock: lock,
            }),
            Err(error) => {
                attach::detach_all(ports);
                Err(error)
            }
        }
    }

    /// Opens the sockets of attached `ports` and starts the threads.
    fn start_on(
        clock: fn() -> Instant,
        config: &DaemonConfig,
        key: Option<AuthenticationConfig>,
        devices: &[Device],
        ports: &mut [AttachedProgram],
        first: impl IntoIterator<Item = Request>,
    ) -> Result<Running, DataplaneError> {
        let system = |what| move |source| DataplaneError::System { what, source };
        let addresses: Vec<MacAddress> = devices.iter().map(|device| device.address).collect();
        let mut core = config.core(&addresses);
        core.authentication = key;
        let limits = core
            .ports
            .iter()
            .map(|port| PortLimits {
                address: port.address,
                outstanding_max: config.dataplane.tx_ring as usize
                    / 2
                    / config.dataplane.chunks_of_a_frame(),
                outstanding_bytes: outstanding_bytes(port.rate, &config.dataplane),
            })
            .collect();
        let (memory, sockets) = binding::bind(config, devices, ports, core.frame_count as u32)?;
        attach::check_buffers(config, devices, &sockets)?;
        let doors = devices
            .iter()
            .zip(&sockets)
            .map(|(device, sockets)| PortDoor::to(config, device, sockets))
            .collect::<std_io::Result<Vec<_>>>()
            .map_err(system("duplicating a socket"))?;
        let frame_count = core.frame_count;
        let switch = Switch::new(core)?;
        let wake = Wake::new().map_err(system("eventfd"))?;
        let notify = Wake::new().map_err(system("eventfd"))?;
        let (requests, request_receiver) = bounded(REQUEST_CAPACITY);
        let (event_sender, events) = bounded(EVENT_CAPACITY);
        let (snapshot_sender, snapshots) = bounded(SNAPSHOT_CAPACITY);
        let (answer_sender, answers) = bounded(REQUEST_CAPACITY);
        let parts = Parts {
            memory,
            switch,
            clock,
            pool: Pool::new(frame_count, config.ports.len() * CONTROL_RESERVE_PER_PORT),
            limits,
            queues: Queues {
                requests: request_receiver,
                events: event_sender,
                snapshots: snapshot_sender,
                answers: answer_sender,
                wake: wake.clone(),
                notify: notify.clone(),
            },
        };
        let prepared =
            Prepared::new(sockets, parts, &config.dataplane).map_err(system("eventfd"))?;
        // A neighbour's frames come from here on.
        attach::open_doors(config, ports, &doors)?;
        for request in first {
            // There is room: nobody else has asked yet. A round's requests come before its frames.
            let _ = requests.try_send(request);
        }
        let threads = prepared
            .start(&config.dataplane)
            .map_err(system("dataplane thread"))?;
        Ok(Running {
            requests,
            events,
            snapshots,
            answers,
            wake,
            notify,
            threads,
        })
    }

    fn end_thread(&self, drain: Duration) {
        // A full queue has been seen by the thread before this could have been sent: it takes
        // requests every round, so that trying again ends.
        let mut request = Request::Stop { drain };
        while let Err(TrySendError::Full(back)) = self.running.requests.try_send(request) {
            request = back;
            self.running.wake.signal();
            std::thread::yield_now();
        }
        self.running.wake.signal();
    }
}

impl RunningDataplane for Dataplane {
    fn link(&self) -> std_io::Result<DataplaneLink> {
        Ok(DataplaneLink {
            requests: Box::new(RequestSender {
                requests: self.running.requests.clone(),
                wake: self.running.wake.clone(),
            }),
            events: self.running.events.clone(),
            snapshots: self.running.snapshots.clone(),
            answers: self.running.answers.clone(),
            notify: self.running.notify.try_clone_fd()?,
        })
    }

    fn attached(&self) -> Vec<AttachedPort> {
        self.ports.iter().map(|port| port.facts.clone()).collect()
    }

    fn xdp_frames(&self, port: PortId) -> Vec<(&'static str, u64)> {
        let counters = self
            .ports
            .get(port.index())
            .and_then(|port| port.program.class_counters().ok());
        counters.map_or_else(Vec::new, |counters| {
            FrameClass::ALL
                .into_iter()
                .map(|class| (class.name(), counters.of_class(class).frames))
                .collect()
        })
    }

    fn xdp_verdicts(&self, port: PortId) -> Vec<(&'static str, u64)> {
        let counters = self
            .ports
            .get(port.index())
            .and_then(|port| port.program.verdict_counters().ok());
        counters.map_or_else(Vec::new, |counters| {
            let counted = |verdict: Verdict| (verdict.name(), counters.get(verdict));
            Verdict::ALL.into_iter().map(counted).collect()
        })
    }

    fn xdp_mode(&self, port: PortId) -> Option<&'static str> {
        self.ports.get(port.index()).map(|port| port.mode.name())
    }

    fn fall_back(&mut self, port: PortId) -> anyhow::Result<bool> {
        match self.ports.get_mut(port.index()) {
            Some(port) => Ok(port.fall_back()?),
            None => Ok(false),
        }
    }

    fn classify(&self, port: PortId, settings: &Port) -> anyhow::Result<()> {
        let port = self
            .ports
            .get(port.index())
            .ok_or_else(|| anyhow::anyhow!("port {port} does not exist"))?;
        let settings = settings::program(settings, port.cut_length);
        Ok(port.program.update_settings(&settings)?)
    }

    fn lldp_sockets(&self) -> Vec<std_io::Result<OwnedFd>> {
        self.ports
            .iter()
            .map(|port| packet_socket::open(port.facts.ifindex))
            .collect()
    }

    fn stop(self, drain: std::time::Duration, programs: Programs) -> anyhow::Result<Stopped> {
        self.end_thread(Duration::from_nanos(drain.as_nanos() as u64));
        let unserved = |ports: &[AttachedProgram]| -> u64 {
            let verdicts = ports.iter().map(|port| port.program.verdict_counters());
            verdicts
                .map(|verdicts| verdicts.map_or(0, |verdicts| verdicts.get(Verdict::Dropped)))
                .sum()
        };
        let before = unserved(&self.ports);
        let ended = self.running.threads.join();
        let stays = |port: &AttachedProgram| programs == Programs::Leave && port.close().is_ok();
        let stays: Vec<bool> = self.ports.iter().map(stays).collect();
        let missed = unserved(&self.ports).saturating_sub(before);
        // Whatever became of the threads and of the other programs, none stays attached that is to go and can be detached.
        // The program of a device that is gone went with it.
        let mut outcome = Ok(());
        let going = self
            .ports
            .into_iter()
            .zip(stays)
            .filter(|(_, stays)| !stays);
        for (port, _) in going {
            outcome = outcome.and(port.program.detach());
        }
        let ended = ended.map_err(|_| anyhow::anyhow!("a dataplane thread panicked"))?;
        outcome?;
        Ok(Stopped {
            lost_in_flight: ended.held_frames,
            left: ended.left,
            missed,
        })
    }
}

/// The control plane's way to ask.
#[derive(Debug)]
struct RequestSender {
    requests: Sender<Request>,
    wake: Wake,
}

impl Requests for RequestSender {
    fn try_send(&self, request: Request) -> Result<(), Busy> {
        self.requests.try_send(request).map_err(|_| Busy)?;
        self.wake.signal();
        Ok(())
    }
}

/// What a transmitter may have: little on slow lines, so that a pause acts soon; enough on fast ones to cover a round. In
/// bytes: a number of long frames would be a fraction of that time in short ones.
fn outstanding_bytes(rate: BitRate, config: &DataplaneConfig) -> Bytes {
    const LEAST: Bytes = Bytes::new(16 * 1500);
    const LEAST_FRAMES: u64 = 4;
    const ROUND: Duration = Duration::from_micros(200);
    let frames = Bytes::new(LEAST_FRAMES * config.mtu.get());
    rate.bytes_in(ROUND).max(LEAST).max(frames)
}
