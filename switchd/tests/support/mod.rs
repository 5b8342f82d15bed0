//! A dataplane made of queues, and a small HTTP client.
#![allow(dead_code)] // each test file uses its own part

pub mod certificate;
pub mod configured;
pub mod contract;
#[path = "../../../crates/dataplane/tests/support/network.rs"]
pub mod network;
pub mod readers;
#[path = "../../../crates/dataplane/tests/support/rooms.rs"]
pub mod rooms;
pub mod running;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration as StdDuration;

use crossbeam::channel::{bounded, Receiver, Sender};
use nix::sys::eventfd::{EfdFlags, EventFd};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weir_config::daemon::Port;
use weir_core::control::{ControlConfig, LoopBreakerConfig, Policy};
use weir_core::event::EventKind;
use weir_core::{
    BitRate, Bytes, ClassMode, Command, CommandError, Duration, Event, Instant, MacAddress,
    PfcThresholds, PortId, PortRole, PortSet, Priority, SuspicionReason,
};
use weir_dataplane::link::{Busy, DataplaneLink, Requests, XdpPrograms};
use weir_dataplane::messages::{Answer as CommandAnswer, Request, Snapshot};
use weir_dataplane::series::{Series, PLACES};
use weir_dataplane::tap::Taps;
use weir_switchd::control::flight_recorder::FlightSettings;
use weir_switchd::control::info::{ClassInfo, PortInfo, Stations, SwitchInfo};
use weir_switchd::control::lldp::LldpSettings;
use weir_switchd::control::ControlSettings;
use weir_switchd::daemon::{AttachedPort, Programs, RunningDataplane, Stopped};
use weir_switchd::model::classify::Trusted;
use weir_switchd::model::clock;

/// Time limit of all waits in tests.
pub const LIMIT: StdDuration = StdDuration::from_secs(60);

pub const LOSSLESS: u8 = 3;

pub fn port(index: usize) -> PortId {
    PortId::from_index(index).unwrap()
}

pub fn priority(value: u8) -> Priority {
    Priority::new(value).unwrap()
}

/// Returns a port's device.
pub fn attached(ifindex: u32) -> AttachedPort {
    AttachedPort {
        ifindex,
        address: MacAddress::default(),
        xdp_mode: "native",
        zero_copy: false,
    }
}

/// Returns three ports `p0` to `p2`, the last an edge port; priority 3 is lossless.
pub fn info() -> SwitchInfo {
    let ports = (0..3u8)
        .map(|index| PortInfo {
            name: format!("p{index}"),
            device: format!("dev{index}"),
            role: match index {
                2 => PortRole::Edge,
                _ => PortRole::Fabric,
            },
            rate: BitRate::from_mbit(100),
            cable: None,
            trusted: Trusted::default().into(),
            attached: attached(0).into(),
        })
        .collect();
    let classes = std::array::from_fn(|index| {
        let lossless = index == usize::from(LOSSLESS);
        ClassInfo {
            name: if lossless { "lossless" } else { "default" }.to_owned(),
            mode: if lossless {
                ClassMode::Pfc(
                    PfcThresholds::new(Bytes::new(61_440), Bytes::new(53_248), Bytes::new(65_536))
                        .unwrap(),
                )
            } else {
                ClassMode::Lossy {
                    buffer: Bytes::new(65_536),
                }
            }
            .into(),
            headroom_by_cable: false,
            configured: lossless,
        }
    });
    SwitchInfo {
        mtu: Bytes::new(1500),
        pools: vec!["shared".to_owned()],
        name: "s1".to_owned(),
        deadlock_policy: Policy::Breaker.into(),
        ports,
        classes,
        stations: Stations::default().into(),
        mirrors: configured::mirrors().into(),
        marking: configured::marking().into(),
        impair: true,
    }
}

