//! The command line of `switchctl config`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `switchctl config …`.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Check a daemon's configuration without starting anything.
    #[command(after_help = "\
Prints what the file amounts to, packet memory included, or all that is wrong with it as
FILE:LINE: KEY: MESSAGE. Devices need not exist.

Example:
  switchctl config check /etc/weir/s1.toml && systemctl restart weir-switchd@s1")]
    Check {
        /// The file.
        file: PathBuf,
    },
    /// Make a daemon's configuration from SONiC's config_db.json.
    #[command(after_help = "\
Carried over: ports, PFC, DSCP and 802.1p maps, buffer profiles, WRED as ECN marking, weights, pfcwd.
What is not, or means something else here, is named on standard error as FILE: TABLE|key.field: MESSAGE
(not-carried, changed, assumed or unknown). Values that cannot be right are named in the same way, and
nothing is written. Routes are for you to add.

Exit status: 0 when a configuration came of it, 1 when none did, with --strict also when anything was noted.

Examples:
  switchctl config convert /etc/sonic/config_db.json -o leaf1.toml
  switchctl --json config convert config_db.json | jq '.notes[] | select(.kind == \"unknown\").path'")]
    Convert(ConvertArguments),
}

/// `switchctl config convert`.
#[derive(Debug, Args)]
pub struct ConvertArguments {
    /// SONiC's file.
    pub file: PathBuf,
    /// Write into this new file instead of standard output.
    #[arg(long, short, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Write nothing unless all is carried over as it is.
    #[arg(long)]
    pub strict: bool,
}
