//! Treatment of frames before the switch receives them.

use std::collections::BTreeSet;

use weir_config::daemon::{Express, Offloads, XdpMode};
use weir_config::drivers::{self, chunk_for, MacControlFrames, GRO, HARMFUL, LRO};
use weir_core::Bytes;

use super::{command, long_frames, Case};
use crate::ask::nature::Master;
use crate::facts::{Peer, Receiver, Unread};
use crate::finding::{Check, Finding, Remedy};

/// Unfinished checksums: the kernel's name, ethtool's name, and the consequence.
const UNFINISHED: (&str, &str, &str) = (
    "tx-checksum-ip-generic",
    "tx",
    "leaves checksums unfinished",
);
const TAGS: (&str, &str, &str) = (
    "tx-vlan-hw-insert",
    "txvlan",
    "keeps the VLAN tag outside the frame, where the program does not see it",
);
/// Segmentation offloads if the program runs in the network stack: with native XDP the other end cannot use them.
const MERGING: (&str, &str, &str) = (
    "tx-tcp-segmentation",
    "tso",
    "sends frames that are longer than the MTU",
);

pub(super) fn offloads(case: &Case<'_>) -> Vec<Finding> {
    let own = Receiver {
        name: case.device().to_owned(),
        driver: case.found.driver.name.clone(),
        features: case.found.features.clone(),
    };
    let receivers = match &case.found.receivers[..] {
        [] => std::slice::from_ref(&own),
        others => others,
    };
    // Software devices have nothing to switch off.
    let strips_tags = |receiver: &&Receiver| drivers::driver(&receiver.driver).strips_tags;
    let stripping: Vec<_> = receivers.iter().filter(strips_tags).collect();
    let merges = |below: &&Receiver| below.features.contains(GRO.feature);
    let merging: Vec<_> = case.found.below.iter().filter(merges).collect();
    if stripping.is_empty() && merging.is_empty() {
        return vec![Finding::ok(Check::Offloads, "none that changes frames")];
    }
    let on = stripping.into_iter().flat_map(|receiver| {
        let on = HARMFUL
            .iter()
            .filter(|harmful| receiver.features.contains(harmful.feature));
        on.map(move |harmful| (receiver, harmful))
    });
    // Long frames need it until the program is attached, which switches it off.
    let on = on.filter(|(_, harmful)| harmful.feature != LRO || !long_frames::waits_for_lro(case));
    let on = on.chain(merging.into_iter().map(|below| (below, &GRO)));
    let judged = on.map(|(receiver, harmful)| {
        let of = match receiver.name == own.name {
            true => String::new(),
            false => format!(" of `{}`, which receives for it,", receiver.name),
        };
        let found = format!("{}{of} is on: it {}", harmful.name, harmful.does);
        let remedy = command(format!("ethtool -K {} {} off", receiver.name, harmful.name));
        match (case.config.dataplane.offloads, case.running) {
            (Offloads::Manage, None) => Finding::ok(
                Check::Offloads,
                format!(
                    "{}{of} is on: the switch switches it off at its start",
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
    let (name, enter, features, master) = match &case.found.peer {
        None => return Vec::new(),
        Some(Peer::Elsewhere) => {
            return vec![Finding::note(
                Check::OtherEnd,
                "in a network namespace that cannot be entered from here: if hosts there have VLAN devices, run `ethtool -K DEVICE txvlan off` there",
            )]
        }
        Some(Peer::Known {
            name,
            enter,
            features,
            master,
        }) => (name, enter, features, master),
    };
    if let Some(finding) = behind_a_bridge(case, name, master.as_ref()) {
        return vec![finding];
    }
    let is_generic = match case.running {
        Some(running) => running.mode == "generic",
        None => case.config.dataplane.xdp_mode == XdpMode::Generic,
    };
    let express = case.port.express.unwrap_or(case.config.dataplane.express);
    let judged = [UNFINISHED, TAGS]
        .into_iter()
        .chain(is_generic.then_some(MERGING))
        .filter(|(feature, ..)| features.contains(*feature))
        .map(|(feature, switch, does)| {
            let found = format!("{switch} of `{name}`, the other end, is on: it {does}");
            let inside = enter
                .as_ref()
                .map_or(String::new(), |enter| format!("{enter} "));
            let remedy = command(format!("{inside}ethtool -K {name} {switch} off"));
            match feature == UNFINISHED.0 {
                true if express == Express::Off => Finding::ok(
                    Check::OtherEnd,
                    format!("{found}; the switch finishes them"),
                ),
                true => {
                    let lost = "; frames of the express path keep them, and receivers drop those";
                    Finding::problem(Check::OtherEnd, found + lost, remedy)
                }
                false => Finding::problem(Check::OtherEnd, found, remedy),
            }
        });
    let judged: Vec<_> = judged.collect();
    match judged.is_empty() {
        true => vec![Finding::ok(Check::OtherEnd, sends_whole(name, features))],
        false => judged,
    }
}

/// Reports a bridge at the other end, which consumes pauses itself; `docker network connect` creates one.
fn behind_a_bridge(case: &Case<'_>, name: &str, master: Option<&Master>) -> Option<Finding> {
    let master = master.filter(|master| master.kind.as_deref() == Some("bridge"))?;
    let bridge = &master.name;
    let found = format!(
        "`{name}`, the other end, is a port of the bridge `{bridge}`, which forwards no pauses"
    );
    Some(match case.config.has_lossless() {
        true => Finding::problem(
            Check::OtherEnd,
            format!("{found}: lossless classes lose frames there"),
            Remedy::Other(
                "connect hosts and switch by veth pairs without a bridge, or use no lossless class"
                    .to_owned(),
            ),
        ),
        false => Finding::note(Check::OtherEnd, found),
    })
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
                "{} passes PFC on only with rx-all, which is off: pauses may not reach the switch (rx-all also passes frames with a bad FCS)",
                case.driver.name
            ),
        )
        .mended_by(command(format!("ethtool -K {} rx-all on", case.device()))),
        Ok(pause) => {
            let negotiated = if pause.autonegotiation { ", as negotiated" } else { "" };
            Finding::ok(Check::Pause, format!("the NIC does not consume PAUSE frames{negotiated}"))
        }
        Err(Unread::NotThere) => {
            Finding::ok(Check::Pause, "the driver has no pause settings")
        }
        Err(why) => Finding::note(Check::Pause, format!("not read: {why}")),
    })
}

/// Returns true if, according to its driver's sources, the NIC consumes MAC control frames in its present setting.
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
            "{has} B, and dataplane.mtu is {wanted} B: longer frames are dropped, as bad_length or by the kernel if a chunk does not hold them"
        );
        return Finding::note(Check::Mtu, found);
    }
    Finding::ok(Check::Mtu, format!("{has} B, as dataplane.mtu"))
}

