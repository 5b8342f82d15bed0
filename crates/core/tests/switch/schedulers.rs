//! Strict priorities, guaranteed and maximum rates: the share of each priority on an overloaded line.

use weir_core::config::{RouteConfig, SchedulerConfig};
use weir_core::wire::mac_control::MacControl;
use weir_core::{
    Algorithm, BitRate, Bytes, ClassConfig, ClassMode, Command, ConfigError, Duration, Frame,
    FrameHandle, Instant, MacAddress, PartsPerMillion, PortConfig, PortId, PortRole, Priority,
    Quanta, Switch, SwitchConfig, Transmission,
};

const LINE: BitRate = BitRate::from_mbit(1000);
const EGRESS: PortId = PortId::new(0);
const INGRESS: PortId = PortId::new(1);
/// 1,500 B with preamble and gap.
const LENGTH: u64 = 1476;
/// Of one frame on the line.
const FRAME_TIME: Duration = Duration::from_micros(12);

fn address(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, number])
}

fn config(classes: &[(usize, u16, SchedulerConfig)]) -> SwitchConfig {
    let lossy = ClassMode::Lossy {
        buffer: Bytes::new(16 * 1024),
    };
    let mut all = [ClassConfig::new(lossy); 8];
    for (priority, weight, scheduler) in classes {
        all[*priority].weight = *weight;
        all[*priority].scheduler = *scheduler;
    }
    let ports = [EGRESS, INGRESS]
        .map(|port| PortConfig::new(PortRole::Edge, LINE, address(0x80 + port.get())));
    SwitchConfig {
        shaper_burst: Bytes::ZERO,
        ..SwitchConfig::new(
            ports.to_vec(),
            all,
            vec![RouteConfig::new(address(1), vec![EGRESS])],
        )
    }
}

fn strict() -> SchedulerConfig {
    SchedulerConfig {
        algorithm: Algorithm::Strict,
        ..SchedulerConfig::default()
    }
}

fn at_most(mbit: u64) -> SchedulerConfig {
    SchedulerConfig {
        rate_max: Some(BitRate::from_mbit(mbit)),
        ..SchedulerConfig::default()
    }
}

fn at_least(mbit: u64) -> SchedulerConfig {
    SchedulerConfig {
        rate_min: Some(BitRate::from_mbit(mbit)),
        ..SchedulerConfig::default()
    }
}

struct Line {
    switch: Switch,
    now: Instant,
    free: Vec<FrameHandle>,
    /// Priorities that always have frames.
    busy: Vec<usize>,
    sent: [u64; 8],
    order: Vec<usize>,
}

impl Line {
    fn new(config: SwitchConfig, busy: &[usize]) -> Self {
        Self {
            free: (0..config.frame_count as u32).map(FrameHandle).collect(),
            switch: Switch::new(config).unwrap(),
            now: Instant::from_nanos(1_000_000),
            busy: busy.to_vec(),
            sent: [0; 8],
            order: Vec::new(),
        }
    }

    fn offer(&mut self, priority: usize) {
        let handle = self.free.pop().expect("a frame for each cell");
        let frame = Frame {
            handle,
            length: Bytes::new(LENGTH),
            priority: Priority::ALL[priority],
            destination: address(1),
            source: address(2),
            flow_hash: 0,
        };
        if self.switch.receive(self.now, INGRESS, frame).is_err() {
            self.free.push(handle);
        }
    }

    /// Keeps two frames of each busy priority waiting, and sends frames until `span` is over.
    fn run(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            for priority in self.busy.clone() {
                let gauges = self
                    .switch
                    .gauges(self.now, EGRESS, Priority::ALL[priority]);
                for _ in gauges.egress_frames..2 {
                    self.offer(priority);
                }
            }
            while let Some(sent) = self.switch.transmit(self.now, EGRESS) {
                let Transmission::Data {
                    handle, priority, ..
                } = sent
                else {
                    continue;
                };
                self.sent[priority.index()] += 1;
                self.order.push(priority.index());
                self.free.extend(self.switch.complete(handle));
            }
            // Nothing else happens on this line: waiting frames may leave at the time that the switch reports.
            let next = self.switch.next_transmit(EGRESS).unwrap_or(end);
            assert!(next > self.now, "a moment that is past, and nothing left");
            self.now = next.min(end);
        }
    }

    fn share(&self, priority: usize, span: Duration) -> u64 {
        self.sent[priority] * FRAME_TIME.as_nanos() * 1000 / span.as_nanos()
    }
}

const SECOND: Duration = Duration::from_secs(1);

