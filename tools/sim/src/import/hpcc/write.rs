//! The scenario file.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use weir_config::scenario::Transport;
use weir_config::units::{format_duration, format_rate, format_size};
use weir_core::{BitRate, Bytes, Duration};

use super::flows::Flow;
use super::topology::{HostLine, Topology};
use super::Hpcc;

/// xoff in bytes for each Gbit/s of the fastest line, as in `scenarios/incast.toml`, and xon.
const XOFF: u64 = 9500;
const XON: u64 = 9250;
/// Thresholds of marking in bytes for each Gbit/s of a host's line: those of HPCC's run.py for DCQCN.
const ECN_KMIN: u64 = 4000;
const ECN_KMAX: u64 = 16_000;
/// Step of the target rate for each 25 Gbit/s of a host's line, from the same file.
const ADDITIVE: BitRate = BitRate::from_mbit(5);
const HYPER: BitRate = BitRate::from_mbit(50);

pub(super) fn scenario(
    files: &Hpcc<'_>,
    topology: &Topology,
    flows: &[Flow],
    traced: &[String],
) -> String {
    let mut out = String::new();
    let first = flows.iter().map(|flow| flow.start).min();
    let first = first.unwrap_or(Duration::ZERO);
    let duration = files
        .duration
        .unwrap_or_else(|| duration(topology, flows, first));
    head(&mut out, (files, topology), (flows.len(), first), traced);
    let (rate, delay) = topology.host_line;
    let (rate, delay) = (format_rate(rate), format_duration(delay));
    let _ = write!(
        out,
        "name = \"{}\"\ndescription = \"{} hosts, {} switches and {} flows of HPCC's files\"\nduration = \"{}\"\nseed = 1\n\n[link-defaults]\nrate = \"{rate}\"\ndelay = \"{delay}\"\n\n[routing]\nmode = \"ecmp\"\nhash = \"per-switch\"\n",
        files.name,
        topology.hosts.len(),
        topology.switches().count(),
        flows.len(),
        format_duration(duration),
    );
    classes(&mut out, topology, flows);
    if files.transport == Transport::Dcqcn {
        dcqcn(&mut out, topology.host_line.0);
    }
    for switch in topology.switches() {
        let _ = write!(out, "\n[[switch]]\nname = \"s{switch}\"\n");
    }
    for (host, lines) in &topology.hosts {
        let name = |index: usize| match lines.len() {
            1 => format!("h{host}"),
            _ => format!("h{host}-{}", index + 1),
        };
        for (index, line) in lines.iter().enumerate() {
            write_line(&mut out, topology, &name(index), line);
        }
        if lines.len() > 1 {
            let names: Vec<String> = (0..lines.len())
                .map(|index| format!("\"{}\"", name(index)))
                .collect();
            let names = names.join(", ");
            let _ = write!(out, "\n[[host]]\nname = \"h{host}\"\nlines = [{names}]\n");
        }
    }
    for link in &topology.links {
        let [a, b] = link.ends;
        let (rate, delay) = (format_rate(link.rate), format_duration(link.delay));
        let _ = write!(
            out,
            "\n[[link]]\nends = [\"s{a}\", \"s{b}\"]\nrate = \"{rate}\"\ndelay = \"{delay}\"\n"
        );
    }
    let frame = format_size(files.payload + files.header);
    for (index, flow) in flows.iter().enumerate() {
        let number = index + 1;
        let start = since(flow.start, first);
        let _ = write!(
            out,
            "\n[[flow]]\nname = \"p{}-{number}\"\nfrom = \"h{}\"\nto = \"h{}\"\nclass = \"pg{}\"\nsize = \"{}B\"\nframe = \"{frame}\"\nstart = \"{}\"\ntransport = \"{}\"\n",
            flow.port,
            flow.from,
            flow.to,
            flow.priority,
            flow.size.get(),
            format_duration(start),
            files.transport.name(),
        );
    }
    out
}

fn write_line(out: &mut String, topology: &Topology, name: &str, line: &HostLine) {
    let _ = write!(
        out,
        "\n[[host]]\nname = \"{name}\"\nswitch = \"s{}\"\n",
        line.switch
    );
    let (rate, delay) = topology.host_line;
    if line.rate != rate {
        let _ = writeln!(out, "rate = \"{}\"", format_rate(line.rate));
    }
    if line.delay != delay {
        let _ = writeln!(out, "delay = \"{}\"", format_duration(line.delay));
    }
}

