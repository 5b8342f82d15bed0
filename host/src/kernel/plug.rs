//! `prio` with a `plug` for each priority, by rtnetlink.

use std::io;

use weir_netlink::message::{attribute, attributes, find, text, u32_at};
use weir_netlink::queueing::{
    tcmsg, RTM_GETQDISC, RTM_NEWQDISC, TCA_KIND, TCA_OPTIONS, TCMSG, TC_H_ROOT,
};
use weir_netlink::socket::{dump, order, Protocol, NLM_F_CREATE, NLM_F_REPLACE};

use crate::settings::PRIORITIES;

// linux/pkt_sched.h, linux/rtnetlink.h, linux/gen_stats.h
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const PRIOMAP: usize = 16;
/// The kind at the root.
pub const PRIO: &str = "prio";
/// The handle of our root (before the colon): by it what a dead daemon left is found.
pub const ROOT: u32 = 0x7748;
/// The handle of priority 0's plug; the others' follow.
const PLUGS: u32 = 0x7740;

/// What a plug is to do (linux/pkt_sched.h: TCQ_PLUG_…).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Keep what comes.
    Buffer,
    /// Let all go, until the next `Buffer`.
    Release,
    /// Hold no more than so many bytes.
    Limit(u32),
}

/// What the kernel has counted at one plug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Handed to the driver.
    pub sent_frames: u64,
    /// Handed to the driver.
    pub sent_bytes: u64,
    /// Frames that wait.
    pub queued_frames: u64,
    /// Bytes that wait.
    pub queued_bytes: u64,
    /// Frames dropped because the queue was at its limit.
    pub dropped: u64,
}

/// Band 0 comes first: the highest priority.
pub(super) fn class(priority: usize) -> u32 {
    ROOT << 16 | (PRIORITIES - priority) as u32
}

fn handle(priority: usize) -> u32 {
    (PLUGS + priority as u32) << 16
}

/// `by_socket`: what no filter takes has its socket's priority, and 0 otherwise.
fn prio_body(ifindex: u32, by_socket: bool) -> Vec<u8> {
    let mut options = (PRIORITIES as i32).to_ne_bytes().to_vec();
    options.extend((0..PRIOMAP).map(|priority| {
        // What is no priority of 802.1Q counts as 0.
        let is_one = by_socket && priority < PRIORITIES;
        let priority = if is_one { priority } else { 0 };
        (PRIORITIES - 1 - priority) as u8
    }));
    body(ifindex, ROOT << 16, TC_H_ROOT, PRIO, &options)
}

fn plug_body(ifindex: u32, priority: usize, action: Action) -> Vec<u8> {
    let (number, limit) = match action {
        Action::Buffer => (0i32, 0),
        Action::Release => (2, 0),
        Action::Limit(bytes) => (3, bytes),
    };
    let options = [number.to_ne_bytes(), limit.to_ne_bytes()].concat();
    body(ifindex, handle(priority), class(priority), "plug", &options)
}

fn body(ifindex: u32, handle: u32, parent: u32, kind: &str, options: &[u8]) -> Vec<u8> {
    let mut body = tcmsg(ifindex, handle, parent, 0);
    body.extend(attribute(TCA_KIND, &[kind.as_bytes(), &[0]].concat()));
    body.extend(attribute(TCA_OPTIONS, options));
    body
}

/// Puts `prio` at the root, and an open plug with this limit below each of its bands. `by_socket`: sockets' priorities count.
///
/// # Errors
///
/// What the kernel says; `NotFound` when it has no such queueing disciplines.
pub fn make(ifindex: u32, limit: u32, by_socket: bool) -> io::Result<()> {
    let create = NLM_F_CREATE | NLM_F_REPLACE;
    ask(create, &prio_body(ifindex, by_socket))?;
    for priority in 0..PRIORITIES {
        let made = plug_body(ifindex, priority, Action::Limit(limit));
        ask(create, &made)?;
        // A new plug is closed.
        act(ifindex, priority, Action::Release)?;
    }
    Ok(())
}

/// Has a priority's plug do something.
///
/// # Errors
///
/// What the kernel says.
pub fn act(ifindex: u32, priority: usize, action: Action) -> io::Result<()> {
    ask(0, &plug_body(ifindex, priority, action))
}

fn ask(flags: u16, body: &[u8]) -> io::Result<()> {
    order(Protocol::NetlinkRoute, RTM_NEWQDISC, flags, body)
}

/// What is counted at each plug; none where there is no plug.
///
/// # Errors
///
/// What the kernel says.
pub fn queues(ifindex: u32) -> io::Result<[Option<Queue>; PRIORITIES]> {
    let mut all = [None; PRIORITIES];
    let question = tcmsg(ifindex, 0, 0, 0);
    dump(Protocol::NetlinkRoute, RTM_GETQDISC, &question, |body| {
        if u32_at(body, 4) != Some(ifindex) {
            return;
        }
        let number = (u32_at(body, 8).unwrap_or(0) >> 16).wrapping_sub(PLUGS);
        let Some(place) = all.get_mut(number as usize) else {
            return;
        };
        let rest = body.get(TCMSG..).unwrap_or_default();
        if find(rest, TCA_KIND).is_some_and(|kind| text(kind) == "plug") {
            *place = Some(find(rest, TCA_STATS2).map_or_else(Queue::default, counted));
        }
    })?;
    Ok(all)
}

fn counted(stats: &[u8]) -> Queue {
    let mut queue = Queue::default();
    for (kind, value) in attributes(stats) {
        let word = |at| u64::from(u32_at(value, at).unwrap_or(0));
        match kind {
            TCA_STATS_BASIC => {
                let bytes = value.first_chunk().copied().unwrap_or_default();
                queue.sent_bytes = u64::from_ne_bytes(bytes);
                queue.sent_frames = word(8);
            }
            TCA_STATS_QUEUE => {
                (queue.queued_frames, queue.queued_bytes) = (word(0), word(4));
                queue.dropped = word(8);
            }
            _ => {}
        }
    }
    queue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_priority_comes_first_and_what_is_none_is_0() {
        let body = prio_body(7, true);
        assert_eq!(body[4..8], 7u32.to_ne_bytes());
        let options = attributes(&body[TCMSG..]).nth(1).unwrap();
        assert_eq!(options.0, TCA_OPTIONS);
        assert_eq!(options.1[..4], 8i32.to_ne_bytes());
        assert_eq!(
            options.1[4..],
            [7, 6, 5, 4, 3, 2, 1, 0, 7, 7, 7, 7, 7, 7, 7, 7]
        );
        let of_none = prio_body(7, false);
        let options = attributes(&of_none[TCMSG..]).nth(1).unwrap().1;
        assert_eq!(options[4..], [7; 16]);
        assert_eq!((class(7) & 0xffff, class(0) & 0xffff), (1, 8));
    }

    #[test]
    fn a_plug_is_told_by_its_number_below_its_band() {
        for (action, words) in [
            (Action::Buffer, [0u32, 0]),
            (Action::Release, [2, 0]),
            (Action::Limit(9), [3, 9]),
        ] {
            let body = plug_body(1, 3, action);
            assert_eq!(u32_at(&body, 8), Some(0x7743_0000));
            assert_eq!(u32_at(&body, 12), Some(0x7748_0005));
            let options = attributes(&body[TCMSG..]).nth(1).unwrap().1;
            assert_eq!([u32_at(options, 0), u32_at(options, 4)], words.map(Some));
        }
    }
}
