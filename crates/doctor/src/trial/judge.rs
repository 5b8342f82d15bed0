//! Interpretation of a trial, and remedies.

use weir_config::drivers::{self, MacControlFrames};
use weir_core::wire::ethernet::HEADER_LENGTH;

use super::tally::{Ended, Frames, Tally, Trial, Way};
use crate::facts::{Facts, Found};
use crate::finding::{Check, Finding, Remedy};
use crate::judge::Wanted;

/// Shows the NIC's own losses.
const COUNTERS: &str = "ethtool -S DEVICE | grep -iE 'err|drop|miss|fifo|crc'";

struct Case<'a> {
    trial: &'a Trial,
    wanted: &'a Wanted,
    found: Option<&'a Found>,
}

impl Case<'_> {
    fn device(&self) -> &str {
        &self.trial.link.device
    }

    fn far(&self) -> &str {
        let neighbour = self.trial.neighbour.as_ref();
        neighbour.map_or("DEVICE", |neighbour| &neighbour.device)
    }

    /// A command with the device instead of `DEVICE`.
    fn here(&self, command: &str) -> Remedy {
        Remedy::Command(command.replace("DEVICE", self.device()))
    }

    /// A remedy at the neighbour, with its device instead of `DEVICE`.
    fn there(&self, what: &str) -> Remedy {
        let what = what.replace("DEVICE", self.far());
        Remedy::Other(format!("at the neighbour: {what}"))
    }

    fn at(&self, side: Side, command: &str) -> Remedy {
        match side {
            Side::There => self.there(command),
            Side::Here => self.here(command),
        }
    }
}

/// The findings, starting with problems of the trial itself.
pub fn judge(trial: &Trial, facts: &Facts, wanted: &Wanted) -> Vec<Finding> {
    let device = &trial.link.device;
    let found = facts.devices.iter().find(|it| it.name == *device);
    let case = Case {
        trial,
        wanted,
        found: found.and_then(|it| it.found.as_ref()),
    };
    let mut findings = vec![ended(&case)];
    if trial.neighbour.is_some() {
        findings.extend(unheard(&case));
        findings.extend(not_tried(&case));
        findings.extend(lost(&case));
        findings.extend(damaged(&case, &trial.frames.there, Side::There));
        findings.extend(damaged(&case, &trial.frames.back, Side::Here));
        findings.extend(order(&case));
        findings.extend(pauses(&case));
    }
    for finding in &mut findings {
        finding.device = Some(device.clone());
    }
    findings
}

fn ended(case: &Case<'_>) -> Finding {
    let trial = case.trial;
    let link = &trial.link;
    let way = match link.zero_copy {
        true => "zero-copy",
        false => "copied",
    };
    let neighbour = trial.neighbour.as_ref();
    let who = neighbour.map_or(String::new(), |it| {
        format!(" to {} (`{}`)", it.address, it.device)
    });
    let how = format!(
        "{} XDP, {way}, {} queue(s), chunks of {} B{who}",
        link.mode, link.queues, link.chunk_bytes
    );
    let frames = &trial.frames;
    match trial.ended {
        Ended::Complete => Finding::ok(
            Check::Loop,
            format!(
                "{} frames of {} to {} B there and {} back in {:.1} s: {how}",
                frames.sent.frames,
                frames.sent.shortest_bytes,
                frames.sent.longest_bytes,
                frames.returned,
                trial.took_milliseconds as f64 / 1000.0,
            ),
        ),
        Ended::NoNeighbour => Finding::problem(
            Check::Loop,
            format!("nobody reflects: {how}"),
            Remedy::Other(
                "run `weir-endpoint reflect DEVICE` at the other end of the cable, and see that both ends are up".into(),
            ),
        ),
        Ended::Silent => Finding::problem(
            Check::Loop,
            format!(
                "the neighbour stopped answering after {} frames, {} of which came back: {how}",
                frames.sent.frames, frames.returned
            ),
            case.there("see whether `weir-endpoint reflect DEVICE` still runs"),
        ),
        Ended::TimedOut => Finding::problem(
            Check::Loop,
            format!(
                "not done after {:.0} s: {} frames sent, {} back",
                trial.took_milliseconds as f64 / 1000.0,
                frames.sent.frames,
                frames.returned
            ),
            Remedy::Other("give it more time with --time, and check for other traffic on the link".into()),
        ),
        Ended::Interrupted => Finding::note(
            Check::Loop,
            format!("interrupted after {} frames", frames.sent.frames),
        ),
    }
}

