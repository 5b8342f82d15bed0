//! The network of HPCC's simulations: five pods of four racks and four switches above them, sixteen cores, sixteen hosts in
//! a rack; 100 Gbit/s to hosts, 400 Gbit/s above, 1 µs on every line.

use std::fmt::Write as _;
use std::path::Path;

use weir_config::scenario::{Pattern, Scenario};
use weir_core::units::LINE_OVERHEAD;
use weir_core::{Bytes, Duration};

use super::{Setting, Way, PATIENCE};
use crate::reproduce::ReproduceError;

const PODS: usize = 5;
/// Racks of a pod; there are as many switches above them, each with as many cores.
const RACKS: usize = 4;
const HOSTS_IN_RACK: usize = 16;
/// Payload of a full frame.
const PAYLOAD: u64 = 1000;
/// Headers of every frame there, and the telemetry added to it.
const HEADER: u64 = 48;
const TELEMETRY: u64 = 42;
/// Rate of hosts' lines in bit/s, and of the others.
const HOST_LINE: f64 = 100e9;
const FABRIC_LINE: f64 = 400e9;
const DELAY_SECONDS: f64 = 1e-6;

/// Settings of HPCC's `run.py` for 100 Gbit/s. Dynamic thresholds never caused a pause there in this setting, so xoff is out
/// of reach.
const HEAD: &str = r#"name = "hpcc-fig11c"
seed = 1

[link-defaults]
rate = "100Gbit"
delay = "1us"

[routing]
mode = "ecmp"
hash = "per-switch"

[flows]
capacity = 0

[[class]]
name = "data"
priority = 3
mode = "pfc"
xoff = "8MB"
xon = "7900kB"
headroom = "256kB"
ecn-kmin = "400kB"
ecn-kmax = "1600kB"
ecn-pmax = "20%"
ecn-mark-at = "departure"
weight = 1

[[class]]
name = "answers"
priority = 6
mode = "pfc"
xoff = "8MB"
xon = "7900kB"
headroom = "256kB"
weight = 1

[hpcc]
max-stage = 0

[dcqcn]
reaction = "nic"
notification-gap = "1ns"
alpha-timer = "1us"
cut-interval = "4us"
rate-timer = "300us"
fast-recovery = 1
additive = "20Mbit"
hyper = "200Mbit"
clamp-target = false
rate-min = "1Gbit"
"#;

/// Builds the scenario; flows begin at the same times for every transport.
pub(super) fn scenario(setting: Setting, way: Way) -> Result<Scenario, ReproduceError> {
    let mut scenario = Scenario::parse(&text(setting, way), Path::new("hpcc-fig11c.toml"), &[])?;
    for flow in &mut scenario.flows {
        if let Pattern::Burst { size } = &mut flow.pattern {
            *size = with_headers(*size, way);
        }
    }
    Ok(scenario)
}

pub(super) fn text(setting: Setting, way: Way) -> String {
    let stop = setting.warm_up + setting.span;
    let nanos = |time: Duration| format!("{}ns", time.as_nanos());
    let mut out = format!("duration = \"{}\"\n{HEAD}", nanos(stop + PATIENCE));
    out += match way {
        Way::Hpcc => "\n",
        Way::DcqcnWindow => "\n[recovery]\nmode = \"go-back-n\"\nwindow-limit = \"bdp\"\n\n",
        Way::Dcqcn => "\n[recovery]\nmode = \"go-back-n\"\n\n",
    };
    // With DCQCN only, acknowledgements have a separate queue there.
    let (transport, answers) = match way {
        Way::Hpcc => ("hpcc", "data"),
        Way::DcqcnWindow => ("dcqcn", "data"),
        Way::Dcqcn => ("dcqcn", "answers"),
    };
    let frame = PAYLOAD + header(way);
    let stop = nanos(stop);
    let _ = write!(
        out,
        "[[traffic]]\nkind = \"poisson\"\nclass = \"data\"\ntransport = \"{transport}\"\nanswer-class = \"{answers}\"\nframe = \"{frame}B\"\nload = 0.5\nsizes = \"fb-hadoop\"\nstop = \"{stop}\"\n"
    );
    let racks = PODS * RACKS;
    let names =
        |letter: char, count: usize| (0..count).map(move |index| format!("{letter}{index}"));
    for name in names('t', racks)
        .chain(names('a', racks))
        .chain(names('c', RACKS * RACKS))
    {
        let _ = write!(out, "\n[[switch]]\nname = \"{name}\"\n");
    }
    for host in 0..racks * HOSTS_IN_RACK {
        let rack = host / HOSTS_IN_RACK;
        let _ = write!(
            out,
            "\n[[host]]\nname = \"h{host}\"\nswitch = \"t{rack}\"\n"
        );
    }
    let mut link = |lower: String, upper: String| {
        let _ = write!(
            out,
            "\n[[link]]\nends = [\"{lower}\", \"{upper}\"]\nrate = \"400Gbit\"\n"
        );
    };
    for pod in 0..PODS {
        for (one, other) in (0..RACKS).flat_map(|one| (0..RACKS).map(move |other| (one, other))) {
            let first = pod * RACKS;
            link(format!("t{}", first + one), format!("a{}", first + other));
            link(
                format!("a{}", first + one),
                format!("c{}", one * RACKS + other),
            );
        }
    }
    out
}

