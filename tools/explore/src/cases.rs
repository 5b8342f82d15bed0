//! Explored cases, and their expected results.

use weir_core::control::Policy;

use crate::networks;
use crate::plan::{Disturbance, Mode, Plan};

/// Result of an exploration, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// A lossless frame can be dropped.
    Drops,
    /// There is a state with frames from which no sequence of steps delivers them.
    Locks,
    /// A frame may wait forever although the network is fair.
    Starves,
    /// None of these.
    Free,
    /// There are more states than permitted.
    Unfinished,
}

impl Verdict {
    /// Returns one or two words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Drops => "drops",
            Self::Locks => "locks",
            Self::Starves => "starves",
            Self::Free => "free",
            Self::Unfinished => "unfinished",
        }
    }
}

/// Duration of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Seconds; part of the tests.
    Small,
    /// Minutes.
    Large,
}

/// A network to explore.
#[derive(Clone, Debug)]
pub struct Case {
    /// One word.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// Duration.
    pub size: Size,
    /// Network and events.
    pub plan: Plan,
    /// Starts in every deadlocked state of this plan, with time stopped until then; if `None`, in the empty network.
    pub from_locks_of: Option<Plan>,
    /// Maximum number of these states to start in.
    pub starts_max: usize,
    /// Expected result.
    pub expected: Verdict,
}

impl Case {
    fn new(name: &'static str, about: &'static str, plan: Plan, expected: Verdict) -> Self {
        Self {
            name,
            about,
            size: Size::Small,
            plan,
            from_locks_of: None,
            starts_max: usize::MAX,
            expected,
        }
    }

    fn large(self) -> Self {
        Self {
            size: Size::Large,
            ..self
        }
    }

    /// Starts only in the first of these states.
    fn first_of_them(self) -> Self {
        Self {
            starts_max: 1,
            ..self
        }
    }

    /// Starts in the states in which the plan deadlocks without time; hosts then stop sending.
    fn begin_in_locks(mut self) -> Self {
        let mut untimed = self.plan.clone();
        untimed.timed = false;
        untimed.disturbance = Disturbance::default();
        self.from_locks_of = Some(untimed);
        for flow in &mut self.plan.flows {
            flow.limit = Some(0);
        }
        self
    }
}

const SMALL: Mode = Mode::Pfc {
    xoff: 1,
    xon: 0,
    headroom: 1,
};

const WIDER: Mode = Mode::Pfc {
    xoff: 2,
    xon: 1,
    headroom: 1,
};

fn levels(budgets: &[u64], reserve: u64) -> Mode {
    Mode::Levels {
        budgets: budgets.to_vec(),
        reserve,
    }
}

/// Frames arrive in the step that sends them, and so do control frames about them.
fn at_once(plan: Plan) -> Plan {
    Plan {
        prompt_control: true,
        ..no_round_trip(plan)
    }
}

fn round_trip(plan: Plan) -> Plan {
    Plan { slack: 1, ..plan }
}

/// Frames arrive in the step that sends them, and none is sent while a PFC frame is due.
fn no_round_trip(plan: Plan) -> Plan {
    Plan {
        wire: 0,
        slack: 0,
        ..plan
    }
}

fn sinks_at_once(plan: Plan) -> Plan {
    Plan {
        prompt_sinks: true,
        ..plan
    }
}

fn losing(plan: Plan, disturbance: Disturbance) -> Plan {
    Plan {
        disturbance,
        ..plan
    }
}

/// Returns the ring under the Deadlock Breaker: time advances when nothing moves.
fn breaker() -> Plan {
    let room = Mode::Pfc {
        xoff: 1,
        xon: 0,
        headroom: 2,
    };
    Plan {
        prompt_timers: true,
        timed: true,
        busy: true,
        horizon: Some(40),
        policy: Policy::Breaker,
        ..sinks_at_once(at_once(networks::ring(false, room)))
    }
}

/// Time advances while pauses are in force, whenever no control frame is in flight.
fn refreshed() -> Plan {
    Plan {
        timed: true,
        ..round_trip(networks::chain(SMALL))
    }
}

fn pfc_lost(times: u8) -> Disturbance {
    Disturbance {
        times,
        lose_pfc: true,
        ..Disturbance::default()
    }
}

/// Returns the line with a round trip of one frame, which a switch still sends after a Feedback for it is due.
fn late_by_a_frame() -> Plan {
    round_trip(no_round_trip(networks::line(levels(&[2, 2], 1))))
}

/// Returns the line with a round trip of one frame: at most two are in flight, and control frames arrive at once.
fn two_under_way() -> Plan {
    Plan {
        wire: 2,
        prompt_control: true,
        ..networks::line(levels(&[2, 2], 1))
    }
}

fn clcm(times: u8) -> Disturbance {
    Disturbance {
        times,
        lose_clcm: true,
        repeat: true,
        ..Disturbance::default()
    }
}

/// All cases.
pub fn all() -> Vec<Case> {
    let mut cases = pfc();
    cases.extend(with_levels());
    cases.extend(with_breaker());
    cases
}

