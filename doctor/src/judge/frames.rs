//! What becomes of frames before the switch has them.

use std::collections::BTreeSet;

use weir_config::daemon::{Offloads, XdpMode};
use weir_config::drivers::{chunk_for, MacControlFrames, HARMFUL, LRO};
use weir_core::Bytes;

use super::{command, long_frames, Case};
use crate::facts::{Peer, Unread};
use crate::finding::{Check, Finding};

/// What the other end of a veth must not do: the kernel's name, ethtool's, and what comes of it.
const OF_OTHER_END: [(&str, &str, &str); 2] = [
    (
        "tx-checksum-ip-generic",
        "tx",
        "leaves checksums unfinished, and receivers drop such frames",
    ),
    (
        "tx-vlan-hw-insert",
        "txvlan",
        "keeps the VLAN tag beside the frame, where the program does not see it",
    ),
];
/// The same where the program runs in the network stack: native XDP forbids it to the other end.
const MERGING: (&str, &str, &str) = (
    "tx-tcp-segmentation",
    "tso",
    "sends frames that are longer than the MTU",
);

pub(super) fn offloads(case: &Case<'_>) -> Vec<Finding> {
    // Of software there is nothing to switch off.
    if !case.driver.strips_tags {
        return vec![Finding::ok(Check::Offloads, "none that changes frames")];
    }
    let on = HARMFUL
        .iter()
        .filter(|harmful| case.found.features.contains(harmful.feature))
        // Long frames need it until the program is attached, which switches it off.
        .filter(|harmful| harmful.feature != LRO || !long_frames::waits_for_lro(case));
    let judged = on.map(|harmful| {
        let found = format!("{} is on: it {}", harmful.name, harmful.does);
        let remedy = command(format!("ethtool -K {} {} off", case.device(), harmful.name));
        match (case.config.dataplane.offloads, case.running) {
            (Offloads::Manage, None) => Finding::ok(
                Check::Offloads,
                format!(
                    "{} is on: the switch switches it off at its start",
                    harmful.name
                ),
            ),
            (Offloads::Ignore, _) => Finding::note(Check::Offloads, found).mended_by(remedy),
            _ => Finding::problem(Check::Offloads, found, remedy),
        }
    });
    let judged: Vec<_> = judged.chain(long_frames::lro(case)).collect();
    match judged.is_empty() {
        true => vec![Finding::ok(
            Check::Offloads,
            "rxvlan, lro and rx-gro-hw are off",
        )],
        false => judged,
    }
}

pub(super) fn other_end(case: &Case<'_>) -> Vec<Finding> {
    let (name, features) = match &case.found.peer {
        None => return Vec::new(),
        Some(Peer::Elsewhere) => {
            return vec![Finding::note(
                Check::OtherEnd,
                "in another network namespace: `ethtool -K DEVICE tx off txvlan off` belongs there if its kernel sends",
            )]
        }
        Some(Peer::Here { name, features }) => (name, features),
    };
    let is_generic = match case.running {
        Some(running) => running.mode == "generic",
        None => case.config.dataplane.xdp_mode == XdpMode::Generic,
    };
    let merging = is_generic.then_some(MERGING);
    let judged = OF_OTHER_END
        .into_iter()
        .chain(merging)
        .filter(|(feature, ..)| features.contains(*feature))
        .map(|(_, switch, does)| {
            let found = format!("{switch} of `{name}`, the other end, is on: it {does}");
            let remedy = command(format!("ethtool -K {name} {switch} off"));
            Finding::problem(Check::OtherEnd, found, remedy)
        });
    let judged: Vec<_> = judged.collect();
    match judged.is_empty() {
        true => vec![Finding::ok(Check::OtherEnd, sends_whole(name, features))],
        false => judged,
    }
}

fn sends_whole(name: &str, features: &BTreeSet<String>) -> String {
    format!(
        "`{name}` sends frames as they are ({} offloads are on)",
        features.len()
    )
}

