//! `weir-sim search --wide`.

use std::collections::BTreeMap;
use std::sync::Mutex;

use anyhow::Result;
use weir_sim::search::wide::{
    judge, network, shrink, Answer, Broken, Case, Patience, Protocol, Told,
};

use crate::cli::{SearchArguments, WideMode};
use crate::output::{bar, write};
use crate::parallel::on_all_cores;

/// Maximum number of findings listed one by one.
const TOLD_MAX: usize = 30;

/// Results of all networks. Sums do not depend on their order.
#[derive(Default)]
struct Tally {
    asked: u64,
    sent: u64,
    lost: u64,
    frame_hops: u64,
    /// By reason for a wait, and by exception from a promise.
    kinds: BTreeMap<&'static str, u64>,
    shapes: BTreeMap<&'static str, u64>,
    broken: BTreeMap<Broken, u64>,
    /// Jain's index by seed: of the requested mode, and of PFC.
    jain: Vec<(u64, [f64; 2])>,
    findings: Vec<(u64, Answer)>,
}

/// Returns true if all networks kept the promises.
pub fn search(arguments: &SearchArguments) -> Result<bool> {
    let protocol = match arguments.mode {
        WideMode::Level => Protocol::Level,
        WideMode::PfcBreaker => Protocol::PfcBreaker,
        WideMode::Pfc => Protocol::Pfc,
    };
    let bar = bar(arguments.networks, arguments.quiet);
    let tally = Mutex::new(Tally::default());
    on_all_cores(arguments.jobs, arguments.networks as usize, &|index| {
        let seed = arguments.first + index as u64;
        let case = network(seed);
        let answer = judge(&case, protocol, Patience::Longer);
        if let Ok(mut tally) = tally.lock() {
            tally.add(seed, &case, answer, protocol);
            bar.set_message(format!("{} findings,", tally.findings.len()));
        }
        bar.inc(1);
    });
    bar.finish_and_clear();
    let mut tally = tally.into_inner().unwrap_or_default();
    tally.findings.sort_by_key(|(seed, _)| *seed);
    tally.jain.sort_by_key(|(seed, _)| *seed);
    tally.print(arguments)?;
    for (seed, answer) in tally.findings.iter().take(arguments.shrink) {
        write_shrunk(arguments, *seed, protocol, answer)?;
    }
    if let Some(path) = &arguments.json {
        write(path, &serde_json::to_string_pretty(&tally.json(arguments))?)?;
    }
    Ok(tally.findings.is_empty())
}

fn write_shrunk(
    arguments: &SearchArguments,
    seed: u64,
    protocol: Protocol,
    answer: &Answer,
) -> Result<()> {
    let (case, small) = shrink(&network(seed), protocol, answer);
    let mode = mode_name(arguments.mode);
    let told = format!(
        "Seed {seed} of weir-sim search --wide --mode {mode}, shrunk: {}",
        small.words
    );
    let path = arguments.findings.join(format!("{mode}-{seed}.toml"));
    write(&path, &case.to_toml(protocol, &told))?;
    weir_output::sayln!("seed {seed} shrunk: weir-sim run {}", path.display())?;
    Ok(())
}

fn mode_name(mode: WideMode) -> &'static str {
    match mode {
        WideMode::Level => "level",
        WideMode::PfcBreaker => "pfc-breaker",
        WideMode::Pfc => "pfc",
    }
}

impl Tally {
    fn add(&mut self, seed: u64, case: &Case, answer: Answer, protocol: Protocol) {
        self.asked += 1;
        self.sent += answer.sent;
        self.lost += answer.lost;
        self.frame_hops += answer.frame_hops;
        *self.shapes.entry(case.shape).or_default() += 1;
        let is_level = protocol == Protocol::Level;
        let kinds = [
            (answer.told == Told::Bound, "waits judged by the bound"),
            (
                answer.told == Told::Thirds,
                "waits judged by a third of the run",
            ),
            (answer.told == Told::Nothing, "waits not judged"),
            (
                is_level && case.has_short_round_trip(),
                "T too short: may lose for want of room",
            ),
            (is_level && case.has_long_round_trip(), "T too long"),
            (is_level && case.is_mixed(), "with switches without Levels"),
            (case.loses_links(), "links go down: may lose frames on them"),
            (case.changes_routes(), "routes change: may reorder"),
            (
                case.has_moments_of_loops(),
                "routes change one after another",
            ),
            (answer.lost > 0, "lost frames as they may, or more"),
        ];
        for (_, kind) in kinds.iter().filter(|(is_one, _)| *is_one) {
            *self.kinds.entry(kind).or_default() += 1;
        }
        self.jain.push((seed, answer.jain));
        for broken in &answer.broken {
            *self.broken.entry(*broken).or_default() += 1;
        }
        if !answer.broken.is_empty() {
            self.findings.push((seed, answer));
        }
    }

    /// Mean of Jain's index: of the requested mode, and of PFC.
    fn jain(&self) -> [f64; 2] {
        let count = self.jain.len().max(1) as f64;
        [0, 1].map(|place| self.jain.iter().map(|(_, both)| both[place]).sum::<f64>() / count)
    }

    fn print(&self, arguments: &SearchArguments) -> Result<()> {
        let mode = mode_name(arguments.mode);
        let [own, pfc] = self.jain();
        weir_output::sayln!(
            "{} wide networks from seed {}, {mode}: {} frames sent, {} lost, {} frame-hops, Jain's index {own:.3}, under PFC {pfc:.3}",
            self.asked, arguments.first, self.sent, self.lost, self.frame_hops
        )?;
        for (kind, count) in self.kinds.iter().chain(&self.shapes) {
            weir_output::sayln!("{count:>8} {kind}")?;
        }
        weir_output::sayln!("{} findings", self.findings.len())?;
        for (broken, count) in &self.broken {
            weir_output::sayln!("{count:>8} {broken:?}")?;
        }
        for (seed, answer) in self.findings.iter().take(TOLD_MAX) {
            weir_output::sayln!(
                "seed {seed}: {}; replay with: weir-sim search --wide --mode {mode} --first {seed} --networks 1",
                answer.words
            )?;
        }
        Ok(())
    }

    fn json(&self, arguments: &SearchArguments) -> serde_json::Value {
        let [own, pfc] = self.jain();
        let findings = self.findings.iter().map(|(seed, answer)| {
            serde_json::json!({
                "seed": seed,
                "broken": answer.broken.iter().map(|broken| format!("{broken:?}")).collect::<Vec<_>>(),
                "what": answer.words,
            })
        });
        serde_json::json!({
            "format": 1,
            "mode": mode_name(arguments.mode),
            "first_seed": arguments.first,
            "networks": self.asked,
            "frames_sent": self.sent,
            "frames_lost": self.lost,
            "frame_hops": self.frame_hops,
            "jain_mean": own,
            "jain_mean_under_pfc": pfc,
            "kinds": self.kinds,
            "shapes": self.shapes,
            "findings": findings.collect::<Vec<_>>(),
        })
    }
}
