//! All switches of this machine, one per row.

use std::thread;

use weir_api::overview::Overview;
use weir_api::words::Verdict;

use super::grid::{number, text, Cell, Grid, Weight};
use super::views::{megabits, scaled};
use crate::show;
use crate::target::Target;
use weir_output::NONE;

const ASKED_MAX: usize = 16;

#[derive(Debug)]
struct Member {
    name: String,
    now: Result<Overview, String>,
    before: Option<Overview>,
}

/// Last answers of the switches.
#[derive(Debug, Default)]
pub struct Fabric {
    members: Vec<Member>,
}

/// State of a switch, or the reason for which it did not answer.
pub type Answer = (String, Result<Overview, String>);

/// Asks all switches, several at a time, so that one without an answer delays only its own row. Returns answers in the order
/// of `all`.
pub fn look(
    all: &[(String, Target)],
    ask: impl Fn(&Target) -> Result<Overview, String> + Sync,
) -> Vec<Answer> {
    let mut answers = Vec::with_capacity(all.len());
    for some in all.chunks(ASKED_MAX) {
        // In parallel, so that one without an answer delays no other.
        let told: Vec<_> = thread::scope(|scope| {
            let asked = some.iter().map(|(_, target)| scope.spawn(|| ask(target)));
            let asked: Vec<_> = asked.collect();
            asked.into_iter().map(|one| one.join()).collect()
        });
        let told = told.into_iter().map(|one| match one {
            Ok(answer) => answer,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        answers.extend(some.iter().map(|(name, _)| name.clone()).zip(told));
    }
    answers
}

impl Fabric {
    /// Stores the answers; switches without an entry are gone.
    pub fn learn(&mut self, answers: Vec<Answer>) {
        let mut past = std::mem::take(&mut self.members);
        self.members = answers
            .into_iter()
            .map(|(name, now)| {
                let before = past.iter().position(|member| member.name == name);
                let before = before.and_then(|index| past.swap_remove(index).now.ok());
                // After a restart the totals start over.
                let same = |before: &Overview| {
                    now.as_ref()
                        .is_ok_and(|now| now.status.pid == before.status.pid)
                };
                Member {
                    before: before.filter(same),
                    name,
                    now,
                }
            })
            .collect();
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns the facts of a switch: the reasons for its health, or for the missing answer.
    pub fn facts(&self, name: &str) -> Vec<(&'static str, String)> {
        let Some(member) = self.members.iter().find(|member| member.name == name) else {
            return Vec::new();
        };
        let mut facts = vec![("switch", name.to_owned())];
        match &member.now {
            Err(trouble) => facts.push(("no answer", trouble.clone())),
            Ok(now) => {
                let health = now.status.health.as_ref();
                facts.push(("health", health.map_or(NONE.to_owned(), show::verdict)));
                facts.push(("policy", now.status.deadlock_policy.to_string()));
                facts.push(("state", now.status.state.to_string()));
                facts.push(("drops", weir_output::reasons(&now.status.drops_total)));
                let neighbors = now.neighbors.iter();
                let neighbors: Vec<String> = neighbors
                    .map(|(port, neighbor)| format!("{neighbor} by {port}"))
                    .collect();
                facts.push(("neighbors", or_none(neighbors.join(", "))));
            }
        }
        facts
    }

    /// Returns the number of switches, and their states.
    pub fn head(&self) -> (String, String, Weight) {
        let verdict = |member: &Member| match &member.now {
            Err(_) => None,
            Ok(now) => now.status.health.as_ref()?.verdict.known(),
        };
        let count = |wanted: Verdict| {
            let of = self.members.iter();
            of.filter(|one| verdict(one) == Some(wanted)).count()
        };
        let silent = self.members.iter().filter(|one| one.now.is_err()).count();
        let answers = || self.members.iter().filter_map(|one| one.now.as_ref().ok());
        let suspected: usize = answers().map(|now| now.deadlocks.current.len()).sum();
        let paused: usize = answers().map(|now| pauses(now).0).sum();
        let (degraded, failing) = (count(Verdict::Degraded), count(Verdict::Failing));
        let parts = [
            (count(Verdict::Ok), "ok"),
            (degraded, "degraded"),
            (failing, "FAILING"),
            (silent, "without an answer"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let noun = match self.len() {
            1 => "switch",
            _ => "switches",
        };
        let first = format!(
            "{} {noun} of this machine: {}",
            self.len(),
            parts.join(", ")
        );
        let second = format!("queues suspected of a deadlock: {suspected}; links paused: {paused}");
        let weight = match (failing + silent + suspected, degraded) {
            (0, 0) => Weight::Plain,
            (0, _) => Weight::Warn,
            _ => Weight::Bad,
        };
        (first, second, weight)
    }

    pub fn grid(&self) -> Grid {
        let headings = [
            "switch",
            "health",
            ">ports up|ports",
            ">suspected|stuck",
            ">deadlocks|locked",
            ">we pause|pauses",
            ">paused",
            ">rate in|in",
            ">rate out|out",
            ">dropped",
        ];
        let mut grid = Grid::new(&headings, "no other switch runs on this machine");
        grid.rows.extend(self.members.iter().map(row));
        grid
    }
}

fn or_none(text: String) -> String {
    match text.is_empty() {
        true => NONE.to_owned(),
        false => text,
    }
}

fn row(member: &Member) -> Vec<Cell> {
    let Ok(now) = &member.now else {
        let mut row = vec![
            text(&member.name),
            text("NO ANSWER").or("SILENT").marked(Weight::Bad, true),
        ];
        row.resize_with(10, || number(-1.0, NONE));
        return row;
    };
    let whole = |count: u64| number(count as f64, count.to_string());
    let counted = |count: u64| whole(count).or(scaled(count as f64));
    let (pausing, paused) = pauses(now);
    let up = now.ports.iter().filter(|port| port.link_up).count();
    let all = now.ports.len();
    let suspected = now.deadlocks.current.len();
    let (inward, outward) = rates(now, member.before.as_ref());
    let dropped = now.status.drops_total.values().sum::<u64>() + now.status.kernel_losses_total;
    vec![
        text(&member.name),
        health(now),
        number(up as f64, format!("{up}/{all}")).marked(Weight::Bad, up < all),
        whole(suspected as u64).marked(Weight::Bad, suspected > 0),
        counted(suspicions(now)),
        whole(pausing as u64).marked(Weight::Warn, pausing > 0),
        whole(paused as u64).marked(Weight::Warn, paused > 0),
        rate(inward),
        rate(outward),
        counted(dropped).marked(Weight::Warn, dropped > 0),
    ]
}

fn health(now: &Overview) -> Cell {
    let Some(health) = &now.status.health else {
        return text(NONE);
    };
    let verdict = health.verdict.as_str();
    match health.verdict.known() {
        Some(Verdict::Ok) => text(verdict),
        Some(Verdict::Degraded) => text(verdict).marked(Weight::Warn, true),
        Some(Verdict::Failing) | None => text(verdict.to_uppercase()).marked(Weight::Bad, true),
    }
}

fn rate(bits_per_second: Option<f64>) -> Cell {
    match bits_per_second {
        Some(rate) => number(rate, megabits(rate)).or(scaled(rate)),
        None => number(-1.0, NONE),
    }
}

/// Returns the number of suspicions since the daemon started, which are numbered from 1.
fn suspicions(now: &Overview) -> u64 {
    let all = now.deadlocks.current.iter().chain(&now.deadlocks.past);
    all.map(|one| one.id).max().unwrap_or(0)
}

/// Returns the number of (port, priority) pairs that pause their neighbours, by PFC or Feedback, and of those that are
/// paused.
fn pauses(now: &Overview) -> (usize, usize) {
    let pfc = |is: fn(&weir_api::daemon::Pfc) -> bool| now.pfc.iter().filter(|one| is(one)).count();
    let links = now.levels.links.iter();
    let told = links.clone().filter(|link| link.feedback_sent > 0).count();
    let held = links.filter(|link| link.paused || link.feedback_received > 0);
    (
        pfc(|one| one.pausing) + told,
        pfc(|one| one.paused) + held.count(),
    )
}

/// Returns bits per second received and sent on all ports, between two moments.
fn rates(now: &Overview, before: Option<&Overview>) -> (Option<f64>, Option<f64>) {
    let Some(before) = before else {
        return (None, None);
    };
    let nanos = now.monotonic_nanos.saturating_sub(before.monotonic_nanos);
    let sum = |of: fn(&weir_api::daemon::Port) -> u64| {
        let total = |at: &Overview| at.ports.iter().map(of).sum::<u64>();
        let moved = total(now).saturating_sub(total(before));
        (nanos > 0).then(|| moved as f64 * 8e9 / nanos as f64)
    };
    (
        sum(|port| port.rx_bytes_total),
        sum(|port| port.tx_bytes_total),
    )
}
