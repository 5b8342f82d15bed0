//! Shrinks a network that breaks a promise to a small one that also breaks it.

use std::collections::{BTreeMap, BTreeSet};

use weir_core::{Duration, FeedbackCoding};

use super::case::{Case, Fault, Routes};
use super::judge::{judge, Answer, Broken, Patience};
use super::Protocol;

const TRIES_MAX: usize = 400;

/// Returns a smaller network that breaks the first promise that `case` breaks with `protocol`, and its result. `case` has
/// the duration with which it was judged.
pub fn shrink(case: &Case, protocol: Protocol, answer: &Answer) -> (Case, Answer) {
    let mut case = case.clone();
    case.duration = answer.duration;
    let mut shrinking = Shrinking {
        protocol,
        tries: 0,
        best: case.clone(),
        answer: answer.clone(),
    };
    shrinking.try_case(case.compact());
    loop {
        let before = shrinking.best.clone();
        shrinking.without_faults();
        shrinking.without_flows();
        shrinking.shorter();
        shrinking.simpler();
        if shrinking.best == before || shrinking.tries >= TRIES_MAX {
            shrinking.clearer();
            return (shrinking.best, shrinking.answer);
        }
    }
}

struct Shrinking {
    protocol: Protocol,
    tries: usize,
    best: Case,
    answer: Answer,
}

impl Shrinking {
    /// Accepts `case` if it breaks the same promise.
    fn try_case(&mut self, case: Case) -> bool {
        if self.tries >= TRIES_MAX || case == self.best {
            return false;
        }
        self.tries += 1;
        let answer = judge(&case, self.protocol, Patience::AsItIs);
        let fails =
            answer.broken.first() == self.answer.broken.first() && answer.told == self.answer.told;
        if fails {
            self.best = case;
            self.answer = answer;
        }
        fails
    }

    fn without_faults(&mut self) {
        // Route changes for one host are removed together: a part of them could cause a permanent loop.
        let faults = |case: &mut Case| grouped(std::mem::take(&mut case.faults));
        self.without(faults, |case, faults| case.faults = faults.concat());
    }

    fn without_flows(&mut self) {
        let flows = |case: &mut Case| std::mem::take(&mut case.flows);
        self.without(flows, |case, flows| case.flows = flows);
    }

    /// Removes halves of a list, then quarters, down to single items.
    fn without<T: Clone>(
        &mut self,
        take: impl Fn(&mut Case) -> Vec<T>,
        put: impl Fn(&mut Case, Vec<T>),
    ) {
        let mut part = take(&mut self.best.clone()).len();
        while part > 0 {
            let mut at = 0;
            loop {
                let mut case = self.best.clone();
                let mut items = take(&mut case);
                if at >= items.len() {
                    break;
                }
                let end = (at + part).min(items.len());
                items.drain(at..end);
                put(&mut case, items);
                if case.flows.is_empty() || !self.try_case(case.compact()) {
                    at += part;
                }
            }
            part /= 2;
        }
    }

    fn shorter(&mut self) {
        loop {
            let mut case = self.best.clone();
            case.duration = case.duration.divided_by(2);
            let duration = case.duration;
            // Route changes stay together, or all go.
            let groups = grouped(std::mem::take(&mut case.faults)).into_iter();
            let in_time = |group: &Vec<Fault>| group.iter().all(|fault| fault.begin() < duration);
            case.faults = groups.filter(in_time).collect::<Vec<_>>().concat();
            for flow in &mut case.flows {
                flow.start = flow.start.min(duration.divided_by(4));
            }
            if case.duration < Duration::from_micros(1) || !self.try_case(case) {
                return;
            }
        }
    }

    /// Lengthens the run: a lock at the very end is hard to see, so most of the run should be stalled.
    fn clearer(&mut self) {
        if self.answer.broken.first() == Some(&Broken::Stuck) {
            let mut case = self.best.clone();
            case.duration = case.duration.saturating_mul(8);
            let answer = judge(&case, self.protocol, Patience::AsItIs);
            if answer.broken.first() == Some(&Broken::Stuck) {
                (self.best, self.answer) = (case, answer);
            }
        }
    }

    fn simpler(&mut self) {
        let changes: [fn(&mut Case); 9] = [
            |case| case.latency = Duration::ZERO,
            |case| {
                for next in case.routes.values_mut() {
                    next.truncate(1);
                }
            },
            |case| {
                for link in &mut case.links {
                    link.coding = FeedbackCoding::Pfc;
                }
            },
            |case| {
                for link in &mut case.links {
                    link.known = true;
                }
            },
            |case| {
                for switch in &mut case.switches {
                    switch.levels = true;
                }
            },
            |case| {
                for class in &mut case.classes {
                    class.spare.fill(0);
                }
            },
            |case| {
                for flow in &mut case.flows {
                    flow.start = Duration::ZERO;
                }
            },
            |case| {
                for flow in &mut case.flows {
                    (flow.rate, flow.size, flow.on_off) = (None, None, None);
                }
            },
            |case| {
                for link in &mut case.links {
                    link.round_trip = link.line.round_trip();
                }
            },
        ];
        for change in changes {
            let mut case = self.best.clone();
            change(&mut case);
            self.try_case(case.compact());
        }
    }
}

