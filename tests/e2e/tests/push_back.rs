//! An application that does not read, behind a switch: with `weir-host push-back` its datagrams wait in the switch, without
//! it they are dropped at its socket.

use std::fs::File;
use std::net::UdpSocket;
use std::process::Stdio;

use nix::sched::{setns, CloneFlags};
use nix::sys::socket::{setsockopt, sockopt};
use weir_lab::lab::process::program;
use weir_tests::scapy::Scapy;
use weir_tests::{until, Bench};

const THREE_HOSTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/three-hosts.toml");
/// Half of the socket fills in a third of a second, so no process has to be fast.
const RATE: &str = "10Mbit";
const ROOM_BYTES: usize = 2 << 20;
/// More than the socket holds, and less than the switch.
const DATAGRAMS: u32 = 2500;
const FRAME: &str =
    "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:02') / Dot1Q(vlan=0, prio=3) / \
    IP(src='10.99.0.1', dst='10.99.0.2') / UDP(sport=5000, dport=5001) / Raw(bytes(1000))";

/// Opens a socket of h2.
fn socket(bench: &Bench) -> UdpSocket {
    let namespace = File::open(format!("/run/netns/{}", bench.namespace("h2"))).unwrap();
    let bound = std::thread::spawn(move || {
        setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
        UdpSocket::bind("10.99.0.2:5001").unwrap()
    });
    let socket = bound.join().unwrap();
    setsockopt(&socket, sockopt::RcvBufForce, &(ROOM_BYTES / 2)).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket
}

/// Returns the number of datagrams for which h2 had no room.
fn dropped_at_the_socket(bench: &Bench) -> u64 {
    let text = bench.output("h2", &["cat", "/proc/net/snmp"]);
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let names = lines.next().unwrap().split(' ');
    let mut both = names.zip(lines.next().unwrap().split(' '));
    let (_, count) = both.find(|(name, _)| *name == "RcvbufErrors").unwrap();
    count.parse().unwrap()
}

fn read(socket: &UdpSocket) -> u32 {
    let mut datagram = [0; 2048];
    let mut count = 0;
    while socket.recv(&mut datagram).is_ok() {
        count += 1;
    }
    count
}

fn bench() -> (Bench, UdpSocket) {
    let bench = Bench::of(
        THREE_HOSTS,
        &[&format!("link-defaults.rate={RATE}")],
        |_| (),
    );
    bench.give_addresses();
    let socket = socket(&bench);
    (bench, socket)
}

#[test]
fn what_an_application_does_not_read_waits_in_the_switch() {
    let (bench, socket) = bench();
    let weir_host = program("weir-host").unwrap();
    let device = bench.host_device();
    let mut words = vec![weir_host.to_str().unwrap(), "push-back", device];
    words.extend([
        "--all-sockets",
        "--priority",
        "3",
        "--rate",
        RATE,
        "--longest",
        "10min",
    ]);
    let mut command = bench.command("h2", words[0]);
    let command = command.args(&words[1..]).stdout(Stdio::null());
    let mut push_back = command.spawn().unwrap();
    until("push-back watches the socket", || {
        let metrics = bench.output("h2", &[words[0], "metrics"]);
        let sockets =
            format!("weir_host_push_back_sockets{{device=\"{device}\",priority=\"3\"}} 1\n");
        metrics.contains(&sockets).then_some(())
    });
    let mut h1 = Scapy::start(&bench, "h1");
    h1.send(DATAGRAMS, FRAME);
    let mut received = until("h2 has the switch wait", || {
        let is_paused = bench.pfc("h2").paused;
        is_paused.then(|| read(&socket))
    });
    assert!(received < DATAGRAMS, "all was there before the pause");
    until("everything has come", || {
        received += read(&socket);
        (received == DATAGRAMS).then_some(())
    });
    assert_eq!(dropped_at_the_socket(&bench), 0);
    let dropped: u64 = bench.switch.status().unwrap().drops_total.values().sum();
    assert_eq!(dropped, 0);
    let _ = push_back.kill();
    let _ = push_back.wait();
    drop(h1);
    bench.end();
}

/// Control experiment.
#[test]
fn without_push_back_it_is_dropped_at_the_socket() {
    let (bench, socket) = bench();
    let mut h1 = Scapy::start(&bench, "h1");
    h1.send(DATAGRAMS, FRAME);
    let dropped = until("the socket drops", || {
        let dropped = dropped_at_the_socket(&bench);
        (dropped > 0).then_some(dropped)
    });
    assert!(dropped > 0 && read(&socket) < DATAGRAMS);
    drop(h1);
    bench.end();
}
