//! Processor time of sFlow, IPFIX and recordings: five switches of eight ports at the same time, which differ in that alone. What
//! else the machine does thus meets all of them. Figures are printed; the checks are that every stream ran, and that none has cost
//! a quarter of a processor.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use weir_api::daemon::{Exports, Queue};
use weir_config::daemon::{DaemonConfig, IpfixConfig, SflowConfig};
use weir_lab::lab::process::program;
use weir_lab::lab::stage::Stage;
use weir_lab::lab::switches::SwitchProcess;
use weir_tests::collector::{address, namespace_of, Collector, IPFIX_PORT, SFLOW_PORT};
use weir_tests::{go_on_for, inline_scenario, tear_down, variable};

/// Seconds of each of two measurements; a few by default.
const VARIABLE: &str = "WEIR_EXPORT_COST_SECONDS";
const SECONDS: u64 = 3;
const HOSTS: usize = 8;
/// Of each of four flows at a switch; they cross all ports.
const RATE: &str = "12Mbit";
const SAMPLING: u32 = 1_000;
/// Part of a processor that no stream may cost, debugging builds and busy machines included.
const MOST: f64 = 0.25;

/// Exports of a switch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Off,
    Sflow,
    Ipfix,
    Recording,
    All,
}

const STREAMS: [(Stream, &str); 5] = [
    (Stream::Off, "off"),
    (Stream::Sflow, "sflow"),
    (Stream::Ipfix, "ipfix"),
    (Stream::Recording, "recording"),
    (Stream::All, "all"),
];

impl Stream {
    fn has(self, other: Self) -> bool {
        self == other || self == Self::All
    }
}

fn scenario_text() -> String {
    let mut text = "name = \"exports\"\ndescription = \"Switches that differ in what they export\"\nduration = \"900s\"\nseed = 1\n\
        [link-defaults]\nrate = \"100Mbit\"\n\
        [[class]]\nname = \"lossless\"\npriority = 3\nmode = \"pfc\"\nxoff = \"60KiB\"\nxon = \"52KiB\"\nheadroom = \"3MiB\"\n"
        .to_owned();
    for (_, switch) in STREAMS {
        let _ = write!(text, "[[switch]]\nname = \"{switch}\"\n");
        for host in 0..HOSTS {
            let _ = write!(
                text,
                "[[host]]\nname = \"{switch}-{host}\"\nswitch = \"{switch}\"\n"
            );
        }
        for from in (0..HOSTS).step_by(2) {
            let to = from + 1;
            let _ = write!(
                text,
                "[[flow]]\nname = \"{switch}-{from}\"\nfrom = \"{switch}-{from}\"\nto = \"{switch}-{to}\"\nclass = \"lossless\"\nrate = \"{RATE}\"\nframe = \"500B\"\n"
            );
        }
    }
    text
}

fn configure(config: &mut DaemonConfig, stream: Stream) {
    if stream.has(Stream::Sflow) {
        config.sflow = SflowConfig {
            collector: Some(address(SFLOW_PORT)),
            sampling: Some(SAMPLING),
            ..SflowConfig::default()
        };
    }
    if stream.has(Stream::Ipfix) {
        config.ipfix = IpfixConfig {
            collector: Some(address(IPFIX_PORT)),
            interval: weir_core::Duration::from_millis(1),
            ..IpfixConfig::default()
        };
    }
}

/// Processor time and frames of a switch so far.
#[derive(Clone, Copy)]
struct Figures {
    at: Instant,
    cpu: Duration,
    frames: u64,
}

impl Figures {
    fn of(switch: &SwitchProcess) -> Self {
        let pid = switch.pid().unwrap() as i32;
        let clock = clock_getcpuclockid(Pid::from_raw(pid)).unwrap();
        let queues: Vec<Queue> = switch.get("/v1/queues").unwrap();
        Self {
            at: Instant::now(),
            cpu: clock_gettime(clock).unwrap().into(),
            frames: queues.iter().map(|queue| queue.tx_frames_total).sum(),
        }
    }

