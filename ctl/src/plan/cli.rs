//! The command line of `switchctl plan`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use weir_calculus::figures::Figure;

/// `switchctl plan …`.
#[derive(Debug, Args)]
pub struct PlanArguments {
    /// What to do.
    #[command(subcommand)]
    pub command: PlanCommand,
}

/// What `switchctl plan` does.
#[derive(Debug, Subcommand)]
pub enum PlanCommand {
    /// Draw a figure of the calculus paper, and print its numbers.
    #[command(after_help = "\
Computes the curves of Lehal, Luangsomboon and Liebeherr, Network Calculus Characterization of Congestion
Control for Time-Varying Traffic, and writes FIGURE.svg and FIGURE.csv. The table says of each curve how many
points it has, its highest value and where, and its last value.

Examples:
  switchctl plan reproduce fig10
  switchctl plan reproduce fig9 --out figures
  switchctl --json plan reproduce fig10 | jq '.curves[] | {name, highest}'")]
    Reproduce {
        /// fig3, fig4, fig6, fig9 or fig10.
        figure: Figure,
        /// Folder for both files; made if it is not there.
        #[arg(long, value_name = "DIR", default_value = ".")]
        out: PathBuf,
    },
}
