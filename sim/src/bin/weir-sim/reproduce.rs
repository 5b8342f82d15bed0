//! `weir-sim reproduce`.

use anyhow::Result;
use weir_sim::reproduce::{baselines, clcm_fig5, clcm_fig7};

use crate::cli::{Figure, ReproduceArguments};
use crate::output::write;

/// True: a figure that cannot be made is an error.
pub fn reproduce(arguments: &ReproduceArguments) -> Result<bool> {
    let made = match arguments.figure {
        Figure::ClcmFig5 => clcm_fig5::reproduce(),
        Figure::ClcmFig7 => clcm_fig7::reproduce(),
        Figure::Baselines => baselines::reproduce(),
    }?;
    print!("{}", made.report);
    if let Some(directory) = &arguments.out {
        for file in &made.files {
            write(&directory.join(&file.name), &file.text)?;
        }
    }
    Ok(true)
}
