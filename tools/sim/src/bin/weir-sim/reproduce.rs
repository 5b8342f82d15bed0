//! `weir-sim reproduce`.

use std::sync::Mutex;

use anyhow::{anyhow, Context, Result};
use indicatif::ProgressBar;
use weir_sim::reproduce::calculus::{self, Setting};
use weir_sim::reproduce::credit_loops::{
    merged, read, reproduction, Count, Counter, Line, Routing, Tree,
};
use weir_sim::reproduce::others::{hpcc, ndp};
use weir_sim::reproduce::{baselines, clcm_fig5, clcm_fig7, concepts, Reproduction};

use crate::cli::{Figure, ReproduceArguments};
use crate::output::{bar, write};
use crate::parallel::{cores, on_all_cores};

/// Always true: a figure that cannot be made is an error.
pub fn reproduce(arguments: &ReproduceArguments) -> Result<bool> {
    let setting = Setting {
        initial_alpha: arguments.initial_alpha,
        clamp_target: arguments.clamp_target,
        mark_at: arguments.mark_at.into(),
    };
    let bar = bar(1, arguments.quiet);
    let mut progress = |done: usize, of: usize| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    };
    let threads = || arguments.jobs.unwrap_or_else(cores);
    let made = match arguments.figure {
        Figure::ClcmFig5 => clcm_fig5::reproduce()?,
        Figure::ClcmFig7 => clcm_fig7::reproduce()?,
        Figure::Baselines => baselines::reproduce()?,
        Figure::Concepts => concepts::reproduce()?,
        Figure::CreditLoops => credit_loops(arguments, &bar)?,
        Figure::CalculusFig7 => calculus::reproduce(calculus::Figure::Seven, setting)?,
        Figure::CalculusFig8 => calculus::reproduce(calculus::Figure::Eight, setting)?,
        Figure::CalculusDependence => calculus::reproduce_dependence(&mut progress)?,
        Figure::HpccFig11c => hpcc::reproduce(threads())?,
        Figure::NdpFig14 => ndp::reproduce(threads())?,
    };
    bar.finish_and_clear();
    weir_output::say!("{}", made.report)?;
    if let Some(directory) = &arguments.out {
        for file in &made.files {
            write(&directory.join(&file.name), &file.text)?;
        }
    }
    Ok(true)
}

/// Runs all requested networks. Sums do not depend on the order of threads.
fn credit_loops(arguments: &ReproduceArguments, bar: &ProgressBar) -> Result<Reproduction> {
    let kinds = arguments.k.iter().flat_map(|k| {
        let of_k = |percent: &u32| (Tree::with_failed(usize::from(*k), *percent), *percent);
        arguments.failed.iter().map(of_k)
    });
    let kinds: Vec<(Tree, u32)> = kinds.collect();
    bar.set_length(kinds.len() as u64 * arguments.networks);
    let mut lines = Vec::new();
    for path in &arguments.add {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let known = read(&text).map_err(|message| anyhow!("{}: {message}", path.display()))?;
        lines.extend(known);
    }
    for (tree, percent) in kinds.into_iter().filter(|_| arguments.networks > 0) {
        bar.set_message(format!("k {}, {percent} % failed,", tree.k));
        let refused = || {
            format!("a fat tree of k = {} with {percent} % of its links failed: take a smaller --failed or another --k", tree.k)
        };
        let counter = Counter::new(tree).with_context(refused)?;
        let of_tree = Routing::ALL.map(|routing| Line::new(tree, percent, routing));
        let of_tree = Mutex::new(Ok(of_tree));
        on_all_cores(arguments.jobs, arguments.networks as usize, &|index| {
            let counts = counter.count(arguments.first + index as u64);
            if let Ok(mut of_tree) = of_tree.lock() {
                match (&mut *of_tree, counts) {
                    (Ok(lines), Ok(counts)) => add(lines, &counts),
                    (Ok(_), Err(error)) => *of_tree = Err(error),
                    (Err(_), _) => {}
                }
            }
            bar.inc(1);
        });
        let of_tree = of_tree.into_inner();
        let of_tree = of_tree.map_err(|_| anyhow!("a thread failed"))?;
        lines.extend(of_tree.with_context(refused)?);
    }
    Ok(reproduction(&merged(lines)))
}

fn add(lines: &mut [Line], counts: &[Count]) {
    for (line, count) in lines.iter_mut().zip(counts) {
        line.add(count);
    }
}
