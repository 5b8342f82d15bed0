//! Counts of the last seconds: losses in a short window, recurring conditions in a longer one.

use std::collections::VecDeque;

use weir_api::counters::KernelLosses;
use weir_api::daemon::health::{
    judge, Health, Observed, ObservedPort, ObservedQueue, LOSS_WINDOW_SECONDS,
    RECURRENCE_WINDOW_SECONDS,
};
use weir_api::words::Trouble;
use weir_core::control::Policy;
use weir_core::units::PRIORITY_COUNT;
use weir_core::{Duration, Instant};

use crate::control::info::SwitchInfo;

#[derive(Clone, Debug)]
pub(super) struct Sample {
    /// Time of the request.
    pub at: Instant,
    /// When the dataplane took them; long before `at` if it does not answer.
    pub taken: Instant,
    pub events_lost: u64,
    pub stalls: u64,
    pub stall_nanos: u64,
    pub own: Vec<(Trouble, String)>,
    pub ports: Vec<PortSample>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct PortSample {
    pub kernel: KernelLosses,
    pub xdp_drops: u64,
    pub device_overruns: u64,
    pub device_errors: u64,
    pub loop_blocked: bool,
    pub small_mtu: Option<(u64, u64)>,
    pub unfit: Option<String>,
    pub stuck: bool,
    pub addresses_crowded: u64,
    pub queues: [QueueSample; PRIORITY_COUNT],
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueueSample {
    pub headroom_drops: u64,
    pub storm_drops: u64,
    pub lifetime_drops: u64,
    pub suspicions: u64,
    pub releases: u64,
    pub storms: u64,
    pub stormed: bool,
    pub suspected_since: Option<Instant>,
}

/// Samples of the longer window, one per second: about 60, and the previous one.
pub(super) struct Windows {
    samples: VecDeque<Sample>,
}

impl Windows {
    /// Creates windows with no counts before `now`.
    pub(super) fn new(info: &SwitchInfo, now: Instant) -> Self {
        let nothing = Sample {
            at: now,
            taken: now,
            events_lost: 0,
            stalls: 0,
            stall_nanos: 0,
            own: Vec::new(),
            ports: vec![PortSample::default(); info.ports.len()],
        };
        Self {
            samples: VecDeque::from([nothing]),
        }
    }

    pub(super) fn push(&mut self, sample: Sample) {
        let now = sample.at;
        self.samples.push_back(sample);
        let is_over = |sample: &Sample| {
            now.saturating_since(sample.at) >= Duration::from_secs(RECURRENCE_WINDOW_SECONDS)
        };
        // The window starts at the newest sample that is older than it.
        while self.samples.get(1).is_some_and(is_over) {
            self.samples.pop_front();
        }
    }

    pub(super) fn health(&self, info: &SwitchInfo, policy: Policy) -> Health {
        let [losses, recurrences] = [LOSS_WINDOW_SECONDS, RECURRENCE_WINDOW_SECONDS]
            .map(|seconds| self.before(Duration::from_secs(seconds)));
        self.judged(losses, recurrences, info, policy)
    }

    /// Returns the verdict on changes since the previous sample.
    pub(super) fn last_second(&self, info: &SwitchInfo, policy: Policy) -> Health {
        let before = self.samples.len().saturating_sub(2);
        self.judged(before, before, info, policy)
    }

    /// Returns the position of the newest sample of at least this age, or of the oldest.
    fn before(&self, window: Duration) -> usize {
        let Some(now) = self.samples.back() else {
            return 0;
        };
        let is_old = |sample: &Sample| now.at.saturating_since(sample.at) >= window;
        self.samples.iter().rposition(is_old).unwrap_or(0)
    }

    fn judged(
        &self,
        losses: usize,
        recurrences: usize,
        info: &SwitchInfo,
        policy: Policy,
    ) -> Health {
        let samples = (
            self.samples.get(losses),
            self.samples.get(recurrences),
            self.samples.back(),
        );
        let (Some(losses), Some(recurrences), Some(now)) = samples else {
            return Health::default();
        };
        let since = |sample: &Sample| now.at.saturating_since(sample.at).as_secs_f64();
        judge(&Observed {
            loss_seconds: since(losses),
            recurrence_seconds: since(recurrences),
            age_seconds: now.at.saturating_since(now.taken).as_secs_f64(),
            events_lost: now.events_lost.saturating_sub(losses.events_lost),
            stalls: now.stalls.saturating_sub(recurrences.stalls),
            stall_seconds: Duration::from_nanos(
                now.stall_nanos.saturating_sub(recurrences.stall_nanos),
            )
            .as_secs_f64(),
            releases: policy != Policy::Off,
            own: now.own.clone(),
            ports: observed_ports(losses, recurrences, now, info),
        })
    }
}

/// Omits ports without findings.
fn observed_ports(
    losses: &Sample,
    recurrences: &Sample,
    now: &Sample,
    info: &SwitchInfo,
) -> Vec<ObservedPort> {
    let before = losses.ports.iter().zip(&recurrences.ports);
    let ports = info.ports.iter().zip(&now.ports).zip(before);
    ports
        .map(|((info, port), (lost, recurred))| {
            let queues = (0..PRIORITY_COUNT).filter_map(|index| {
                let before = (&lost.queues[index], &recurred.queues[index]);
                observed_queue(index, &port.queues[index], before, now.at)
            });
            let more = |of: fn(&PortSample) -> u64| of(port).saturating_sub(of(lost));
            ObservedPort {
                kernel_losses: more(|it| received(&it.kernel).total()),
                transmit_drops: more(|it| {
                    it.kernel.tx_device_drops_total
                        + it.kernel.tx_redirect_total
                        + it.kernel.tx_invalid_descs_total
                }),
                receive_missing: more(|it| it.kernel.rx_missing_total),
                transmit_missing: more(|it| it.kernel.tx_missing_total),
                xdp_drops: more(|it| it.xdp_drops),
                device_overruns: more(|it| it.device_overruns),
                device_errors: more(|it| it.device_errors),
                loop_blocked: port.loop_blocked,
                small_mtu: port.small_mtu,
                unfit: port.unfit.clone(),
                stuck: port.stuck,
                addresses_crowded: more(|it| it.addresses_crowded),
                queues: queues.collect(),
                ..ObservedPort::new(info.name.clone(), info.role)
            }
        })
        .filter(|port| {
            let lost = [
                port.kernel_losses,
                port.transmit_drops,
                port.receive_missing,
                port.transmit_missing,
                port.xdp_drops,
                port.device_overruns,
                port.device_errors,
                port.addresses_crowded,
            ];
            lost.iter().any(|count| *count > 0)
                || port.loop_blocked
                || port.small_mtu.is_some()
                || port.unfit.is_some()
                || port.stuck
                || !port.queues.is_empty()
        })
        .collect()
}

/// Returns the losses on reception, without missing frames.
fn received(losses: &KernelLosses) -> KernelLosses {
    KernelLosses {
        rx_dropped_total: losses.rx_dropped_total,
        rx_ring_full_total: losses.rx_ring_full_total,
        rx_fill_ring_empty_total: losses.rx_fill_ring_empty_total,
        rx_invalid_descs_total: losses.rx_invalid_descs_total,
        ..KernelLosses::default()
    }
}

fn observed_queue(
    index: usize,
    now: &QueueSample,
    (lost, recurred): (&QueueSample, &QueueSample),
    at: Instant,
) -> Option<ObservedQueue> {
    let more =
        |before: &QueueSample, of: fn(&QueueSample) -> u64| of(now).saturating_sub(of(before));
    let queue = ObservedQueue {
        priority: index as u8,
        headroom_drops: more(lost, |it| it.headroom_drops),
        storm_drops: more(lost, |it| it.storm_drops),
        lifetime_drops: more(lost, |it| it.lifetime_drops),
        suspicions: more(recurred, |it| it.suspicions),
        releases: more(recurred, |it| it.releases),
        storms: more(recurred, |it| it.storms),
        suspected_seconds: now
            .suspected_since
            .map(|since| at.saturating_since(since).as_secs_f64()),
        stormed: now.stormed,
    };
    let lost = queue.headroom_drops + queue.storm_drops + queue.lifetime_drops;
    let happened = lost + queue.suspicions + queue.storms > 0;
    (happened || queue.stormed || queue.suspected_seconds.is_some()).then_some(queue)
}

#[cfg(test)]
mod tests {
    use weir_api::words::Verdict;
    use weir_core::{BitRate, Bytes, ClassMode, PortRole};

    use super::*;
    use crate::control::info::{ClassInfo, PortInfo, Stations};
    use crate::model::classify::Trusted;
    use weir_dataplane::link::AttachedPort;

    fn info() -> SwitchInfo {
        let attached = AttachedPort {
            ifindex: 1,
            address: Default::default(),
            xdp_mode: "native",
            zero_copy: false,
        };
        let lossy = ClassMode::Lossy {
            buffer: Bytes::new(4096),
        };
        SwitchInfo {
            mtu: Bytes::new(1500),
            pools: Vec::new(),
            name: "s1".to_owned(),
            deadlock_policy: Policy::Breaker.into(),
            ports: vec![PortInfo {
                name: "h1".to_owned(),
                device: "eth0".to_owned(),
                role: PortRole::Edge,
                rate: BitRate::from_mbit(1000),
                cable: None,
                trusted: Trusted::default().into(),
                attached: attached.into(),
            }],
            classes: std::array::from_fn(|_| ClassInfo {
                name: "default".to_owned(),
                mode: lossy.into(),
                headroom_by_cable: false,
                configured: false,
            }),
            stations: Stations::default().into(),
            mirrors: Vec::new().into(),
            marking: Vec::new().into(),
            impair: true,
        }
    }

    /// Returns the verdicts of seconds 1, 2, …; `change` modifies the totals before each.
    fn verdicts(seconds: u64, change: impl Fn(u64, &mut QueueSample)) -> Vec<Verdict> {
        let info = info();
        let at = |second| Instant::ZERO + Duration::from_secs(second);
        let mut windows = Windows::new(&info, at(0));
        let mut port = PortSample::default();
        (1..=seconds)
            .map(|second| {
                change(second, &mut port.queues[0]);
                windows.push(Sample {
                    at: at(second),
                    taken: at(second),
                    events_lost: 0,
                    stalls: 0,
                    stall_nanos: 0,
                    own: Vec::new(),
                    ports: vec![port.clone()],
                });
                assert!(windows.samples.len() as u64 <= RECURRENCE_WINDOW_SECONDS + 2);
                let health = windows.health(&info, Policy::Breaker);
                health.verdict.known().unwrap()
            })
            .collect()
    }

    #[test]
    fn losses_degrade_at_once_and_are_over_ten_seconds_after_the_last() {
        let seen = verdicts(30, |second, queue| {
            if (5..=8).contains(&second) {
                queue.headroom_drops += 100;
            }
        });
        for (second, verdict) in (1..).zip(seen) {
            let expected = if (5..18).contains(&second) {
                Verdict::Degraded
            } else {
                Verdict::Ok
            };
            assert_eq!(verdict, expected, "second {second}");
        }
    }

    #[test]
    fn what_comes_back_every_fifteen_seconds_is_not_ok_between() {
        let seen = verdicts(200, |second, queue| {
            if second <= 120 && second.is_multiple_of(15) {
                queue.suspicions += 1;
                queue.releases += 1;
            }
        });
        assert!(seen[..14].iter().all(|verdict| *verdict == Verdict::Ok));
        assert!(seen[14..179]
            .iter()
            .all(|verdict| *verdict == Verdict::Degraded));
        assert!(seen[179..].iter().all(|verdict| *verdict == Verdict::Ok));
    }

    #[test]
    fn what_stands_fails_and_the_dataplane_must_answer() {
        let seen = verdicts(12, |second, queue| {
            let since = Instant::ZERO + Duration::from_secs(2);
            queue.suspected_since = (second >= 2).then_some(since);
        });
        assert_eq!(seen[0], Verdict::Ok);
        assert!(seen[1..7]
            .iter()
            .all(|verdict| *verdict == Verdict::Degraded));
        assert!(seen[7..].iter().all(|verdict| *verdict == Verdict::Failing));
    }
}
