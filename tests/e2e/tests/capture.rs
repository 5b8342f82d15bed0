//! `switchctl capture` on real switches, read by tshark: frames received and sent at a port, and their fate.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use weir_api::capture::Capture;
use weir_core::{Bytes, MarkAt, PartsPerMillion, RedConfig};
use weir_lab::lab::interrupt::wait_for;
use weir_tests::scapy::Scapy;
use weir_tests::switches::switchctl;
use weir_tests::{run_as_expected_and, scenario, until, Bench, PATIENCE};

/// A pause of 65535 quanta lasts 3.4 s at this rate.
const SLOW: &str = "link-defaults.rate=10Mbit";
/// More than xoff (60 KiB) and less than headroom.
const FRAMES: u32 = 100;
/// ECN-capable and lossless, from `h1` to `h2`.
const DATA: &str = "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:02')\
    / Dot1Q(prio=3, vlan=0) / IP(src='10.99.0.1', dst='10.99.0.2', tos=2) / UDP() / Raw(bytes(1400))";
const NOWHERE: &str = "Ether(src='02:57:00:00:00:01', dst='02:57:00:00:00:77')\
    / IP(src='10.99.0.1', dst='10.99.0.7') / UDP() / Raw(bytes(100))";
const PFC: &str = "Ether(src='02:57:00:00:00:02', dst='01:80:c2:00:00:01')\
    / MACControlClassBasedFlowControl(c3_enabled=1, c3_pause_time=QUANTA)";

fn pfc(quanta: u16) -> String {
    PFC.replace("QUANTA", &quanta.to_string())
}

/// A `switchctl capture` of a switch; killed on drop.
struct Capturing(Child);

impl Capturing {
    fn start(socket: &Path, words: &[&str], stdout: Stdio) -> Self {
        let child = switchctl(socket)
            .arg("capture")
            .args(words)
            .stdout(stdout)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self(child)
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.id() as i32), signal).unwrap();
    }

    /// Waits for its successful end; returns its standard error.
    fn end(mut self) -> String {
        let status = wait_for(PATIENCE, || Ok(self.0.try_wait()?)).unwrap();
        // Its output ends with it.
        let _ = self.0.kill();
        let mut said = String::new();
        let mut errors = self.0.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut errors, &mut said).unwrap();
        assert!(
            status.is_some_and(|status| status.success()),
            "{status:?}: {said}"
        );
        said
    }
}

