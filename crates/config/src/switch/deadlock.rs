//! `[deadlock]`.

use weir_core::command::RerouteBy;
use weir_core::control::{LoopBreakerConfig, NoAlternative, Policy};
use weir_core::{Bytes, Duration};

use crate::settings::{settings, valid, words};

settings! {
    /// `[deadlock]`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    DeadlockConfig in "deadlock" {
        "policy" policy: Policy = Policy::Off, "", Live, valid::anything;
            "`\"off\"`: detect and report. `\"breaker\"`: the Deadlock Breaker releases loops ([CLCM](clcm.md)). `\"loop-breaker\"`: flows move off the loop where they have another path, and some traffic is forced out. `\"auto\"`: flows move where they have another path, and loops are released without loss in either case. `\"watchdog\"`: the [storm watchdog](../operations/storms.md) of every port is on, with the times and action of `[pfcwd]`, and treats every egress that is stalled by a pause as a storm, even in a loop. `\"lifetime\"`: a frame that is at the head of its queue for longer than `lifetime` is dropped."
        "detect" detect: Duration = Duration::from_millis(200), "above 0", Live, valid::above_zero;
            "An egress with frames of a lossless class and zero throughput for this long is suspected."
        "clcm-interval" clcm_interval: Duration = Duration::from_millis(20), "above 0", Live, valid::above_zero;
            "Time between two CLCM by one suspected port."
        "release" release: Duration = Duration::from_millis(50), "above 0", Live, valid::above_zero;
            "How long a release lasts. If the loop locks again at once, its frames go first for a while after the release: once, twice, up to sixteen times this."
        "release-buffer" release_buffer: Bytes = Bytes::new(3072), "", Live, valid::anything;
            "Additional buffer of the loop's ingress port during a release; at least one full frame is given. A release lends only headroom: more than the smallest `headroom` of the `pfc` classes is refused under `breaker` and `auto`, and the default is cut to it."
        "reroute-by" reroute_by: RerouteBy = RerouteBy::Flow, "", Live, valid::anything;
            "Unit that the Loop Breaker moves: `\"flow\"`, each flow by its own pin; `\"bucket\"`, the flow's ECMP bucket with everything in it."
        "no-alternative" no_alternative: NoAlternative = NoAlternative::RerouteEntering, "", Live, valid::anything;
            "Action of an elected switch if no flow of the loop has another path there: `\"reroute-entering\"`, move flows that reach the blocked egress from elsewhere; `\"forward\"`, leave the election to switches that have one. A switch that could move nothing runs for election again, see [CLCM](clcm.md#rules)."
        "traffic-release" traffic_release: Bytes = Bytes::new(1522), "above 0", Live, some;
            "Amount that the Loop Breaker forces out first; each further step, one per `clcm-interval`, doubles it."
        "traffic-release-max" traffic_release_max: Bytes = Bytes::new(64 * 1024), "", Live, valid::anything;
            "The largest step."
        "lifetime" lifetime: Duration = Duration::from_millis(512), "above 0", Restart, valid::above_zero;
            "Policy `lifetime`: time for which a frame of a `pfc` class, or one of a `level` class that has come [too far](levels.md#when-a-route-was-longer-than-d), may be at the head of its (egress, priority) queue before it is dropped, counted as `lifetime` (InfiniBand: HOQLife)."
        "stall-count" stall_count: u8 = 7, "0 to 7", Restart, valid::within(0, 7);
            "Policy `lifetime`: after this many such drops in a row the queue drops everything for 8 × `lifetime`; 0 for never (InfiniBand: VLStallCount, VLStalled)."
        "record" record: bool = true, "", Restart, valid::anything;
            "Whether the [flight recorder](../operations/deadlocks.md) keeps a record of each suspicion. Costs 16 snapshots of the switch a second while nothing is suspected."
    }
}

words! {
    Policy: Self::NAMED;
    RerouteBy: Self::NAMED;
    NoAlternative: Self::NAMED;
}

fn some(bytes: &Bytes) -> Result<(), String> {
    match *bytes == Bytes::ZERO {
        true => Err("must be above zero".to_owned()),
        false => Ok(()),
    }
}

impl DeadlockConfig {
    /// Settings of the Loop Breaker.
    pub fn loop_breaker(&self) -> LoopBreakerConfig {
        LoopBreakerConfig {
            reroute_by: self.reroute_by,
            no_alternative: self.no_alternative,
            traffic_release: self.traffic_release,
            traffic_release_max: self.traffic_release_max,
        }
    }

    /// Returns this configuration with all settings of `wanted` that a running daemon can apply. If either has the
    /// policy `lifetime`, which counts from a frame's arrival, the policy stays.
    pub(crate) fn with_live_settings_of(mut self, wanted: &Self) -> Self {
        let policy = self.policy;
        let counts_from_arrival = [policy, wanted.policy].contains(&Policy::Lifetime);
        self.take_live(wanted);
        if counts_from_arrival {
            self.policy = policy;
        }
        self
    }
}
