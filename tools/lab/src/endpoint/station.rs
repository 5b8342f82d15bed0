//! The endpoint without its socket and clock: frames and times in, frames out.

use std::collections::{BTreeMap, VecDeque};

use weir_core::credit::{CreditTimes, HostCredits};
use weir_core::units::{Bytes, Instant, Priority, PRIORITY_COUNT};
use weir_core::wire::credit::CreditUpdate;
use weir_core::wire::mac_control::MacControl;

use super::config::{EndpointConfig, FRAME_BYTES_MAX};
use super::frame::{self, Content, Whole};
use super::pacer::Pacer;
use super::pause::{Obedience, PauseClock};
use super::receiver::FlowReceiver;
use super::report::{ControlCounts, EndpointReport, KernelLosses, Snapshot, REPORT_FORMAT};
use super::sender::FlowSender;

/// Maximum number of MAC control frames waiting to be sent.
pub const INJECTED_MAX: usize = 64;

/// Frames with a credit that may be in the ring, half of it: other frames share it.
const CREDIT_SLOTS: u32 = 1_024;

const ETHERTYPE_AT: usize = 12;
/// IEEE 802.3 clause 31.4.1.3.
const ETHERTYPE_MAC_CONTROL: [u8; 2] = [0x88, 0x08];
/// IEEE 802.1Q clause 9.5.
const ETHERTYPE_TAG: [u8; 2] = [0x81, 0x00];
/// 01-80-C2-00-00-0X: frames that no bridge forwards (IEEE 802.1Q table 8-1).
const LINK_LOCAL: [u8; 5] = [0x01, 0x80, 0xc2, 0x00, 0x00];

/// A host on one link: its sent and received frames, and its pauses.
#[derive(Debug)]
pub struct Station {
    config: EndpointConfig,
    pauses: PauseClock,
    /// `None` without a class with credits, and before [`use_credits`](Self::use_credits).
    credits: Option<HostCredits>,
    pacer: Pacer,
    senders: Vec<FlowSender>,
    receivers: Vec<FlowReceiver>,
    /// Index into `receivers` by flow number.
    by_flow: BTreeMap<u32, usize>,
    to_inject: VecDeque<MacControl>,
    /// Priorities whose pauses it obeys while it obeys PFC.
    pfc_priorities: [bool; PRIORITY_COUNT],
    control: ControlCounts,
    foreign: u64,
    corrupted_unattributed: u64,
    link_local: u64,
}

impl Station {
    /// Creates a station in its initial state; `config` has passed [`EndpointConfig::check`].
    pub fn new(config: EndpointConfig) -> Self {
        let mut pfc_priorities = [false; PRIORITY_COUNT];
        for priority in &config.pfc_priorities {
            pfc_priorities[Priority::from_low_bits(*priority).index()] = true;
        }
        let obey = Obedience {
            pfc: pfc_priorities.map(|obeyed| obeyed && config.obey_pfc),
            pause: config.obey_pause,
        };
        let paced = config
            .send
            .iter()
            .map(|flow| FlowSender::paced(&config, flow))
            .collect();
        Self {
            pauses: PauseClock::new(config.line_rate(), obey),
            credits: None,
            pacer: Pacer::new(config.line_rate(), config.catch_up_frames, paced),
            senders: config
                .send
                .iter()
                .map(|flow| FlowSender::new(&config, flow))
                .collect(),
            receivers: config
                .expect
                .iter()
                .map(|flow| FlowReceiver::new(&config, flow))
                .collect(),
            by_flow: config
                .expect
                .iter()
                .enumerate()
                .map(|(at, flow)| (flow.id, at))
                .collect(),
            to_inject: VecDeque::with_capacity(INJECTED_MAX),
            pfc_priorities,
            control: ControlCounts::default(),
            foreign: 0,
            corrupted_unattributed: 0,
            link_local: 0,
            config,
        }
    }

    /// Starts to use credits in the configured classes. A later start must have a later `now`, which is its epoch.
    pub fn use_credits(&mut self, now: Instant) {
        let mut terms = [None; PRIORITY_COUNT];
        for class in &self.config.credits {
            terms[Priority::from_low_bits(class.priority).index()] = class.terms();
        }
        let times = CreditTimes {
            epoch: (now.as_nanos() / 1_000_000) as u32,
            ..CreditTimes::default()
        };
        let longest = Bytes::new(u64::from(FRAME_BYTES_MAX));
        self.credits = HostCredits::new(terms, times, longest);
        if let Some(credits) = &mut self.credits {
            credits.set_slots(CREDIT_SLOTS);
        }
    }

