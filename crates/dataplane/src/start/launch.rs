//! The dataplane's threads: one for the switch core, which serves the sockets itself or leaves them to other threads.

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd};
use std::thread::JoinHandle;

use weir_api::words::Express as State;
use weir_config::daemon::DataplaneConfig;
use weir_core::{Instant, Switch};

use crate::exchange::express::ExpressParts;
use crate::kernel::socket::XdpSocket;
use crate::kernel::xdp_io::{LaneDoorway, XdpIo};
use crate::memory::pool::Pool;
use crate::memory::umem::Memory;
use crate::placement;
use crate::rings::lane::Lane;
use crate::threads::hand_over::{hand_over, CoreSide};
use crate::threads::sleeper::Sleeper;
use crate::threads::socket_worker::{SocketDoorway, SocketWorker, SocketWorkers};
use crate::threads::wake::Wake;
use crate::ways::{Ways, WorkerWay};
use crate::worker::{Ended, PortLimits, Queues, Worker};

/// State of the switch core's thread besides the lanes.
pub(crate) struct Parts {
    pub(crate) memory: Memory,
    pub(crate) switch: Switch,
    pub(crate) pool: Pool,
    pub(crate) limits: Vec<PortLimits>,
    pub(crate) queues: Queues,
    pub(crate) clock: fn() -> Instant,
    /// The express path, or the reason for which there is none.
    pub(crate) express: Result<ExpressParts, State>,
}

/// Threads that are not started yet. The kernel already has chunks to receive into.
pub(crate) struct Prepared {
    threads: Unstarted,
    ways: Ways,
}

enum Unstarted {
    Alone(Box<Worker<XdpIo<XdpSocket>>>),
    WithWorkers {
        core: Box<Worker<XdpIo<CoreSide>>>,
        workers: Vec<SocketWorker<XdpSocket>>,
    },
}

#[derive(Debug)]
pub(crate) struct Threads {
    core: JoinHandle<Ended>,
    workers: SocketWorkers,
    pub(crate) ways: Ways,
}

impl Prepared {
    /// Prepares the threads that `config` requires, over the sockets by port.
    ///
    /// # Errors
    ///
    /// Those of eventfd(2).
    pub(crate) fn new(
        sockets: Vec<Vec<XdpSocket>>,
        parts: Parts,
        config: &DataplaneConfig,
    ) -> io::Result<Self> {
        match beside_the_core(config, sockets.len()) {
            0 => Ok(Self::alone(sockets, parts, config)),
            count => Self::with_workers(count, sockets, parts, config),
        }
    }

    /// Starts the threads.
    ///
    /// # Errors
    ///
    /// When a thread cannot be started.
    pub(crate) fn start(self, config: &DataplaneConfig) -> io::Result<Threads> {
        let mut threads = SocketWorkers::default();
        let core = match self.threads {
            Unstarted::Alone(core) => start_core(core, config.cpu)?,
            Unstarted::WithWorkers { core, workers } => {
                for (index, worker) in workers.into_iter().enumerate() {
                    let cpus = &config.worker_cpus;
                    let cpu = cpus.get(index % cpus.len().max(1)).copied();
                    threads.start(worker, move || prepare_thread(cpu))?;
                }
                start_core(core, config.cpu)?
            }
        };
        Ok(Threads {
            core,
            workers: threads,
            ways: self.ways,
        })
    }

    fn alone(sockets: Vec<Vec<XdpSocket>>, parts: Parts, config: &DataplaneConfig) -> Self {
        let sleeper = sleeper_of(parts.queues.wake.clone(), sockets.iter().flatten());
        let doorway = LaneDoorway::default();
        let ways = Ways::Alone(doorway.clone());
        let mut core = core_of(sockets, parts, sleeper, doorway, config);
        core.fill_rings();
        Self {
            threads: Unstarted::Alone(Box::new(core)),
            ways,
        }
    }