pub fn settings() -> ControlSettings {
    let mut fabric_ports = PortSet::EMPTY;
    fabric_ports.insert(port(0));
    fabric_ports.insert(port(1));
    ControlSettings {
        plane: ControlConfig {
            policy: Policy::Breaker,
            loop_breaker: LoopBreakerConfig::default(),
            clcm_interval: Duration::from_millis(5),
            release_period: Duration::from_millis(50),
            release_extra: Bytes::new(3_072),
            port_count: 3,
            fabric_ports,
        },
        seed: 1,
        watermark_interval: Duration::from_secs(120),
        history_interval: Duration::from_millis(5),
        history_length: 4,
        flights: FlightSettings::new(Duration::from_millis(20), Duration::from_millis(5)),
        flap_damping: None,
        lldp: LldpSettings::default(),
        sflow: None,
        ipfix: None,
    }
}

/// Chooses the commands that the fake dataplane refuses.
pub type Concerns = fn(&Command) -> bool;

/// The other ends of the queues. Its thread fills snapshots from `template` and records the commands.
pub struct FakeDataplane {
    requests: Sender<Request>,
    request_queue: Receiver<Request>,
    events: Option<Sender<Event>>,
    event_queue: Receiver<Event>,
    snapshots: Sender<Box<Snapshot>>,
    snapshot_queue: Receiver<Box<Snapshot>>,
    answers: Sender<CommandAnswer>,
    answer_queue: Receiver<CommandAnswer>,
    pub notify: Arc<EventFd>,
    pub template: Arc<Mutex<Snapshot>>,
    /// Result for requests with a waiting requester.
    pub outcome: Arc<Mutex<Result<(), CommandError>>>,
    /// The commands that get this result; others succeed.
    pub concerns: Arc<Mutex<Concerns>>,
    commands: Arc<Mutex<Vec<Command>>>,
    pub taps: Arc<Mutex<Taps>>,
    /// Series that are read.
    pub series: Arc<Mutex<[Option<Arc<Series>>; PLACES]>>,
    /// The daemon's ends of the LLDP sockets, until it takes them.
    pub lldp: Mutex<Vec<OwnedFd>>,
    /// Changed settings of XDP programs.
    pub classified: Arc<Mutex<Vec<(PortId, Port)>>>,
    /// Runs when the dataplane is stopped.
    pub at_stop: Option<Box<dyn FnOnce() + Send>>,
    thread: Option<JoinHandle<()>>,
}

impl FakeDataplane {
    pub fn start() -> Self {
        let (requests, request_queue) = bounded(64);
        let (events, event_queue) = bounded(4_096);
        let (snapshots, snapshot_queue) = bounded(8);
        let (answers, answer_queue) = bounded(64);
        let all: Concerns = |_| true;
        let mut fake = Self {
            answers,
            answer_queue,
            outcome: Arc::new(Mutex::new(Ok(()))),
            concerns: Arc::new(Mutex::new(all)),
            requests,
            request_queue,
            events: Some(events),
            event_queue,
            snapshots,
            snapshot_queue,
            notify: Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC).unwrap()),
            template: Arc::default(),
            commands: Arc::default(),
            taps: Arc::default(),
            series: Arc::default(),
            lldp: Mutex::default(),
            classified: Arc::default(),
            at_stop: None,
            thread: None,
        };
        fake.template.lock().unwrap().ports = vec![Default::default(); 3];
        fake.thread = Some(fake.spawn());
        fake
    }

    fn spawn(&self) -> JoinHandle<()> {
        let requests = self.request_queue.clone();
        let snapshots = self.snapshots.clone();
        let template = Arc::clone(&self.template);
        let commands = Arc::clone(&self.commands);
        let notify = Arc::clone(&self.notify);
        let taps = Arc::clone(&self.taps);
        let series = Arc::clone(&self.series);
        let (answers, outcome) = (self.answers.clone(), Arc::clone(&self.outcome));
        let concerns = Arc::clone(&self.concerns);
        std::thread::spawn(move || {
            for request in requests {
                match request {
                    Request::Command(command) => {
                        configured::keep(&template, command);
                        commands.lock().unwrap().push(command);
                    }
                    Request::Ask { id, command } => {
                        configured::keep(&template, command);
                        commands.lock().unwrap().push(command);
                        let outcome = match concerns.lock().unwrap()(&command) {
                            true => *outcome.lock().unwrap(),
                            false => Ok(()),
                        };
                        answers.send(CommandAnswer { id, outcome }).unwrap();
                        notify.write(1).unwrap();
                    }
                    Request::Snapshot(mut snapshot) => {
                        let tables = snapshot.tables;
                        *snapshot = template.lock().unwrap().clone();
                        snapshot.tables = tables;
                        snapshot.at = clock::now();
                        snapshots.try_send(snapshot).unwrap();
                        notify.write(1).unwrap();
                    }
                    Request::Tap { place, tap } => taps.lock().unwrap().set(place, tap),
                    Request::Series {
                        place,
                        series: taken,
                    } => {
                        series.lock().unwrap()[place] = taken;
                    }
                    // It holds no frames.
                    Request::Inject(_)
                    | Request::Stations(_)
                    | Request::Express(_)
                    | Request::Mirrors(_)
                    | Request::Impair { .. }
                    | Request::Part { .. }
                    | Request::Join { .. } => {}
                    Request::Stop { .. } => return,
                }
            }
        })
    }

    /// Returns a handle with which a test causes events after the daemon owns the dataplane.
    pub fn remote(&self) -> Remote {
        Remote {
            events: self.events.clone().unwrap(),
            notify: Arc::clone(&self.notify),
            commands: Arc::clone(&self.commands),
        }
    }

    /// Ends like a thread that panicked: the queues close.
    pub fn die(&mut self) {
        self.events = None;
    }
}