    /// Starts traffic at `at`, unless the configuration sets the start. Returns false if it does, or on a second call.
    pub fn begin(&mut self, at: Instant) -> bool {
        if self.config.start_monotonic_nanos.is_some() {
            return false;
        }
        self.config.start_monotonic_nanos = Some(at.as_nanos());
        let begun = Self::new(self.config.clone());
        (self.pacer, self.senders, self.receivers) = (begun.pacer, begun.senders, begun.receivers);
        true
    }

    /// Handles a received frame with all bytes from the destination address on.
    pub fn receive(&mut self, now: Instant, bytes: &[u8]) {
        if bytes.get(ETHERTYPE_AT..ETHERTYPE_AT + 2) == Some(&ETHERTYPE_MAC_CONTROL[..]) {
            self.receive_mac_control(now, bytes);
        } else if let (Some(credits), true) = (&mut self.credits, CreditUpdate::is_update(bytes)) {
            credits.receive(bytes);
        } else if bytes.starts_with(&LINK_LOCAL) {
            self.link_local += 1;
        } else {
            if let Some(credits) = &mut self.credits {
                credits.note_arrival(priority_of(bytes), Bytes::new(bytes.len() as u64));
            }
            self.receive_data(now, bytes);
        }
    }

    /// Advances the time. Call this before passing or taking frames at this time.
    pub fn tick(&mut self, now: Instant) {
        for sender in &mut self.senders {
            sender.tick(now, &self.pauses);
        }
    }

    /// Writes the frame to be sent now to `buffer`, counts it as sent, and returns its length. `None` if no frame may be
    /// sent.
    pub fn next_frame(&mut self, now: Instant, buffer: &mut [u8]) -> Option<usize> {
        if let Some(control) = self.to_inject.pop_front() {
            let length = control.emit(self.config.address, buffer)?;
            self.control.injected += 1;
            return Some(length);
        }
        if let Some(update) = self.credits.as_mut().and_then(|credits| credits.take(now)) {
            return update.emit(self.config.address, buffer);
        }
        self.obey_credits(now);
        let flow = self.pacer.next(now, &self.pauses)?;
        let length = self.senders[flow].write(now, buffer)?;
        if let Some(credits) = &mut self.credits {
            let priority = self.config.send[flow].priority();
            credits.note_sent(now, priority, Bytes::new(length as u64));
        }
        Some(length)
    }

    /// Holds each class that has no credits, and releases the others.
    fn obey_credits(&mut self, now: Instant) {
        let Some(credits) = &self.credits else { return };
        for priority in Priority::ALL {
            let is_held = credits.holds(priority).unwrap_or(false);
            self.pauses.hold(now, priority, is_held);
        }
    }

    /// Returns the next time, not before `now`, at which [`next_frame`](Self::next_frame) or [`tick`](Self::tick) has work;
    /// `None` for none before an arrival.
    pub fn next_moment(&self, now: Instant) -> Option<Instant> {
        if !self.to_inject.is_empty() {
            return Some(now);
        }
        let changes = self
            .senders
            .iter()
            .filter_map(|sender| sender.next_change(now));
        let credits = self.credits.as_ref();
        changes
            .chain(self.pacer.next_moment(now, &self.pauses))
            .chain(credits.map(|credits| credits.next_at().max(now)))
            .min()
    }

    /// Queues a MAC control frame, which is sent before any data. Returns false if too many wait.
    pub fn inject(&mut self, control: MacControl) -> bool {
        let room = self.to_inject.len() < INJECTED_MAX;
        if room {
            self.to_inject.push_back(control);
        }
        room
    }

    /// Sets if it obeys PFC.
    pub fn obey_pfc(&mut self, now: Instant, obeys: bool) {
        let pfc = self.pfc_priorities.map(|obeyed| obeyed && obeys);
        self.pauses.obey_pfc(now, pfc);
    }

    /// Stops sending data frames.
    pub fn stop_sending(&mut self, now: Instant) {
        self.pacer.stop();
        for sender in &mut self.senders {
            sender.stop(now, &self.pauses);
        }
    }