/// Checks that a frame of the MTU fits the driver's buffers in zero-copy.
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

#[cfg(test)]
mod tests {
    use super::super::judge;
    use super::super::tests::{driven_by, facts, nic, of, one_problem, veth, wanted};
    use super::*;
    use crate::finding::Grade;

    fn peer(features: &[&str]) -> Peer {
        Peer::Known {
            name: "peer".into(),
            enter: None,
            features: features.iter().map(|it| (*it).to_owned()).collect(),
            master: None,
        }
    }

    #[test]
    fn a_veth_has_two_ends() {
        let with = |features: &[&str]| {
            let mut found = veth();
            found.peer = Some(peer(features));
            facts(found)
        };
        for (feature, dataplane, command) in [
            (
                "tx-checksum-ip-generic",
                "express = \"auto\"",
                "ethtool -K peer tx off",
            ),
            ("tx-vlan-hw-insert", "", "ethtool -K peer txvlan off"),
            (
                "tx-tcp-segmentation",
                "xdp-mode = \"generic\"",
                "ethtool -K peer tso off",
            ),
        ] {
            let wanted = wanted(dataplane, "");
            one_problem(&with(&[feature]), &wanted, Check::OtherEnd, command);
        }
        // With native XDP the other end cannot use it. The switch finishes checksums.
        for feature in ["tx-tcp-segmentation", "tx-checksum-ip-generic"] {
            let findings = judge(&with(&[feature]), &wanted("", ""));
            assert_eq!(of(&findings, Check::OtherEnd).grade, Grade::Ok);
        }
        let mut one_queue_too_many = veth();
        one_queue_too_many.channels.as_mut().unwrap().rx = 2;
        let wanted = wanted("", "queues = 1");
        let facts = facts(one_queue_too_many);
        one_problem(&facts, &wanted, Check::Queues, "ethtool -L eth0 rx 1");
    }

