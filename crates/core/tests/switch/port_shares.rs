//! Shares of hosts on an overloaded line: a host gets no more by sending in several priorities.

use std::collections::{BTreeMap, VecDeque};

use weir_core::config::{RouteConfig, SchedulerConfig};
use weir_core::{
    Algorithm, BitRate, Bytes, ClassConfig, ClassMode, Command, Duration, Frame, FrameHandle,
    Instant, MacAddress, PfcThresholds, PortConfig, PortId, PortRole, Priority, Switch,
    SwitchConfig, Transmission,
};

const LINE: BitRate = BitRate::from_mbit(1000);
const EGRESS: PortId = PortId::new(0);
const HOSTS: u8 = 3;
const LOSSLESS: usize = 3;
/// Time of a run: about 8,000 of the longest frames.
const SPAN: Duration = Duration::from_millis(100);

fn address(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, number])
}

/// An edge port for each host and one for the receiver; priority 3 is lossless.
fn config(algorithm: Algorithm) -> SwitchConfig {
    let mut classes = [ClassConfig::new(ClassMode::Lossy {
        buffer: Bytes::new(16 << 10),
    }); 8];
    let size = |kib: u64| Bytes::new(kib << 10);
    let thresholds = PfcThresholds::new(size(16), size(8), size(16)).unwrap();
    classes[LOSSLESS].mode = ClassMode::Pfc(thresholds);
    for class in &mut classes {
        class.scheduler.algorithm = algorithm;
    }
    let ports = (0..=HOSTS).map(|port| PortConfig::new(PortRole::Edge, LINE, address(0x80 + port)));
    SwitchConfig {
        shaper_burst: Bytes::ZERO,
        ..SwitchConfig::new(
            ports.collect(),
            classes,
            vec![RouteConfig::new(address(1), vec![EGRESS])],
        )
    }
}

/// Frames that always wait: the host's port, priority and length.
type Offer = (u8, usize, u64);

struct Line {
    switch: Switch,
    now: Instant,
    free: Vec<FrameHandle>,
    lengths: BTreeMap<FrameHandle, u64>,
    /// By host and priority: the frames in the switch, in their order of arrival.
    inside: BTreeMap<(u8, usize), VecDeque<FrameHandle>>,
    bytes: BTreeMap<(u8, usize), u64>,
}

impl Line {
    fn new(config: SwitchConfig) -> Self {
        Self {
            free: (0..config.frame_count as u32).map(FrameHandle).collect(),
            switch: Switch::new(config).unwrap(),
            now: Instant::from_nanos(1_000_000),
            lengths: BTreeMap::new(),
            inside: BTreeMap::new(),
            bytes: BTreeMap::new(),
        }
    }

    fn receive(&mut self, (host, priority, length): Offer) {
        let handle = self.free.pop().expect("a frame for each cell");
        let frame = Frame {
            handle,
            length: Bytes::new(length),
            priority: Priority::ALL[priority],
            destination: address(1),
            source: address(0x10 + host),
            flow_hash: 0,
        };
        let outcome = self.switch.receive(self.now, PortId::new(host), frame);
        assert!(outcome.is_ok(), "two frames of each fit: {outcome:?}");
        self.lengths.insert(handle, length);
        let key = (host, priority);
        self.inside.entry(key).or_default().push_back(handle);
    }

    /// Keeps two frames of each of `offers` waiting while the line sends for `span`.
    fn run(&mut self, offers: &[Offer], span: Duration) {
        let end = self.now + span;
        while self.now < end {
            for offer in offers {
                let key = (offer.0, offer.1);
                while self.inside.get(&key).map_or(0, VecDeque::len) < 2 {
                    self.receive(*offer);
                }
            }
            while let Some(sent) = self.switch.transmit(self.now, EGRESS) {
                if let Transmission::Data {
                    handle, priority, ..
                } = sent
                {
                    self.leave(handle, priority.index());
                }
            }
            let next = self.switch.next_transmit(EGRESS).unwrap_or(end);
            self.now = next.min(end);
        }
    }

    fn leave(&mut self, handle: FrameHandle, priority: usize) {
        let length = self.lengths.remove(&handle).expect("a frame inside");
        let mut of_priority = self.inside.iter_mut().filter(|(key, _)| key.1 == priority);
        let (key, frames) = of_priority
            .find(|(_, frames)| frames.front() == Some(&handle))
            .expect("frames of one (host, priority) leave in their order");
        frames.pop_front();
        *self.bytes.entry(*key).or_default() += length;
        let free = self.switch.complete(handle);
        self.free.extend(free);
    }

    fn by_host(&self) -> [u64; HOSTS as usize + 1] {
        let mut sums = [0; HOSTS as usize + 1];
        for ((host, _), bytes) in &self.bytes {
            sums[usize::from(*host)] += bytes;
        }
        sums
    }
}

fn by_host(config: SwitchConfig, offers: &[Offer]) -> [u64; HOSTS as usize + 1] {
    let mut line = Line::new(config);
    line.run(offers, SPAN);
    line.by_host()
}

