//! Random faults during traffic.

use weir_core::{Duration, Instant};

use crate::network::faults::actions::Action;
use crate::network::faults::disturbance::{Disturbance, DisturbanceKind};
use crate::network::plan::{End, NetworkPlan};
use crate::random::Random;

const FAULTS: u64 = 5;

/// Draws a few faults that all end before `arrivals` are over.
pub(crate) fn actions(seed: u64, plan: &NetworkPlan, arrivals: Duration) -> Vec<(Instant, Action)> {
    let mut random = Random::for_purpose(seed, FAULTS);
    let mut actions = Vec::new();
    for _ in 0..random.between(1, 4) {
        let begin = random.below(arrivals.as_nanos() * 3 / 4);
        let end = random.between(begin + 1, arrivals.as_nanos() - 1);
        let (begin, end) = (Instant::from_nanos(begin), Instant::from_nanos(end));
        let fabric: Vec<u32> = (0..plan.links.len() as u32)
            .filter(|link| {
                let ends = plan.links[*link as usize].ends;
                ends.iter().all(|end| matches!(end, End::Port { .. }))
            })
            .collect();
        let link = fabric[random.below(fabric.len() as u64) as usize];
        let switch = random.below(plan.switches.len() as u64) as u32;
        let host = random.below(plan.hosts.len() as u64) as u32;
        let (first, last) = match random.below(6) {
            0 => (Action::LinkDown(link), Action::LinkUp(link)),
            1 => (Action::Freeze(switch), Action::Thaw(switch)),
            2 => (Action::Stop(switch), Action::Start(switch)),
            3 => {
                let begin = Action::StormBegin {
                    host,
                    priorities: 0xff,
                };
                (begin, Action::StormEnd(host))
            }
            4 => {
                let of = |obeys| Action::HostObeys { host, obeys };
                (of(false), of(true))
            }
            _ => {
                let disturbance = Disturbance {
                    probability_ppm: random.between(10_000, 500_000) as u32,
                    kind: match random.below(4) {
                        0 => DisturbanceKind::Loss,
                        1 => DisturbanceKind::Corruption,
                        2 => DisturbanceKind::Duplication,
                        _ => DisturbanceKind::Delay(Duration::from_nanos(random.below(50_000))),
                    },
                };
                let begin = Action::Disturb { link, disturbance };
                (begin, Action::Calm { link, disturbance })
            }
        };
        actions.push((begin, first));
        actions.push((end, last));
    }
    actions.sort_by_key(|(at, _)| *at);
    actions
}

/// Returns true for faults that lose frames: a failed link, a stopped switch, or a buffer without room since a sender does
/// not obey in time. Storms and repeated control frames lose none.
pub(super) fn may_lose(action: &Action) -> bool {
    match action {
        Action::LinkDown(_) | Action::Freeze(_) | Action::Stop(_) | Action::Notice { .. } => true,
        Action::HostObeys { obeys, .. } => !obeys,
        Action::Disturb { disturbance, .. } => disturbance.kind != DisturbanceKind::Duplication,
        Action::LinkUp(_)
        | Action::Thaw(_)
        | Action::Start(_)
        | Action::ControlLatency { .. }
        | Action::Route { .. }
        | Action::StormBegin { .. }
        | Action::StormEnd(_)
        | Action::Calm { .. }
        | Action::Hang { .. }
        | Action::Unhang { .. }
        | Action::Impair(_)
        | Action::Repair(_) => false,
    }
}
