//! The command line of `switchctl config`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::complete;

/// `switchctl config …`.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Check a daemon's configuration without starting anything.
    #[command(after_help = "\
Prints a summary, packet memory included, or all errors as
FILE:LINE: KEY: MESSAGE. Devices need not exist.

Examples:
  switchctl config check /etc/weir/s1.toml && switchctl --name s1 reload
  ssh leaf1 cat /etc/weir/switchd.toml | switchctl config check -")]
    Check {
        /// The file; `-` for standard input.
        file: PathBuf,
    },
    /// Compare two files, or the running switch with a file, setting by setting.
    #[command(after_help = "\
Comments, order and defaults that are written out make no difference. Each
setting is listed with its old and its new value, under the command that puts it
in force: `switchctl reload`, at once and without loss, or `switchctl restart`.

--running compares with the settings in force, reloads included, but without
changes at run time, such as flow pins: `config save --dry-run` shows those.

Exit status: 0 without a difference, 1 with differences, 2 after an error.

Examples:
  switchctl config diff s1.toml s1-new.toml
  switchctl --name s1 config diff --running /etc/weir/s1.toml
  switchctl --json config diff a.toml b.toml |
    jq -r '.changes[] | select(.takes == \"restart\").key'")]
    Diff(DiffArguments),
    /// Write run-time changes into the configuration file.
    #[command(after_help = "\
Routes (`route set`, `route remove`), pinned flows (`route pin`), profiles of
ECN marking (`ecn set`) and storm watchdogs (`pfcwd`) that were changed since
the file was read. Comments and order of the file stay; its old text is kept as
FILE.bak, FILE.bak.1 and so on. Changes of the file itself meanwhile are kept,
and listed.
Buckets that were moved and pins of reroutes are not saved.

Without `config save` such changes last until the service is stopped; a
`switchctl restart` keeps them.

Exit status: 0 when the file has all changes, 1 when changes of the file itself
were kept instead.

Examples:
  switchctl --name s1 config save --dry-run
  switchctl --name s1 config save")]
    Save {
        /// Show what would be written, and write nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// List the last ten configuration files in force.
    #[command(after_help = "\
The switch keeps the text of each file that it started with, that was reloaded,
or whose reload was confirmed. Under systemd they outlive the service, in
/var/lib/weir/NAME/history; otherwise they last until the switch is stopped.

Examples:
  switchctl --name s1 config history
  switchctl --json --name s1 config history | jq '.configurations[-1].number'")]
    History,
    /// Restore one of the last ten configuration files.
    #[command(after_help = "\
Default for NUMBER: the last but one. The file gets its old text, its present
text is kept as FILE.bak (or the first free of FILE.bak.1 and so on), and then
it is reloaded as by `switchctl reload`: completely, or not at all if a setting
needs a restart. --confirm returns, unless confirmed, to the present settings;
this does not change the file, so copy the backup back.

Exit status: 0 when the file is in force, 1 when it is not: a setting needs a
restart.

Examples:
  switchctl --name s1 config rollback
  switchctl --name s1 config rollback 12 --dry-run
  switchctl --name s1 config rollback 12 --confirm 60")]
    Rollback {
        /// Number, from `config history`.
        number: Option<u64>,
        /// Show the differences from what is in force, and change nothing.
        #[arg(long)]
        dry_run: bool,
        /// Revert after this time unless confirmed.
        #[arg(long, value_name = "SECONDS", value_parser = super::waiting, conflicts_with = "dry_run")]
        confirm: Option<std::time::Duration>,
    },
    /// Write a first configuration for the devices of this host.
    #[command(after_help = "\
Rates are those that the devices report; if one reports none, --port DEV=RATE.
Thresholds are for the fastest port, by the rules of `switchctl plan`. Comments
in the file describe each device. Without -o it is printed.

--roce: a lossless class for RoCEv2 at priority 3 (DSCP 24 to 31) with ECN
marking, one at priority 6 for its congestion notifications (CNP, DSCP 48),
the PFC storm watchdog, and LLDP that asks hosts to use priority 3 for UDP
port 4791.

Examples:
  switchctl config init --port eth1 --port eth2 -o /etc/weir/switchd.toml
  switchctl --name leaf1 config init --roce --port eth1 --port eth2=25Gbit \\
    --fabric eth3 -o leaf1.toml
  switchctl config check leaf1.toml && switchctl doctor --config leaf1.toml")]
    Init(InitArguments),
    /// Convert SONiC's config_db.json into a daemon's configuration.
    #[command(after_help = "\
Converted: ports, PFC, DSCP and 802.1p maps, buffer profiles, WRED as ECN
marking, weights, pfcwd. Each setting that is not converted, or has another
meaning here, is reported on standard error as FILE: TABLE|key.field: MESSAGE
(not-carried, changed, assumed or unknown), those that affect frames first;
equal messages for several rows are one line. Invalid values are reported in the
same way, and nothing is written. Routes must be added by hand.

Exit status: 0 when a configuration was written, 1 when not; with --strict, 1
also when anything was reported.

Examples:
  switchctl config convert /etc/sonic/config_db.json -o leaf1.toml
  switchctl --json config convert config_db.json |
    jq '.notes[] | select(.kind == \"unknown\").path'")]
    Convert(ConvertArguments),
}

/// `switchctl config diff`.
#[derive(Debug, Args)]
pub struct DiffArguments {
    /// Compare the running switch with FILE.
    #[arg(long)]
    pub running: bool,
    /// The old file and the new one, or with --running the new one; `-` for standard input.
    #[arg(value_name = "FILE", required = true, num_args = 1..=2)]
    pub files: Vec<PathBuf>,
}

/// `switchctl config init`.
#[derive(Debug, Args)]
pub struct InitArguments {
    /// Device facing a host, with its rate if the device does not report one. Repeat it.
    #[arg(long, value_name = "DEV[=RATE]", num_args = 1.., add = complete::devices())]
    pub port: Vec<String>,
    /// The same, facing another switch.
    #[arg(long, value_name = "DEV[=RATE]", num_args = 1.., add = complete::devices())]
    pub fabric: Vec<String>,
    /// For RoCEv2: ECN, congestion notifications, storm watchdog, LLDP.
    #[arg(long)]
    pub roce: bool,
    /// Write into this new file instead of standard output.
    #[arg(long, short, value_name = "OUT")]
    pub output: Option<PathBuf>,
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
