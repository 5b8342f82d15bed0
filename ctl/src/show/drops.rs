//! `switchctl drops`: all drops of a port, in and below the switch, in one table.

use anyhow::Result;
use serde::Serialize;
use weir_api::counters::{DEVICE_LOSSES, KERNEL_LOSSES};
use weir_api::daemon::Port;
use weir_core::counters::Counter;
use weir_output::{table, Output};

use super::keep;
use crate::target::Target;

/// The layer that drops a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Layer {
    Switch,
    Xdp,
    Kernel,
    Stack,
    Nic,
}

impl Layer {
    fn name(self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Xdp => "XDP",
            Self::Kernel => "kernel",
            Self::Stack => "network stack",
            Self::Nic => "NIC",
        }
    }
}

/// Drops of one port for one reason.
#[derive(Debug, Serialize)]
struct Drop {
    port: String,
    layer: Layer,
    reason: String,
    frames_total: u64,
    /// Empty for a reason unknown to this version.
    remedy: &'static str,
}

/// Prints the drops of the named ports, or of all.
pub fn drops(target: &Target, output: &Output, names: &[String]) -> Result<()> {
    let mut ports: Vec<Port> = target.get("/v1/ports")?;
    keep(&mut ports, names, "that name", |port| &port.name)?;
    let mut drops: Vec<Drop> = ports.iter().flat_map(of_port).collect();
    // The sort is stable: reasons of one port with equal counts stay in the order of the layers.
    drops.sort_by_key(|drop| std::cmp::Reverse(drop.frames_total));
    output.print(&drops, |drops| text(drops))
}

fn of_port(port: &Port) -> Vec<Drop> {
    let switch = port.drops_total.iter();
    let switch = switch.map(|(reason, frames)| (Layer::Switch, reason.to_string(), *frames));
    let xdp = port.xdp_drops().into_iter();
    let xdp = xdp.map(|(verdict, frames)| (Layer::Xdp, verdict, frames));
    let kernel = KERNEL_LOSSES.iter().map(|counter| {
        let frames = counter.get(&port.kernel_losses);
        (Layer::Kernel, kind(counter).to_owned(), frames)
    });
    let stack = port.stack_drops_total.iter();
    let stack = stack.map(|(reason, frames)| (Layer::Stack, reason.clone(), *frames));
    let nic = DEVICE_LOSSES.iter().map(|counter| {
        let frames = counter.get(&port.device_losses);
        (Layer::Nic, kind(counter).to_owned(), frames)
    });
    switch
        .chain(xdp)
        .chain(kernel)
        .chain(stack)
        .chain(nic)
        .filter(|(_, _, frames)| *frames > 0)
        .map(|(layer, reason, frames_total)| Drop {
            port: port.name.clone(),
            layer,
            remedy: remedy(layer, &reason).unwrap_or_default(),
            reason,
            frames_total,
        })
        .collect()
}

/// Returns the kind of loss, as in the metrics: `rx_missing`.
fn kind<T>(counter: &Counter<T>) -> &'static str {
    counter.labels.first().copied().unwrap_or_default()
}

fn text(drops: &[Drop]) -> String {
    if drops.is_empty() {
        return "no frame was dropped since the start\n".to_owned();
    }
    let headings = ["port", "dropped by", "reason", ">frames"];
    let rows = drops.iter().map(|drop| {
        vec![
            drop.port.clone(),
            drop.layer.name().to_owned(),
            drop.reason.clone(),
            drop.frames_total.to_string(),
        ]
    });
    let mut reasons: Vec<(Layer, &str, &str)> = drops
        .iter()
        .filter(|drop| !drop.remedy.is_empty())
        .map(|drop| (drop.layer, drop.reason.as_str(), drop.remedy))
        .collect();
    reasons.sort_unstable();
    reasons.dedup();
    let width = reasons.iter().map(|(_, it, _)| it.len()).max().unwrap_or(0);
    let remedies = reasons
        .iter()
        .map(|(_, reason, remedy)| format!("{reason:width$}  {remedy}\n"));
    table(&headings, rows) + "\n" + &remedies.collect::<String>()
}