    /// Part of a processor since `before`, and frames.
    fn since(&self, before: &Self) -> (f64, u64) {
        let span = self.at.duration_since(before.at).as_secs_f64();
        let cpu = self.cpu.saturating_sub(before.cpu).as_secs_f64();
        (cpu / span, self.frames - before.frames)
    }
}

fn measure(stage: &mut Stage, span: Duration) -> Vec<(f64, u64)> {
    let before: Vec<Figures> = stage.switches.iter().map(Figures::of).collect();
    go_on_for(span, || stage.check().unwrap());
    let switches = stage.switches.iter().zip(&before);
    switches
        .map(|(switch, before)| Figures::of(switch).since(before))
        .collect()
}

#[test]
fn processor_time_of_each_stream() {
    let seconds = variable(VARIABLE, SECONDS);
    let span = Duration::from_secs(seconds);
    let scenario = inline_scenario("exports.toml", &scenario_text());
    let mut collectors = Vec::new();
    let change = |config: &mut DaemonConfig| {
        let named = STREAMS.iter().find(|(_, name)| *name == config.name);
        configure(config, named.unwrap().0);
        for port in [SFLOW_PORT, IPFIX_PORT] {
            collectors.push(Collector::start(&namespace_of(config), port));
        }
    };
    let mut stage =
        Stage::set_up_with(&scenario, false, change).unwrap_or_else(|error| panic!("{error:#}"));
    let mut recordings = Vec::new();
    for (switch, (stream, _)) in stage.switches.iter().zip(STREAMS) {
        if stream.has(Stream::Recording) {
            let mut curl = Command::new("curl");
            curl.args(["-sN", "--unix-socket"]);
            curl.arg(&switch.config.api_socket);
            let request = r#"{"every_seconds": 0.001, "duration_seconds": 3600}"#;
            curl.args(["-H", "Content-Type: application/json", "-d", request]);
            let curl = curl.arg("http://localhost/v1/recordings");
            recordings.push(curl.stdout(Stdio::null()).spawn().unwrap());
        }
    }
    // Neighbours find each other at the start.
    go_on_for(Duration::from_secs(3), || stage.check().unwrap());
    let idle = measure(&mut stage, span);
    stage.start_hosts(&scenario).unwrap();
    go_on_for(Duration::from_secs(2), || stage.check().unwrap());
    let busy = measure(&mut stage, span);

    let program = program("weir-switchd").unwrap();
    println!(
        "{}: {seconds} s idle and {seconds} s with traffic, {HOSTS} ports, 1 ms, 1 in {SAMPLING}",
        program.display()
    );
    println!("stream      idle      with traffic           more than off");
    for (index, (stream, name)) in STREAMS.into_iter().enumerate() {
        let ((idle_cpu, _), (cpu, frames)) = (idle[index], busy[index]);
        let (more_idle, more) = (idle_cpu - idle[0].0, cpu - busy[0].0);
        let nanos = |part: f64| 1e9 * part * span.as_secs_f64() / frames as f64;
        println!(
            "{name:<10} {:>5.2} %  {:>6.2} %  {:>6.0} ns a frame  {:>6.2} % idle  {:>6.2} % {:>6.0} ns a frame  ({frames} frames)",
            100.0 * idle_cpu,
            100.0 * cpu,
            nanos(cpu),
            100.0 * more_idle,
            100.0 * more,
            nanos(more),
        );
        assert!(frames > 0 && more < MOST && more_idle < MOST, "{name}");
        let exports: Exports = stage.switches[index].get("/v1/exports").unwrap();
        let sampled = exports.sflow.map_or(0, |sflow| sflow.counters_sent_total);
        let records = exports.ipfix.map_or(0, |ipfix| ipfix.records_sent_total);
        assert_eq!(sampled > 0, stream.has(Stream::Sflow), "{name}");
        assert_eq!(records > 0, stream.has(Stream::Ipfix), "{name}");
    }
    for mut recording in recordings {
        assert_eq!(
            recording.try_wait().unwrap(),
            None,
            "the recording has ended"
        );
        recording.kill().unwrap();
        recording.wait().unwrap();
    }
    tear_down(stage);
    let datagrams: usize = collectors.into_iter().map(|it| it.end().len()).sum();
    assert!(datagrams > 0);
}
