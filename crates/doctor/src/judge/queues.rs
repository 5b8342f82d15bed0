//! Receive queues, and their traffic.

use weir_config::daemon::Fallback;

use super::{command, Case};
use crate::facts::Unread;
use crate::finding::{Check, Finding, Remedy};

/// Driver whose device has a queue for each program that opened it.
const TAP: &str = "tun";

fn without_socket(case: &Case<'_>) -> Vec<u32> {
    let has = case.found.channels.as_ref().map_or(0, |it| it.receiving());
    let mut left_out = case.port.left_out(&case.config.ports, has);
    if let Some(spread_over) = &case.found.rss {
        left_out.retain(|queue| spread_over.contains(queue));
    }
    left_out
}

pub(super) fn queues(case: &Case<'_>) -> Finding {
    let channels = match &case.found.channels {
        Ok(channels) => channels,
        Err(Unread::NotThere) => {
            return Finding::ok(Check::Queues, "the driver does not say; one is used")
        }
        Err(why) => return Finding::note(Check::Queues, format!("not read: {why}")),
    };
    let has = channels.receiving();
    let device = case.device();
    let kind = match channels.combined_max {
        0 => "rx",
        _ => "combined",
    };
    let most = channels.combined_max.max(channels.rx_max);
    let ranges = case.config.ports.iter().filter(|it| it.device == device);
    let ends = ranges.map(|it| it.queue + it.queue_count.unwrap_or(1));
    let end = ends.max().unwrap_or(1);
    if let Some(running) = case.running.filter(|running| running.without_socket > 0) {
        let found = format!(
            "{} frames were dropped: their queue has no socket; the device has {has} queues now",
            running.without_socket
        );
        return Finding::problem(Check::Queues, found, command("switchctl restart"));
    }
    if has == 0 && case.found.driver.name == TAP {
        let found = "none: no program has the tap open, and frames sent to it are lost";
        let remedy = Remedy::Other("start the program behind it".into());
        return Finding::note(Check::Queues, found).mended_by(remedy);
    }
    if end > has {
        let found = format!(
            "the file requires queues up to {}, but the device has {has}",
            end - 1
        );
        let remedy = match most >= end {
            true => command(format!("ethtool -L {device} {kind} {end}")),
            false => case.wanted.port_setting(case.port, "queues", None),
        };
        return Finding::problem(Check::Queues, found, remedy);
    }
    let left_out = without_socket(case);
    // If RSS can keep frames off them, that is a separate finding.
    if case.found.rss.is_none() && !left_out.is_empty() {
        let found = format!("{has} queues, {}", lost_by(case, &left_out));
        let remedy = match case.port.queue {
            0 => command(format!("ethtool -L {device} {kind} {end}")),
            _ => case.wanted.port_setting(case.port, "queues", None),
        };
        return graded(case, Check::Queues, found, remedy);
    }
    let adds = match (case.running, case.driver.attaching.starts_with("adds")) {
        (None, true) => format!("; attaching {}", case.driver.attaching),
        _ => String::new(),
    };
    let of = format!("receive queues: {has} of at most {most}, each with a socket{adds}");
    Finding::ok(Check::Queues, of)
}

pub(super) fn rss(case: &Case<'_>) -> Option<Finding> {
    let spread_over = case.found.rss.as_ref()?;
    let left_out = without_socket(case);
    if left_out.is_empty() {
        let over = format!("spreads frames over {} queues", spread_over.len());
        return Some(Finding::ok(Check::Rss, over));
    }
    let count = case.port.queue_count.unwrap_or(1);
    let start = match case.port.queue {
        0 => String::new(),
        first => format!("start {first} "),
    };
    let remedy = format!("ethtool -X {} {start}equal {count}", case.device());
    let found = format!("spreads frames, {}", lost_by(case, &left_out));
    Some(graded(case, Check::Rss, found, command(remedy)))
}

fn lost_by(case: &Case<'_>, left_out: &[u32]) -> String {
    let list: Vec<String> = left_out.iter().map(ToString::to_string).collect();
    let becomes = match case.port.fallback {
        Fallback::Pass => "go to the kernel",
        Fallback::Drop => "are lost",
    };
    format!("frames of queue {} {becomes}", list.join(", "))
}

/// It may be intended with `fallback = "pass"`.
fn graded(case: &Case<'_>, check: Check, found: String, remedy: Remedy) -> Finding {
    match case.port.fallback {
        Fallback::Pass => Finding::note(check, found).mended_by(remedy),
        Fallback::Drop => Finding::problem(check, found, remedy),
    }
}

pub(super) fn ring(case: &Case<'_>) -> Option<Finding> {
    let ring = match &case.found.ring {
        Ok(ring) if ring.most > 0 => ring,
        Err(Unread::NotPermitted) => {
            return Some(Finding::note(Check::Ring, Unread::NotPermitted.to_string()))
        }
        _ => return None,
    };
    let ours = case.config.rx_ring();
    let has = format!(
        "{} of at most {} entries in the NIC, {ours} in each socket",
        ring.entries, ring.most
    );
    if case.has_zero_copy() && ring.entries > ours {
        let size = ring.entries.next_power_of_two();
        let remedy = case
            .wanted
            .setting("dataplane.rx-ring", Some(&size.to_string()));
        let found = format!("{has}: in zero-copy the NIC's ring is never full");
        return Some(Finding::note(Check::Ring, found).mended_by(remedy));
    }
    let better = ring.most.min(ours);
    if ring.entries < better {
        let remedy = command(format!("ethtool -G {} rx {better}", case.device()));
        let found = format!("{has}: a longer ring holds more while the thread is late");
        return Some(Finding::note(Check::Ring, found).mended_by(remedy));
    }
    Some(Finding::ok(Check::Ring, has))
}
