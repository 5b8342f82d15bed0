//! `weir-sim sweep`.

mod by_hand;
mod files;
mod part;

use std::path::PathBuf;

use anyhow::{bail, Context, Result};
use weir_config::sweep::Sweep;
use weir_config::FileError;
use weir_results::table::grid;
use weir_sim::sweep::{Campaign, Shard};

use crate::cli::SweepArguments;

/// Maximum number of runs whose errors are listed.
const TOLD_MAX: usize = 20;

/// Returns true if all results are as expected.
pub fn sweep(arguments: &SweepArguments) -> Result<bool> {
    let file = &arguments.source.file;
    let is_sweep = std::fs::read_to_string(file).is_ok_and(|text| Sweep::is_meant(&text));
    refuse_options(arguments, is_sweep)?;
    if !is_sweep {
        return by_hand::sweep_by_hand(arguments);
    }
    let sweep = Sweep::load(file)?;
    let text = std::fs::read_to_string(&sweep.scenario).with_context(|| {
        format!(
            "{}: scenario: cannot read {}",
            file.display(),
            sweep.scenario.display()
        )
    })?;
    let campaign = Campaign::new(sweep, text)?;
    let shard = arguments.shard.unwrap_or(Shard { index: 0, count: 1 });
    if arguments.list {
        weir_output::say!("{}", list(&campaign, shard))?;
    } else if arguments.check {
        check(&campaign, shard)?;
    } else {
        part::run(
            &campaign,
            shard,
            &directory(arguments, &campaign),
            arguments,
        )?;
    }
    Ok(true)
}

/// Options for the other kind of file are a mistake.
fn refuse_options(arguments: &SweepArguments, is_sweep: bool) -> Result<()> {
    let file = arguments.source.file.display();
    let source = &arguments.source;
    let of_scenarios = [
        ("--set", !source.overrides.is_empty(), "set = [ … ]"),
        ("--until", source.until.is_some(), "set = [\"duration=…\"]"),
        ("--over", !arguments.over.is_empty(), "[[parameter]]"),
        ("--seeds", arguments.seeds.is_some(), "seeds = …"),
    ];
    for (option, is_there, instead) in of_scenarios {
        if is_sweep && is_there {
            bail!("{option}: {file} is a sweep file; write {instead} there, so that all parts have it");
        }
    }
    if is_sweep && arguments.json.is_some() {
        bail!(
            "--json: the results of the sweep file {file} are Parquet files; use --out DIRECTORY"
        );
    }
    let of_sweeps = [
        ("--list", arguments.list),
        ("--check", arguments.check),
        ("--shard", arguments.shard.is_some()),
        ("--out", arguments.out.is_some()),
    ];
    for (option, is_there) in of_sweeps {
        if !is_sweep && is_there {
            bail!("{option}: {file} is no sweep file; write one, with scenario = \"…\" in it");
        }
    }
    Ok(())
}

fn directory(arguments: &SweepArguments, campaign: &Campaign) -> PathBuf {
    let default = || format!("sweep-{}", campaign.sweep().name).into();
    arguments.out.clone().unwrap_or_else(default)
}

/// Lists each run on a line: its number, its values and its seed.
fn list(campaign: &Campaign, shard: Shard) -> String {
    let sweep = campaign.sweep();
    let mut headings = vec!["run"];
    headings.extend(sweep.parameters.iter().map(|one| one.name.as_str()));
    headings.push("seed");
    let row = |index| {
        let run = sweep.run(index);
        let mut row = vec![index.to_string()];
        let levels = sweep.parameters.iter().zip(&run.levels);
        row.extend(levels.map(|(parameter, level)| parameter.levels[*level].text.clone()));
        row.push(campaign.seed_of(index).to_string());
        row
    };
    let rows: Vec<_> = shard.runs(sweep.run_count()).map(row).collect();
    grid(&headings, &rows)
}

fn check(campaign: &Campaign, shard: Shard) -> Result<()> {
    let sweep = campaign.sweep();
    let mut refused = 0;
    let mut all: Option<FileError> = None;
    for index in shard.runs(sweep.run_count()) {
        let Err(error) = campaign.scenario(index) else {
            continue;
        };
        refused += 1;
        let mut error = sweep.blame(error, &sweep.run(index));
        for problem in &mut error.problems {
            problem.message = format!("{} (run {index})", problem.message);
        }
        match &mut all {
            None => all = Some(error),
            Some(all) if refused <= TOLD_MAX => all.problems.append(&mut error.problems),
            Some(_) => {}
        }
    }
    let count = shard.runs(sweep.run_count()).count();
    match all {
        None => {
            weir_output::sayln!("{count} runs, all of whose scenarios are valid")?;
            Ok(())
        }
        Some(error) => {
            weir_output::sayln!(
                "{refused} of {count} runs have invalid scenarios and would be rows with an error"
            )?;
            Err(error.into())
        }
    }
}
