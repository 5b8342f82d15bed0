//! `switchctl plan`: thresholds before a frame is sent.

pub mod cli;
mod reproduce;

use anyhow::Result;

use crate::output::Output;
use cli::{PlanArguments, PlanCommand};

/// False when a plan finds thresholds that do not do.
pub fn run(arguments: &PlanArguments, output: &Output) -> Result<bool> {
    match &arguments.command {
        PlanCommand::Reproduce { figure, out } => {
            reproduce::figure(*figure, out, output)?;
            Ok(true)
        }
    }
}
