//! Two owners of one switch, as far as that can be measured without building it: each on a separate core, with a switch that
//! has half of the ports; frames for the other's ports are handed over in bursts.
//!
//! A frame that is handed over is in both switches: charged at the first until the second has sent it, and received by the
//! second like any other. Owners that share one switch would save one queue, one schedule and one charge. This measurement
//! is therefore a lower bound for them, and [two that hand nothing over](Sharing::Nothing) an upper one.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use crossbeam::queue::ArrayQueue;
use weir_core::random::SplitMix64;
use weir_core::{Duration as Span, Frame, FrameHandle, Instant, Switch, Transmission};

use crate::case::Case;
use crate::pipeline::{address, config, port, BURST, LENGTH, PRIORITY};

/// An owner accepts no new frames while this many of its frames are at the other owner.
const UNDER_WAY: usize = 3 * BURST;
/// Maximum number of bursts in transit: each has at least one frame.
const BURSTS: usize = UNDER_WAY + BURST;

/// Work of one owner for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// There is no other: its core is idle.
    Alone,
    /// None.
    Nothing,
    /// Half of its frames leave by the other's ports, as with random destinations.
    Half,
}

#[derive(Clone, Copy, Debug)]
struct HandedOver {
    handle: FrameHandle,
    destination: usize,
    flow_hash: u32,
}

/// One direction between two owners. Transfers bursts, so that frames share the cost of an atomic operation.
type Ring<T> = Arc<ArrayQueue<Vec<T>>>;

#[derive(Clone, Debug)]
struct Way {
    frames: Ring<HandedOver>,
    discharges: Ring<FrameHandle>,
}

impl Way {
    fn new() -> Self {
        Self {
            frames: Arc::new(ArrayQueue::new(BURSTS)),
            discharges: Arc::new(ArrayQueue::new(BURSTS)),
        }
    }
}

#[derive(Debug)]
struct Owner {
    switch: Switch,
    case: Case,
    sharing: Sharing,
    free: Vec<FrameHandle>,
    /// By handle: the other owner's handle of a frame that it has handed over.
    foreign: Vec<Option<FrameHandle>>,
    now: Instant,
    random: SplitMix64,
    number: usize,
    /// Own frames that were handed over and have not been discharged.
    under_way: usize,
    handed: Vec<HandedOver>,
    discharged: Vec<FrameHandle>,
    spare_frames: Vec<HandedOver>,
    spare_handles: Vec<FrameHandle>,
    sent: usize,
    to: Way,
    from: Way,
}

impl Owner {
    fn new(case: Case, sharing: Sharing, seed: u64, to: Way, from: Way) -> Self {
        let config = config(case);
        let count = config.frame_count;
        let mut switch = Switch::new(config).expect("a sound configuration");
        switch.touch_memory();
        Self {
            switch,
            case,
            sharing,
            free: (0..count as u32).rev().map(FrameHandle).collect(),
            foreign: vec![None; count],
            now: Instant::ZERO + Span::from_millis(1),
            random: SplitMix64::new(seed),
            number: 0,
            under_way: 0,
            handed: Vec::with_capacity(BURST),
            discharged: Vec::with_capacity(BURST),
            spare_frames: Vec::with_capacity(BURST),
            spare_handles: Vec::with_capacity(BURST),
            sent: 0,
            to,
            from,
        }
    }

    /// Returns the port that represents the other owner: the last that has destinations.
    fn other(&self) -> usize {
        self.case.ports.min(self.case.destinations) - 1
    }

    /// Processes a burst of its own and the frames that the other has handed over.
    fn turn(&mut self) {
        self.now = self.now + Span::from_micros(10);
        self.take_discharges();
        self.take_handed_over();
        if self.under_way <= UNDER_WAY {
            for _ in 0..BURST {
                self.receive_own();
            }
        }
        self.transmit_all();
        self.give();
    }

    fn receive_own(&mut self) {
        let random = self.random.next_u64() as usize;
        let own = self.other();
        self.number += 1;
        let goes_over = self.sharing == Sharing::Half && self.number.is_multiple_of(2);
        let near = self.number % own;
        let egress = if goes_over { own } else { near };
        let destination = self.behind(egress, random);
        // Each port receives as many of either kind.
        let ingress = (near + 1 + (random >> 32) % (own - 1)) % own;
        self.under_way += usize::from(goes_over);
        self.receive(ingress, destination, random as u32, None);
    }

    fn behind(&self, egress: usize, random: usize) -> usize {
        let groups = (self.case.destinations / self.case.ports).max(1);
        egress + self.case.ports * (random % groups)
    }

    fn receive(
        &mut self,
        ingress: usize,
        destination: usize,
        flow_hash: u32,
        foreign: Option<FrameHandle>,
    ) {
        let handle = self.free.pop().expect("a free frame");
        self.foreign[handle.0 as usize] = foreign;
        let frame = Frame {
            handle,
            length: LENGTH,
            priority: PRIORITY,
            destination: address(0, destination),
            source: address(1, ingress),
            flow_hash,
        };
        let admitted = self.switch.receive(self.now, port(ingress), frame);
        let _ = admitted.expect("room for every frame");
    }