/// Returns the header for equal frame times: here lines carry preamble, gap and FCS with each frame, there only frames.
const fn header(way: Way) -> u64 {
    let telemetry = match way {
        Way::Hpcc => TELEMETRY,
        Way::DcqcnWindow | Way::Dcqcn => 0,
    };
    HEADER + telemetry - LINE_OVERHEAD.get()
}

fn with_headers(payload: Bytes, way: Way) -> Bytes {
    Bytes::new(payload.get() + payload.get().div_ceil(PAYLOAD) * header(way))
}

/// Inverse of [`with_headers`].
pub(super) fn payload(size: Bytes, way: Way) -> Bytes {
    let frames = size.get().div_ceil(PAYLOAD + header(way));
    Bytes::new(size.get().saturating_sub(frames * header(way)))
}

/// HPCC's `standalone_fct`: delays both ways, a full frame's payload on each line, and all bytes on the host's line, without
/// telemetry.
pub(super) fn ideal_seconds(from: u32, to: u32, payload: Bytes) -> f64 {
    let rack = |host: u32| host as usize / HOSTS_IN_RACK;
    let (from, to) = (rack(from), rack(to));
    let fabric_lines = match (from == to, from / RACKS == to / RACKS) {
        (true, _) => 0.0,
        (false, true) => 2.0,
        (false, false) => 4.0,
    };
    let frame = PAYLOAD as f64 * 8.0;
    let round_trip = 2.0 * DELAY_SECONDS * (2.0 + fabric_lines)
        + frame * (2.0 / HOST_LINE + fabric_lines / FABRIC_LINE);
    let bytes = payload.get() + payload.get().div_ceil(PAYLOAD) * HEADER;
    round_trip + bytes as f64 * 8.0 / HOST_LINE
}

#[cfg(test)]
mod tests {
    use weir_config::scenario::PortPeer;

    use super::*;

    const SHORT: Setting = Setting {
        warm_up: Duration::from_micros(10),
        span: Duration::from_micros(10),
    };

    #[test]
    fn the_network_is_that_of_the_paper() {
        let scenario = scenario(SHORT, Way::Hpcc).unwrap();
        assert_eq!(scenario.hosts.len(), 320);
        assert_eq!(scenario.switches.len(), 56);
        assert_eq!(scenario.links.len(), 160);
        let to_switches = scenario.all_ports().into_iter().map(|ports| {
            let peers = ports.into_iter().map(|port| port.peer);
            peers
                .filter(|peer| matches!(peer, PortPeer::Switch(_)))
                .count()
        });
        let counts: Vec<usize> = to_switches.collect();
        // Racks have four, the switches above them eight, cores one for each pod.
        assert!(counts[..20].iter().all(|count| *count == 4));
        assert!(counts[20..40].iter().all(|count| *count == 8));
        assert!(counts[40..].iter().all(|count| *count == 5));
        assert_eq!(scenario.credit_loops(), []);
    }

    #[test]
    fn all_transports_have_the_same_flows() {
        let flows = |way| {
            let flows = scenario(SHORT, way).unwrap().flows;
            let of = |flow: weir_config::scenario::Flow| {
                let Pattern::Burst { size } = flow.pattern else {
                    panic!("{flow:?}");
                };
                (flow.from, flow.to, flow.start, payload(size, way))
            };
            flows.into_iter().map(of).collect::<Vec<_>>()
        };
        let hpcc = flows(Way::Hpcc);
        assert!(hpcc.len() > 100);
        assert_eq!(hpcc, flows(Way::Dcqcn));
        assert_eq!(hpcc, flows(Way::DcqcnWindow));
    }

    /// Computed by hand, as printed by HPCC's simulator: twelve lines' delay, 80 ns twice, 20 ns four times; 2 × 1048 B and
    /// 548 B.
    #[test]
    fn the_ideal_time_is_that_of_the_other_simulator() {
        let seconds = ideal_seconds(0, 319, Bytes::new(2500));
        let nanos = 12_000.0 + 240.0 + (2500.0 + 3.0 * 48.0) * 0.08;
        assert!((seconds * 1e9 - nanos).abs() < 1e-6, "{seconds}");
        assert!(
            (ideal_seconds(0, 1, Bytes::new(300)) * 1e9 - (4160.0 + 348.0 * 0.08)).abs() < 1e-6
        );
        assert!(
            (ideal_seconds(0, 16, Bytes::new(300)) * 1e9 - (8200.0 + 348.0 * 0.08)).abs() < 1e-6
        );
    }
}