    /// Returns the counters as of `now`.
    pub fn snapshot(&self, now: Instant) -> Snapshot {
        let paused = |priority: &&Priority| self.pauses.is_paused(now, **priority);
        Snapshot {
            nanos: now.saturating_since(self.config.moment(0)).as_nanos(),
            sent: self.senders.iter().map(FlowSender::count).collect(),
            received: self.receivers.iter().map(FlowReceiver::count).collect(),
            paused: Priority::ALL
                .iter()
                .filter(paused)
                .map(|priority| priority.get())
                .collect(),
            pfc_frames: self.control.pfc_frames,
            pause_frames: self.control.pause_frames,
        }
    }

    /// Returns the final report as of `now`; `kernel` has the socket's losses.
    pub fn report(&self, now: Instant, kernel: KernelLosses) -> EndpointReport {
        let senders = self.senders.iter();
        EndpointReport {
            format: REPORT_FORMAT,
            device: self.config.device.clone(),
            finished_nanos: now.saturating_since(self.config.moment(0)).as_nanos(),
            sample_nanos: self.config.sample_nanos,
            sent: senders
                .map(|sender| sender.report(now, &self.pauses))
                .collect(),
            received: self
                .receivers
                .iter()
                .map(|receiver| receiver.report(now))
                .collect(),
            control: self.control.clone(),
            paused_nanos: Priority::ALL
                .map(|priority| self.pauses.paused_total(now, priority).as_nanos()),
            foreign: self.foreign,
            corrupted_unattributed: self.corrupted_unattributed,
            link_local: self.link_local,
            kernel,
        }
    }

    fn receive_data(&mut self, now: Instant, bytes: &[u8]) {
        match frame::verify(bytes) {
            Content::Whole(whole) => self.receive_whole(now, &whole, bytes.len() as u64),
            Content::Corrupted { flow, reason } => match self.by_flow.get(&flow) {
                Some(index) => self.receivers[*index].receive_corrupted(reason),
                None => self.corrupted_unattributed += 1,
            },
            Content::Foreign => self.foreign += 1,
        }
    }

    fn receive_whole(&mut self, now: Instant, whole: &Whole, length: u64) {
        match self.by_flow.get(&whole.flow) {
            Some(index) if whole.destination == self.config.address => {
                self.receivers[*index].receive(now, whole, length);
            }
            _ => self.foreign += 1,
        }
    }

    fn receive_mac_control(&mut self, now: Instant, bytes: &[u8]) {
        match MacControl::parse(bytes) {
            Ok(MacControl::Pause { quanta }) => {
                self.control.pause_frames += 1;
                self.pauses.receive_pause(now, quanta);
            }
            Ok(MacControl::Pfc { times }) => {
                self.control.pfc_frames += 1;
                for (priority, quanta) in Priority::ALL.into_iter().zip(times) {
                    let Some(quanta) = quanta else { continue };
                    let counts = match quanta.0 {
                        0 => &mut self.control.xon,
                        _ => &mut self.control.xoff,
                    };
                    counts[priority.index()] += 1;
                    let credits = self.credits.as_ref();
                    if credits.is_none_or(|credits| credits.holds(priority).is_none()) {
                        self.pauses.receive_pfc(now, priority, quanta);
                    }
                }
            }
            Err(_) => self.control.malformed += 1,
        }
    }
}

/// Returns the priority in a frame's tag; that of an untagged frame is zero.
fn priority_of(bytes: &[u8]) -> Priority {
    match bytes.get(ETHERTYPE_AT..ETHERTYPE_AT + 3) {
        Some(&[high, low, control]) if [high, low] == ETHERTYPE_TAG => {
            Priority::from_low_bits(control >> 5)
        }
        _ => Priority::ALL[0],
    }
}

#[cfg(test)]
mod tests {
    use weir_core::units::{Duration, Quanta};

    use super::super::config::CreditClass;
    use super::*;