fn all_but(priority: usize) -> impl Iterator<Item = usize> {
    (0..8).filter(move |other| *other != priority)
}

/// Asserts that both are equal within 1 %.
#[track_caller]
fn assert_same(one: u64, other: u64) {
    assert!(
        one.abs_diff(other) * 100 <= other,
        "{one} and {other} bytes"
    );
}

#[test]
fn seven_priorities_get_seven_shares_by_weight_and_one_by_port() {
    for victim in [0, LOSSLESS] {
        let mut offers = vec![(1, victim, 1000)];
        offers.extend(all_but(victim).map(|priority| (2, priority, 1000)));
        let [_, honest, greedy, _] = by_host(config(Algorithm::Ets), &offers);
        assert_same(greedy, 7 * honest);
        let [_, honest, greedy, _] = by_host(config(Algorithm::Ports), &offers);
        assert_same(greedy, honest);
        // It uses the honest host's priority as well.
        offers.push((2, victim, 1000));
        let [_, honest, greedy, _] = by_host(config(Algorithm::Ets), &offers);
        assert_same(greedy, 15 * honest);
        let [_, honest, greedy, _] = by_host(config(Algorithm::Ports), &offers);
        assert_same(greedy, honest);
    }
}

/// Whatever lengths, priorities and changes of both the greedy host chooses, an honest host that always has frames gets
/// its third of the line; and never waits for much longer than that takes.
#[test]
fn no_choice_of_priorities_takes_from_another_host() {
    let mut random = weir_core::random::SplitMix64::new(7);
    let mut below = move |end: u64| (random.next_u64() >> 33) % end;
    let honest = [(1, 0, 700), (3, LOSSLESS, 1500)];
    let mut line = Line::new(config(Algorithm::Ports));
    let mut least = [u64::MAX; 2];
    for _ in 0..300 {
        let before = line.by_host();
        let mut offers = honest.to_vec();
        let (set, length) = (1 + below(255), 60 + below(1440));
        let used = (0..8usize).filter(|priority| set >> priority & 1 == 1);
        offers.extend(used.map(|priority| (2, priority, length)));
        // About 40 of the longest frames.
        line.run(&offers, Duration::from_micros(500));
        let after = line.by_host();
        for (least, host) in least.iter_mut().zip([1, 3]) {
            *least = after[host].saturating_sub(before[host]).min(*least);
        }
    }
    let sums = line.by_host();
    for host in [1, 3] {
        // Short frames leave the greedy host less of the line than its bytes: it pays for their gaps.
        assert!(sums[host] >= sums[2] * 99 / 100, "{sums:?}");
    }
    // 62,500 B pass in 500 µs, a third of which is 20,833; two quanta may be another's at each end.
    for least in least {
        assert!(least >= 20_833 - 4 * 1522, "{least}");
    }
}

#[test]
fn a_host_divides_its_share_among_its_priorities() {
    let offers = [(1, 0, 1000), (2, 1, 1500), (2, 5, 500), (2, LOSSLESS, 64)];
    let mut line = Line::new(config(Algorithm::Ports));
    line.run(&offers, SPAN);
    let bytes = |key: (u8, usize)| line.bytes.get(&key).copied().unwrap_or(0);
    assert_same(bytes((2, 1)), bytes((2, 5)));
    assert_same(bytes((2, LOSSLESS)), bytes((2, 5)));
}

/// Strict priorities and shares by weight are as before, however many priorities share by port.
#[test]
fn strict_and_weighted_classes_keep_their_shares() {
    let mut with = config(Algorithm::Ports);
    with.classes[7].scheduler.algorithm = Algorithm::Strict;
    with.classes[LOSSLESS].scheduler = SchedulerConfig::default();
    with.classes[LOSSLESS].weight = 3;
    let mut offers = vec![(1, LOSSLESS, 1000)];
    offers.extend([0, 1, 2, 4, 5, 6].map(|priority| (2, priority, 1000)));
    let [_, weighted, rest, _] = by_host(with.clone(), &offers);
    assert_same(weighted, 3 * rest);
    offers.push((3, 7, 1000));
    let [_, weighted, rest, strict] = by_host(with, &offers);
    assert_same(strict * 5, (strict + weighted + rest) * 5 * 95 / 100);
    assert_same(weighted, 3 * rest);
}

#[test]
fn the_scheduler_changes_while_frames_wait() {
    let mut line = Line::new(config(Algorithm::Ets));
    let mut offers = vec![(1, 0, 1000)];
    offers.extend(all_but(0).map(|priority| (2, priority, 1000)));
    for (algorithm, times) in [
        (Algorithm::Ports, 1),
        (Algorithm::Ets, 7),
        (Algorithm::Ports, 1),
    ] {
        for priority in Priority::ALL {
            let mut class = line.switch.config().classes[priority.index()];
            class.scheduler.algorithm = algorithm;
            let command = Command::SetClass { priority, class };
            line.switch.apply(line.now, command).unwrap();
        }
        line.bytes.clear();
        line.run(&offers, SPAN);
        let [_, honest, greedy, _] = line.by_host();
        assert_same(greedy, times * honest);
    }
}
