//! LLDP: sockets and timers for the state machine in [`weir_core::control::neighbours`].
//!
//! The agent is a task of the API's runtime, so that no frame of the dataplane and no CLCM waits for it. Its findings go to
//! the dataplane as a command through the supervisor, and to operators as events.

mod socket;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration as StdDuration;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use weir_api::describe;
use weir_core::control::neighbours::{
    AnnouncedPort, NeighbourReport, Neighbours, NeighboursConfig,
};
use weir_core::wire::lldp::basic::ChassisId;
use weir_core::wire::lldp::{Lldp, FRAME_LENGTH_MAX};
use weir_core::{Command, Duration, MacAddress, PortId};

use super::info::{PortInfo, SwitchInfo};
use super::shared::Shared;
use crate::model::clock;
use crate::model::sight::{Direction, Sight, Verdict};
use socket::{Heard, LldpSocket};

/// Maximum number of frames that wait for the agent; the rest waits in the sockets.
const HEARD_CAPACITY: usize = 64;

/// Settings of LLDP.
#[derive(Clone, Debug)]
pub struct LldpSettings {
    /// True if LLDP is enabled.
    pub enabled: bool,
    /// Time between two announcements.
    pub interval: Duration,
    /// By [`PortId`]: announcements, and how the port uses the answers.
    pub ports: Vec<AnnouncedPort>,
}

impl Default for LldpSettings {
    fn default() -> Self {
        Self {
            enabled: false,
            interval: Duration::from_secs(30),
            ports: Vec::new(),
        }
    }
}

impl LldpSettings {
    /// Creates the state machine of a switch whose ports have their addresses: the lowest one is the chassis ID.
    pub(super) fn state_machine(&self, info: &SwitchInfo) -> Neighbours {
        // A port without a device may have no address.
        let addresses = info.ports.iter().map(PortInfo::address);
        let chassis = addresses.filter(|it| *it != MacAddress::default()).min();
        let config = NeighboursConfig {
            chassis: ChassisId::mac(chassis.unwrap_or_default()),
            interval: self.interval,
            ports: self.ports.clone(),
        };
        Neighbours::new(config, clock::now())
    }
}

/// The agent.
pub struct LldpAgent {
    shared: Arc<Shared>,
    /// By [`PortId`].
    sockets: Vec<PortSocket>,
}

#[derive(Default)]
struct PortSocket {
    /// [Number of the device](super::shared::Links::devices).
    device: usize,
    /// `None` if none could be opened.
    socket: Option<Arc<LldpSocket>>,
    listener: Option<AbortHandle>,
}

impl LldpAgent {
    /// Creates an agent with one socket for each port, in their order. A port whose socket could not be opened is left out,
    /// with a warning. Needs a tokio runtime.
    pub fn new(shared: Arc<Shared>, sockets: Vec<std::io::Result<OwnedFd>>) -> Self {
        let ports = shared.info.numbered_ports().zip(sockets);
        let sockets = ports
            .map(|((port, info), socket)| PortSocket {
                device: shared.links.devices(port),
                socket: (!shared.links.is_gone(port))
                    .then(|| usable(info, socket))
                    .flatten(),
                listener: None,
            })
            .collect();
        Self { shared, sockets }
    }

