//! Channels to running threads: hand them a port's rings, or withdraw the rings, while they serve the others.

use std::time::Duration;

use weir_core::{MacAddress, PortId};

use crate::exchange::messages::Request;
use crate::kernel::socket::XdpSocket;
use crate::kernel::xdp_io::{LaneDoorway, PortLanes};
use crate::threads::hand_over::{hand_over, CoreSide};
use crate::threads::sleeper::Waker;
use crate::threads::socket_worker::{Change, SocketDoorway};

/// Time limit for a thread to check its channel, which it does in every round.
const LIMIT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) enum Ways {
    Alone(LaneDoorway<XdpSocket>),
    WithWorkers {
        core: LaneDoorway<CoreSide>,
        workers: Vec<WorkerWay>,
        rx_ring: usize,
        tx_ring: usize,
    },
}

#[derive(Debug)]
pub(super) struct WorkerWay {
    pub(super) doorway: SocketDoorway<XdpSocket>,
    pub(super) waker: Waker,
}

impl WorkerWay {
    fn change(&self, change: Change<XdpSocket>) {
        self.doorway.hand_in(change);
        self.waker.wake();
    }
}

/// Returns the worker of a port; ports are distributed over `workers` in turn.
pub(super) fn worker_of<T>(workers: &[T], port: usize) -> Option<&T> {
    workers.get(port % workers.len().max(1))
}

impl Ways {
    /// Removes `port` from its threads and closes its sockets. `ask` sends a request to the core's thread. Returns false
    /// when a thread does not respond in time, because it has ended.
    pub(super) fn part(&self, port: PortId, ask: impl Fn(Request)) -> bool {
        match self {
            Self::Alone(core) => {
                core.clear();
                ask(Request::Part { port });
                core.departure(LIMIT).is_some()
            }
            Self::WithWorkers { core, workers, .. } => {
                let Some(worker) = worker_of(workers, port.index()) else {
                    return false;
                };
                worker.change(Change::Part(port.index()));
                // Their received frames are with the core's side by now, which checks that the other side still exists.
                let sockets = worker.doorway.departure(LIMIT);
                core.clear();
                ask(Request::Part { port });
                let lanes = core.departure(LIMIT);
                sockets.is_some() && lanes.is_some()
            }
        }
    }

    /// Adds `sockets` for `port`, which has none: with its address, and a flag that received checksums may be unfinished.
    /// When it returns, the kernel has chunks to receive into. Returns false like [`part`](Self::part).
    pub(super) fn join(
        &self,
        port: PortId,
        (address, finishes): (MacAddress, bool),
        sockets: Vec<XdpSocket>,
        ask: impl Fn(Request),
    ) -> bool {
        let join = Request::Join {
            port,
            address,
            finishes,
        };
        match self {
            Self::Alone(core) => {
                core.hand_in(PortLanes::new(sockets));
                ask(join);
                core.is_settled(LIMIT)
            }
            Self::WithWorkers {
                core,
                workers,
                rx_ring,
                tx_ring,
            } => {
                let Some(worker) = worker_of(workers, port.index()) else {
                    return false;
                };
                let sides = sockets
                    .into_iter()
                    .map(|socket| hand_over(socket, *rx_ring, *tx_ring, worker.waker.clone()));
                let (lanes, served): (Vec<_>, Vec<_>) = sides.unzip();
                let served = served.into_iter().map(|side| (port.index(), side));
                // The core hands out chunks first, so that the worker has chunks for the kernel.
                core.hand_in(PortLanes::new(lanes));
                ask(join);
                if !core.is_settled(LIMIT) {
                    return false;
                }
                worker.change(Change::Join(served.collect()));
                worker.doorway.is_settled(LIMIT)
            }
        }
    }
}