fn remedy(layer: Layer, reason: &str) -> Option<&'static str> {
    let known = REMEDIES.iter();
    let mut known = known.filter(|(of, word, _)| *of == layer && *word == reason);
    known.next().map(|(_, _, remedy)| *remedy)
}

/// The remedy of each reason, as in the book (`operations.md`, "Drops and their reasons").
const REMEDIES: &[(Layer, &str, &str)] = &[
    (Layer::Switch, "loop_probe", "Read the event: `forwarding_loop` names the ports of a cable to remove, `loop_behind` a port to look behind."),
    (Layer::Switch, "foreign_source", "Find the host that uses another's address, or a loop: `switchctl events`."),
    (Layer::Switch, "address_limit", "Find the host that forges addresses, or raise the port's `address-limit`."),
    (Layer::Switch, "priority", "Correct the host's PCP or DSCP, or the port's maps and `priorities`."),
    (Layer::Switch, "nested_tag", "Find the host that tries to reach another VLAN: `switchctl capture`."),
    (Layer::Switch, "headroom_exceeded", "Check that the neighbour obeys PFC for this priority, and that `headroom` is at least rate × (round trip + reaction time)."),
    (Layer::Switch, "buffer_full", "Nothing: ordinary congestion."),
    (Layer::Switch, "no_route", "Add a `[[route]]`, or turn learning on."),
    (Layer::Switch, "hairpin", "Correct the route here or at the neighbour: `switchctl trace`."),
    (Layer::Switch, "unclassified", "Look for another program at the device: `switchctl xdp status`."),
    (Layer::Switch, "bad_length", "Set equal MTUs everywhere."),
    (Layer::Switch, "bad_source", "Find the broken or hostile sender: `switchctl capture`."),
    (Layer::Switch, "reserved_destination", "Nothing: bridges never forward these."),
    (Layer::Switch, "bad_mac_control", "Inspect the neighbour: `switchctl capture`."),
    (Layer::Switch, "bad_clcm", "Run the same version everywhere; otherwise look for a forger."),
    (Layer::Switch, "bad_echo", "Run the same version everywhere; otherwise look for a forger."),
    (Layer::Switch, "policed", "Nothing: the host's TCP takes this as congestion."),
    (Layer::Switch, "aged", "Find the reason why frames wait: `switchctl queues`, `switchctl levels`."),
    (Layer::Switch, "storm", "Inspect that neighbour: `switchctl pfcwd show stats`."),
    (Layer::Switch, "lifetime", "Look for a loop, a storm or plain congestion: `switchctl deadlock`."),
    (Layer::Switch, "clcm_from_edge", "Correct the port's `role`, or look for a forger."),
    (Layer::Switch, "table_full", "Use static routes: learning is for small networks."),
    (Layer::Switch, "draining", "Nothing."),
    (Layer::Switch, "port_down", "Nothing, or inspect the link: `switchctl status` names ports whose device is gone."),
    (Layer::Switch, "unauthentic", "Use the same `key-file` everywhere; otherwise look for a forger: threats."),
    (Layer::Switch, "replayed", "Find the station that records and repeats messages."),
    (Layer::Switch, "off_tree", "Add the link to the tree at its other end. Nothing, if a neighbour without a tree floods."),
    (Layer::Switch, "lossless_group", "Send these frames in a lossy class: `default-priority`, DSCP or PCP."),
    (Layer::Switch, "flood_rate", "Find the host that floods, or raise the limit."),
    (Layer::Switch, "mirror_port", "Send nothing to that port: it is for mirrored frames only."),
    (Layer::Switch, "impaired", "`switchctl impair stop`, unless it is intended."),
    (Layer::Switch, "control_rate", "Inspect the neighbour; `control-frames` has the limits."),
    (Layer::Switch, "vlan", "Add the VLAN to the port: `switchctl vlans`."),
    (Layer::Xdp, "dropped", "A queue of the device has no socket: `switchctl doctor`."),
    (Layer::Xdp, "too_short", "Look at the neighbour: frames end within their Ethernet header."),
    (Layer::Xdp, "no_meta", "The driver leaves no room in front of frames: `xdp-mode = \"generic\"`."),
    (Layer::Xdp, "no_slot", "Give the dataplane thread a CPU (`dataplane.cpu`), a longer `rx-ring`, or the port fewer `credit-slots`."),
    (Layer::Xdp, "cut", "The driver merges or cuts frames: switch `lro` and `rx-gro-hw` off."),
    (Layer::Kernel, "rx_dropped", "Without `rx_fill_ring_empty`: frames are longer than a chunk. See `switchctl doctor`: MTU, `tso`, `gro`."),
    (Layer::Kernel, "rx_ring_full", "Give the dataplane thread a CPU (`dataplane.cpu`), or a longer `rx-ring`."),
    (Layer::Kernel, "rx_fill_ring_empty", "Give the dataplane thread a CPU (`dataplane.cpu`), or more `spare-buffers`."),
    (Layer::Kernel, "rx_invalid_descs", "A defect: run `switchctl audit` and report it."),
    (Layer::Kernel, "tx_invalid_descs", "A defect: run `switchctl audit` and report it."),
    (Layer::Kernel, "tx_device_drops", "Look at the device: `ethtool -S DEVICE`, and its link."),
    (Layer::Kernel, "tx_redirect", "The other end accepts no redirected frames: `express = \"off\"` at this port."),
    (Layer::Kernel, "rx_missing", "Look at `nstat`, `dropwatch` and the device's kind: `switchctl doctor`."),
    (Layer::Kernel, "tx_missing", "Look at the device's queueing discipline and kind: `switchctl doctor`."),
    (Layer::Stack, "cpu_backlog", "Raise `net.core.netdev_max_backlog`."),
    (Layer::Stack, "dev_ready", "Bring the device up: `ip link set DEVICE up`."),
    (Layer::Stack, "netfilter_drop", "Look at the rules: `nft list ruleset`."),
    (Layer::Stack, "no_socket", "Nothing: a frame for this machine, where no program listens."),
    (Layer::Stack, "not_specified", "Find the place in the kernel: `dropwatch`, or `perf record -e skb:kfree_skb`."),
    (Layer::Stack, "otherhost", "Nothing: a frame for another station that was passed to this machine."),
    (Layer::Stack, "qdisc_drop", "Look at the queueing discipline: `tc -s qdisc show dev DEVICE`."),
    (Layer::Stack, "tc_egress", "Look at the filters: `tc filter show dev DEVICE egress`."),
    (Layer::Stack, "tc_ingress", "Look at the filters: `tc filter show dev DEVICE ingress`."),
    (Layer::Stack, "unhandled_proto", "Nothing: a frame for this machine, which does not speak its protocol."),
    (Layer::Stack, "unlisted", "Report it: no switch has had so many reasons."),
    (Layer::Stack, "xdp", "Compare it with the verdicts of the switch's own program, which are listed with the layer XDP as well."),
    (Layer::Nic, "rx_missed", "Longer rings of the device: `ethtool -G DEVICE rx N`."),
    (Layer::Nic, "rx_fifo", "Longer rings of the device: `ethtool -G DEVICE rx N`."),
    (Layer::Nic, "rx_over", "Longer rings of the device: `ethtool -G DEVICE rx N`."),
    (Layer::Nic, "rx_length", "Equal MTUs at both ends."),
    (Layer::Nic, "rx_crc", "Replace the cable or the transceiver."),
    (Layer::Nic, "rx_frame", "Replace the cable or the transceiver."),
    (Layer::Nic, "rx_dropped", "Check `ethtool -S DEVICE` and other users of the device."),
    (Layer::Nic, "rx_other", "Look at `ethtool -S DEVICE`."),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use weir_core::DropReason;

    use super::*;

    /// Removes links from the text of a table's cell.
    fn plain(cell: &str) -> String {
        let mut out = String::new();
        let mut rest = cell;
        while let Some((before, from)) = rest.split_once('[') {
            let Some((text, after)) = from.split_once("](") else {
                break;
            };
            out += before;
            out += text;
            rest = after.split_once(')').map_or("", |(_, after)| after);
        }
        out + rest
    }

    #[test]
    fn every_reason_has_the_remedy_of_the_book() {
        let page = include_str!("../../../docs/src/operations/operations.md");
        let (_, page) = page.split_once("\n## Drops and their reasons\n").unwrap();
        let (page, _) = page.split_once("\n## ").unwrap();
        let mut book = BTreeMap::new();
        for row in page.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            for word in cells[0].split(", ") {
                let word = word.trim_end_matches(" ●").trim_matches('`');
                book.insert(word.to_owned(), plain(cells[2]));
            }
        }
        for (_, reason, remedy) in REMEDIES.iter().filter(|(layer, ..)| *layer == Layer::Stack) {
            assert_eq!(
                book.get(*reason).map(String::as_str),
                Some(*remedy),
                "{reason}"
            );
        }
        for (name, _) in DropReason::NAMED {
            let wanted = book.get(name);
            assert!(wanted.is_some(), "the book lacks {name}");
            assert_eq!(
                remedy(Layer::Switch, name),
                wanted.map(String::as_str),
                "{name}"
            );
        }
    }

    #[test]
    fn what_is_lost_below_the_switch_has_a_remedy() {
        for counter in KERNEL_LOSSES {
            let kind = kind(counter);
            assert!(remedy(Layer::Kernel, kind).is_some(), "{kind}");
        }
        for counter in DEVICE_LOSSES {
            let kind = kind(counter);
            assert!(remedy(Layer::Nic, kind).is_some(), "{kind}");
        }
    }

    #[test]
    fn drops_of_all_layers_are_in_one_table_largest_first() {
        let text_of = r#"{"name": "a", "device": "a", "role": "edge", "address": "", "rate_bits_per_second": 1, "link_up": true,
            "xdp_mode": "native", "zero_copy": false, "rx_frames_total": 0, "rx_bytes_total": 0, "tx_frames_total": 0,
            "tx_bytes_total": 0, "drops_total": {"no_route": 2, "of_a_newer_daemon": 1}, "kernel_losses": {"rx_ring_full_total": 4},
            "device_losses": {"rx_crc_total": 3}, "stack_drops_total": {"netfilter_drop": 6}, "xdp_frames_total": {}, "xdp_verdicts_total": {"redirected": 9, "cut": 5},
            "clcm_sent_total": 0, "clcm_received_total": 0}"#;
        let port: Port = serde_json::from_str(text_of).unwrap();
        let mut drops = of_port(&port);
        drops.sort_by_key(|drop| std::cmp::Reverse(drop.frames_total));
        let found: Vec<(&str, u64)> = drops
            .iter()
            .map(|drop| (drop.reason.as_str(), drop.frames_total))
            .collect();
        let wanted = [
            ("netfilter_drop", 6),
            ("cut", 5),
            ("rx_ring_full", 4),
            ("rx_crc", 3),
            ("no_route", 2),
            ("of_a_newer_daemon", 1),
        ];
        assert_eq!(found, wanted);
        let text = text(&drops);
        assert!(
            text.contains("\nrx_crc          Replace the cable"),
            "{text}"
        );
        assert!(!text.contains("\nof_a_newer_daemon"), "{text}");
        assert_eq!(super::text(&[]), "no frame was dropped since the start\n");
    }
}