#[derive(Clone)]
pub struct Remote {
    events: Sender<Event>,
    notify: Arc<EventFd>,
    commands: Arc<Mutex<Vec<Command>>>,
}

impl Remote {
    pub fn happen(&self, kind: EventKind) -> Instant {
        self.happen_at(clock::now(), kind)
    }

    pub fn happen_at(&self, at: Instant, kind: EventKind) -> Instant {
        self.events.send(Event { at, kind }).unwrap();
        self.notify.write(1).unwrap();
        at
    }

    pub fn suspect(&self, egress: usize) -> Instant {
        self.suspect_at(clock::now(), egress)
    }

    pub fn suspect_at(&self, at: Instant, egress: usize) -> Instant {
        let kind = EventKind::Suspected {
            alternatives: false,
            alternatives_from: PortSet::EMPTY,
            egress: port(egress),
            priority: priority(LOSSLESS),
            reason: SuspicionReason::Paused,
            queued: Bytes::new(4_500),
            idle: Duration::from_millis(20),
        };
        self.happen_at(at, kind)
    }

    pub fn commands(&self) -> Vec<Command> {
        self.commands.lock().unwrap().clone()
    }
}

struct Sending(Sender<Request>);

impl Requests for Sending {
    fn try_send(&self, request: Request) -> Result<(), Busy> {
        self.0.try_send(request).map_err(|_| Busy)
    }
}

impl RunningDataplane for FakeDataplane {
    fn link(&self) -> io::Result<DataplaneLink> {
        let notify: OwnedFd = self.notify.as_fd().try_clone_to_owned()?;
        Ok(DataplaneLink {
            requests: Box::new(Sending(self.requests.clone())),
            events: self.event_queue.clone(),
            snapshots: self.snapshot_queue.clone(),
            answers: self.answer_queue.clone(),
            notify,
        })
    }

    fn attached(&self) -> Vec<AttachedPort> {
        (0..3u8)
            .map(|index| AttachedPort {
                ifindex: 1_000_000 + u32::from(index),
                address: MacAddress([2, 0, 0, 0, 0, index]),
                xdp_mode: "generic",
                zero_copy: false,
            })
            .collect()
    }

    fn xdp_frames(&self, port: PortId) -> Vec<(&'static str, u64)> {
        FakeXdp.frames(port)
    }

    fn xdp_verdicts(&self, port: PortId) -> Vec<(&'static str, u64)> {
        FakeXdp.verdicts(port)
    }

    fn classify(&mut self, port: PortId, settings: &Port) -> anyhow::Result<()> {
        self.classified
            .lock()
            .unwrap()
            .push((port, settings.clone()));
        Ok(())
    }