    #[test]
    fn the_other_end_is_named_with_its_namespace_and_its_bridge() {
        let known = |feature: &str, master: Option<Master>| {
            let mut found = veth();
            found.peer = Some(Peer::Known {
                name: "eth1".into(),
                enter: Some("ip netns exec h1".into()),
                features: [feature.to_owned()].into(),
                master,
            });
            facts(found)
        };
        let remedy = "ip netns exec h1 ethtool -K eth1 txvlan off";
        let facts = known("tx-vlan-hw-insert", None);
        one_problem(&facts, &wanted("", ""), Check::OtherEnd, remedy);
        let bridge = Master {
            name: "br-1".into(),
            kind: Some("bridge".into()),
        };
        let facts = known("", Some(bridge));
        let findings = judge(&facts, &wanted("", ""));
        assert_eq!(of(&findings, Check::OtherEnd).grade, Grade::Note);
        let lossless = "[[class]]\nname = \"l\"\npriority = 3\nmode = \"pfc\"\nxoff = \"60KiB\"\nxon = \"52KiB\"\nheadroom = \"64KiB\"";
        let findings = judge(&facts, &wanted("", lossless));
        let finding = of(&findings, Check::OtherEnd);
        assert_eq!(finding.grade, Grade::Problem, "{finding:?}");
        assert!(finding.found.contains("bridge `br-1`"), "{finding:?}");
    }

    #[test]
    fn tags_are_taken_out_at_the_ports_of_a_bond_and_not_at_the_bond() {
        let bond = |driver: &str, features: &[&str]| {
            let mut found = driven_by("bonding", nic().xdp);
            found.features = ["rx-vlan-hw-parse".to_owned()].into();
            found.receivers = vec![Receiver {
                name: "eth1".into(),
                driver: driver.into(),
                features: features.iter().map(|name| (*name).to_owned()).collect(),
            }];
            judge(&facts(found), &wanted("", ""))
        };
        let offloads = |findings: &[Finding]| of(findings, Check::Offloads).clone();
        let on = offloads(&bond("ice", &["rx-vlan-hw-parse"]));
        let remedy = on.remedy.as_ref().map(ToString::to_string);
        assert_eq!(
            (on.grade, remedy.as_deref()),
            (Grade::Problem, Some("ethtool -K eth1 rxvlan off"))
        );
        assert!(on.found.contains("`eth1`"), "{}", on.found);
        for findings in [bond("ice", &[]), bond("veth", &["rx-vlan-hw-parse"])] {
            assert_eq!(offloads(&findings).grade, Grade::Ok);
        }
    }

    #[test]
    fn frames_are_merged_below_a_stacked_device_and_not_by_the_device_itself() {
        let stacked = |own: &[&str], below: &[&str]| {
            let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect();
            let mut found = nic();
            found.features = names(own);
            found.below = vec![Receiver {
                name: "eth1".into(),
                driver: "veth".into(),
                features: names(below),
            }];
            facts(found)
        };
        let remedy = "ethtool -K eth1 gro off";
        let merging = stacked(&[], &["rx-gro"]);
        one_problem(&merging, &wanted("", ""), Check::Offloads, remedy);
        let managed = wanted("offloads = \"manage\"", "");
        for (facts, wanted) in [
            (&merging, managed),
            (&stacked(&["rx-gro"], &[]), wanted("", "")),
        ] {
            let findings = judge(facts, &wanted);
            assert_eq!(of(&findings, Check::Offloads).grade, Grade::Ok);
        }
    }
}