fn pfc() -> Vec<Case> {
    let short = Plan {
        slack: 2,
        ..networks::chain(SMALL)
    };
    let mut forgetful = refreshed();
    forgetful.faults.no_refresh = true;
    let repeated = Disturbance {
        times: 2,
        repeat: true,
        ..Disturbance::default()
    };
    vec![
        Case::new(
            "pfc-ring",
            "PFC, three switches in a ring, one host each",
            networks::ring(false, SMALL),
            Verdict::Locks,
        ),
        Case::new(
            "pfc-ring-2",
            "the same with a second host, buffers of three frames",
            sinks_at_once(at_once(networks::ring(true, WIDER))),
            Verdict::Locks,
        ),
        Case::new(
            "pfc-pair",
            "PFC, two switches, a host at each sends to the other",
            round_trip(networks::pair(1, WIDER)),
            Verdict::Free,
        ),
        Case::new(
            "pfc-pair-2",
            "the same with two hosts at each",
            round_trip(networks::pair(2, WIDER)),
            Verdict::Free,
        )
        .large(),
        Case::new(
            "pfc-refresh",
            "PFC, one link, pauses that run out unless refreshed",
            refreshed(),
            Verdict::Free,
        ),
        Case::new(
            "pfc-repeated",
            "the same, two PFC frames arrive twice",
            losing(refreshed(), repeated),
            Verdict::Free,
        ),
        Case::new(
            "pfc-lost",
            "the same, one PFC frame is lost",
            losing(refreshed(), pfc_lost(1)),
            Verdict::Drops,
        ),
        Case::new(
            "fault-refresh",
            "FAULT: pauses are never refreshed",
            forgetful,
            Verdict::Drops,
        ),
        Case::new(
            "fault-headroom",
            "FAULT: headroom a frame short of the round trip",
            short,
            Verdict::Drops,
        ),
    ]
}

fn with_levels() -> Vec<Case> {
    let mut as_printed = late_by_a_frame();
    as_printed.faults.level_as_printed = true;
    vec![
        Case::new(
            "levels-line",
            "Levels, three switches in a line, transit meets local",
            no_round_trip(networks::line(levels(&[1, 1], 0))),
            Verdict::Free,
        ),
        Case::new(
            "levels-line-2",
            "the same with b_1 of two frames",
            no_round_trip(networks::line(levels(&[2, 1], 0))),
            Verdict::Free,
        ),
        Case::new(
            "levels-round-trip",
            "the line with rT of a frame, which each PFC frame takes at most",
            late_by_a_frame(),
            Verdict::Free,
        )
        .large(),
        Case::new(
            "levels-busy-line",
            "FINDING: the same where the line is busy while a Feedback is low",
            two_under_way(),
            Verdict::Starves,
        ),
        Case::new(
            "fault-equation-22",
            "FAULT: levels-round-trip with Levels on arrival as printed",
            as_printed,
            Verdict::Starves,
        )
        .large(),
        Case::new(
            "levels-lost",
            "Levels, one link, one Feedback is lost",
            losing(
                Plan {
                    timed: true,
                    ..round_trip(networks::chain(levels(&[4], 3)))
                },
                pfc_lost(1),
            ),
            Verdict::Free,
        ),
        Case::new(
            "levels-lost-2",
            "the same, two are lost",
            losing(
                Plan {
                    timed: true,
                    ..round_trip(networks::chain(levels(&[6], 5)))
                },
                pfc_lost(2),
            ),
            Verdict::Free,
        )
        .large(),
        Case::new(
            "fault-reserve",
            "FAULT: one is lost, and rT is a frame short of that",
            losing(
                Plan {
                    timed: true,
                    ..round_trip(networks::chain(levels(&[3], 2)))
                },
                pfc_lost(1),
            ),
            Verdict::Drops,
        ),
        Case::new(
            "levels-ring",
            "Levels, the ring that locks under PFC",
            at_once(networks::ring(false, levels(&[1, 1], 0))),
            Verdict::Free,
        )
        .large(),
        Case::new(
            "levels-ring-2",
            "the same with the second host, receivers prompt",
            sinks_at_once(at_once(networks::ring(true, levels(&[1, 1], 0)))),
            Verdict::Free,
        ),
        Case::new(
            "levels-ring-2-slow",
            "the same, receivers as slow as they like",
            at_once(networks::ring(true, levels(&[1, 1], 0))),
            Verdict::Free,
        )
        .large(),
    ]
}

fn with_breaker() -> Vec<Case> {
    let mut faulty = Plan {
        // Without the fault every state resolves after 14.
        horizon: Some(16),
        ..breaker()
    };
    faulty.faults.release_without_frame = true;
    vec![
        Case::new(
            "breaker",
            "Deadlock Breaker, from every state in which the ring locks",
            breaker(),
            Verdict::Free,
        )
        .begin_in_locks(),
        Case::new(
            "breaker-lost",
            "the same, any CLCM is lost or arrives twice",
            losing(breaker(), clcm(1)),
            Verdict::Free,
        )
        .begin_in_locks()
        .large(),
        Case::new(
            "breaker-lost-2",
            "the same, any two are lost or arrive twice",
            losing(breaker(), clcm(2)),
            Verdict::Free,
        )
        .begin_in_locks()
        .large(),
        Case::new(
            "breaker-late",
            "the same without loss, control planes up to a tick late",
            Plan {
                control_lag: 1,
                ..breaker()
            },
            Verdict::Free,
        )
        .begin_in_locks()
        .large(),
        Case::new(
            "fault-release",
            "FAULT: a release makes no room for a frame; from the first lock",
            faulty,
            Verdict::Locks,
        )
        .begin_in_locks()
        .first_of_them(),
    ]
}
