//! The command line of `switchctl config`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `switchctl config …`.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Check a daemon's configuration without starting anything.
    #[command(after_help = "\
Prints a summary, packet memory included, or all errors as
FILE:LINE: KEY: MESSAGE. Devices need not exist.

Example:
  switchctl config check /etc/weir/s1.toml && switchctl --name s1 reload")]
    Check {
        /// The file.
        file: PathBuf,
    },
    /// Convert SONiC's config_db.json into a daemon's configuration.
    #[command(after_help = "\
Converted: ports, PFC, DSCP and 802.1p maps, buffer profiles, WRED as ECN
marking, weights, pfcwd. Whatever is not converted, or means something else
here, is reported on standard error as FILE: TABLE|key.field: MESSAGE
(not-carried, changed, assumed or unknown). Invalid values are reported in the
same way, and nothing is written. Routes must be added by hand.

Exit status: 0 when a configuration was written, 1 when not; with --strict, 1
also when anything was reported.

Examples:
  switchctl config convert /etc/sonic/config_db.json -o leaf1.toml
  switchctl --json config convert config_db.json |
    jq '.notes[] | select(.kind == \"unknown\").path'")]
    Convert(ConvertArguments),
}

/// `switchctl config convert`.
#[derive(Debug, Args)]
pub struct ConvertArguments {
    /// SONiC's config_db.json.
    pub file: PathBuf,
    /// Write into this new file instead of standard output.
    #[arg(long, short, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Write nothing unless everything is converted unchanged.
    #[arg(long)]
    pub strict: bool,
}