/// Reports frames that the program or the kernel dropped before they could be read.
fn unheard(case: &Case<'_>) -> Vec<Finding> {
    let link = &case.trial.link;
    let dropped = |count: u64, why: &str, remedy| {
        let found = format!("{count} frames were dropped here{why}");
        problem(count, Check::LoopFrames, found, remedy)
    };
    let of_queues = format!("see `queues` of `switchctl doctor {}`", case.device());
    let findings = [
        dropped(
            link.without_metadata,
            ": the driver has no room for metadata in native XDP",
            case.wanted
                .setting("dataplane.xdp-mode", Some("\"generic\"")),
        ),
        dropped(
            link.without_socket,
            ": their queue has no socket",
            Remedy::Other(of_queues),
        ),
        dropped(
            link.lost_at_socket,
            " by the kernel, at the sockets",
            Remedy::Other(
                "another program sends to this device: no more than 32 frames of the test are under way".into(),
            ),
        ),
    ];
    findings.into_iter().flatten().collect()
}

fn problem(frames: u64, check: Check, found: String, remedy: Remedy) -> Option<Finding> {
    (frames > 0).then(|| Finding::problem(check, found, remedy))
}

fn not_tried(case: &Case<'_>) -> Option<Finding> {
    let neighbour = case.trial.neighbour.as_ref()?;
    let mtu = case.wanted.config.dataplane.mtu.get();
    let reflected = u64::from(neighbour.longest_bytes).saturating_sub(HEADER_LENGTH as u64);
    (reflected < mtu).then(|| {
        let found = format!(
            "frames longer than {} B were not tried: dataplane.mtu is {mtu} B, and the neighbour reflects {reflected} B",
            neighbour.longest_bytes
        );
        let remedy = case.there(&format!(
            "ip link set dev DEVICE mtu {mtu}; `weir-endpoint` itself reflects up to 3822 B"
        ));
        Finding::note(Check::LoopFrames, found).mended_by(remedy)
    })
}

fn lengths(tally: &Tally) -> String {
    match tally.shortest_bytes == tally.longest_bytes {
        true => format!("of {} B", tally.shortest_bytes),
        false => format!("of {} to {} B", tally.shortest_bytes, tally.longest_bytes),
    }
}

fn lost(case: &Case<'_>) -> Vec<Finding> {
    let frames = &case.trial.frames;
    let lost = &frames.lost;
    if lost.frames == 0 {
        let is_perfect = case.trial.ended == Ended::Complete && !has_damage(frames);
        let perfect = Finding::ok(
            Check::LoopFrames,
            "all came back, each with the bytes and the tag that it was sent with",
        );
        return is_perfect.then_some(perfect).into_iter().collect();
    }
    let Some(arrived) = frames.arrived else {
        return vec![Finding::problem(
            Check::LoopFrames,
            format!("{} frames {} did not come back", lost.frames, lengths(lost)),
            case.here(COUNTERS),
        )];
    };
    let out = frames.sent.frames.saturating_sub(arrived);
    let back = lost.frames.saturating_sub(out);
    let missing = |count: u64, what: &str, unreadable: u64, side| {
        let unread = match unreadable {
            0 => String::new(),
            count => format!(" ({count} came too damaged to be read)"),
        };
        let found = format!(
            "{count} frames {what}{unread}; lost are some {}",
            lengths(lost)
        );
        problem(count, Check::LoopFrames, found, reason(case, side))
    };
    let findings = [
        missing(
            out,
            "did not come to the neighbour",
            frames.unreadable_there,
            Side::There,
        ),
        missing(
            back,
            "came to the neighbour and not back",
            frames.unreadable_here,
            Side::Here,
        ),
    ];
    findings.into_iter().flatten().collect()
}

/// Receiving end at which frames are affected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    There,
    Here,
}

fn reason(case: &Case<'_>, side: Side) -> Remedy {
    let frames = &case.trial.frames;
    let command = match frames.lost.frames == frames.lost_of_vlan {
        true => "ethtool -K DEVICE rx-vlan-filter off",
        false => COUNTERS,
    };
    case.at(side, command)
}

fn has_damage(frames: &Frames) -> bool {
    [&frames.there, &frames.back].iter().any(|way| {
        [way.cut, way.grown, way.changed, way.untagged, way.retagged]
            .iter()
            .any(|tally| tally.frames > 0)
    })
}

fn damaged(case: &Case<'_>, way: &Way, side: Side) -> Vec<Finding> {
    let place = match side {
        Side::There => "at the neighbour",
        Side::Here => "here",
    };
    let say = |check, tally: &Tally, what: &str, remedy: Remedy| {
        let found = format!("{} frames {} {what} {place}", tally.frames, lengths(tally));
        problem(tally.frames, check, found, remedy)
    };
    let at = |command| case.at(side, command);
    let findings = [
        say(
            Check::LoopFrames,
            &way.cut,
            "came cut",
            cut_by(case, side),
        ),
        say(
            Check::LoopFrames,
            &way.grown,
            "arrived longer than sent",
            at("ethtool -K DEVICE rx-fcs off"),
        ),
        say(
            Check::LoopFrames,
            &way.changed,
            "came with other bytes",
            Remedy::Other(
                "no setting does that: try another cable, another slot, the IOMMU (iommu=on), and memtest86+".into(),
            ),
        ),
        say(
            Check::LoopTags,
            &way.untagged,
            "lost their VLAN tag",
            at("ethtool -K DEVICE rxvlan off"),
        ),
        say(
            Check::LoopTags,
            &way.retagged,
            "came with another VLAN tag",
            at("ethtool -K DEVICE txvlan off rxvlan off"),
        ),
    ];
    findings.into_iter().flatten().collect()
}

