//! `weir-sim reproduce`.

use anyhow::Result;
use weir_sim::reproduce::calculus::{dependence, figure, Dependence, Figure, Setting};

use crate::cli::{PaperFigure, ReproduceArguments};
use crate::output::{bar, write};

/// Makes a figure of a paper again and prints the paper's numbers beside what was measured.
pub fn reproduce(arguments: &ReproduceArguments) -> Result<bool> {
    let which = match arguments.figure {
        PaperFigure::CalculusFig7 => Figure::Seven,
        PaperFigure::CalculusFig8 => Figure::Eight,
        PaperFigure::CalculusDependence => return depend(arguments),
    };
    let setting = Setting {
        initial_alpha: arguments.initial_alpha,
        clamp_target: arguments.clamp_target,
        mark_at: arguments.mark_at.into(),
    };
    let made = figure(which, setting)?;
    print!("{}", made.table());
    if let Some(path) = &arguments.svg {
        write(path, &made.svg())?;
    }
    if let Some(path) = &arguments.json {
        write(path, &serde_json::to_string_pretty(&made.json())?)?;
    }
    Ok(true)
}

fn depend(arguments: &ReproduceArguments) -> Result<bool> {
    let bar = bar(1, arguments.quiet);
    let rows = dependence(&mut |done, of| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let rows = rows?;
    print!("{}", Dependence::table(&rows));
    if let Some(path) = &arguments.json {
        let rows: Vec<_> = rows.iter().map(Dependence::json).collect();
        write(path, &serde_json::to_string_pretty(&rows)?)?;
    }
    Ok(true)
}
