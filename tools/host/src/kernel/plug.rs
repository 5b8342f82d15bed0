//! `prio` with a `plug` for each priority, over rtnetlink; below a `tbf` if the device's rate is limited.

use std::io;

use weir_core::units::LINE_OVERHEAD;
use weir_core::BitRate;
use weir_netlink::message::{attribute, attributes, find, text, u32_at};
use weir_netlink::queueing::{
    tcmsg, RTM_GETQDISC, RTM_NEWQDISC, TCA_KIND, TCA_OPTIONS, TCMSG, TC_H_ROOT,
};
use weir_netlink::socket::{dump, order, Protocol, NLM_F_CREATE, NLM_F_REPLACE};

use crate::settings::{BURST_BYTES, PRIORITIES};

// linux/pkt_sched.h, linux/rtnetlink.h, linux/gen_stats.h
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const PRIOMAP: usize = 16;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const TC_LINKLAYER_ETHERNET: u8 = 1;
/// Root kind of a device without a rate limit.
pub const PRIO: &str = "prio";
/// Root kind of a device with a rate limit.
pub const TBF: &str = "tbf";
/// Handle of this program's `prio` (before the colon), which identifies the remains of a killed daemon.
pub const ROOT: u32 = 0x7748;
/// Handle of this program's `tbf`.
const BOUND: u32 = 0x7749;
/// Handle of priority 0's plug; the others follow.
const PLUGS: u32 = 0x7740;

/// Action of a plug (linux/pkt_sched.h: TCQ_PLUG_…).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Hold frames.
    Buffer,
    /// Release all frames until the next `Buffer`.
    Release,
    /// Hold at most this many bytes.
    Limit(u32),
}

/// Counts of the whole tree.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tree {
    /// Counts of each plug; `None` if it is missing.
    pub queues: [Option<Queue>; PRIORITIES],
    /// Number of times that a frame waited for the rate limit.
    pub rate_waits: u64,
}

/// The kernel's counts of one plug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Frames passed to the driver.
    pub sent_frames: u64,
    /// Bytes passed to the driver.
    pub sent_bytes: u64,
    /// Frames waiting.
    pub queued_frames: u64,
    /// Bytes waiting.
    pub queued_bytes: u64,
    /// Frames dropped because the queue was at its limit.
    pub dropped: u64,
}

/// Returns the class of a priority; band 0 is the highest one.
pub(super) fn class(priority: usize) -> u32 {
    ROOT << 16 | (PRIORITIES - priority) as u32
}

fn handle(priority: usize) -> u32 {
    (PLUGS + priority as u32) << 16
}

/// Builds a token bucket. The kernel segments frames larger than the burst, and ignores `buffer` if there is TCA_TBF_BURST.
fn tbf_body(ifindex: u32, rate: BitRate, limit: u32) -> Vec<u8> {
    let bytes_per_second = (rate.get() / 8).max(1);
    let [first, second] = (LINE_OVERHEAD.get() as u16).to_ne_bytes();
    // struct tc_tbf_qopt: a struct tc_ratespec, a zero one for the peak rate, then limit, buffer and MTU.
    let mut parameters = vec![0, TC_LINKLAYER_ETHERNET, first, second, 0, 0, 0, 0];
    let low = u32::try_from(bytes_per_second).unwrap_or(u32::MAX);
    parameters.extend(low.to_ne_bytes());
    parameters.extend([0; 12]);
    for word in [limit, 0, 0] {
        parameters.extend(word.to_ne_bytes());
    }
    let options = [
        attribute(TCA_TBF_PARMS, &parameters),
        attribute(TCA_TBF_RATE64, &bytes_per_second.to_ne_bytes()),
        attribute(TCA_TBF_BURST, &BURST_BYTES.to_ne_bytes()),
    ];
    body(ifindex, BOUND << 16, TC_H_ROOT, TBF, &options.concat())
}

/// Returns true if a device's root discipline is the top of this program's tree.
pub fn is_root(kind: &str, handle: u32) -> bool {
    (kind, handle) == (PRIO, ROOT) || (kind, handle) == (TBF, BOUND)
}

