//! Compares `switchctl trace` with the fate of the same frame when it is sent.

use std::time::Duration;

use weir_api::client::{self, Method};
use weir_api::daemon::trace::{Trace, TraceRequest};
use weir_api::daemon::{Port, Queue};
use weir_api::words::{FrameKind, PrioritySource};
use weir_config::daemon::Trust;
use weir_lab::lab::process::program;
use weir_lab::lab::switches::SwitchProcess;
use weir_tests::scapy::Scapy;
use weir_tests::{until, Bench, LOSSLESS};

const H1: &str = "025700000001";
const H2: &str = "025700000002";
const NOBODY: &str = "025700000063";
/// At 10 Mbit/s a pause of 65535 quanta lasts 3.4 s.
const RATE: &str = "link-defaults.rate=10Mbit";
const HOLD: &str = "0180c2000001025700000002880801010008000000000000ffff";

fn ask(switch: &SwitchProcess, frame: &str) -> Trace {
    let request = TraceRequest {
        port: "h1".to_owned(),
        frame: frame.to_owned(),
        length: None,
    };
    let socket = &switch.config.api_socket;
    let limit = Duration::from_secs(30);
    client::send(socket, Method::POST, "/v1/trace", Some(&request), limit)
        .unwrap_or_else(|error| panic!("{frame}: {error}"))
}

/// Builds a frame from addresses, an optional tag with this PCP, and zeros up to 100 B.
fn frame(destination: &str, source: &str, pcp: Option<u8>, rest: &str) -> String {
    let tag = pcp.map_or(String::new(), |pcp| format!("8100{:02x}00", pcp << 5));
    let mut frame = format!("{destination}{source}{tag}{rest}");
    frame.push_str(&"0".repeat(200 - frame.len()));
    frame
}

fn counted(switch: &SwitchProcess) -> (Vec<Port>, Vec<Queue>) {
    let ports: Vec<Port> = switch.get("/v1/ports").unwrap();
    (ports, switch.get("/v1/queues").unwrap())
}

fn sent(switch: &SwitchProcess, priority: u8) -> u64 {
    let queues: Vec<Queue> = switch.get("/v1/queues").unwrap();
    let mut queues = queues.iter();
    let queue = queues.find(|queue| queue.port == "h2" && queue.priority == priority);
    queue.map_or(0, |queue| queue.tx_frames_total)
}

#[test]
fn what_is_foretold_comes_true() {
    let bench = Bench::new(&[RATE], |config| {
        config
            .ports
            .iter_mut()
            .for_each(|port| port.trust = Trust::PcpDscp);
    });
    let switch = &bench.switch;
    let mut h1 = Scapy::start(&bench, "h1");
    let ip = format!("080045{:02x}0056000000004011{}", 26 << 2, "0".repeat(20));
    for (frame, priority, source, code_point) in [
        (
            frame(H2, H1, Some(3), "ffff"),
            3,
            PrioritySource::Pcp,
            Some(3),
        ),
        (
            frame(H2, H1, Some(5), "ffff"),
            5,
            PrioritySource::Pcp,
            Some(5),
        ),
        (frame(H2, H1, None, &ip), 3, PrioritySource::Dscp, Some(26)),
        (frame(H2, H1, None, "ffff"), 0, PrioritySource::Port, None),
    ] {
        let before = counted(switch);
        let trace = ask(switch, &frame);
        let read = &trace.frame;
        assert_eq!(
            (read.kind.known(), read.priority),
            (Some(FrameKind::Data), priority)
        );
        assert_eq!(
            (read.priority_from.known(), read.code_point),
            (Some(source), code_point)
        );
        assert_eq!(trace.dropped, None);
        let [queue] = &trace.queues[..] else {
            panic!("{trace:?}");
        };
        assert!(queue.port == "h2" && queue.may_leave, "{queue:?}");
        assert_eq!(trace.admission.as_ref().unwrap().charged_bytes, 256);
        let after = counted(switch);
        assert_eq!(after, before, "a trace counts nothing");

        let count = sent(switch, priority);
        h1.send(1, &format!("bytes.fromhex('{frame}')"));
        until("the frame has left where the trace said", || {
            (sent(switch, priority) == count + 1).then_some(())
        });
    }
    for (frame, reason) in [
        (frame(NOBODY, H1, Some(3), "ffff"), "no_route"),
        (frame(H1, H2, Some(3), "ffff"), "hairpin"),
        (frame(H2, "015700000001", Some(3), "ffff"), "bad_source"),
    ] {
        let trace = ask(switch, &frame);
        let said = trace.dropped.as_ref().map(|word| word.as_str());
        assert_eq!((said, trace.queues.len()), (Some(reason), 0));
        assert_eq!(bench.drops("h1", reason), 0);
        h1.send(1, &format!("bytes.fromhex('{frame}')"));
        until("it is dropped for the reason that the trace gave", || {
            (bench.drops("h1", reason) == 1).then_some(())
        });
    }
    bench.end();
}

#[test]
fn a_hold_and_control_frames_are_explained() {
    let bench = Bench::new(&[RATE], |_| {});
    let switch = &bench.switch;
    let hold = format!("{HOLD}{}", "0".repeat(68));
    let control = ask(switch, &hold);
    assert_eq!(control.frame.kind.known(), Some(FrameKind::Pause));
    assert!(control.queues.is_empty() && control.dropped.is_none());

    let mut h2 = Scapy::start(&bench, "h2");
    let data = frame(H2, H1, Some(LOSSLESS), "ffff");
    let held = until("the priority is paused", || {
        h2.send(1, &format!("bytes.fromhex('{hold}')"));
        let trace = ask(switch, &data);
        trace.queues[0].paused.then_some(trace)
    });
    assert!(!held.queues[0].may_leave && held.dropped.is_none());
    let other = ask(switch, &frame(H2, H1, Some(1), "ffff"));
    assert!(other.queues[0].may_leave);

    let socket = switch.config.api_socket.to_str().unwrap();
    let said = |words: &[&str]| {
        let program = program("switchctl").unwrap();
        let mut command = bench.command("s1", program.to_str().unwrap());
        command.args(["--socket", socket, "trace"]).args(words);
        weir_tests::printed(&mut command)
    };
    let text = said(&["h1", "dl_dst=02:57:00:00:00:02,dl_vlan_pcp=1,length=100"]);
    assert!(
        text.ends_with("verdict         forwarded by h2\n"),
        "{text}"
    );
    bench.end();
}