fn cut_by(case: &Case<'_>, side: Side) -> Remedy {
    if side == Side::There {
        return case.there("ip link set dev DEVICE mtu 9000 (or as much as this end has), and no zero-copy of its own");
    }
    match case.trial.link.zero_copy {
        true => case.wanted.setting("dataplane.zero-copy", Some("\"off\"")),
        false => case.wanted.setting("dataplane.chunk", Some("\"4KiB\"")),
    }
}

fn order(case: &Case<'_>) -> Vec<Finding> {
    let frames = &case.trial.frames;
    let in_one_queue = format!(
        "one flow must stay in one queue, at both ends: `ethtool -x {}`, or queues = 1",
        case.device()
    );
    let say = |count: u64, what: &str, remedy: &str| {
        let found = format!("{count} frames came {what}");
        problem(count, Check::LoopOrder, found, Remedy::Other(remedy.into()))
    };
    let findings = [
        say(
            frames.reordered,
            "after a later one of the same priority",
            &in_one_queue,
        ),
        say(
            frames.repeated,
            "twice",
            "two devices receive frames of this one: there must be only a cable between the two ends",
        ),
    ];
    let mut findings: Vec<Finding> = findings.into_iter().flatten().collect();
    if findings.is_empty() && frames.returned > 0 {
        findings.push(Finding::ok(
            Check::LoopOrder,
            "kept, and nothing came twice",
        ));
    }
    findings
}

fn pauses(case: &Case<'_>) -> Vec<Finding> {
    let trial = case.trial;
    if trial.ended != Ended::Complete {
        return Vec::new();
    }
    let pauses = &trial.pauses;
    let sum = |counts: &[u32]| counts.iter().map(|count| u64::from(*count)).sum::<u64>();
    let missing = |sent: &[u32], came: &[u32]| -> Vec<usize> {
        let both = sent.iter().zip(came).enumerate();
        let fewer = both.filter(|(_, (sent, came))| came < sent);
        fewer.map(|(priority, _)| priority).collect()
    };
    let out = missing(&pauses.sent_here, &pauses.came_there);
    let back = missing(&pauses.sent_there, &pauses.came_here);
    let mut findings = Vec::new();
    if !out.is_empty() {
        findings.push(Finding::problem(
            Check::LoopPfc,
            format!(
                "{} of {} PFC frames came to the neighbour (missing: priorities {out:?}): its NIC or one between keeps them, so that it cannot obey pauses of this switch in software",
                sum(&pauses.came_there),
                sum(&pauses.sent_here)
            ),
            case.there("ethtool -A DEVICE autoneg off rx off tx off; if that does not help, see the table of drivers; there must be only a cable between the two ends"),
        ));
    }
    if !back.is_empty() {
        findings.push(Finding::problem(
            Check::LoopPfc,
            format!(
                "{} of {} PFC frames of the neighbour came here (missing: priorities {back:?}): the NIC keeps them, and the switch will not know of pauses",
                sum(&pauses.came_here),
                sum(&pauses.sent_there)
            ),
            keeps_pfc(case),
        ));
    }
    if sum(&pauses.sent_there) == 0 {
        findings.push(Finding::note(
            Check::LoopPfc,
            "the neighbour was not asked for PFC frames: the request was lost",
        ));
    } else if findings.is_empty() {
        findings.push(Finding::ok(
            Check::LoopPfc,
            format!(
                "{} PFC frames came to the neighbour, and {} here: all of them",
                sum(&pauses.came_there),
                sum(&pauses.came_here)
            ),
        ));
    }
    findings
}

/// Returns settings that may make a NIC pass PFC frames to the host.
fn keeps_pfc(case: &Case<'_>) -> Remedy {
    let Some(found) = case.found else {
        return Remedy::Other("see the table of drivers".into());
    };
    let obeys = found.pause.as_ref().is_ok_and(|pause| pause.receives);
    if obeys {
        return case.here("ethtool -A DEVICE autoneg off rx off tx off");
    }
    let driver = drivers::driver(&found.driver.name);
    let by_rx_all = driver.mac_control == MacControlFrames::WithRxAll;
    if by_rx_all && !found.features.contains("rx-all") {
        return case.here("ethtool -K DEVICE rx-all on");
    }
    Remedy::Other(format!(
        "switch PFC of the NIC itself off (`dcb pfc set dev {} prio-pfc all:off`, or the firmware's DCBX/LLDP agent); if that does not help, \
         this NIC cannot carry lossless classes: see the table of drivers",
        case.device()
    ))
}
