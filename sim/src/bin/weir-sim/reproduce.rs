//! `weir-sim reproduce`.

use anyhow::Result;
use weir_sim::reproduce::calculus::{self, Setting};
use weir_sim::reproduce::{baselines, clcm_fig5, clcm_fig7, concepts};

use crate::cli::{Figure, ReproduceArguments};
use crate::output::{bar, write};

/// True: a figure that cannot be made is an error.
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
    let made = match arguments.figure {
        Figure::ClcmFig5 => clcm_fig5::reproduce()?,
        Figure::ClcmFig7 => clcm_fig7::reproduce()?,
        Figure::Baselines => baselines::reproduce()?,
        Figure::Concepts => concepts::reproduce()?,
        Figure::CalculusFig7 => calculus::reproduce(calculus::Figure::Seven, setting)?,
        Figure::CalculusFig8 => calculus::reproduce(calculus::Figure::Eight, setting)?,
        Figure::CalculusDependence => calculus::reproduce_dependence(&mut progress)?,
    };
    bar.finish_and_clear();
    print!("{}", made.report);
    if let Some(directory) = &arguments.out {
        for file in &made.files {
            write(&directory.join(&file.name), &file.text)?;
        }
    }
    Ok(true)
}
