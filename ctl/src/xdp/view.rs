//! Tables of the kernel side.

use super::pins::PinnedPort;
use weir_output::{bytes, reasons, table, NONE};

/// Formats all ports, then their counters.
pub fn ports(ports: &[PinnedPort]) -> String {
    if ports.is_empty() {
        return "nothing is pinned\n".to_owned();
    }
    let mut out = table(
        &[
            "port",
            "device",
            "mode",
            ">link",
            ">program",
            "name",
            "tag",
            "fallback",
            "held by",
            "frames by verdict",
        ],
        ports.iter().map(row),
    );
    if ports.iter().any(|port| !port.traffic.is_empty()) {
        out.push('\n');
        out += &table(
            &["port", "class", ">priority", ">frames", ">bytes"],
            ports.iter().flat_map(|port| {
                port.traffic.iter().map(|entry| {
                    vec![
                        port.name.clone(),
                        entry.class.to_owned(),
                        entry.priority.to_string(),
                        entry.frames.to_string(),
                        bytes(entry.bytes),
                    ]
                })
            }),
        );
    }
    let problems: String = ports
        .iter()
        .flat_map(|port| {
            port.problems
                .iter()
                .map(|problem| format!("{}: cannot read {problem}\n", port.name))
        })
        .collect();
    if !problems.is_empty() {
        out.push('\n');
        out += &problems;
    }
    out
}

fn row(port: &PinnedPort) -> Vec<String> {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
    let device = match (&port.device, port.ifindex) {
        (Some(name), _) => name.clone(),
        (None, Some(0)) => "gone".to_owned(),
        (None, Some(index)) => format!("index {index} of another namespace"),
        (None, None) => NONE.to_owned(),
    };
    let held_by = match (port.link_id, port.held_by.as_slice()) {
        (None, _) => NONE.to_owned(),
        (Some(_), []) => "nobody".to_owned(),
        (Some(_), holders) => {
            let names: Vec<String> = holders.iter().map(ToString::to_string).collect();
            names.join(", ")
        }
    };
    let program = port.program.as_ref();
    vec![
        port.name.clone(),
        device,
        or_none(port.mode.map(str::to_owned)),
        or_none(port.link_id.map(|id| id.to_string())),
        or_none(program.map(|program| program.id.to_string())),
        or_none(program.map(|program| program.name.clone())),
        or_none(program.map(|program| program.tag.clone())),
        or_none(port.fallback.map(str::to_owned)),
        held_by,
        reasons(port.verdicts.iter().filter(|(_, frames)| **frames > 0)),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::link::{Process, Program};
    use super::super::pins::Traffic;
    use super::*;

    #[test]
    fn a_whole_port_and_a_broken_one() {
        let whole = PinnedPort {
            name: "s2".into(),
            device: Some("eth1".into()),
            ifindex: Some(5),
            mode: Some("native"),
            link_id: Some(17),
            program: Some(Program {
                id: 42,
                name: "weir_xdp".into(),
                tag: "0123456789abcdef".into(),
            }),
            held_by: vec![Process {
                pid: 99,
                command: "weir-switchd".into(),
            }],
            fallback: Some("pass"),
            verdicts: BTreeMap::from([("passed", 0), ("redirected", 12)]),
            traffic: vec![Traffic {
                class: "data",
                priority: 3,
                frames: 12,
                bytes: 18_000,
            }],
            problems: Vec::new(),
        };
        let broken = PinnedPort {
            name: "up".into(),
            problems: vec!["/run/weir/s1/bpf/up/link: not there".into()],
            ..PinnedPort::default()
        };
        assert_eq!(
            ports(&[whole, broken]),
            "port  device  mode    link  program  name      tag               fallback  held by                \
             frames by verdict\n\
             s2    eth1    native    17       42  weir_xdp  0123456789abcdef  pass      weir-switchd (pid 99)  \
             12 redirected\n\
             up    –       –          –        –  –         –                 –         –                      –\n\
             \n\
             port  class  priority  frames     bytes\n\
             s2    data          3      12  17.6 KiB\n\
             \n\
             up: cannot read /run/weir/s1/bpf/up/link: not there\n"
        );
    }

    #[test]
    fn nobody_holds_what_was_left_behind() {
        let port = PinnedPort {
            name: "s2".into(),
            ifindex: Some(5),
            link_id: Some(17),
            ..PinnedPort::default()
        };
        let text = ports(&[port]);
        assert!(text.contains("index 5 of another namespace"), "{text}");
        assert!(text.contains("nobody"), "{text}");
    }
}
