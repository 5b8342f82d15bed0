//! Parts of a pool that frames are charged to: inherited ones, those that arrive during a shutdown, and departures.

use weir_core::{
    Bytes, Command, DropReason, Duration, Frame, FrameHandle, Instant, PortId, Priority, Switch,
    Transmission,
};

use super::{address, config, Setting, DYNAMIC, FRAME_MAX, HEADROOM, LOSSY, PORTS, STATIC};

const NOW: Instant = Instant::from_nanos(1);
const FIRST: PortId = PortId::new(0);
const SIZE: u64 = 8000;
const RESERVED: u64 = 128;
const SETTING: Setting = Setting {
    exponent: 0,
    own_exponents: [None; 4],
    size: SIZE,
    reserved: RESERVED,
    xon_offset: 256,
    headroom: 100,
};

struct Node {
    switch: Switch,
    handles: u32,
}

impl Node {
    fn new(setting: &Setting) -> Self {
        Self {
            switch: Switch::new(config(setting)).unwrap(),
            handles: 0,
        }
    }

    fn frame(&mut self, priority: Priority, egress: u8, length: u64) -> Frame {
        self.handles += 1;
        Frame {
            handle: FrameHandle(self.handles),
            length: Bytes::new(length),
            priority,
            destination: address(egress),
            source: address(0x40),
            flow_hash: 1,
        }
    }

    /// A frame of the longest length that another switch has left.
    fn inherit(&mut self, port: PortId, priority: Priority) -> Result<(), DropReason> {
        let frame = self.frame(priority, 3, FRAME_MAX);
        self.switch.receive_left(NOW, port, frame).map(|_| ())
    }

    fn receive(&mut self, port: u8, priority: Priority, egress: u8, length: u64) {
        let frame = self.frame(priority, egress, length);
        let _ = self.switch.receive(NOW, PortId::new(port), frame).unwrap();
    }

    fn is_pausing(&self, priority: Priority) -> bool {
        self.switch.gauges(NOW, FIRST, priority).pausing
    }

    /// Completes the next frame that leaves by `egress`.
    fn depart(&mut self, egress: u8) {
        let egress = PortId::new(egress);
        // Far enough beyond the time of any frame on the line.
        let later = NOW + Duration::from_millis(u64::from(self.handles));
        self.handles += 1;
        loop {
            match self.switch.transmit(later, egress) {
                Some(Transmission::Data { handle, .. }) => {
                    let back = self.switch.complete(handle);
                    assert_eq!(back, Some(handle));
                    return;
                }
                Some(Transmission::Control(_)) => {}
                None => panic!("nothing waits"),
            }
        }
    }
}

#[test]
fn inherited_lossy_frames_use_what_is_free_and_no_more() {
    let mut node = Node::new(&SETTING);
    let fit = (RESERVED + SIZE) / FRAME_MAX;
    for _ in 0..fit {
        node.inherit(FIRST, LOSSY).unwrap();
    }
    assert_eq!(node.inherit(FIRST, LOSSY), Err(DropReason::BufferFull));
    let used = node.switch.pool_gauges(0).unwrap().used.get();
    assert_eq!(used, fit * FRAME_MAX - RESERVED);
}

#[test]
fn inherited_lossless_frames_use_the_pool_its_headroom_and_as_much_again() {
    let mut node = Node::new(&SETTING);
    let headroom = 2 * u64::from(PORTS) * HEADROOM.get();
    let fit = (RESERVED + SIZE + 2 * headroom) / FRAME_MAX;
    for _ in 0..fit {
        node.inherit(FIRST, STATIC).unwrap();
    }
    let refused = node.inherit(FIRST, STATIC);
    assert_eq!(refused, Err(DropReason::HeadroomExceeded));
    let pool = node.switch.pool_gauges(0).unwrap();
    assert_eq!(pool.used, pool.size);
    assert_eq!(pool.headroom_used, HEADROOM, "that of one buffer");
}

#[test]
fn inherited_frames_pause_from_the_threshold_on_or_in_the_headroom() {
    let mut node = Node::new(&SETTING);
    let mut inside = 0;
    while !node.is_pausing(STATIC) {
        node.inherit(FIRST, STATIC).unwrap();
        inside += 1;
    }
    let threshold = RESERVED + SIZE / 3;
    assert_eq!(inside, threshold.div_ceil(FRAME_MAX));
    // Another buffer has taken the whole pool: the first frame uses the headroom.
    let mut node = Node::new(&SETTING);
    for _ in 0..(RESERVED + SIZE).div_ceil(FRAME_MAX) {
        node.inherit(PortId::new(1), DYNAMIC).unwrap();
    }
    node.inherit(FIRST, STATIC).unwrap();
    assert!(node.is_pausing(STATIC));
}

#[test]
fn frames_that_arrive_during_a_shutdown_use_the_headroom() {
    let mut node = Node::new(&Setting {
        reserved: 2 * FRAME_MAX,
        ..SETTING
    });
    node.receive(0, STATIC, 3, FRAME_MAX);
    node.depart(3);
    node.switch.apply(NOW, Command::Drain).unwrap();
    node.receive(0, STATIC, 3, FRAME_MAX);
    let gauges = node.switch.gauges(NOW, FIRST, STATIC);
    assert_eq!(gauges.headroom_used.get(), FRAME_MAX);
}

/// A departure from the pool checks two other paused buffers, one from a reserve none.
#[test]
fn a_departure_that_frees_nothing_of_the_pool_checks_no_other_buffer() {
    let mut node = Node::new(&Setting {
        // At an eighth of what is free: three buffers pause at once when little is.
        exponent: -3,
        own_exponents: [None, None, None, Some(7)],
        xon_offset: 0,
        ..SETTING
    });
    let hold = Command::HoldNeighbour {
        port: FIRST,
        priority: STATIC,
        held: true,
    };
    node.switch.apply(NOW, hold).unwrap();
    node.receive(0, STATIC, 2, 64);
    for _ in 0..(RESERVED + SIZE) / FRAME_MAX - 1 {
        node.receive(3, LOSSY, 1, FRAME_MAX);
    }
    for port in 0..3 {
        node.receive(port, DYNAMIC, 3, RESERVED);
        node.receive(port, DYNAMIC, 3, 64);
    }
    let paused = |node: &Node| node.switch.pool_gauges(0).unwrap().paused;
    assert_eq!(paused(&node), 3);
    node.depart(1);
    assert_eq!(paused(&node), 1);
    node.depart(2);
    assert_eq!(paused(&node), 1, "only the reserve of a buffer");
    node.depart(1);
    assert_eq!(paused(&node), 0);
}