fn shares(classes: &[(usize, u16, SchedulerConfig)], busy: &[usize]) -> [u64; 8] {
    let mut line = Line::new(config(classes), busy);
    line.run(SECOND);
    let shares = std::array::from_fn(|priority| line.share(priority, SECOND));
    assert!(shares.iter().sum::<u64>() <= 1000);
    shares
}

/// Compares to within 2 parts of a thousand.
fn assert_shares(shares: [u64; 8], expected: &[(usize, u64)]) {
    for (priority, expected) in expected {
        let share = shares[*priority];
        assert!(share.abs_diff(*expected) <= 2, "{priority}: {shares:?}");
    }
}

#[test]
fn turns_are_by_weight() {
    let classes = [
        (0, 1, SchedulerConfig::default()),
        (3, 3, SchedulerConfig::default()),
    ];
    assert_shares(shares(&classes, &[0, 3]), &[(0, 250), (3, 750)]);
}

#[test]
fn a_strict_priority_leaves_a_twentieth_to_the_turns() {
    let classes = [
        (0, 1, SchedulerConfig::default()),
        (3, 4, SchedulerConfig::default()),
        (6, 1, strict()),
    ];
    assert_shares(shares(&classes, &[0, 3, 6]), &[(0, 10), (3, 40), (6, 950)]);
    // It has the whole line if no other waits.
    assert_shares(shares(&classes, &[6]), &[(6, 1000)]);
}

#[test]
fn the_share_is_what_the_configuration_says() {
    let mut config = config(&[(6, 1, strict())]);
    config.strict_share = PartsPerMillion::from_percent(60);
    let mut line = Line::new(config, &[0, 6]);
    line.run(SECOND);
    assert!(line.share(6, SECOND).abs_diff(600) <= 2);
    let yielded = line.switch.counters(EGRESS).priority[0].ahead_of_strict;
    assert_eq!(
        yielded, line.sent[0],
        "each of them went before a strict one"
    );
}

#[test]
fn of_strict_priorities_the_highest_goes_first() {
    let classes = [(5, 1, strict()), (6, 1, strict())];
    assert_shares(shares(&classes, &[5, 6]), &[(5, 0), (6, 1000)]);
    let mut line = Line::new(config(&classes), &[]);
    for priority in [0, 5, 6, 0, 5, 6] {
        line.offer(priority);
    }
    line.run(Duration::from_millis(1));
    assert_eq!(line.order, [6, 6, 5, 5, 0, 0]);
}

#[test]
fn no_class_exceeds_its_highest_rate() {
    let classes = [
        (3, 1, at_most(200)),
        (
            6,
            1,
            SchedulerConfig {
                rate_max: Some(BitRate::from_mbit(100)),
                ..strict()
            },
        ),
    ];
    assert_shares(shares(&classes, &[3]), &[(3, 200)]);
    assert_shares(
        shares(&classes, &[0, 3, 6]),
        &[(0, 700), (3, 200), (6, 100)],
    );
}

#[test]
fn a_guaranteed_rate_holds_beside_strict_priorities() {
    let classes = [(3, 1, at_least(300)), (6, 1, strict())];
    // The turns have 5 % of the line; the guaranteed one's half of them counts towards its rate.
    assert_shares(shares(&classes, &[0, 3, 6]), &[(0, 25), (3, 300), (6, 675)]);
}

#[test]
fn a_guarantee_that_is_not_used_is_not_saved_up() {
    let mut line = Line::new(config(&[(3, 1, at_least(300)), (6, 1, strict())]), &[6]);
    line.run(SECOND);
    line.busy.push(3);
    line.order.clear();
    line.run(FRAME_TIME.saturating_mul(20));
    let first: Vec<usize> = line.order.iter().copied().take(8).collect();
    assert!(
        first.iter().filter(|priority| **priority == 3).count() <= 4,
        "{first:?}"
    );
}