/// Writes the source, and data that the files lack.
fn head(
    out: &mut String,
    (files, topology): (&Hpcc<'_>, &Topology),
    (flows, first): (usize, Duration),
    traced: &[String],
) {
    let _ = write!(
        out,
        "# Made by weir-sim import hpcc of {} and {}.\n#\n# A node is s or h and its number there. A flow is p, its port, and its place among the {flows}; they begin {} earlier than\n# there. Sizes are of frames: {} B of a flow and {} B of headers in each. Routes, thresholds, marking and duration are not in\n# those files: change them to what is to be tried.\n",
        files.topology.name,
        files.flows.name,
        format_duration(first),
        files.payload.get(),
        files.header.get(),
    );
    let mut several = topology.hosts.iter().filter(|(_, lines)| lines.len() > 1);
    if let Some((host, _)) = several.next() {
        let _ = writeln!(
            out,
            "# A host of several links has as many lines: h{host}-1 is its first line, and a flow of h{host} takes one of the nearest."
        );
    }
    if let Some(trace) = files.trace {
        let _ = writeln!(
            out,
            "# {} traces {}; weir-sim run --json has the curves of all switches and flows.",
            trace.name,
            match traced.is_empty() {
                true => "nothing".to_owned(),
                false => traced.join(", "),
            }
        );
    }
    out.push('\n');
}

/// A class for each priority group.
fn classes(out: &mut String, topology: &Topology, flows: &[Flow]) {
    let lines = topology.links.iter().map(|link| (link.rate, link.delay));
    let hosts = topology.hosts.values().flatten();
    let hosts = hosts.map(|line| (line.rate, line.delay));
    let lines = || lines.clone().chain(hosts.clone());
    let fastest = lines().map(|(rate, _)| rate).max();
    let fastest = fastest.unwrap_or(topology.host_line.0);
    // Round trip, the frame just begun at each end, and a quarter for rounding up to cells: three delays, as in HPCC.
    let headroom = lines().map(|(rate, delay)| rate.bytes_in(delay.saturating_mul(3)).get());
    let headroom = headroom.max().unwrap_or(0) + 4 * 9216;
    // At least a large frame, so that slow lines have thresholds too; xon and kmin stay below.
    let gbit = |rate: BitRate, bytes: u64| (rate.get() / 1_000_000 * bytes / 1000).max(10_000);
    let (xoff, kmax) = (gbit(fastest, XOFF), gbit(topology.host_line.0, ECN_KMAX));
    let below = |bytes: u64, above: u64| bytes.min(above - above / 40);
    let mut groups: Vec<u64> = flows.iter().map(|flow| flow.priority).collect();
    groups.sort_unstable();
    groups.dedup();
    for group in groups {
        // HPCC's queues of a port take turns: with a weight, a class does so too.
        let _ = write!(
            out,
            "\n[[class]]\nname = \"pg{group}\"\npriority = {group}\nmode = \"pfc\"\nxoff = \"{}B\"\nxon = \"{}B\"\nheadroom = \"{headroom}B\"\necn-kmin = \"{}B\"\necn-kmax = \"{}B\"\necn-pmax = \"20%\"\necn-mark-at = \"departure\"\nweight = 1\n",
            xoff,
            below(gbit(fastest, XON), xoff),
            below(gbit(topology.host_line.0, ECN_KMIN), kmax),
            kmax,
        );
    }
}

/// Configures DCQCN like run.py: with a NIC's timers. Its receivers answer every marked frame.
fn dcqcn(out: &mut String, line: BitRate) {
    let scaled = |step: BitRate| {
        let bits = step.get().saturating_mul(line.get() / 1_000_000) / 25_000;
        format_rate(BitRate::new(bits).unwrap_or(step))
    };
    let _ = write!(
        out,
        "\n[dcqcn]\nreaction = \"nic\"\nnotification-gap = \"1ns\"\nalpha-timer = \"1us\"\ncut-interval = \"4us\"\nrate-timer = \"300us\"\nfast-recovery = 1\nclamp-target = false\nadditive = \"{}\"\nhyper = \"{}\"\nrate-min = \"1Gbit\"\n",
        scaled(ADDITIVE),
        scaled(HYPER),
    );
}

/// Returns the last start plus twice the time that the busiest host's line needs, in whole milliseconds.
fn duration(topology: &Topology, flows: &[Flow], first: Duration) -> Duration {
    const MILLISECOND: u64 = 1_000_000;
    let mut by_host: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
    for flow in flows {
        let bytes = flow.size.get();
        by_host.entry(flow.from).or_default()[0] += bytes;
        by_host.entry(flow.to).or_default()[1] += bytes;
    }
    let busy = by_host.iter().filter_map(|(host, bytes)| {
        // All of its flows may take the same line.
        let rates = topology.hosts.get(host)?.iter().map(|line| line.rate);
        Some(rates.min()?.time_for(Bytes::new(bytes[0].max(bytes[1]))))
    });
    let busy = busy.max().unwrap_or(Duration::ZERO);
    let last = flows.iter().map(|flow| since(flow.start, first));
    let last = last.max().unwrap_or(Duration::ZERO);
    let wanted = (last + busy.saturating_mul(2)).as_nanos();
    Duration::from_nanos((wanted / MILLISECOND + 1).saturating_mul(MILLISECOND))
}

fn since(start: Duration, first: Duration) -> Duration {
    Duration::from_nanos(start.as_nanos().saturating_sub(first.as_nanos()))
}