pub(super) fn pause(case: &Case<'_>) -> Option<Finding> {
    Some(match &case.found.pause {
        Ok(pause) if pause.receives => Finding::problem(
            Check::Pause,
            "the NIC obeys PAUSE frames itself and may keep all MAC control frames, PFC included, from the switch",
            command(format!("ethtool -A {} autoneg off rx off tx off", case.device())),
        ),
        _ if passes_no_pfc(case) => Finding::note(
            Check::Pause,
            format!(
                "{} passes PFC on only with rx-all, which is off: pauses may not reach the switch (rx-all lets frames with a bad FCS through, too)",
                case.driver.name
            ),
        )
        .mended_by(command(format!("ethtool -K {} rx-all on", case.device()))),
        Ok(pause) => {
            let negotiated = if pause.autonegotiation { ", as negotiated" } else { "" };
            Finding::ok(Check::Pause, format!("the NIC leaves PAUSE frames alone{negotiated}"))
        }
        Err(Unread::NotThere) => {
            Finding::ok(Check::Pause, "the driver has no pause settings")
        }
        Err(why) => Finding::note(Check::Pause, format!("not read: {why}")),
    })
}

/// By its driver's sources the NIC keeps MAC control frames to itself as it is set up.
fn passes_no_pfc(case: &Case<'_>) -> bool {
    case.driver.mac_control == MacControlFrames::WithRxAll
        && !case.found.features.contains("rx-all")
}

pub(super) fn mtu(case: &Case<'_>) -> Finding {
    let (has, wanted) = (u64::from(case.found.mtu), case.config.dataplane.mtu.get());
    if has < wanted {
        return Finding::problem(
            Check::Mtu,
            format!("{has} B, and dataplane.mtu is {wanted} B: the switch does not start"),
            command(format!("ip link set dev {} mtu {wanted}", case.device())),
        );
    }
    if has > wanted {
        let found = format!(
            "{has} B, and dataplane.mtu is {wanted} B: longer frames are dropped as bad_length"
        );
        return Finding::note(Check::Mtu, found);
    }
    Finding::ok(Check::Mtu, format!("{has} B, as dataplane.mtu"))
}

/// Whether a frame of the MTU fits the driver's buffers in zero-copy.
pub(super) fn buffers(case: &Case<'_>) -> Option<Finding> {
    let dataplane = &case.config.dataplane;
    let (chunk, frame) = (dataplane.chunk_size(), dataplane.frame_length_max());
    if !case.has_zero_copy() {
        let chunks = dataplane.chunks_of_a_frame();
        let found = format!(
            "a frame of {} B takes {chunks} chunk(s) of {} B",
            frame.get(),
            chunk.get()
        );
        return Some(Finding::ok(Check::Buffers, found));
    }
    let Err(short) = case.driver.holds_frames(dataplane) else {
        let found = format!(
            "a frame of {} B fits a chunk of {} B in zero-copy",
            frame.get(),
            chunk.get()
        );
        return Some(Finding::ok(Check::Buffers, found));
    };
    let found = format!(
        "in zero-copy the driver receives {} B into a chunk of {} B, and {} B are needed",
        short.has.get(),
        short.chunk.get(),
        short.needed.get()
    );
    let mut unset = dataplane.clone();
    unset.chunk = None;
    let chosen = unset.with_chunk(chunk_for(&unset, &[case.driver]));
    let remedy = match case.driver.holds_frames(&chosen) {
        Ok(()) => case.wanted.setting("dataplane.chunk", None),
        Err(_) => {
            let lower = dataplane
                .mtu
                .saturating_sub(short.needed.saturating_sub(short.has));
            let lower = format!("\"{}B\"", lower.max(Bytes::new(68)).get());
            case.wanted.setting("dataplane.mtu", Some(&lower))
        }
    };
    Some(Finding::problem(Check::Buffers, found, remedy))
}
