//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use weir_output::manual::Manual;

/// Exit status of success.
pub const EXIT_OK: u8 = 0;
/// Exit status when the daemon could not start or failed while running.
pub const EXIT_FAILURE: u8 = 1;
/// Exit status for a command line or a configuration that is not legal.
pub const EXIT_CONFIG: u8 = 2;
/// Exit status when another daemon holds the run directory or a device.
pub const EXIT_IN_USE: u8 = 3;
/// Exit status when a second signal interrupted draining.
pub const EXIT_CUT_SHORT: u8 = 4;

/// Exit status that requests a restart from the keeper.
pub const EXIT_AGAIN: u8 = 5;

/// Text of the manual page in addition to the command line.
pub const MANUAL: Manual = Manual {
    section: "8",
    files: &[
        (
            "/etc/weir/switchd.toml",
            "The configuration: weir-switchd.toml(5).",
        ),
        (
            "/run/weir/NAME/",
            "Of the switch NAME: the socket of its API, its lock and the pins of its XDP programs.",
        ),
    ],
    environment: &[
        (
            "WEIR_PORTS, WEIR_RATE, WEIR_MTU, CLAB_INTFS, WEIR_UNPROTECTED",
            "With --container: number of ports, their rate, their MTU; containerlab's number of ports; and `true` to serve metrics and page on all addresses.",
        ),
        (
            "NOTIFY_SOCKET, WATCHDOG_USEC",
            "Set by systemd: sd_notify(3) reports the start and the heartbeats of the switch.",
        ),
    ],
    see_also: &["weir-switchd.toml(5)", "switchctl(1)", "weir-host(1)"],
};

/// Run one lossless Ethernet switch over network devices of this network namespace.
///
/// Frames are received at XDP, switched in userspace and sent through AF_XDP sockets. While it runs,
/// every frame that arrives at a port belongs to the switch and not to the kernel. The daemon stays in
/// the foreground and logs to standard error, or under systemd to the journal.
#[derive(Clone, Debug, Parser)]
#[command(name = "weir-switchd", version, max_term_width = 80, after_long_help = AFTER_HELP)]
pub struct Cli {
    /// Configuration file (TOML): ports, classes, routes, deadlock policy.
    #[arg(
        long,
        short,
        value_name = "FILE",
        default_value = "/etc/weir/switchd.toml"
    )]
    pub config: PathBuf,

    /// If the configuration file is missing, create it (/run/weir/container.toml) with ports eth1, eth2 and so on, which may
    /// appear later. Environment variables: WEIR_PORTS or CLAB_INTFS (number of ports), WEIR_RATE and WEIR_MTU. The OCI
    /// image starts with this.
    #[arg(long)]
    pub container: bool,

    /// Check the configuration, report errors with file and line, and exit.
    #[arg(long)]
    pub check: bool,

    /// Mount the BPF file system of the run directory, and exit. For service managers that then start the
    /// daemon in its own mount namespace: without this, its XDP programs do not survive a killed daemon.
    #[arg(long, conflicts_with = "check")]
    pub prepare: bool,

    /// Run the switch in a child process and supervise it, so that `switchctl restart` can restart it: the keeper
    /// pauses neighbours meanwhile, and no frame of a lossless class is lost. The systemd units use it.
    #[arg(long, conflicts_with_all = ["check", "prepare"])]
    pub keeper: bool,

    /// User of the switch once it has started, by name or number; `root` changes nothing. Without a user `weir`, number 65523
    /// takes its place. A keeper remains root.
    #[arg(long, value_name = "USER", default_value = "weir")]
    pub user: String,

    /// Standard input is connected to the keeper that started this process.
    #[arg(long, hide = true, value_name = "WHEN", conflicts_with = "keeper")]
    pub kept: Option<Kept>,

    /// Read the configuration from this file instead of the configuration file; used by a keeper to start the previous
    /// configuration.
    #[arg(long, hide = true, value_name = "FILE", requires = "kept")]
    pub in_force: Option<PathBuf>,

    /// Test this device of the configuration against a neighbour that reflects frames, instead of running a switch, and
    /// print the findings as JSON; used by `switchctl doctor --loop`.
    #[arg(long = "loop", hide = true, value_name = "DEVICE", conflicts_with_all = ["check", "prepare", "keeper", "kept"])]
    pub trial: Option<String>,

    /// Load every form of the XDP program, unload it again, and print as JSON which ones this kernel refuses; used by
    /// `switchctl doctor`.
    #[arg(long, hide = true, exclusive = true)]
    pub try_programs: bool,

    /// Start on a kernel that is known to be broken for AF_XDP. `switchctl doctor` names such kernels.
    #[arg(long)]
    pub force: bool,

    /// Wait for a line on standard input, and then remove this run directory and its BPF file system, which the switch
    /// itself may not do.
    #[arg(long, hide = true, value_name = "DIRECTORY", exclusive = true)]
    pub finish: Option<PathBuf>,

    /// Answer requests on standard input for the contents of these files, which only root can read.
    #[arg(long, hide = true, value_name = "FILE", num_args = 1.., exclusive = true)]
    pub read: Vec<PathBuf>,

    /// Time limit of the test.
    #[arg(long, hide = true, value_name = "TIME", default_value = "2min", value_parser = parse_time)]
    pub loop_limit: Duration,

    /// Print the manual page.
    #[arg(long, hide = true, exclusive = true)]
    pub manual: bool,

    /// Log level: error, warn, info, debug or trace, or a list such as `warn,weir_switchd=debug`.
    /// Overrides the configuration.
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<String>,

    /// On shutdown, wait at most this long for buffered frames to be sent.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_time)]
    pub drain_timeout: Duration,
}