    /// Returns a station that sends flow 1 (priority 3, 100 Mbit/s, 1000 B) to another that expects
    /// it.
    fn pair() -> (Station, Station) {
        let text = r#"{"device": "d", "address": "02:00:00:00:00:01", "report": "r",
            "line_bits_per_second": 1000000000, "start_monotonic_nanos": 0,
            "run_nanos": 100000000,
            "send": [{"id": 1, "name": "a", "destination": "02:00:00:00:00:02", "priority": 3,
                      "frame_bytes": 1000, "bits_per_second": 100000000, "stop_nanos": 8000000}]}"#;
        let sender: EndpointConfig = serde_json::from_str(text).unwrap();
        let mut receiver: EndpointConfig = serde_json::from_str(&text.replace(
            "\"send\"",
            "\"expect\": [{\"id\": 1, \"name\": \"a\"}], \"send\"",
        ))
        .unwrap();
        receiver.address = sender.send[0].destination;
        receiver.send.clear();
        sender.check().unwrap();
        receiver.check().unwrap();
        (Station::new(sender), Station::new(receiver))
    }

    /// Carries all frames that `from` sends before `until` to `to`, with no delay.
    fn carry(from: &mut Station, to: &mut Station, mut now: Instant, until: Instant) -> u64 {
        let mut frames = 0;
        let mut buffer = [0; 2048];
        while let Some(moment) = from.next_moment(now).filter(|moment| *moment < until) {
            now = moment;
            from.tick(now);
            while let Some(length) = from.next_frame(now, &mut buffer) {
                to.receive(now, &buffer[..length]);
                frames += 1;
            }
        }
        frames
    }

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    fn pfc(priority: usize, quanta: u16) -> MacControl {
        let mut times = [None; PRIORITY_COUNT];
        times[priority] = Some(Quanta(quanta));
        MacControl::Pfc { times }
    }

    #[test]
    fn a_whole_flow_arrives() {
        let (mut a, mut b) = pair();
        // one frame per 80 microseconds, for 8 ms
        assert_eq!(carry(&mut a, &mut b, at(0), at(90_000)), 100);
        let received = &b.report(at(100_000), KernelLosses::default()).received[0];
        assert_eq!(
            (received.frames, received.missing, received.corrupted),
            (100, 0, 0)
        );
        assert_eq!(a.snapshot(at(9000)).sent[0].frames, 100);
    }

    #[test]
    fn traffic_begins_when_it_is_told_and_what_came_before_counts() {
        let stations = pair();
        let [mut a, mut b] = [stations.0, stations.1].map(|station| {
            Station::new(EndpointConfig {
                start_monotonic_nanos: None,
                ..station.config
            })
        });
        let mut buffer = [0; 2048];
        a.tick(at(5_000));
        assert_eq!(a.next_frame(at(5_000), &mut buffer), None);
        assert_eq!(carry(&mut a, &mut b, at(0), at(90_000)), 0);
        assert!(b.inject(pfc(3, u16::MAX)));
        assert_eq!(carry(&mut b, &mut a, at(100_000), at(100_001)), 1);
        assert!(a.begin(at(100_010)) && b.begin(at(100_010)) && !a.begin(at(1)));
        assert_eq!(a.snapshot(at(100_010)).paused, [3]);
        assert!(b.inject(pfc(3, 0)));
        assert_eq!(carry(&mut b, &mut a, at(100_020), at(100_021)), 1);
        let sent = carry(&mut a, &mut b, at(100_021), at(200_000));
        let received = &b.report(at(200_000), KernelLosses::default()).received[0];
        assert!((99..=100).contains(&sent), "{sent}");
        assert_eq!((received.frames, received.missing), (sent, 0));
        let report = a.report(at(200_000), KernelLosses::default());
        assert_eq!(report.control.pfc_frames, 2);
    }

    #[test]
    fn xoff_stops_the_sender_until_xon_and_the_report_tells_how_long() {
        let (mut a, mut b) = pair();
        let before = carry(&mut a, &mut b, at(0), at(1000));
        assert!(b.inject(pfc(3, u16::MAX)));
        assert_eq!(carry(&mut b, &mut a, at(1000), at(1001)), 1);
        assert_eq!(a.snapshot(at(1001)).paused, [3]);
        assert_eq!(carry(&mut a, &mut b, at(1001), at(3000)), 0);
        assert!(b.inject(pfc(3, 0)));
        assert_eq!(carry(&mut b, &mut a, at(3000), at(3001)), 1);
        let after = carry(&mut a, &mut b, at(3001), at(90_000));
        assert!(before > 10 && after > 60, "{before} {after}");
        let report = a.report(at(100_000), KernelLosses::default());
        assert_eq!(report.sent[0].paused_nanos, 2_000_000);
        assert_eq!((report.control.xoff[3], report.control.xon[3]), (1, 1));
        assert_eq!(report.control.pfc_frames, 2);
        assert_eq!(
            b.report(at(100_000), KernelLosses::default())
                .control
                .injected,
            2
        );
    }

    /// Carries 200 µs of frames in both directions, with those from `b` lost unless `b_is_heard`.
    fn exchange(a: &mut Station, b: &mut Station, step: u64, b_is_heard: bool) {
        let (now, until) = (at(step * 200), at((step + 1) * 200));
        carry(a, b, now, until);
        let mut nobody = pair().0;
        carry(b, if b_is_heard { a } else { &mut nobody }, now, until);
    }

    #[test]
    fn a_class_with_credits_waits_for_them() {
        const LIMIT: u64 = 20;
        let stations = pair();
        let class = CreditClass {
            priority: 3,
            size: 2048,
            overhead: 0,
            limit: LIMIT as u32,
        };
        let [mut a, mut b] = [stations.0, stations.1].map(|station| {
            let mut station = Station::new(EndpointConfig {
                credits: vec![class],
                ..station.config
            });
            station.use_credits(at(0));
            station
        });
        a.tick(at(0));
        assert_eq!(a.snapshot(at(0)).sent[0].frames, 0);
        for step in 0..20 {
            exchange(&mut a, &mut b, step, true);
        }
        let sent = a.snapshot(at(4_000)).sent[0].frames;
        assert!(sent > 20, "{sent}");
        for step in 20..40 {
            exchange(&mut a, &mut b, step, false);
        }
        let more = a.snapshot(at(8_000)).sent[0].frames - sent;
        assert!((1..=LIMIT).contains(&more), "{more}");
        assert_eq!(a.snapshot(at(8_000)).paused, [3]);
        let received = &b.report(at(8_000), KernelLosses::default()).received[0];
        assert_eq!((received.frames, received.missing), (sent + more, 0));
    }

    #[test]
    fn a_pause_frame_holds_all() {
        let (mut a, mut b) = pair();
        b.inject(MacControl::Pause {
            quanta: Quanta(1000),
        });
        carry(&mut b, &mut a, at(0), at(1));
        assert_eq!(a.snapshot(at(1)).paused.len(), PRIORITY_COUNT);
        assert_eq!(carry(&mut a, &mut b, at(1), at(512)), 0);
        assert_eq!(carry(&mut a, &mut b, at(512), at(513)), 2);
    }

    #[test]
    fn other_frames_are_counted_for_what_they_are() {
        let (mut a, mut b) = pair();
        let mut buffer = [0; 2048];
        let length = a.next_frame(at(0), &mut buffer).unwrap();
        a.receive(at(0), &buffer[..length]);
        buffer[100] ^= 1;
        b.receive(at(0), &buffer[..length]);
        a.receive(at(0), &buffer[..length]);
        let mut lldp = [0; 60];
        lldp[..6].copy_from_slice(&[0x01, 0x80, 0xc2, 0, 0, 0x0e]);
        lldp[12..14].copy_from_slice(&[0x88, 0xcc]);
        a.receive(at(0), &lldp);
        a.receive(at(0), &[0xff; 60]);
        a.receive(at(0), &[]);
        let mut control = [0; 60];
        control[12..14].copy_from_slice(&ETHERTYPE_MAC_CONTROL);
        a.receive(at(0), &control);
        let report = a.report(at(1), KernelLosses::default());
        assert_eq!(report.foreign, 3, "own frame back, garbage, nothing");
        assert_eq!(report.corrupted_unattributed, 1);
        assert_eq!((report.link_local, report.control.malformed), (1, 1));
        assert_eq!(
            b.report(at(1), KernelLosses::default()).received[0].corrupted,
            1
        );
    }

    #[test]
    fn what_waits_to_be_injected_is_bounded_and_stopping_stops_data() {
        let (mut a, mut b) = pair();
        let accepted = (0..2 * INJECTED_MAX)
            .filter(|_| a.inject(pfc(0, 1)))
            .count();
        assert_eq!(accepted, INJECTED_MAX);
        a.stop_sending(at(0));
        assert_eq!(
            carry(&mut a, &mut b, at(0), at(90_000)),
            INJECTED_MAX as u64
        );
        assert_eq!(a.snapshot(at(1)).sent[0].frames, 0);
    }
}