impl Drop for Capturing {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn captures(bench: &Bench) -> Vec<Capture> {
    bench.switch.get("/v1/captures").unwrap()
}

fn until_captures(bench: &Bench, count: usize) {
    until("so many captures run", || {
        (captures(bench).len() == count).then_some(())
    });
}

fn until_begun(file: &Path) {
    until("the capture has begun", || {
        std::fs::metadata(file)
            .is_ok_and(|metadata| metadata.len() > 0)
            .then_some(())
    });
}

fn tshark(file: &Path, filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let mut tshark = Command::new("tshark");
    tshark
        .args(["-n", "-Y", filter, "-T", "fields", "-r"])
        .arg(file);
    for field in fields {
        tshark.args(["-e", field]);
    }
    let output = tshark
        .output()
        .expect("tshark; `cargo xtask setup` installs it");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

/// Returns the number of packets at `port` whose comment contains `words`.
fn count(file: &Path, port: &str, words: &str) -> u64 {
    let filter =
        format!("frame.interface_name == \"{port}\" && frame.comment contains \"{words}\"");
    tshark(file, &filter, &["frame.number"]).len() as u64
}

/// A veth's driver accepts the request but has no clock: the port works normally, without hardware times in its captures.
#[test]
fn a_port_asks_its_device_when_frames_came_in() {
    let bench = Bench::new(&[], |config| {
        for port in &mut config.ports {
            port.hardware_time = true;
        }
    });
    let file = bench.file("asked.pcapng");
    let socket = bench.switch.config.api_socket.clone();
    let frames = FRAMES.to_string();
    let words = [
        "h1",
        "--filter",
        "in and admitted",
        "-w",
        file.to_str().unwrap(),
    ];
    let words = [&words[..], &["--count", &frames]].concat();
    let capturing = Capturing::start(&socket, &words, Stdio::null());
    until_begun(&file);
    Scapy::start(&bench, "h1").send(FRAMES, DATA);
    capturing.end();
    assert_eq!(
        count(&file, "h1", "admitted, priority 3"),
        u64::from(FRAMES)
    );
    assert_eq!(count(&file, "h1", "hardware time"), 0);
    until("all has left", || {
        (bench.port("h2").tx_frames_total == u64::from(FRAMES)).then_some(())
    });
}

#[test]
fn what_a_switch_does_with_frames_stands_in_the_capture() {
    let bench = Bench::new(&[SLOW], |config| {
        config.classes[0].ecn = Some(RedConfig {
            kmin: Bytes::new(20_000),
            kmax: Bytes::new(20_001),
            pmax: PartsPerMillion::new(1_000_000).unwrap(),
            at: MarkAt::Arrival,
        });
    });
    let file = bench.file("all.pcapng");
    let socket = bench.switch.config.api_socket.clone();
    let capturing = Capturing::start(
        &socket,
        &["all", "-w", file.to_str().unwrap(), "--snap", "96"],
        Stdio::null(),
    );
    until_begun(&file);
    let mut h1 = Scapy::start(&bench, "h1");
    let mut h2 = Scapy::start(&bench, "h2");
    let mut sent = 0;
    until("frames are held and the neighbour is paused", || {
        h2.send(1, &pfc(u16::MAX));
        if sent == 0 {
            h1.send(1, NOWHERE);
            h1.send(FRAMES, DATA);
            sent = FRAMES;
        }
        (bench.pfc("h1").pausing && bench.pfc("h2").paused).then_some(())
    });
    h2.send(1, &pfc(0));
    until("all has left", || {
        let status = bench.switch.status().unwrap();
        (status.held_frames == 0 && !bench.pfc("h1").pausing).then_some(())
    });
    capturing.signal(Signal::SIGINT);
    let said = capturing.end();
    until_captures(&bench, 0);
    assert!(!said.contains("missing"), "{said}");

    let [h1_port, h2_port] = [bench.port("h1"), bench.port("h2")];
    let [h1_pfc, h2_pfc] = [bench.pfc("h1"), bench.pfc("h2")];
    assert_eq!(
        count(&file, "h1", "admitted, priority 3"),
        h1_port.rx_frames_total
    );
    assert_eq!(h1_port.rx_frames_total, u64::from(FRAMES));
    assert_eq!(
        count(&file, "h2", "sent, priority 3"),
        h2_port.tx_frames_total
    );
    assert_eq!(
        count(&file, "h1", "dropped: no_route"),
        bench.drops("h1", "no_route")
    );
    assert!(bench.drops("h1", "no_route") >= 1);
    assert_eq!(
        count(&file, "h1", "sent: PFC priority 3 XOFF"),
        h1_pfc.xoff_sent_total
    );
    assert_eq!(
        count(&file, "h1", "sent: PFC priority 3 XON"),
        h1_pfc.xon_sent_total
    );
    assert_eq!(
        count(&file, "h2", "read: PFC priority 3 XOFF 65535"),
        h2_pfc.pause_received_total
    );
    assert_eq!(
        count(&file, "h2", "read: PFC priority 3 XON"),
        h2_pfc.resume_received_total
    );
    assert!(count(&file, "h1", "egress paused") > 0);
    assert!(count(&file, "h1", "past xoff") > 0);

    // A frame is shown as it arrived, and marked as it left.
    let marked = count(&file, "h1", "marked CE");
    assert!(marked > 0);
    let sent_marked = tshark(
        &file,
        "frame.interface_name == \"h2\" && ip.dsfield.ecn == 3",
        &["frame.number"],
    );
    assert_eq!(sent_marked.len() as u64, marked);
    let received = tshark(
        &file,
        "frame.interface_name == \"h1\" && ip.dst == 10.99.0.2",
        &[
            "ip.dsfield.ecn",
            "frame.packet_flags_direction",
            "frame.len",
            "frame.cap_len",
        ],
    );
    let as_sent = ["2", "0x00000001", "1446", "96"];
    assert!(
        received.iter().all(|frame| frame == &as_sent),
        "{received:?}"
    );

    // The final figures, and times between the start and now.
    let capinfos = Command::new("capinfos")
        .arg("-M")
        .arg(&file)
        .output()
        .unwrap();
    let infos = String::from_utf8_lossy(&capinfos.stdout).into_owned();
    assert!(
        infos.contains("Time precision = nanoseconds (9)"),
        "{infos}"
    );
    assert!(infos.contains("Number of stat entries = "), "{infos}");
    assert!(infos.contains("Speed = 10000000"), "{infos}");
    let times = tshark(&file, "frame", &["frame.time_epoch"]);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs_f64();
    for time in times.iter().map(|fields| fields[0].parse::<f64>().unwrap()) {
        assert!(time <= now && time > now - 600.0, "{time} {now}");
    }
    drop((h1, h2));
    bench.end();
}

#[test]
fn a_capture_is_piped_live_and_ends_with_its_reader_or_its_client() {
    let bench = Bench::new(&[SLOW], |_| {});
    let socket = bench.switch.config.api_socket.clone();
    let mut h2 = Scapy::start(&bench, "h2");
    let words = ["h2", "--filter", "priority 3 and pfc", "-w", "-"];
    let mut capturing = Capturing::start(&socket, &words, Stdio::piped());
    let log = bench.file("live.txt");
    let mut reader = Command::new("tshark")
        .args(["-n", "-l", "-r", "-", "-T", "fields", "-e", "frame.comment"])
        .stdin(capturing.0.stdout.take().unwrap())
        .stdout(std::fs::File::create(&log).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until_captures(&bench, 1);
    until("tshark shows it while the capture goes on", || {
        h2.send(1, &pfc(u16::MAX));
        let seen = std::fs::read_to_string(&log).unwrap();
        seen.contains("read: PFC priority 3 XOFF 65535 quanta")
            .then_some(())
    });
    assert_eq!(captures(&bench).len(), 1);
    reader.kill().unwrap();
    reader.wait().unwrap();
    until("the capture ends for want of a reader", || {
        h2.send(1, &pfc(0));
        captures(&bench).is_empty().then_some(())
    });
    capturing.end();

    // One that dies silently, without traffic.
    let silent = Capturing::start(&socket, &["h1"], Stdio::null());
    until_captures(&bench, 1);
    silent.signal(Signal::SIGKILL);
    until_captures(&bench, 0);

    // Captures beyond the limit are refused; a bound ends one.
    let several: Vec<Capturing> = (0..4)
        .map(|_| Capturing::start(&socket, &["h1"], Stdio::null()))
        .collect();
    until_captures(&bench, 4);
    let fifth = switchctl(&socket).args(["capture", "h1"]).output().unwrap();
    assert_eq!(fifth.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&fifth.stderr).contains("4 captures are running already"));
    drop(several);
    until_captures(&bench, 0);
    let bounded = Capturing::start(
        &socket,
        &["h2", "--count", "3", "--filter", "pfc"],
        Stdio::null(),
    );
    until_captures(&bench, 1);
    until("three frames end it", || {
        h2.send(1, &pfc(0));
        captures(&bench).is_empty().then_some(())
    });
    assert!(bounded.end().contains("3 frames captured"));
    Capturing::start(&socket, &["h2", "--duration", "50ms"], Stdio::null()).end();
    drop(h2);
    bench.end();
}

#[test]
fn a_locked_ring_shows_who_pauses_whom() {
    let scenario = scenario("ring4.toml", &["duration=4s"]);
    run_as_expected_and(&scenario, |stage| {
        let switch = &stage.switches[0];
        let file = switch.config.run_dir.with_extension("pcapng");
        let path = file.to_str().unwrap();
        // A pause is refreshed after half of its 335 ms.
        let words = [
            "s2",
            "s4",
            "--filter",
            "pfc and priority 3",
            "--count",
            "20",
            "-w",
            path,
        ];
        Capturing::start(&switch.config.api_socket, &words, Stdio::null()).end();
        let frames = tshark(&file, "frame", &["frame.interface_name", "frame.comment"]);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(frames.len(), 20);
        let has = |port: &str, comment: &str| {
            frames
                .iter()
                .any(|frame| frame[0] == port && frame[1].starts_with(comment))
        };
        assert!(has("s4", "sent: PFC priority 3 XOFF"), "{frames:?}");
        assert!(has("s2", "read: PFC priority 3 XOFF"), "{frames:?}");
    });
}
