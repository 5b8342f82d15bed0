//! `weir-host push-back` with real frames: a sender that obeys pauses, and a socket that is read at intervals.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::UdpSocket;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::sched::{setns, CloneFlags};
use nix::sys::signal::{kill, Signal};
use nix::sys::socket::{setsockopt, sockopt};
use nix::unistd::Pid;
use serde_json::Value;

/// Time limit of any condition.
const PATIENCE: Duration = Duration::from_secs(60);
const PORT: &str = "5001";
/// Half of it exceeds what the sender sends in a second, so that no loss depends on timing.
const ROOM_BYTES: usize = 8 << 20;
/// Prints `xoff`, `xon` and `expired` as pauses of priority 3 begin and end, and obeys them. At the end of its input it
/// prints the number of datagrams sent, each numbered.
const SENDER: &str = r#"
import select, socket, struct, sys, time
rate = int(sys.argv[1])
control = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x8808))
control.bind(("eth0", 0x8808))
membership = struct.pack("iHH8s", socket.if_nametoindex("eth0"), 0, 6, bytes.fromhex("0180c2000001"))
control.setsockopt(263, 1, membership)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.connect(("10.3.0.2", 5001))
sent, until, ended = 0, 0, False
print("ready", flush=True)
while not ended:
    ready, _, _ = select.select([control, sys.stdin], [], [], 0.0005)
    now = time.monotonic()
    if until and now >= until:
        until = 0
        print("expired", flush=True)
    if control in ready:
        frame, address = control.recvfrom(100)
        opcode, enabled, quanta = *struct.unpack("!HH", frame[14:18]), struct.unpack("!8H", frame[18:34])
        if address[2] != socket.PACKET_OUTGOING and opcode == 0x0101 and enabled & 8:
            if quanta[3] == 0 and until:
                until = 0
                print("xon", flush=True)
            elif quanta[3] and not until:
                print("xoff", flush=True)
            if quanta[3]:
                until = now + quanta[3] * 512 / rate
    ended = sys.stdin in ready
    if not until and not ended:
        for _ in range(2):
            udp.send(struct.pack("!Q", sent) + bytes(1400))
            sent += 1
print(sent, flush=True)
"#;

fn ip(words: &str) {
    let done = Command::new("ip").args(words.split(' ')).status().unwrap();
    assert!(done.success(), "ip {words}");
}

/// Two hosts at the ends of a cable: `a` with the sender, `b` with the socket.
struct Cable {
    names: [String; 2],
    socket: UdpSocket,
}

