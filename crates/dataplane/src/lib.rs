//! The dataplane: AF_XDP sockets of all ports over one UMEM, the switch core's thread, and optional threads that serve the
//! sockets for it.
//!
//! [`Dataplane::start`] opens everything and starts the threads; from then on they communicate with the control plane
//! through the bounded queues of [`messages`].
//!
//! Design: docs/src/internals/design/dataplane.md.
#![deny(unsafe_code)]
#![warn(clippy::too_many_lines)]

pub mod clock;
mod closing;
mod error;
mod exchange;
pub mod histogram;
mod holder;
#[allow(unsafe_code)] // sockets
mod kernel;
mod late;
#[allow(unsafe_code)] // memory shared with the kernel
mod memory;
pub mod placement;
pub mod random;
mod rings;
mod slot;
mod start;
#[allow(unsafe_code)] // ppoll(2) and eventfd(2)
mod threads;
mod trial;
mod ways;
mod worker;

use std::fs::File;
use std::io as std_io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use crossbeam::channel::{bounded, Receiver, Sender, TrySendError};
use nix::fcntl::Flock;
use weir_config::daemon::{DaemonConfig, DataplaneConfig, Port, CONTROL_RESERVE_PER_PORT};
use weir_config::files;
use weir_core::{
    BitRate, Bytes, Command, Duration, Event, Instant, PortConfig, PortId, SwitchConfig,
};
use weir_ebpf::Verdict;

use closing::close_together;
pub use closing::{drop_apart, Closing};
pub use error::DataplaneError;
pub use exchange::{
    accounts, audit, impair, link, messages, mirrors, series, stations, tables, tap,
};
pub use holder::{is_run_dir_free, BPF_NAME, LOCK_NAME};
use kernel::devices::{self, port_ids, Device, Lack};
use kernel::express::{ExpressPath, Kept};
pub use kernel::packet_socket;
use kernel::settings;
use late::Late;
use link::{AttachedPort, Busy, DataplaneLink, Programs, Requests, RunningDataplane, Stopped};
use memory::pool::Pool;
use memory::shares::Shares;
use messages::{Answer, LeftFrame, Request, Snapshot};
use mirrors::Mirrors;
use slot::Slot;
use start::attach::{self, AttachedProgram};
use start::binding::{self, Bound};
use start::launch::{Parts, Prepared, Threads};
use start::reserve::{self, Secrets};
pub use start::reserve::{ReadSecret, Reserve};
use stations::Stations;
use threads::wake::Wake;
pub use trial::LonePort;
use worker::{PortLimits, Queues};

const REQUEST_CAPACITY: usize = 1024;
/// Maximum number of events waiting for the control plane.
const EVENT_CAPACITY: usize = 4096;
/// Maximum number of snapshots waiting for the control plane.
const SNAPSHOT_CAPACITY: usize = 8;

