//! `weir-sim search --harm`.

use std::collections::BTreeMap;
use std::sync::Mutex;

use anyhow::Result;
use weir_sim::search::harm::{judge, Answer, Case, Kind};
use weir_sim::trial::TrialError;

use crate::cli::SearchArguments;
use crate::output::{bar, write};
use crate::parallel::on_all_cores;

/// Maximum number of findings printed one by one.
const TOLD_MAX: usize = 30;

/// Sums over the networks of one kind, independent of their order.
#[derive(Default)]
struct Sum {
    networks: u64,
    sent: u64,
    lost: u64,
    lost_by_the_unlucky: u64,
    /// Longest wait of others beyond that in the calm network, relative to its bound.
    longest_share: f64,
}

#[derive(Default)]
struct Tally {
    kinds: BTreeMap<Kind, Sum>,
    findings: Vec<(u64, String)>,
}

/// Returns true if no bystander was harmed.
pub fn search(arguments: &SearchArguments) -> Result<bool> {
    let bar = bar(arguments.networks, arguments.quiet);
    let tally = Mutex::new(Tally::default());
    on_all_cores(arguments.jobs, arguments.networks as usize, &|index| {
        let seed = arguments.first + index as u64;
        let case = Case::new(seed);
        let answer = judge(&case);
        if let Ok(mut tally) = tally.lock() {
            tally.add(seed, case.kind, answer);
            bar.set_message(format!("{} findings,", tally.findings.len()));
        }
        bar.inc(1);
    });
    bar.finish_and_clear();
    let mut tally = tally.into_inner().unwrap_or_default();
    tally.findings.sort();
    tally.print(arguments)?;
    if let Some(path) = &arguments.json {
        write(path, &serde_json::to_string_pretty(&tally.json(arguments))?)?;
    }
    Ok(tally.findings.is_empty())
}

impl Tally {
    fn add(&mut self, seed: u64, kind: Kind, answer: Result<Answer, TrialError>) {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return self.findings.push((seed, format!("{kind:?}: {error}"))),
        };
        let sum = self.kinds.entry(kind).or_default();
        sum.networks += 1;
        sum.sent += answer.sent;
        sum.lost += answer.lost;
        sum.lost_by_the_unlucky += answer.lost_in_all - answer.lost;
        let share = answer.longest_wait.as_secs_f64() / answer.patience.as_secs_f64();
        sum.longest_share = sum.longest_share.max(share);
        if !answer.is_good() {
            self.findings.push((seed, format!("{kind:?}: {answer:?}")));
        }
    }

    fn print(&self, arguments: &SearchArguments) -> Result<()> {
        weir_output::sayln!(
            "{} random networks from seed {}: {} findings",
            arguments.networks,
            arguments.first,
            self.findings.len()
        )?;
        for (kind, sum) in &self.kinds {
            weir_output::sayln!(
                "{kind:?}: {} networks, {} lossless frames of others, {} lost, longest wait {:.0} % of the bound; {} frames of the unlucky lost",
                sum.networks,
                sum.sent,
                sum.lost,
                100.0 * sum.longest_share,
                sum.lost_by_the_unlucky,
            )?;
        }
        for (seed, what) in self.findings.iter().take(TOLD_MAX) {
            weir_output::sayln!("seed {seed}: {what}; replay with: weir-sim search --harm --first {seed} --networks 1")?;
        }
        Ok(())
    }

    fn json(&self, arguments: &SearchArguments) -> serde_json::Value {
        let kinds = self.kinds.iter().map(|(kind, sum)| {
            serde_json::json!({
                "kind": format!("{kind:?}"),
                "networks": sum.networks,
                "frames_of_others": sum.sent,
                "lost_by_others": sum.lost,
                "lost_by_the_unlucky": sum.lost_by_the_unlucky,
                "longest_wait_share": sum.longest_share,
            })
        });
        serde_json::json!({
            "format": 1,
            "first_seed": arguments.first,
            "networks": arguments.networks,
            "kinds": kinds.collect::<Vec<_>>(),
            "findings": self.findings.iter().map(|(seed, what)| serde_json::json!({"seed": seed, "what": what})).collect::<Vec<_>>(),
        })
    }
}