#[test]
fn a_paused_strict_priority_lets_others_go_and_is_first_afterwards() {
    let mut line = Line::new(config(&[(6, 1, strict())]), &[0, 6]);
    let mut times = [None; 8];
    times[6] = Some(Quanta(u16::MAX));
    let mut bytes = [0; 64];
    MacControl::Pfc { times }.emit(address(0x70), &mut bytes);
    let mut lossless = config(&[(6, 1, strict())]);
    lossless.classes[6].mode = ClassMode::Pfc(
        weir_core::PfcThresholds::new(
            Bytes::new(12 * 1024),
            Bytes::new(8 * 1024),
            Bytes::new(8 * 1024),
        )
        .unwrap(),
    );
    lossless.frame_count = lossless.frames_needed();
    line = Line::new(lossless, &line.busy);
    line.run(Duration::from_millis(1));
    line.switch
        .receive_mac_control(line.now, EGRESS, &bytes)
        .unwrap();
    line.order.clear();
    line.run(Duration::from_millis(1));
    assert!(line.order.len() > 80 && line.order.iter().all(|priority| *priority == 0));
    times[6] = Some(Quanta::ZERO);
    MacControl::Pfc { times }.emit(address(0x70), &mut bytes);
    line.switch
        .receive_mac_control(line.now, EGRESS, &bytes)
        .unwrap();
    line.order.clear();
    line.run(FRAME_TIME.saturating_mul(15));
    assert!(
        line.order[..10].iter().all(|priority| *priority == 6),
        "{:?}",
        line.order
    );
}

#[test]
fn a_running_switch_takes_other_rates_and_refuses_too_many() {
    let mut line = Line::new(config(&[]), &[0, 3]);
    let class = |scheduler| ClassConfig {
        scheduler,
        ..config(&[]).classes[3]
    };
    let set = |scheduler| Command::SetClass {
        priority: Priority::ALL[3],
        class: class(scheduler),
    };
    line.switch.apply(line.now, set(at_most(100))).unwrap();
    line.run(SECOND);
    assert!(line.share(3, SECOND).abs_diff(100) <= 2);
    assert!(line.switch.apply(line.now, set(at_least(951))).is_err());
    line.switch
        .apply(line.now, set(SchedulerConfig::default()))
        .unwrap();
    line.sent = [0; 8];
    line.run(SECOND);
    assert!(line.share(3, SECOND).abs_diff(500) <= 2);
}

/// Returns the number of lost frames of a lossy priority that arrive at this interval for a second.
fn lost_at(line: &mut Line, interval: Duration) -> u64 {
    let before = line.switch.counters(INGRESS).drops_total();
    let end = line.now + SECOND;
    while line.now < end {
        line.offer(6);
        line.run(interval);
    }
    line.switch.counters(INGRESS).drops_total() - before
}

#[test]
fn a_strict_lossy_priority_loses_what_is_above_its_highest_rate_and_nothing_below() {
    let mut line = Line::new(config(&[(6, 1, strict())]), &[]);
    let (fast, slow) = (Duration::from_micros(60), Duration::from_micros(150));
    assert_eq!(lost_at(&mut line, fast), 0, "200 Mbit/s without a limit");
    let class = ClassConfig {
        scheduler: SchedulerConfig {
            rate_max: Some(BitRate::from_mbit(100)),
            ..strict()
        },
        ..line.switch.config().classes[6]
    };
    let priority = Priority::ALL[6];
    let limit = Command::SetClass { priority, class };
    line.switch.apply(line.now, limit).unwrap();
    assert_eq!(lost_at(&mut line, slow), 0, "80 Mbit/s");
    // Half of 16,667 frames, less those that the buffer has room for.
    let lost = lost_at(&mut line, fast);
    assert!((8_300..=8_334).contains(&lost), "200 Mbit/s: {lost}");
}

#[test]
fn a_running_switch_takes_other_weights() {
    let mut line = Line::new(config(&[]), &[0, 3]);
    for (weight, share) in [(1, 500), (4, 800), (1, 500)] {
        let priority = Priority::ALL[3];
        let class = ClassConfig {
            weight,
            ..line.switch.config().classes[3]
        };
        let change = Command::SetClass { priority, class };
        line.switch.apply(line.now, change).unwrap();
        line.sent = [0; 8];
        line.run(SECOND);
        let got = line.share(3, SECOND);
        assert!(got.abs_diff(share) <= 2, "weight {weight}: {got}");
    }
}

#[test]
fn impossible_rates_are_refused() {
    let mut both = config(&[(3, 1, at_least(500)), (4, 1, at_least(451))]);
    assert!(matches!(
        both.validate(),
        Err(ConfigError::RatesMinTooHigh { .. })
    ));
    both.classes[4].scheduler = SchedulerConfig {
        rate_max: Some(BitRate::from_mbit(1)),
        ..at_least(2)
    };
    assert!(matches!(
        both.validate(),
        Err(ConfigError::RateMinAboveMax { .. })
    ));
    both.classes[4].scheduler = at_most(1);
    assert_eq!(both.validate(), Ok(()));
    both.detector = Some(weir_core::config::DetectorConfig {
        detect: Duration::from_millis(20),
    });
    assert!(matches!(
        both.validate(),
        Err(ConfigError::RateMaxTooLow { .. })
    ));
}
