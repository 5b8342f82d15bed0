//! Flows as tables of a scenario file.

use std::fmt::Write as _;

use weir_config::units::{format_duration, format_size};

use super::{Chakra, Flow};

pub(super) fn tables(input: &Chakra<'_>, flows: &[Flow]) -> String {
    let mut out = String::new();
    let _ = write!(
        out,
        "\n# Made by weir-sim import chakra of {} ranks. A flow is r, its sender's rank, n, the node there, and s, its step in a ring;\n# sizes are of frames: {} B of a message and {} B of headers in each.\n",
        input.traces.len(),
        input.payload.get(),
        input.header.get(),
    );
    for (rank, host) in input.hosts.iter().enumerate().take(input.traces.len()) {
        let _ = writeln!(out, "# Rank {rank} is {host}.");
    }
    let frame = format_size(input.payload + input.header);
    for flow in flows {
        let _ = write!(
            out,
            "\n[[flow]]\nname = \"{}\"\nfrom = \"{}\"\nto = \"{}\"\nclass = \"{}\"\nsize = \"{}B\"\nframe = \"{frame}\"\ntransport = \"{}\"\n",
            flow.name,
            input.hosts[flow.from],
            input.hosts[flow.to],
            input.class,
            flow.bytes,
            input.transport.name(),
        );
        if !flow.start.is_zero() {
            let _ = writeln!(out, "start = \"{}\"", format_duration(flow.start));
        }
        if flow.after.is_empty() {
            continue;
        }
        let names = flow
            .after
            .keys()
            .map(|before| format!("\"{}\"", flows[*before].name));
        let _ = writeln!(out, "after = [{}]", names.collect::<Vec<_>>().join(", "));
        if flow.after.values().any(|time| !time.is_zero()) {
            let times = flow.after.values();
            let times = times.map(|time| format!("\"{}\"", format_duration(*time)));
            let _ = writeln!(out, "compute = [{}]", times.collect::<Vec<_>>().join(", "));
        }
    }
    out
}
