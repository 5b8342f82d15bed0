//! Random traffic through a switch with a pool, and the same in the slow model.

use proptest::prelude::*;
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::ControlFrame;
use weir_core::{
    Bytes, Command, DropReason, Duration, Frame, FrameHandle, Instant, MacAddress, PortId,
    Priority, Quanta, Switch, Transmission,
};

use super::model::{Inside, Model};
use super::{address, config, Setting, DYNAMIC, FRAME_MAX, LOSSY, OUTSIDE, PORTS, STATIC};

const PRIORITIES: [Priority; 4] = [DYNAMIC, STATIC, LOSSY, OUTSIDE];

#[derive(Clone, Debug)]
enum Step {
    Receive(u8, u8, usize, u64),
    Transmit(u8),
    Complete(usize),
    /// The neighbour pauses or resumes a priority.
    Hold(u8, usize, bool),
    Release(u8, u8, usize, u64),
    Pass(u64),
}

pub fn settings() -> impl Strategy<Value = Setting> {
    let sizes = (-4..=3i8, 1700..8000u64, 0..500u64, 0..900u64);
    let own = prop_oneof![
        2 => Just([None; PORTS as usize]),
        1 => prop::array::uniform4(prop::option::of(-4..=3i8)),
    ];
    let headrooms = prop_oneof![3 => Just(100), 1 => 10..100u64];
    (sizes, own, headrooms).prop_map(
        |((exponent, size, reserved, xon_offset), own_exponents, headroom)| {
            // A buffer alone in the pool has room for at least one frame.
            let least = if size < 5500 { -2 } else { -4 };
            Setting {
                exponent: exponent.max(least),
                own_exponents: own_exponents.map(|own| own.map(|own| own.max(least))),
                size,
                reserved,
                xon_offset,
                headroom,
            }
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => (0..PORTS, 0..PORTS, 0..4usize, 60..=FRAME_MAX)
            .prop_map(|(from, to, class, length)| Step::Receive(from, to, class, length)),
        7 => (0..PORTS).prop_map(Step::Transmit),
        5 => any::<usize>().prop_map(Step::Complete),
        1 => (0..PORTS, 0..2usize, prop::bool::weighted(0.4))
            .prop_map(|(port, class, holds)| Step::Hold(port, class, holds)),
        1 => (0..PORTS, 0..PORTS, 0..2usize, 0..700u64)
            .prop_map(|(from, to, class, extra)| Step::Release(from, to, class, extra)),
        3 => (0..60_000u64).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 1..400)
}

struct Run {
    switch: Switch,
    model: Model,
    free: Vec<FrameHandle>,
    on_line: Vec<FrameHandle>,
    now: Instant,
}

impl Run {
    fn receive(&mut self, from: u8, to: u8, priority: Priority, length: u64) {
        let Some(handle) = self.free.pop() else {
            panic!("admitted frames never lack memory");
        };
        let frame = Frame {
            handle,
            length: Bytes::new(length),
            priority,
            destination: address(to),
            source: address(0x40 + from),
            flow_hash: 1,
        };
        let outcome = self.switch.receive(self.now, PortId::new(from), frame);
        if outcome != Err(DropReason::Hairpin) {
            let inside = Inside {
                handle: handle.index() as u32,
                port: from.into(),
                priority,
                cells: self.model.cells(length),
            };
            assert_eq!(outcome.is_ok(), self.model.admit(inside), "{outcome:?}");
        }
        if outcome.is_err() {
            self.free.push(handle);
        }
    }

    fn transmit(&mut self, port: PortId) {
        match self.switch.transmit(self.now, port) {
            Some(Transmission::Data { handle, .. }) => self.on_line.push(handle),
            Some(Transmission::Control(ControlFrame::Mac(MacControl::Pfc { times }))) => {
                for priority in Priority::ALL {
                    if times[priority.index()].is_some_and(|time| time != Quanta::ZERO) {
                        let at = self.now + self.model.refresh();
                        self.model.note_pause_sent(port, priority, at);
                    }
                }
            }
            _ => {}
        }
    }

    fn complete(&mut self, which: usize) {
        if self.on_line.is_empty() {
            return;
        }
        let handle = self.on_line.swap_remove(which % self.on_line.len());
        self.free.extend(self.switch.complete(handle));
        self.model.complete(handle.index() as u32);
    }

    fn hold(&mut self, port: u8, priority: Priority, holds: bool) {
        let mut times = [None; 8];
        times[priority.index()] = Some(if holds { Quanta::MAX } else { Quanta::ZERO });
        let mut bytes = [0; 60];
        MacControl::Pfc { times }.emit(MacAddress::default(), &mut bytes);
        let port = PortId::new(port);
        self.switch
            .receive_mac_control(self.now, port, &bytes)
            .unwrap();
    }

    fn release(&mut self, from: u8, to: u8, priority: Priority, extra: u64) {
        let period = Duration::from_micros(30);
        let command = Command::Release {
            ingress: PortId::new(from),
            egress: PortId::new(to),
            priority,
            period,
            preference: Duration::ZERO,
            extra: Bytes::new(extra),
        };
        if self.switch.apply(self.now, command).is_ok() {
            let extra = self.model.cells(extra.max(FRAME_MAX));
            self.model
                .raise(from.into(), priority, extra, self.now + period);
        }
    }

    fn pass(&mut self, nanos: u64) {
        self.now = self.now + Duration::from_nanos(nanos);
        self.switch.handle_timeout(self.now);
        self.model.pass(self.now);
        while self.switch.poll_event().is_some() {}
    }

    fn compare(&self) {
        for port in 0..PORTS {
            for priority in PRIORITIES {
                let id = PortId::new(port);
                let gauges = self.switch.gauges(self.now, id, priority);
                let expected = self.model.occupancy(port.into(), priority);
                assert_eq!(gauges.ingress.get(), expected, "{port} {priority}");
                let expected = self.model.is_pausing(port.into(), priority);
                assert_eq!(gauges.pausing, expected, "{port} {priority}");
            }
        }
        let pool = self.switch.pool_gauges(0).unwrap();
        assert_eq!(pool.used.get(), self.model.used());
        assert_eq!(pool.headroom_used.get(), self.model.headroom_used());
        assert!(pool.used <= pool.size && pool.headroom_used <= pool.headroom);
        assert!(pool.used_max >= pool.used);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_pool_equals_the_slow_model(setting in settings(), steps in steps()) {
        let config = config(&setting);
        let mut run = Run {
            free: (0..config.frame_count as u32).map(FrameHandle).collect(),
            model: Model::new(config.clone()),
            switch: Switch::new(config).unwrap(),
            on_line: Vec::new(),
            now: Instant::from_nanos(1),
        };
        for step in steps {
            match step {
                Step::Receive(from, to, class, length) => {
                    run.receive(from, to, PRIORITIES[class], length);
                }
                Step::Transmit(port) => run.transmit(PortId::new(port)),
                Step::Complete(which) => run.complete(which),
                Step::Hold(port, class, holds) => run.hold(port, PRIORITIES[class], holds),
                Step::Release(from, to, class, extra) if from != to => {
                    run.release(from, to, PRIORITIES[class], extra);
                }
                Step::Release(..) => {}
                Step::Pass(nanos) => run.pass(nanos),
            }
            run.compare();
        }
        // Every pause is checked again within its refresh time, whichever port stalls.
        for port in (0..PORTS).map(PortId::new) {
            for _ in 0..3 {
                run.transmit(port);
            }
        }
        run.pass(run.model.refresh().as_nanos() + 1_000_000);
        run.compare();
        for port in 0..PORTS {
            for priority in [DYNAMIC, STATIC] {
                let paused = run.model.is_pausing(port.into(), priority);
                prop_assert!(!paused || run.model.is_justified(port.into(), priority));
            }
        }
    }
}