/// Builds `prio`. With `by_socket`, unfiltered frames have their socket's priority, otherwise 0.
fn prio_body(ifindex: u32, parent: u32, by_socket: bool) -> Vec<u8> {
    let mut options = (PRIORITIES as i32).to_ne_bytes().to_vec();
    options.extend((0..PRIOMAP).map(|priority| {
        // Values that are not a priority of 802.1Q count as 0.
        let is_one = by_socket && priority < PRIORITIES;
        let priority = if is_one { priority } else { 0 };
        (PRIORITIES - 1 - priority) as u8
    }));
    body(ifindex, ROOT << 16, parent, PRIO, &options)
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

/// Makes `tbf` the root and limits the rate.
///
/// # Errors
///
/// The kernel's error; `NotFound` without this queueing discipline.
pub fn bound(ifindex: u32, limit: u32, rate: BitRate) -> io::Result<()> {
    ask(
        NLM_F_CREATE | NLM_F_REPLACE,
        &tbf_body(ifindex, rate, limit),
    )
}

/// Makes `prio` the root, or puts it below the `tbf` there, with an open plug of this limit below each band. With
/// `by_socket`, sockets' priorities count.
///
/// # Errors
///
/// The kernel's error; `NotFound` without these queueing disciplines.
pub fn make(ifindex: u32, limit: u32, is_bounded: bool, by_socket: bool) -> io::Result<()> {
    let create = NLM_F_CREATE | NLM_F_REPLACE;
    let parent = if is_bounded {
        BOUND << 16 | 1
    } else {
        TC_H_ROOT
    };
    ask(create, &prio_body(ifindex, parent, by_socket))?;
    for priority in 0..PRIORITIES {
        let made = plug_body(ifindex, priority, Action::Limit(limit));
        ask(create, &made)?;
        // A new plug is closed.
        act(ifindex, priority, Action::Release)?;
    }
    Ok(())
}

/// Makes a priority's plug act.
///
/// # Errors
///
/// The kernel's error.
pub fn act(ifindex: u32, priority: usize, action: Action) -> io::Result<()> {
    ask(0, &plug_body(ifindex, priority, action))
}

fn ask(flags: u16, body: &[u8]) -> io::Result<()> {
    order(Protocol::NetlinkRoute, RTM_NEWQDISC, flags, body)
}

/// Returns the kernel's counts.
///
/// # Errors
///
/// The kernel's error.
pub fn tree(ifindex: u32) -> io::Result<Tree> {
    let mut tree = Tree::default();
    let question = tcmsg(ifindex, 0, 0, 0);
    dump(Protocol::NetlinkRoute, RTM_GETQDISC, &question, |body| {
        if u32_at(body, 4) != Some(ifindex) {
            return;
        }
        let handle = u32_at(body, 8).unwrap_or(0) >> 16;
        let rest = body.get(TCMSG..).unwrap_or_default();
        let kind = find(rest, TCA_KIND).map(text).unwrap_or_default();
        let (queue, overlimits) = counted(find(rest, TCA_STATS2).unwrap_or_default());
        if kind == TBF && handle == BOUND {
            tree.rate_waits = overlimits;
        }
        let place = tree.queues.get_mut(handle.wrapping_sub(PLUGS) as usize);
        if let Some(place) = place.filter(|_| kind == "plug") {
            *place = Some(queue);
        }
    })?;
    Ok(tree)
}

/// Returns the counts of one queueing discipline, and the number of times that it held a frame back.
fn counted(stats: &[u8]) -> (Queue, u64) {
    let (mut queue, mut overlimits) = (Queue::default(), 0);
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
                (queue.dropped, overlimits) = (word(8), word(16));
            }
            _ => {}
        }
    }
    (queue, overlimits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_priority_comes_first_and_what_is_none_is_0() {
        let body = prio_body(7, TC_H_ROOT, true);
        assert_eq!(body[4..8], 7u32.to_ne_bytes());
        let options = attributes(&body[TCMSG..]).nth(1).unwrap();
        assert_eq!(options.0, TCA_OPTIONS);
        assert_eq!(options.1[..4], 8i32.to_ne_bytes());
        assert_eq!(
            options.1[4..],
            [7, 6, 5, 4, 3, 2, 1, 0, 7, 7, 7, 7, 7, 7, 7, 7]
        );
        let of_none = prio_body(7, BOUND << 16 | 1, false);
        assert_eq!(u32_at(&of_none, 12), Some(0x7749_0001));
        let options = attributes(&of_none[TCMSG..]).nth(1).unwrap().1;
        assert_eq!(options[4..], [7; 16]);
        assert_eq!((class(7) & 0xffff, class(0) & 0xffff), (1, 8));
    }

    #[test]
    fn a_token_bucket_counts_what_is_on_the_wire() {
        let body = tbf_body(1, BitRate::new(100_000_000).unwrap(), 9);
        assert_eq!(
            [8, 12].map(|at| u32_at(&body, at)),
            [Some(0x7749_0000), Some(TC_H_ROOT)]
        );
        let options = attributes(&body[TCMSG..]).nth(1).unwrap().1;
        let find = |kind| find(options, kind).unwrap();
        let parameters = find(TCA_TBF_PARMS);
        assert_eq!(parameters.len(), 36);
        assert_eq!(parameters[1], 1);
        assert_eq!(parameters[2..4], 24u16.to_ne_bytes());
        assert_eq!(u32_at(parameters, 8), Some(12_500_000));
        assert_eq!(u32_at(parameters, 24), Some(9));
        assert_eq!(find(TCA_TBF_RATE64), 12_500_000u64.to_ne_bytes());
        assert_eq!(find(TCA_TBF_BURST), 65_536u32.to_ne_bytes());
        // 400 Gbit/s in bytes exceeds 32 bits.
        let body = tbf_body(1, BitRate::new(400_000_000_000).unwrap(), 9);
        let options = attributes(&body[TCMSG..]).nth(1).unwrap().1;
        let rate = super::find(options, TCA_TBF_RATE64).unwrap();
        assert_eq!(rate, 50_000_000_000u64.to_ne_bytes());
    }

    #[test]
    fn what_is_at_the_root_is_ours_by_kind_and_handle() {
        assert!(is_root("prio", 0x7748) && is_root("tbf", 0x7749));
        for (kind, handle) in [("tbf", 0x7748), ("prio", 0x7749), ("tbf", 1), ("", 0)] {
            assert!(!is_root(kind, handle), "{kind} {handle:x}");
        }
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
