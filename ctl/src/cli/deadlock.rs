//! The command line of `switchctl deadlock`.

use std::path::PathBuf;

use clap::Subcommand;

use super::complete;

/// `switchctl deadlock …`.
#[derive(Debug, Subcommand)]
pub enum DeadlockCommand {
    /// Show the record of one suspicion.
    #[command(after_help = "\
Shows the suspected egress and the reason, the master and its actions; then
curves, where each block is the maximum of its column; then all events, by time
since the suspicion began. The daemon keeps the newest 32 records.

Examples:
  switchctl deadlock show 3
  switchctl deadlock show 3 --svg suspicion-3.svg
  switchctl --json deadlock show 3 | jq '.deadlock.master'")]
    Show {
        /// Number of the suspicion, from `switchctl deadlock`.
        #[arg(add = complete::suspicions())]
        id: u64,
        /// Also draw it into this file.
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
    },
}