    /// Distributes ports over the workers in turn.
    fn with_workers(
        count: usize,
        sockets: Vec<Vec<XdpSocket>>,
        parts: Parts,
        config: &DataplaneConfig,
    ) -> io::Result<Self> {
        let sleeper = Sleeper::new(parts.queues.wake.clone(), []);
        let mut shares: Vec<Vec<(usize, XdpSocket)>> = (0..count).map(|_| Vec::new()).collect();
        let mut lanes: Vec<Vec<CoreSide>> = Vec::with_capacity(sockets.len());
        for (port, of_port) in sockets.into_iter().enumerate() {
            lanes.push(Vec::with_capacity(of_port.len()));
            if let Some(share) = shares.get_mut(port % count) {
                share.extend(of_port.into_iter().map(|socket| (port, socket)));
            }
        }
        let (rx_ring, tx_ring) = (config.rx_ring() as usize, config.tx_ring as usize);
        let mut workers = Vec::with_capacity(count);
        let mut worker_ways = Vec::with_capacity(count);
        for share in shares {
            let doorway = SocketDoorway::default();
            let wakes = sleeper_of(Wake::new()?, share.iter().map(|(_, socket)| socket));
            let mut served = Vec::with_capacity(share.len());
            for (port, socket) in share {
                let (lane, side) = hand_over(socket, rx_ring, tx_ring, wakes.waker());
                served.push((port, side));
                if let Some(of_port) = lanes.get_mut(port) {
                    of_port.push(lane);
                }
            }
            worker_ways.push(WorkerWay {
                doorway: doorway.clone(),
                waker: wakes.waker(),
            });
            workers.push(SocketWorker {
                sockets: served,
                sleeper: wakes,
                doorway,
                core: sleeper.waker(),
                clock: parts.clock,
                spin: config.spin,
            });
        }
        let doorway = LaneDoorway::default();
        let ways = Ways::WithWorkers {
            core: doorway.clone(),
            workers: worker_ways,
            rx_ring,
            tx_ring,
        };
        let mut core = core_of(lanes, parts, sleeper, doorway, config);
        core.fill_rings();
        for worker in &mut workers {
            worker.fill_rings();
        }
        Ok(Self {
            threads: Unstarted::WithWorkers {
                core: Box::new(core),
                workers,
            },
            ways,
        })
    }
}

impl Threads {
    /// Waits for the core's thread, which was asked to stop before, and ends the others.
    ///
    /// # Errors
    ///
    /// When one of them has panicked.
    pub(crate) fn join(self) -> std::thread::Result<Ended> {
        let ended = self.core.join();
        self.workers.stop()?;
        ended
    }
}

/// Returns the number of threads besides the core's that serve the sockets of this many ports.
pub(crate) fn beside_the_core(config: &DataplaneConfig, ports: usize) -> usize {
    // CPUs reserved for the dataplane are excluded for this thread.
    let cpus = std::thread::available_parallelism()
        .unwrap_or(NonZeroUsize::MIN)
        .saturating_add(placement::reserved(config).len());
    config.workers.beside_the_core(ports, cpus)
}

fn core_of<L: Lane>(
    lanes: Vec<Vec<L>>,
    parts: Parts,
    sleeper: Sleeper,
    doorway: LaneDoorway<L>,
    config: &DataplaneConfig,
) -> Worker<XdpIo<L>> {
    Worker::new(
        XdpIo::new(lanes, parts.memory, sleeper, doorway),
        parts.switch,
        parts.pool,
        parts.limits,
        parts.queues,
        parts.clock,
        config.spin,
    )
    .with_express(parts.express)
}

fn sleeper_of<'a>(wake: Wake, sockets: impl Iterator<Item = &'a XdpSocket>) -> Sleeper {
    Sleeper::new(wake, sockets.map(|socket| socket.as_fd().as_raw_fd()))
}

fn start_core<L: Lane + Send + 'static>(
    core: Box<Worker<XdpIo<L>>>,
    cpu: Option<usize>,
) -> io::Result<JoinHandle<Ended>> {
    std::thread::Builder::new()
        .name("weir-dataplane".into())
        .spawn(move || {
            prepare_thread(cpu);
            core.run()
        })
}

/// Makes sleeps end on time, and moves the thread to `cpu`.
fn prepare_thread(cpu: Option<usize>) {
    if let Err(error) = nix::sys::prctl::set_timerslack(1) {
        tracing::warn!(%error, "cannot set precise timers for a dataplane thread");
    }
    let Some(cpu) = cpu else { return };
    if let Err(error) = placement::bind(&[cpu]) {
        tracing::warn!(cpu, %error, "cannot pin a dataplane thread to its CPU");
    }
}