    fn lldp_sockets(&self) -> Vec<io::Result<OwnedFd>> {
        let sockets = std::mem::take(&mut *self.lldp.lock().unwrap());
        sockets.into_iter().map(Ok).collect()
    }

    fn stop(mut self, drain: StdDuration, _: Programs) -> anyhow::Result<Stopped> {
        if let Some(at_stop) = self.at_stop.take() {
            at_stop();
        }
        let drain = Duration::from_nanos(drain.as_nanos() as u64);
        let hands_on = false;
        self.requests.send(Request::Stop { drain, hands_on })?;
        self.thread.take().unwrap().join().unwrap();
        Ok(Stopped::default())
    }
}

pub struct FakeXdp;

impl XdpPrograms for FakeXdp {
    fn frames(&self, port: PortId) -> Vec<(&'static str, u64)> {
        vec![("data", 100 + u64::from(port.get())), ("mac_control", 7)]
    }

    fn verdicts(&self, _: PortId) -> Vec<(&'static str, u64)> {
        vec![("redirected", 107), ("no_meta", 0)]
    }

    fn mode(&self, _: PortId) -> Option<&'static str> {
        Some("generic")
    }

    fn fall_back(&self, _: PortId) -> anyhow::Result<bool> {
        Ok(false)
    }

    fn classify(&self, _: PortId, _: &Port) -> anyhow::Result<()> {
        Ok(())
    }

    fn take(&self, _: PortId) -> anyhow::Result<Option<AttachedPort>> {
        Ok(None)
    }

    fn release(&self, _: PortId) -> anyhow::Result<()> {
        Ok(())
    }

    fn lldp_socket(&self, _: PortId) -> io::Result<OwnedFd> {
        Err(io::ErrorKind::NotFound.into())
    }
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json<T: serde::de::DeserializeOwned>(&self) -> T {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

pub async fn get(socket: &Path, path: &str) -> Answer {
    request(socket, "GET", path).await
}

/// Sends PUT with a JSON body.
pub async fn put(socket: &Path, path: &str, body: &str) -> Answer {
    request_with(socket, "PUT", path, body).await
}

/// Returns the answer, after checking it against the OpenAPI document.
fn as_documented(method: &str, path: &str, answer: Answer) -> Answer {
    contract::check(method, path, answer.status, &answer.body);
    answer
}

pub async fn request(socket: &Path, method: &str, path: &str) -> Answer {
    let stream = tokio::net::UnixStream::connect(socket).await.unwrap();
    as_documented(method, path, exchange(stream, method, path).await)
}

pub async fn exchange(
    mut stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    method: &str,
    path: &str,
) -> Answer {
    ask(&mut stream, method, path).await;
    answer(stream).await
}

pub async fn request_with(socket: &Path, method: &str, path: &str, body: &str) -> Answer {
    let stream = send(socket, method, path, body).await;
    as_documented(method, path, answer(stream).await)
}

async fn send(socket: &Path, method: &str, path: &str, body: &str) -> tokio::net::UnixStream {
    let mut stream = tokio::net::UnixStream::connect(socket).await.unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Sends `body` by POST, and reads only the answer's status; the rest follows as long as the stream is open.
pub async fn begin(socket: &Path, path: &str, body: &str) -> tokio::net::UnixStream {
    let mut stream = send(socket, "POST", path, body).await;
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    stream
}

/// The first half of [`exchange`].
pub async fn ask(stream: &mut (impl tokio::io::AsyncWrite + Unpin), method: &str, path: &str) {
    let request =
        format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
}

/// The second half of [`exchange`].
pub async fn answer(mut stream: impl tokio::io::AsyncRead + Unpin) -> Answer {
    let mut text = String::new();
    tokio::time::timeout(LIMIT, stream.read_to_string(&mut text))
        .await
        .expect("an answer in time")
        .unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

/// Waits until `condition` returns a value.
pub async fn until<T>(mut condition: impl AsyncFnMut() -> Option<T>) -> T {
    let waiting = async {
        loop {
            if let Some(value) = condition().await {
                return value;
            }
            tokio::time::sleep(StdDuration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(LIMIT, waiting)
        .await
        .expect("the condition in time")
}