fn grouped(faults: Vec<Fault>) -> Vec<Vec<Fault>> {
    let mut groups: Vec<Vec<Fault>> = Vec::new();
    for fault in faults {
        let host = fault.route_to();
        let group = groups
            .iter_mut()
            .find(|group| host.is_some() && group[0].route_to() == host);
        match group {
            Some(group) => group.push(fault),
            None => groups.push(vec![fault]),
        }
    }
    groups
}

impl Fault {
    fn route_to(&self) -> Option<usize> {
        match self {
            Self::Route { to, .. } => Some(*to),
            _ => None,
        }
    }

    fn begin(&self) -> Duration {
        match self {
            Self::LinkDown { at, .. } | Self::Route { at, .. } | Self::SlowControl { at, .. } => {
                *at
            }
        }
    }
}

impl Case {
    /// Removes classes, hosts, routes, links and switches that no flow and no fault needs.
    fn compact(&self) -> Self {
        let mut case = self.clone();
        let classes: BTreeSet<usize> = case.flows.iter().map(|flow| flow.class).collect();
        let hosts: BTreeSet<usize> = case
            .flows
            .iter()
            .flat_map(|flow| [flow.from, flow.to])
            .collect();
        let targets: BTreeSet<usize> = case.flows.iter().map(|flow| flow.to).collect();
        case.faults.retain(|fault| match fault {
            Fault::Route { to, .. } => targets.contains(to),
            _ => true,
        });
        case.routes = used_routes(&case);
        let mut pairs: BTreeSet<[usize; 2]> = BTreeSet::new();
        let changed = case.faults.iter().filter_map(|fault| match fault {
            Fault::Route { switch, next, .. } => Some((*switch, next)),
            _ => None,
        });
        let before = case.routes.iter().map(|((_, at), next)| (*at, next));
        for (at, next) in before.chain(changed) {
            pairs.extend(next.iter().map(|to| [at.min(*to), at.max(*to)]));
        }
        let is_used =
            |ends: [usize; 2]| pairs.contains(&[ends[0].min(ends[1]), ends[0].max(ends[1])]);
        let links: BTreeSet<usize> = (0..case.links.len())
            .filter(|link| is_used(case.links[*link].ends))
            .collect();
        let mut switches: BTreeSet<usize> = hosts.iter().map(|host| case.hosts[*host]).collect();
        switches.extend(pairs.iter().flatten());
        case.keep(&switches, &hosts, &links, &classes);
        case
    }

    fn keep(
        &mut self,
        switches: &BTreeSet<usize>,
        hosts: &BTreeSet<usize>,
        links: &BTreeSet<usize>,
        classes: &BTreeSet<usize>,
    ) {
        let [switch, host, link, class] = [switches, hosts, links, classes].map(places);
        self.faults.retain(|fault| match fault {
            Fault::LinkDown { link: at, .. } => link.contains_key(at),
            Fault::Route { switch: at, .. } | Fault::SlowControl { switch: at, .. } => {
                switch.contains_key(at)
            }
        });
        for fault in &mut self.faults {
            match fault {
                Fault::LinkDown { link: at, .. } => *at = link[at],
                Fault::SlowControl { switch: at, .. } => *at = switch[at],
                Fault::Route {
                    switch: at,
                    to,
                    next,
                    ..
                } => {
                    (*at, *to) = (switch[at], host[to]);
                    next.iter_mut().for_each(|next| *next = switch[next]);
                }
            }
        }
        let routes = std::mem::take(&mut self.routes);
        for ((to, at), next) in routes {
            let next = next.iter().map(|next| switch[next]).collect();
            self.routes.insert((host[&to], switch[&at]), next);
        }
        self.switches = switches.iter().map(|at| self.switches[*at]).collect();
        self.hosts = hosts.iter().map(|at| switch[&self.hosts[*at]]).collect();
        self.links = links.iter().map(|at| self.links[*at]).collect();
        for ends in self.links.iter_mut().map(|link| &mut link.ends) {
            *ends = ends.map(|end| switch[&end]);
        }
        self.classes = classes.iter().map(|at| self.classes[*at].clone()).collect();
        for flow in &mut self.flows {
            (flow.from, flow.to) = (host[&flow.from], host[&flow.to]);
            flow.class = class[&flow.class];
        }
    }
}

fn places(kept: &BTreeSet<usize>) -> BTreeMap<usize, usize> {
    kept.iter()
        .enumerate()
        .map(|(new, old)| (*old, new))
        .collect()
}

/// Returns routes that some flow may take, before or after a change.
fn used_routes(case: &Case) -> Routes {
    let mut used = Routes::new();
    let mut open: Vec<(usize, usize)> = case
        .flows
        .iter()
        .map(|flow| (flow.to, case.hosts[flow.from]))
        .collect();
    let mut seen: BTreeSet<(usize, usize)> = open.iter().copied().collect();
    while let Some((to, at)) = open.pop() {
        let mut next: Vec<usize> = Vec::new();
        if let Some(members) = case.routes.get(&(to, at)) {
            used.insert((to, at), members.clone());
            next.extend(members);
        }
        for fault in &case.faults {
            match fault {
                Fault::Route {
                    switch,
                    to: changed,
                    next: members,
                    ..
                } if (*changed, *switch) == (to, at) => next.extend(members),
                _ => {}
            }
        }
        let new = next.into_iter().map(|next| (to, next));
        open.extend(new.filter(|place| seen.insert(*place)));
    }
    used
}