/// Role of a process among its keeper's switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kept {
    /// The first switch; there was none before.
    First,
    /// Replaces an earlier switch; the neighbours are paused.
    Again,
    /// Like `Again`, but the earlier switch still runs: this one prepares and waits for the keeper's go-ahead.
    Next,
}

impl Kept {
    /// Returns the name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Again => "again",
            Self::Next => "next",
        }
    }
}

const AFTER_HELP: &str = "\
Signals:
  SIGTERM, SIGINT   stop admitting, send buffered frames, clean up, exit 0
  a second one      exit at once with status 4; buffered frames are lost
  SIGHUP            reload the configuration file, as `switchctl reload` does

Exit status:
  0  stopped on request, or the configuration is valid (--check)
  1  could not start, or failed while running
  2  invalid command line or configuration
  3  another weir-switchd uses the run directory or a device
  4  a second signal cut draining short
  5  restart requested (the keeper restarts the switch and keeps running)

Examples:
  weir-switchd --check      (reads /etc/weir/switchd.toml)
  nsenter --net=/run/netns/s1 weir-switchd --config s1.toml
  switchctl status          (asks a running daemon, over its Unix socket)

The daemon starts as root and needs CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF,
CAP_SYS_ADMIN (for its BPF file system) and CAP_IPC_LOCK (for packet memory). To
change to another user, it needs CAP_SETUID, CAP_SETGID and CAP_CHOWN, and its
keeper CAP_KILL. Enter a network namespace with nsenter, not `ip netns exec`,
which hides mounted BPF file systems.";

/// Parses a time with its unit: `1s`, `250ms`, `0s`.
fn parse_time(text: &str) -> Result<Duration, String> {
    let wrong =
        || format!("`{text}` is not a time: write a number and a unit, such as 250ms or 1s");
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let nanos_per_unit: u64 = match unit {
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        _ => return Err(wrong()),
    };
    number
        .checked_mul(nanos_per_unit)
        .map(Duration::from_nanos)
        .ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times_need_a_unit() {
        assert_eq!(parse_time("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_time("0s"), Ok(Duration::ZERO));
        for bad in ["1", "s", "", "-1s", "1.5s", "1 s", "99999999999min"] {
            assert!(parse_time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_help_lists_every_exit_status() {
        let help = Cli::command().render_long_help().to_string();
        for status in [
            EXIT_AGAIN,
            EXIT_OK,
            EXIT_FAILURE,
            EXIT_CONFIG,
            EXIT_IN_USE,
            EXIT_CUT_SHORT,
        ] {
            assert!(help.contains(&format!("\n  {status}  ")), "{status}");
        }
    }
}