impl Cable {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let names = ["a", "b"].map(|end| format!("weir-pb-{}-{number}{end}", std::process::id()));
        let [a, b] = &names;
        for (name, host) in [(a, 1), (b, 2)] {
            ip(&format!("netns add {name}"));
            if host == 2 {
                ip(&format!(
                    "link add eth0 netns {a} type veth peer name eth0 netns {b}"
                ));
            }
        }
        for (name, host) in [(a, 1), (b, 2)] {
            ip(&format!("-n {name} addr add 10.3.0.{host}/24 dev eth0"));
            ip(&format!("-n {name} link set eth0 up"));
        }
        let namespace = File::open(format!("/run/netns/{b}")).unwrap();
        let bound = std::thread::spawn(move || {
            setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
            UdpSocket::bind(format!("10.3.0.2:{PORT}")).unwrap()
        });
        let socket = bound.join().unwrap();
        setsockopt(&socket, sockopt::RcvBufForce, &(ROOM_BYTES / 2)).unwrap();
        socket.set_nonblocking(true).unwrap();
        Self { names, socket }
    }

    fn inside(&self, end: usize, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--net=/run/netns/{}", self.names[end]))
            .arg(program);
        command
    }

    fn sender(&self) -> Sender {
        let mut command = self.inside(0, "python3");
        command.args(["-c", SENDER, "1000000000"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut sender = Sender {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        };
        assert_eq!(sender.says(), "ready");
        sender
    }

    fn push_back(&self, options: &[&str]) -> PushBack {
        let mut command = self.inside(1, env!("CARGO_BIN_EXE_weir-host"));
        let words = [
            "--json",
            "push-back",
            "eth0",
            "--priority",
            "3",
            "--rate",
            "1Gbit",
        ];
        command.args(words).args(["--port", PORT]).args(options);
        PushBack(Some(command.stdout(Stdio::piped()).spawn().unwrap()))
    }

    /// Returns the datagrams for which a socket had no room.
    fn dropped(&self) -> u64 {
        let output = self
            .inside(1, "cat")
            .arg("/proc/net/snmp")
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
        let names = lines.next().unwrap().split(' ');
        let mut both = names.zip(lines.next().unwrap().split(' '));
        let (_, count) = both.find(|(name, _)| *name == "RcvbufErrors").unwrap();
        count.parse().unwrap()
    }

    /// Reads all waiting datagrams; returns their numbers.
    fn read(&self) -> Vec<u64> {
        let mut datagram = [0; 2048];
        let mut numbers = Vec::new();
        while let Ok(length) = self.socket.recv(&mut datagram) {
            assert!(length > 8);
            numbers.push(u64::from_be_bytes(*datagram.first_chunk().unwrap()));
        }
        numbers
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

struct Sender {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Sender {
    /// Returns the next output line; only the test's time limit applies.
    fn says(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// Reads output lines up to this one.
    fn until(&mut self, wanted: &str) {
        loop {
            let said = self.says();
            assert!(!said.is_empty(), "it ended without {wanted}");
            if said == wanted {
                return;
            }
        }
    }

    /// Ends the sender; returns the number of datagrams sent.
    fn end(mut self) -> u64 {
        let mut input = self.input.take().unwrap();
        input.write_all(b"\n").unwrap();
        loop {
            if let Ok(sent) = self.says().parse() {
                self.child.wait().unwrap();
                return sent;
            }
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct PushBack(Option<Child>);

impl PushBack {
    fn pid(&self) -> Pid {
        Pid::from_raw(self.0.as_ref().unwrap().id() as i32)
    }

    /// Ends the process; returns its summary.
    fn end(mut self) -> Value {
        kill(self.pid(), Signal::SIGTERM).unwrap();
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for PushBack {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
#[ignore = "needs root"]
fn a_reader_that_does_not_read_loses_nothing() {
    const ROUNDS: u64 = 4;
    let cable = Cable::new();
    let push_back = cable.push_back(&["--longest", "10min"]);
    let mut sender = cable.sender();
    let mut numbers = Vec::new();
    for _ in 0..ROUNDS {
        sender.until("xoff");
        // A paused sender sends nothing more.
        numbers.extend(cable.read());
        sender.until("xon");
    }
    let weir_host = |words: &[&str]| {
        let mut command = cable.inside(1, env!("CARGO_BIN_EXE_weir-host"));
        command.args(words).output().unwrap()
    };
    let metrics = String::from_utf8(weir_host(&["metrics"]).stdout).unwrap();
    let sockets = "weir_host_push_back_sockets{device=\"eth0\",priority=\"3\"} 1\n";
    assert!(metrics.contains(sockets), "{metrics}");
    let words = "push-back eth0 --priority 3 --rate 1Gbit --all-sockets";
    let words: Vec<&str> = words.split(' ').collect();
    let refused = String::from_utf8(weir_host(&words).stderr).unwrap();
    let who = format!("process {}", push_back.pid());
    assert!(refused.contains(&who), "{refused}");
    let sent = sender.end();
    until("everything has come", || {
        numbers.extend(cable.read());
        numbers.len() as u64 >= sent
    });
    assert!(numbers.iter().copied().eq(0..sent), "lost or out of order");
    assert_eq!(cable.dropped(), 0);
    let said = push_back.end();
    assert!(said["pauses"].as_u64() >= Some(ROUNDS), "{said}");
    assert_eq!(said["pauses"], said["resumes"], "{said}");
    assert!(said["fullest_percent"].as_u64() >= Some(50), "{said}");
    for never in ["dropped", "given_up", "unwatched"] {
        assert_eq!(said[never], 0, "{never}: {said}");
    }
}

/// The control experiment: the same sender and socket, without pauses.
#[test]
#[ignore = "needs root"]
fn without_it_the_socket_drops() {
    let cable = Cable::new();
    let sender = cable.sender();
    until("the socket drops", || cable.dropped() > 0);
    let sent = sender.end();
    assert!((cable.read().len() as u64) < sent);
}

#[test]
#[ignore = "needs root"]
fn a_dead_reader_pauses_nobody_for_ever_and_counts_again_once_it_reads() {
    let cable = Cable::new();
    let push_back = cable.push_back(&["--longest", "300ms"]);
    let mut sender = cable.sender();
    sender.until("xoff");
    sender.until("xon");
    until("the sender goes on, into a full socket", || {
        cable.dropped() > 0
    });
    cable.read();
    sender.until("xoff");
    // It ends normally and resumes the neighbour.
    let said = push_back.end();
    sender.until("xon");
    assert_eq!(said["given_up"], 1, "{said}");
    assert!(said["dropped"].as_u64() > Some(0), "{said}");
    assert_eq!(said["pauses"], 2, "{said}");
}

#[test]
#[ignore = "needs root"]
fn killed_it_leaves_no_pause_behind() {
    let cable = Cable::new();
    let push_back = cable.push_back(&["--longest", "10min"]);
    let mut sender = cable.sender();
    sender.until("xoff");
    kill(push_back.pid(), Signal::SIGKILL).unwrap();
    sender.until("expired");
}
