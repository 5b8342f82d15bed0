//! The command line of `switchctl plan`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use weir_calculus::figures::Figure;
use weir_config::units::parse_duration;
use weir_config::Override;
use weir_core::Duration;
use weir_output::generated::Generated;
use weir_output::manual::Manual;

use crate::network::LinkOptions;

/// Additional text of the manual pages.
pub const MANUAL: Manual = Manual {
    section: "1",
    files: &[],
    environment: &[],
    see_also: &["switchctl(1)", "weir-switchd.toml(5)"],
};

/// Predict buffers and pauses for given thresholds. Works without a daemon.
#[derive(Debug, Parser)]
#[command(
    name = "weir-plan",
    version,
    max_term_width = 80,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    arg_required_else_help = true,
    after_help = "\
Plans a scenario with its flows, and a configuration with frames at line rate
from all other ports to each port in turn. First the buffers, by ingress port:
  peak                  highest occupancy
  xoff after            time until xoff (lossy: the end) is first reached
  pauses, first, longest, period, paused
                        pauses of the neighbour, and its share of paused time
  headroom, needed, any frames
                        the space above xoff, the part that the planned frames
                        need, and the need of frames of the worst length
In classes of mode `level`, links between switches have budgets:
spare = least b − γmax − rT. Then the queues, by egress port: arrivals, the
class's rate, the highest backlog and delay, and whether ECN marks reach senders
before PFC pauses them. Then advice.

Exit status 1: a headroom or a budget is too small.

Examples:
  switchctl plan scenarios/incast.toml
  switchctl plan scenarios/incast.toml --set class.lossless.xoff=200kB
  switchctl plan scenarios/burst.toml --svg burst.svg
  switchctl plan scenarios/burst.toml --from-capture s1.pcapng
  switchctl plan /etc/weir/s1.toml --round-trip 20us --apply s1.toml
  switchctl --json plan /etc/weir/s1.toml | jq '.advice[] | {class, key, value}'
  switchctl plan reproduce fig10"
)]
pub struct Cli {
    /// Print JSON instead of tables.
    #[arg(long, global = true)]
    pub json: bool,
    /// The file.
    #[command(flatten)]
    pub file: FileArguments,
    /// Command other than planning a file.
    #[command(subcommand)]
    pub command: Option<PlanCommand>,
}

/// Input and options of a plan.
#[derive(Debug, Args)]
pub struct FileArguments {
    /// A scenario, or a switch's configuration.
    #[arg(required = true)]
    pub file: Option<PathBuf>,
    /// Override a value of the scenario, such as class.lossless.xoff=30KiB. Repeat it.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub overrides: Vec<Override>,
    /// Write a copy of the file with the advice applied; comments are kept.
    #[arg(long, value_name = "OUT", conflicts_with = "overrides")]
    pub apply: Option<PathBuf>,
    /// Plan for recorded arrivals instead of the scenario's flows: frames between its hosts in a pcap or pcapng file, or
    /// the result of a run.
    #[arg(long, value_name = "FILE")]
    pub from_capture: Option<PathBuf>,
    /// Draw buffer occupancy over time, with the thresholds.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// T of every link, from XOFF until the last frame sent without it has arrived, such as 20us. Overrides the
    /// file.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    round_trip: Option<Duration>,
    /// Propagation delay of every link, one way: 5 ns for each metre of cable. Overrides the file.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "round_trip")]
    delay: Option<Duration>,
    /// Time from the arrival of a pause at a neighbour until it starts its last frame, added to --delay or to a
    /// scenario's delays. Default: none.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "round_trip")]
    reaction: Option<Duration>,
}

impl FileArguments {
    /// Returns the options for links.
    pub fn links(&self) -> LinkOptions {
        LinkOptions {
            round_trip: self.round_trip,
            delay: self.delay,
            reaction: self.reaction.unwrap_or_default(),
        }
    }
}

/// Commands other than planning.
#[derive(Debug, Subcommand)]
pub enum PlanCommand {
    /// Draw a figure of the calculus paper, and print its numbers.
    #[command(after_help = "\
Computes the curves of Lehal, Luangsomboon and Liebeherr, Network Calculus
Characterization of Congestion Control for Time-Varying Traffic, and writes
FIGURE.svg and FIGURE.csv. The table lists for each curve the number of points,
the highest value and where it is, and the last value.

Examples:
  switchctl plan reproduce fig10
  switchctl plan reproduce fig9 --out figures
  switchctl --json plan reproduce fig10 | jq '.curves[] | {name, highest}'")]
    Reproduce {
        /// fig3, fig4, fig6, fig9 or fig10.
        figure: Figure,
        /// Directory for both files; created if missing.
        #[arg(long, value_name = "DIR", default_value = ".")]
        out: PathBuf,
    },
    /// List the buffers that links need for full rate, with credits and PFC.
    #[command(after_help = "\
For links of 1 to 400 Gbit/s and 10 us to 10 ms, one way, with frames of 1500 B,
credits of 2 KiB, cells of 256 B, and the longest reaction time in the standard:
  credits               the credit-limit
  PFC, any frames       xoff and headroom; no frame of any length is lost
  PFC, 1500 B           the same, if there are no other frames
Writes the picture credits-buffers.svg.

Example:
  switchctl plan buffers --out figures")]
    Buffers {
        /// Directory for the picture; created if missing.
        #[arg(long, value_name = "DIR", default_value = ".")]
        out: PathBuf,
    },
    /// Compare the prediction with the measurements of a run, and print the error.
    #[command(after_help = "\
RUN.json is what `weir-sim run --json` or `cargo xtask lab --json` wrote. Runs
record the buffers of links between switches, not those of links to hosts. Give
the overrides that the run had. Errors are fractions of the measured peak:
  error                 of the peak
  worst until then      the largest of any sample until xoff is reached
  mean error            of all samples, without signs

Example:
  weir-sim run two.toml --json two.json
  switchctl plan compare two.json two.toml")]
    Compare {
        /// The run.
        #[arg(value_name = "RUN.json")]
        run: PathBuf,
        /// Its scenario.
        scenario: PathBuf,
        /// Override a value of the scenario, as in the run. Repeat it.
        #[arg(long = "set", value_name = "PATH=VALUE")]
        overrides: Vec<Override>,
    },
    /// Completions and manual pages.
    #[command(flatten)]
    Generated(Generated),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_an_example_and_those_shown_are_in_the_book() {
        let page = include_str!("../../../docs/src/reference/switchctl.md");
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            let help = command.get_after_help().map(ToString::to_string);
            assert!(help.is_some_and(|help| help.contains("Example")), "{name}");
            let row = format!("| [`plan {name} ");
            assert!(command.is_hide_set() || page.contains(&row), "{name}");
        }
    }
}