/// A running dataplane.
#[derive(Debug)]
pub struct Dataplane {
    ports: Vec<Slot>,
    running: Running,
    late: Late,
    express: Option<Kept>,
    lock: Option<Flock<File>>,
}

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
    /// States the unavailable resource, and the remedy. Nothing stays attached then.
    pub fn start(config: &DaemonConfig, pin_root: &Path) -> Result<Self, DataplaneError> {
        Self::start_by(clock::now, config, pin_root)
    }

    /// Like [`start`](Self::start); this thread calls `confine` before it starts other threads that handle frames.
    ///
    /// # Errors
    ///
    /// Those of [`start`](Self::start) and of `confine`.
    pub fn start_confined(
        config: &DaemonConfig,
        pin_root: &Path,
        read_secret: ReadSecret,
        confine: impl FnOnce() -> std_io::Result<()>,
    ) -> Result<Self, DataplaneError> {
        let first = Reserve::bare(config, read_secret);
        Self::open(
            clock::now,
            config,
            pin_root,
            Lack::Refuses,
            first,
            [],
            confine,
        )
    }

    /// Like [`start`](Self::start), after another dataplane: neighbours may have paused it, so lossless classes send nothing
    /// until this is known (see [`Command::AssumePaused`]). `left` are its unsent frames. Every port waits for its device,
    /// since one missing at this moment must not end the switch. Uses the parts of `reserve` that fit.
    ///
    /// # Errors
    ///
    /// Those of [`start`](Self::start).
    pub fn start_anew(
        config: &DaemonConfig,
        pin_root: &Path,
        left: Vec<LeftFrame>,
        reserve: Option<Reserve>,
        read_secret: ReadSecret,
        confine: impl FnOnce() -> std_io::Result<()>,
    ) -> Result<Self, DataplaneError> {
        let first = [
            Request::Command(Command::AssumePaused),
            Request::Inject(left),
        ];
        let reserve = match reserve {
            Some(reserve) => reserve.only_for(config),
            None => Reserve::bare(config, read_secret),
        }
        .after_another();
        Self::open(
            clock::now,
            config,
            pin_root,
            Lack::Waits,
            reserve,
            first,
            confine,
        )
    }

    /// Like [`start`](Self::start), with another monotonic clock. Every dataplane thread reads it in every round, so a
    /// test's clock can fail in a chosen thread.
    ///
    /// # Errors
    ///
    /// Those of [`start`](Self::start).
    pub fn start_by(
        clock: fn() -> Instant,
        config: &DaemonConfig,
        pin_root: &Path,
    ) -> Result<Self, DataplaneError> {
        let first = Reserve::bare(config, files::read_secret);
        Self::open(clock, config, pin_root, Lack::Refuses, first, [], || Ok(()))
    }

    /// The loop handles `first` before any frame.
    fn open(
        clock: fn() -> Instant,
        config: &DaemonConfig,
        pin_root: &Path,
        lack: Lack,
        mut reserve: Reserve,
        first: impl IntoIterator<Item = Request>,
        confine: impl FnOnce() -> std_io::Result<()>,
    ) -> Result<Self, DataplaneError> {
        let secrets = match reserve.secrets.take() {
            Some(secrets) => secrets,
            None => Secrets::new(config, reserve.read_secret)?,
        };
        let devices = devices::find(config, lack)?;
        tracing::debug!("devices found");
        let lock = attach::lock(config, pin_root)?;
        let mut ports = reserve.fill_beside(&devices, secrets, |programs, express| {
            attach::attach(config, &devices, Some(pin_root), express.path(), programs)
        })?;
        tracing::debug!("programs attached");
        let started = attach::settle(config, &devices).and_then(|config| {
            let core = reserve::core(&config, &devices, secrets);
            let (running, shares, express) = Self::start_on(
                clock,
                &config,
                core,
                &devices,
                &mut ports,
                reserve,
                (first, confine),
            )?;
            let late = Late {
                config,
                pin_root: pin_root.to_owned(),
                shares,
            };
            Ok((running, late, express))
        });
        match started {
            Ok((running, late, express)) => Ok(Self {
                ports: ports.into_iter().map(Slot::new).collect(),
                running,
                late,
                express,
                lock,
            }),
            Err(error) => {
                attach::detach_all(ports.into_iter().flatten());
                Err(error)
            }
        }
    }

    /// Opens the sockets of attached `ports` and starts the threads.
    fn start_on(
        clock: fn() -> Instant,
        config: &DaemonConfig,
        core: SwitchConfig,
        devices: &[Option<Device>],
        ports: &mut [Option<AttachedProgram>],
        mut reserve: Reserve,
        (first, confine): (
            impl IntoIterator<Item = Request>,
            impl FnOnce() -> std_io::Result<()>,
        ),
    ) -> Result<(Running, Shares, Option<Kept>), DataplaneError> {
        let system = |what| move |source| DataplaneError::System { what, source };
        let limits = limits(&core, &config.dataplane, devices);
        let Bound {
            memory,
            shares,
            sockets,
            doors,
        } = binding::bind(
            config,
            devices,
            ports,
            core.frame_count as u32,
            reserve.memory.take(),
            reserve.patience,
        )?;
        let frame_count = core.frame_count;
        let switch = reserve.switch(core)?;
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
            express: reserve.express.take_parts(),
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
        // Neighbours' frames arrive from here on.
        for ((port, attached), door) in config.ports.iter().zip(ports).zip(doors) {
            if let (Some(attached), Some(door)) = (attached, door) {
                attach::open_door(port, attached, door)?;
            }
        }
        let absent = port_ids()
            .zip(devices)
            .filter(|(_, device)| device.is_none());
        let gone = absent.map(|(port, _)| Request::Command(Command::DeviceGone { port }));
        let stations = Request::Stations(Arc::new(Stations::new(config)));
        let reserved = config.mirrors.iter().map(|mirror| {
            let port = mirror.output;
            Request::Command(Command::Reserve {
                port,
                reserved: true,
            })
        });
        let mirrors = Request::Mirrors(Arc::new(Mirrors::new(config)));
        let settings = reserved.chain([stations, mirrors]);
        for request in gone.chain(settings).chain(first) {
            // There is room, since no request was sent yet. A round handles requests before frames.
            let _ = requests.try_send(request);
        }
        confine().map_err(system("limits of the dataplane's threads"))?;
        let threads = prepared
            .start(&config.dataplane)
            .map_err(system("dataplane thread"))?;
        let kept = reserve
            .express
            .keep(devices, requests.clone(), wake.clone());
        let running = Running {
            requests,
            events,
            snapshots,
            answers,
            wake,
            notify,
            threads,
        };
        Ok((running, shares, kept))
    }
}