    /// Runs LLDP until the daemon ends, and then sends a goodbye.
    ///
    /// # Errors
    ///
    /// Never; a failing port is left out.
    pub async fn run(mut self) -> std::io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let ending = shared.life.ending();
        tokio::pin!(ending);
        let (sender, mut heard) = mpsc::channel(HEARD_CAPACITY);
        let mut receivers = JoinSet::new();
        for (port, place) in numbered(&mut self.sockets) {
            place.listen(port, &mut receivers, &sender);
        }
        loop {
            self.follow_devices(&mut receivers, &sender);
            self.step().await;
            let due = shared.links.neighbours().next_timeout();
            tokio::select! {
                () = &mut ending => break,
                Some(heard) = heard.recv() => self.take(&heard),
                () = shared.links.lldp_due() => {}
                () = sleep_until(due), if due.is_some() => {}
            }
        }
        self.say_goodbye();
        Ok(())
    }

    /// Opens another socket for a port with a new device.
    fn follow_devices(&mut self, receivers: &mut JoinSet<()>, sender: &mpsc::Sender<Heard>) {
        let shared = &self.shared;
        for (port, place) in numbered(&mut self.sockets) {
            let device = shared.links.devices(port);
            let Some(info) = shared.info.ports.get(port.index()) else {
                continue;
            };
            if place.device != device {
                if let Some(listener) = place.listener.take() {
                    listener.abort();
                }
                place.device = device;
                place.socket = usable(info, shared.dataplane.lldp_socket(port));
                place.listen(port, receivers, sender);
            }
        }
    }

    fn take(&self, heard: &Heard) {
        let mut neighbours = self.shared.links.neighbours();
        if heard.lost > 0 {
            neighbours.count_limited(heard.port, heard.lost);
        }
        neighbours.receive(clock::now(), heard.port, &heard.frame);
        drop(neighbours);
        self.show(heard.port, Direction::In, Verdict::Read, &heard.frame);
    }

    /// Does the work that is due and forwards the results.
    async fn step(&self) {
        let now = clock::now();
        let (frames, commands, reports) = {
            let mut neighbours = self.shared.links.neighbours();
            neighbours.handle_timeout(now);
            let frames = self.frames_due(&mut neighbours, now);
            let commands: Vec<Command> = std::iter::from_fn(|| neighbours.poll_command()).collect();
            let reports: Vec<NeighbourReport> =
                std::iter::from_fn(|| neighbours.poll_report()).collect();
            (frames, commands, reports)
        };
        for (port, lldp) in frames {
            if !self.send(port, &lldp) {
                self.shared.links.neighbours().count_unsent(port);
            }
        }
        for command in commands {
            self.shared.dataplane.command(command).await;
        }
        for report in reports {
            let info = &self.shared.info;
            self.shared
                .records
                .record(describe::neighbour(&|port| info.port_name(port), &report));
        }
    }

    fn frames_due(
        &self,
        neighbours: &mut Neighbours,
        now: weir_core::Instant,
    ) -> Vec<(PortId, Lldp)> {
        std::iter::from_fn(|| neighbours.poll_transmit(now)).collect()
    }

    fn say_goodbye(&self) {
        for (port, _) in self.shared.info.numbered_ports() {
            let goodbye = self.shared.links.neighbours().take_goodbye(port);
            if goodbye.is_some_and(|lldp| !self.send(port, &lldp)) {
                self.shared.links.neighbours().count_unsent(port);
            }
        }
    }

    /// Returns false when the device refuses the frame, or there is no socket.
    fn send(&self, port: PortId, lldp: &Lldp) -> bool {
        let place = self.sockets.get(port.index());
        let socket = place.and_then(|place| place.socket.as_ref());
        let info = self.shared.info.ports.get(port.index());
        let (Some(socket), Some(info)) = (socket, info) else {
            return false;
        };
        let mut buffer = [0; FRAME_LENGTH_MAX];
        let Ok(length) = lldp.emit(info.address(), &mut buffer) else {
            return false;
        };
        let sent = socket.send(&buffer[..length]);
        if sent.is_ok() {
            let verdict = Verdict::Sent {
                marked: false,
                inside: None,
            };
            self.show(port, Direction::Out, verdict, &buffer[..length]);
        }
        if let Err(error) = &sent {
            tracing::debug!(port = info.name, %error, "cannot send an LLDP frame");
        }
        sent.is_ok()
    }

    /// Offers the frame to captures, since the dataplane never sees LLDP.
    fn show(&self, port: PortId, direction: Direction, verdict: Verdict, frame: &[u8]) {
        self.shared.dataplane.captures.offer(&Sight {
            at: clock::now(),
            port,
            direction,
            verdict,
            priority: None,
            hardware_nanos: None,
            bytes: frame,
        });
    }
}

impl PortSocket {
    /// Spawns the receiving task of a port; it ends with the set.
    fn listen(&mut self, port: PortId, receivers: &mut JoinSet<()>, sender: &mpsc::Sender<Heard>) {
        self.listener = self.socket.as_ref().map(|socket| {
            let listen = socket::listen(port, Arc::clone(socket), sender.clone());
            receivers.spawn(listen)
        });
    }
}

fn numbered(sockets: &mut [PortSocket]) -> impl Iterator<Item = (PortId, &mut PortSocket)> {
    let places = sockets.iter_mut().enumerate();
    places.filter_map(|(index, place)| Some((PortId::from_index(index)?, place)))
}

fn usable(port: &PortInfo, socket: std::io::Result<OwnedFd>) -> Option<Arc<LldpSocket>> {
    socket
        .and_then(LldpSocket::new)
        .map(Arc::new)
        .inspect_err(|error| {
            tracing::warn!(port = port.name, %error, "LLDP is unavailable on this port");
        })
        .ok()
}

async fn sleep_until(due: Option<weir_core::Instant>) {
    if let Some(due) = due {
        let wait = due.saturating_since(clock::now());
        tokio::time::sleep(StdDuration::from_nanos(wait.as_nanos())).await;
    }
}
