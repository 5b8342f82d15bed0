//! A frame that may leave repeatedly leaves (Karol, Definition 4), whatever the neighbour releases meanwhile: Feedback
//! and pauses that change in step with the turns.

use crate::level_node::{address, config, port, EDGE, GAMMA, LENGTH, NOW, P3};
use weir_core::wire::mac_control::MacControl;
use weir_core::{
    Bytes, ClassMode, Duration, Frame, FrameHandle, MacAddress, Neighbour, Priority, Quanta,
    Switch, Transmission,
};

/// Egress port of all frames.
const EGRESS: u8 = 3;
const STEPS: u64 = 20_000;
const P0: Priority = Priority::ALL[0];
const P1: Priority = Priority::ALL[1];
const P2: Priority = Priority::ALL[2];
const PAUSED: Quanta = Quanta(65_535);
const OPEN: Quanta = Quanta(0);

/// Frames of one kind that always wait, and the one that must leave.
#[derive(Clone, Copy)]
struct Kind {
    ingress: u8,
    destination: u8,
    priority: Priority,
}

const fn kind(ingress: u8, destination: u8, priority: Priority) -> Kind {
    Kind {
        ingress,
        destination,
        priority,
    }
}

struct Node {
    switch: Switch,
    free: Vec<u32>,
    /// By handle: the kind's index in `others`.
    owner: Vec<usize>,
    others: Vec<Kind>,
}

impl Node {
    /// Three frames of each of `others` wait.
    fn new(weights: u16, others: &[Kind]) -> Self {
        let mut config = config(&[Bytes::new(GAMMA.get() * 40), GAMMA, GAMMA]);
        for port in &mut config.ports {
            port.neighbour = Neighbour::Enhanced;
        }
        for class in &mut config.classes {
            class.weight = weights;
            if let ClassMode::Lossy { buffer } = &mut class.mode {
                *buffer = Bytes::new(GAMMA.get() * 16);
            }
        }
        config.frame_count = config.frames_needed();
        let count = config.frame_count as u32;
        let mut node = Self {
            switch: Switch::new(config).unwrap(),
            free: (0..count).rev().collect(),
            owner: vec![0; count as usize],
            others: others.to_vec(),
        };
        for (index, kind) in others.iter().enumerate() {
            for _ in 0..3 {
                node.receive(*kind, index);
            }
        }
        node
    }

    fn receive(&mut self, kind: Kind, owner: usize) -> u32 {
        let handle = self.free.pop().unwrap();
        self.owner[handle as usize] = owner;
        let frame = Frame {
            handle: FrameHandle(handle),
            length: LENGTH,
            priority: kind.priority,
            destination: address(kind.destination),
            source: MacAddress([2, 0, 0, 0, 2, kind.ingress]),
            flow_hash: 0,
        };
        let _ = self.switch.receive(NOW, port(kind.ingress), frame).unwrap();
        handle
    }

    /// Returns the number of opportunities at which `victim` was eligible until it left, or `None` if it never left.
    /// `tell` returns the neighbour's Feedback before each, and whether the victim may then leave.
    fn wait_of(
        &mut self,
        victim: Kind,
        tell: impl Fn(u64) -> ([Option<Quanta>; 8], bool),
    ) -> Option<u64> {
        let owner = self.others.len();
        let victim = self.receive(victim, owner);
        let mut eligible = 0;
        for step in 0..STEPS {
            let now = NOW + Duration::from_micros(20 * step);
            let (times, is_eligible) = tell(step);
            let mut bytes = [0; 64];
            let length = MacControl::Pfc { times }.emit(address(0x99), &mut bytes);
            let told = &bytes[..length.unwrap()];
            self.switch
                .receive_mac_control(now, port(EGRESS), told)
                .unwrap();
            let sent = core::iter::from_fn(|| self.switch.transmit(now, port(EGRESS)));
            let mut data = sent.filter_map(|sent| match sent {
                Transmission::Data { handle, .. } => Some(handle),
                Transmission::Control(_) => None,
            });
            let Some(handle) = data.next() else { continue };
            drop(data);
            eligible += u64::from(is_eligible);
            let _ = self.switch.complete(handle);
            self.free.push(handle.0);
            if handle.0 == victim {
                return Some(eligible);
            }
            let owner = self.owner[handle.index()];
            self.receive(self.others[owner], owner);
        }
        None
    }
}

fn times(of: &[(Priority, Quanta)]) -> [Option<Quanta>; 8] {
    let mut times = [None; 8];
    for (priority, time) in of {
        times[priority.index()] = Some(*time);
    }
    times
}

/// Two Levels: links keep frames at Level 1 waiting; a host's frame at Level 0 may leave once in a period.
#[test]
fn a_level_leaves_under_feedback_that_alternates() {
    for lanes in 1..=3u8 {
        let others: Vec<Kind> = (0..lanes).map(|lane| kind(lane, 1 + lane, P3)).collect();
        for (period, open_at) in (2..=6).flat_map(|period| (0..period).map(move |at| (period, at)))
        {
            let wait = Node::new(1, &others).wait_of(kind(EDGE + 1, 9, P3), |step| {
                let open = step % period == open_at;
                (times(&[(P3, Quanta(if open { 1 } else { 2 }))]), open)
            });
            assert!(
                wait.is_some_and(|wait| wait <= 2),
                "{lanes} lanes, period {period}, open at {open_at}: {wait:?}"
            );
        }
    }
}

/// Three priorities with turns of two frames each. The middle one is paused whenever the turn passes it.
#[test]
fn a_priority_leaves_under_pauses_that_alternate() {
    let others = [kind(0, 1, P0), kind(1, 2, P2)];
    for (period, open_at) in (2..=6).flat_map(|period| (0..period).map(move |at| (period, at))) {
        let wait = Node::new(2, &others).wait_of(kind(2, 9, P1), |step| {
            let open = step % period == open_at;
            (times(&[(P1, if open { OPEN } else { PAUSED })]), open)
        });
        assert!(
            wait.is_some_and(|wait| wait <= 3),
            "period {period}, open at {open_at}: {wait:?}"
        );
    }
}

/// The Feedback blocks Level 0 during its priority's turn, and releases it during the other priority's.
#[test]
fn a_level_leaves_under_feedback_in_step_with_the_turns_of_priorities() {
    let others = [kind(0, 1, P3), kind(1, 2, P0)];
    for (period, open_at) in (2..=6).flat_map(|period| (0..period).map(move |at| (period, at))) {
        let wait = Node::new(1, &others).wait_of(kind(EDGE + 1, 9, P3), |step| {
            let open = step % period == open_at;
            (times(&[(P3, Quanta(if open { 1 } else { 2 }))]), open)
        });
        assert!(
            wait.is_some_and(|wait| wait <= 3),
            "period {period}, open at {open_at}: {wait:?}"
        );
    }
}