impl Running {
    fn ask(&self, request: Request) {
        // If the queue is full, the thread is emptying it: it takes requests in every round, so retrying ends.
        let mut request = request;
        while let Err(TrySendError::Full(back)) = self.requests.try_send(request) {
            request = back;
            self.wake.signal();
            std::thread::yield_now();
        }
        self.wake.signal();
    }
}

impl Dataplane {
    fn express(&self) -> Option<&ExpressPath> {
        self.express.as_ref().map(Kept::path)
    }

    fn attached_at(&self, port: PortId) -> Option<&AttachedProgram> {
        self.ports.get(port.index())?.attached.as_ref()
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
        let settings = self.late.config.ports.iter();
        let facts = self.ports.iter().zip(settings).map(|(slot, port)| {
            let attached = slot.attached.as_ref().map(|attached| attached.facts);
            attached.unwrap_or_else(|| AttachedPort::absent(port.address.unwrap_or_default()))
        });
        facts.collect()
    }

    fn xdp_frames(&self, port: PortId) -> Vec<(&'static str, u64)> {
        let slot = self.ports.get(port.index());
        slot.map_or_else(Vec::new, Slot::frames)
    }

    fn xdp_verdicts(&self, port: PortId) -> Vec<(&'static str, u64)> {
        let slot = self.ports.get(port.index());
        slot.map_or_else(Vec::new, Slot::verdicts)
    }