    fn take_handed_over(&mut self) {
        let Some(mut frames) = self.from.frames.pop() else {
            return;
        };
        for handed in frames.drain(..) {
            let near = handed.destination % self.other();
            let destination = self.behind(near, handed.flow_hash as usize);
            self.receive(
                self.other(),
                destination,
                handed.flow_hash,
                Some(handed.handle),
            );
        }
        self.spare_frames = frames;
    }

    fn take_discharges(&mut self) {
        while let Some(mut handles) = self.from.discharges.pop() {
            for handle in handles.drain(..) {
                let back = self.switch.complete(handle);
                self.free.extend(back);
                self.under_way -= 1;
            }
            self.spare_handles = handles;
        }
    }

    fn transmit_all(&mut self) {
        while let Some(port) = self.switch.poll_ready() {
            loop {
                let transmission = self.switch.transmit(self.now, port);
                let Some(Transmission::Data { handle, .. }) = &transmission else {
                    break;
                };
                self.leave(port, *handle);
            }
        }
    }

    fn leave(&mut self, port: weir_core::PortId, handle: FrameHandle) {
        if port.index() == self.other() {
            self.handed.push(HandedOver {
                handle,
                destination: self.number,
                flow_hash: handle.0,
            });
            return;
        }
        self.sent += 1;
        if let Some(foreign) = self.foreign[handle.0 as usize] {
            self.discharged.push(foreign);
        }
        let back = self.switch.complete(handle);
        self.free.extend(back);
    }

    fn give(&mut self) {
        if !self.handed.is_empty() {
            let empty = std::mem::take(&mut self.spare_frames);
            let frames = std::mem::replace(&mut self.handed, empty);
            self.to.frames.push(frames).expect("a bounded number");
        }
        if !self.discharged.is_empty() {
            let empty = std::mem::take(&mut self.spare_handles);
            let handles = std::mem::replace(&mut self.discharged, empty);
            self.to.discharges.push(handles).expect("a bounded number");
        }
    }

    fn is_done(&self) -> bool {
        self.under_way == 0 && self.free.len() == self.foreign.len()
    }
}

/// Runs until `wait` returns; returns the number of frames that left the ports of all owners. Calls `pin` with the number of
/// each owner in its thread.
pub fn frames(case: Case, sharing: Sharing, wait: impl FnOnce(), pin: fn(usize)) -> usize {
    let count = if sharing == Sharing::Alone { 1 } else { 2 };
    let ways = [Way::new(), Way::new()];
    let (is_over, finished) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (ready, began) = (Barrier::new(count + 1), Barrier::new(count + 1));
    std::thread::scope(|scope| {
        let owners: Vec<_> = (0..count)
            .map(|index| {
                let (to, from) = (ways[index].clone(), ways[1 - index].clone());
                let (is_over, finished, ready, began) = (&is_over, &finished, &ready, &began);
                scope.spawn(move || {
                    pin(index);
                    let mut owner = Owner::new(case, sharing, index as u64 + 1, to, from);
                    ready.wait();
                    began.wait();
                    // Each owner takes part, however late its thread gets a processor.
                    while owner.sent == 0 || !is_over.load(Ordering::Relaxed) {
                        owner.turn();
                    }
                    let sent = owner.sent;
                    settle(&mut owner, finished, count);
                    sent
                })
            })
            .collect();
        ready.wait();
        began.wait();
        wait();
        is_over.store(true, Ordering::Relaxed);
        owners
            .into_iter()
            .map(|owner| owner.join().expect("an owner"))
            .sum()
    })
}

/// Drains both owners after the last frame has arrived.
fn settle(owner: &mut Owner, finished: &AtomicUsize, count: usize) {
    let mut has_said = false;
    while finished.load(Ordering::Acquire) < count {
        owner.take_discharges();
        owner.take_handed_over();
        owner.transmit_all();
        owner.give();
        if owner.is_done() && !has_said {
            has_said = true;
            finished.fetch_add(1, Ordering::AcqRel);
        }
    }
    assert!(owner.is_done(), "every frame came back");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Mode;

    #[test]
    fn every_frame_that_is_handed_over_comes_back() {
        for mode in [Mode::Pfc, Mode::Level] {
            for destinations in [16, 1024] {
                let case = Case::usual(mode).sized(32, destinations);
                for sharing in [Sharing::Alone, Sharing::Nothing, Sharing::Half] {
                    let pass = || (0..10_000).for_each(|_| std::thread::yield_now());
                    // It asserts that all came back.
                    let sent = frames(case, sharing, pass, |_| ());
                    assert!(sent > 0, "{case:?} {sharing:?}");
                }
            }
        }
    }
}