    fn xdp_mode(&self, port: PortId) -> Option<&'static str> {
        Some(self.attached_at(port)?.mode.name())
    }

    fn fall_back(&mut self, port: PortId) -> anyhow::Result<bool> {
        let slot = self.ports.get_mut(port.index());
        match slot.and_then(|slot| slot.attached.as_mut()) {
            Some(attached) => Ok(attached.fall_back()?),
            None => Ok(false),
        }
    }

    fn classify(&mut self, port: PortId, settings: &Port) -> anyhow::Result<()> {
        let known = self.late.config.ports.get_mut(port.index());
        let known = known.ok_or_else(|| anyhow::anyhow!("port {port} does not exist"))?;
        // Also used for a device that appears later.
        let queue_count = known.queue_count;
        settings.clone_into(known);
        known.queue_count = queue_count;
        let Some(attached) = self.attached_at(port) else {
            return Ok(());
        };
        let settings = settings::program(settings, attached.number, attached.cut_length);
        Ok(attached.program.update_settings(&settings)?)
    }

    fn lldp_sockets(&self) -> Vec<std_io::Result<OwnedFd>> {
        let ports = port_ids().take(self.ports.len());
        ports.map(|port| self.lldp_socket(port)).collect()
    }

    fn lldp_socket(&self, port: PortId) -> std_io::Result<OwnedFd> {
        let attached = self.attached_at(port);
        let attached = attached.ok_or(std_io::ErrorKind::NotFound)?;
        packet_socket::open(attached.facts.ifindex)
    }

    fn take(&mut self, port: PortId) -> anyhow::Result<Option<AttachedPort>> {
        Ok(self.take_port(port)?)
    }

    fn release(&mut self, port: PortId) -> anyhow::Result<()> {
        Ok(self.release_port(port)?)
    }

    fn stop(self, drain: std::time::Duration, programs: Programs) -> anyhow::Result<Stopped> {
        let drain = Duration::from_nanos(drain.as_nanos() as u64);
        let hands_on = programs == Programs::Leave;
        self.running.ask(Request::Stop { drain, hands_on });
        let unserved = |ports: &[Slot]| -> u64 {
            let attached = ports.iter().filter_map(|port| port.attached.as_ref());
            attached
                .map(|attached| attached.program.verdict_counters())
                .map(|verdicts| verdicts.map_or(0, |verdicts| verdicts.get(Verdict::Dropped)))
                .sum()
        };
        let before = unserved(&self.ports);
        let ended = self.running.threads.join();
        let stays = |port: &Slot| {
            let attached = port
                .attached
                .as_ref()
                .filter(|_| programs == Programs::Leave);
            attached.is_some_and(|attached| attached.close().is_ok())
        };
        let stays: Vec<bool> = self.ports.iter().map(stays).collect();
        let missed = unserved(&self.ports).saturating_sub(before);
        // Detach every program that is to be removed, whatever happens to the threads and the other programs. The program of
        // a missing device was removed with it.
        let mut outcome = Ok(());
        let (mut staying, going): (Vec<_>, Vec<_>) = self
            .ports
            .into_iter()
            .zip(stays)
            .partition(|(_, stays)| *stays);
        for (mut port, _) in going {
            outcome = outcome.and(port.detach());
        }
        let sockets: Vec<OwnedFd> = staying
            .iter_mut()
            .flat_map(|(port, _)| port.take_sockets())
            .collect();
        drop(self.lock);
        let mut late = self.late;
        if let Err(error) = late.shares.raise_anchor() {
            tracing::debug!(%error, "a queue stays in use until the packet memory is unmapped");
        }
        // The next switch waits only for the queues. Unmapping would delay the start of threads that close sockets.
        let rest = (late, staying, self.express);
        let mut closing = Closing::default();
        closing.begin(move || {
            close_together(sockets);
            drop(rest);
        });
        if programs == Programs::Detach {
            std::mem::take(&mut closing).wait();
        }
        let ended = ended.map_err(|_| anyhow::anyhow!("a dataplane thread panicked"))?;
        outcome?;
        Ok(Stopped {
            lost_in_flight: ended.held_frames,
            left: ended.left,
            missed: missed + ended.refused,
            closing,
        })
    }
}

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

fn limits(
    core: &SwitchConfig,
    config: &DataplaneConfig,
    devices: &[Option<Device>],
) -> Vec<PortLimits> {
    let ports = core.ports.iter().zip(devices);
    let of_port = |(port, device): (&PortConfig, &Option<Device>)| PortLimits {
        finishes: device.is_some_and(|device| device.is_virtual),
        address: port.address,
        outstanding_max: config.tx_ring as usize / 2 / config.chunks_of_a_frame(),
        outstanding_bytes: outstanding_bytes(port.rate, config),
    };
    ports.map(of_port).collect()
}

/// Returns the maximum number of bytes that a transmitter may hold: few on slow lines, so that a pause acts soon; enough on
/// fast ones to cover a round. A limit in frames would be wrong, since short frames take a fraction of the time of long
/// ones.
fn outstanding_bytes(rate: BitRate, config: &DataplaneConfig) -> Bytes {
    const LEAST: Bytes = Bytes::new(16 * 1500);
    const LEAST_FRAMES: u64 = 4;
    const ROUND: Duration = Duration::from_micros(200);
    let frames = Bytes::new(LEAST_FRAMES * config.mtu.get());
    rate.bytes_in(ROUND).max(LEAST).max(frames)
}
